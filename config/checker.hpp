#pragma once

#include <string>
#include <utility>

#include "config/load.hpp"

namespace sm::config {

/// Puts the findings of validate.cpp and files.cpp at their place in the file.
class Checker {
  public:
    explicit Checker(Loaded& loaded) : loaded_(loaded) {}

    void error(const std::string& path, const std::string& message, std::string remedy) {
        add(loaded_.errors, path, message, std::move(remedy));
    }
    void warn(const std::string& path, const std::string& message, std::string remedy) {
        add(loaded_.warnings, path, message, std::move(remedy));
    }
    /// The key is in the file.
    bool written(const std::string& path) const { return loaded_.places.contains(path); }

  private:
    void add(Problems& to, const std::string& path, const std::string& message, std::string remedy) {
        const auto at = place(path);
        to.push_back({loaded_.file, at.line, at.column, path + ": " + message, std::move(remedy)});
    }
    /// Of the key, or of the closest section around it that is in the file.
    Position place(std::string path) const {
        while (!path.empty()) {
            if (const auto found = loaded_.places.find(path); found != loaded_.places.end()) return found->second;
            const auto cut = path.find_last_of(".[");
            path.resize(cut == std::string::npos ? 0 : cut);
        }
        return {};
    }

    Loaded& loaded_;
};

}  // namespace sm::config
