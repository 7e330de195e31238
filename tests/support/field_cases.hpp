#pragma once

#include <boost/json.hpp>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace sm::test {

/// One line of a file under tests/support/field-cases.
class FieldCase {
  public:
    explicit FieldCase(std::string line) : line_(std::move(line)), json_(boost::json::parse(line_)) {}

    bool has(const std::string& name) const {
        return json_.as_object().contains(name) && !json_.as_object().at(name).is_null();
    }
    std::string text(const std::string& name) const { return json_.as_object().at(name).as_string().c_str(); }
    bool truth(const std::string& name) const { return json_.as_object().at(name).as_bool(); }
    const boost::json::object& object(const std::string& name) const { return json_.as_object().at(name).as_object(); }
    /// The value of an object member exactly as it is written in the file: no number passes through a printer.
    std::string raw(const std::string& name) const {
        const std::size_t key = line_.find("\"" + name + "\": {");
        if (key == std::string::npos) throw std::runtime_error("no object " + name + " in " + line_);
        const std::size_t begin = line_.find('{', key);
        int depth = 0;
        bool quoted = false;
        for (std::size_t i = begin; i < line_.size(); ++i) {
            const char c = line_[i];
            if (quoted) {
                if (c == '\\') ++i;
                if (c == '"') quoted = false;
                continue;
            }
            if (c == '"') quoted = true;
            if (c == '{') ++depth;
            if (c == '}' && --depth == 0) return line_.substr(begin, i - begin + 1);
        }
        throw std::runtime_error("unbalanced " + line_);
    }

  private:
    std::string line_;
    boost::json::value json_;
};

inline std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw std::runtime_error("cannot read " + path);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

/// Every row of e.g. "uplinks_stock.jsonl". Needs SM_SOURCE_DIR, which every unit test has.
inline std::vector<FieldCase> field_cases(const std::string& file) {
    std::istringstream in(read_file(std::string(SM_SOURCE_DIR) + "/tests/support/field-cases/" + file));
    std::vector<FieldCase> rows;
    for (std::string line; std::getline(in, line);)
        if (!line.empty()) rows.emplace_back(line);
    if (rows.empty()) throw std::runtime_error(file + " is empty");
    return rows;
}

}  // namespace sm::test
