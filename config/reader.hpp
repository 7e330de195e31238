#pragma once

#include <yaml-cpp/yaml.h>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.hpp"
#include "config/environment.hpp"
#include "config/problem.hpp"
#include "config/setting.hpp"

namespace sm::config {

using Words = std::initializer_list<const char*>;

/// A key that no line asked for.
struct UnknownKey {
    std::string section;  ///< "" at the top
    std::string key;
    Position at;
    std::vector<std::string> known;  ///< the keys of this section
};

/// What one walk over the settings collects. With a file it reads; without one (`settings` set) it describes.
struct Walk {
    std::string file;
    Environment environment;
    Problems problems;
    std::vector<UnknownKey> unknown;
    std::map<std::string, Position> places;  ///< where each key that is in the file has its value
    Settings* settings = nullptr;            ///< set: write down each setting, read nothing
};

/// One mapping of the configuration file. `settings.cpp` has one line per setting on it; each line reads the key into
/// its field, or leaves the default and notes a problem. Lives on the stack of one walk, on one thread.
class Section {
  public:
    /// `node` may be absent or empty: every field keeps its default.
    Section(Walk& walk, std::string path, const YAML::Node& node);

    void text(const char* key, std::string& out, const char* help);
    void text_list(const char* key, std::vector<std::string>& out, const char* help);
    void secret(const char* key, Secret& out, const char* help);
    void secret_list(const char* key, std::vector<Secret>& out, const char* help);
    /// A URI that may hold a password: described without it.
    void uri(const char* key, std::string& out, const char* help);
    void uri_list(const char* key, std::vector<std::string>& out, const char* help);
    void word(const char* key, std::string& out, Words accepted, const char* help);
    void flag(const char* key, bool& out, const char* help);
    void number(const char* key, double& out, double least, double most, const char* help);
    /// Bytes.
    void size(const char* key, std::size_t& out, std::uint64_t least, std::uint64_t most, const char* help);

    /// `unit` names what is counted ("messages", "MiB"); may be empty.
    template <std::integral T>
    void integer(const char* key, T& out, std::int64_t least, std::int64_t most, const char* unit, const char* help) {
        std::int64_t value = static_cast<std::int64_t>(out);
        integer_value(key, value, least, most, unit, help);
        out = static_cast<T>(value);
    }
    template <class D>
    void duration(const char* key, D& out, std::chrono::microseconds least, std::chrono::microseconds most,
                  const char* help) {
        std::optional<std::chrono::microseconds> value = out;
        duration_value(key, value, least, most, D{1}, help);
        out = std::chrono::duration_cast<D>(*value);
    }
    template <class D>
    void duration(const char* key, std::optional<D>& out, std::chrono::microseconds least,
                  std::chrono::microseconds most, const char* help) {
        std::optional<std::chrono::microseconds> value = out;
        duration_value(key, value, least, most, D{1}, help);
        if (value) out = std::chrono::duration_cast<D>(*value);
    }
    template <class E>
    void choice(const char* key, E& out, std::initializer_list<std::pair<const char*, E>> accepted, const char* help) {
        std::vector<const char*> words;
        std::string value;
        for (const auto& [word, choice] : accepted) {
            words.push_back(word);
            if (choice == out) value = word;
        }
        word_value(key, value, words, help);
        for (const auto& [word, choice] : accepted) {
            if (value == word) out = choice;
        }
    }

    /// A map from any name to a word, or to a number.
    void word_map(const char* key, std::map<std::string, std::string>& out, Words names, Words accepted,
                  const char* help);
    /// A map from any name to any text.
    void text_map(const char* key, std::map<std::string, std::string>& out, const char* help);
    void number_map(const char* key, std::map<std::string, double>& out, double least, double most, const char* help);

    template <class T>
    void section(const char* key, T& out, void (*read)(Section&, T&), const char* help) {
        Section inner = open(key, help);
        read(inner, out);
        inner.finish();
    }
    /// A list of sections; a list in the file replaces the default whole.
    template <class T>
    void list(const char* key, std::vector<T>& out, void (*read)(Section&, T&), const char* help) {
        if (describing()) {
            std::vector<Settings> elements;
            for (T& element : out) elements.push_back(describe_element<T>(element, read));
            add_list(key, elements, describe_element<T>(T{}, read), help);
            T sample;
            Section inner(walk_, path_of(key) + "[]", YAML::Node());
            read(inner, sample);
            return;
        }
        std::vector<T> read_elements;
        if (!each_element(key, [&](Section& inner) {
                T element;
                read(inner, element);
                inner.finish();
                read_elements.push_back(std::move(element));
            })) {
            return;
        }
        out = std::move(read_elements);
    }

    /// After the last line: every key of the file that no line asked for becomes an UnknownKey.
    void finish();

  private:
    struct Entry {
        std::string key;
        Position key_at;
        YAML::Node value;
        bool asked = false;
    };
    struct Scalar {
        std::string text;
        Position at;
        bool from_environment = false;
    };

    bool describing() const { return walk_.settings != nullptr; }
    std::string path_of(std::string_view key) const;
    void add(const char* key, std::string type, std::string value, std::string limits, const char* help,
             bool group = false);
    void add_list(const char* key, const std::vector<Settings>& elements, const Settings& defaults, const char* help);
    template <class T>
    static Settings describe_element(T element, void (*read)(Section&, T&)) {
        Settings settings;
        Walk walk;
        walk.settings = &settings;
        Section inner(walk, "", YAML::Node());
        read(inner, element);
        return settings;
    }

    void problem(Position at, std::string message, std::string remedy);
    /// "is "30", not a duration", or without the value where it may be a secret.
    void wrong(const std::string& path, const Scalar& value, const std::string& what, std::string remedy);
    Entry* ask(const char* key);
    std::optional<Scalar> scalar_of(const std::string& path, const YAML::Node& node, Position at, bool secret);
    std::optional<Scalar> scalar(const char* key, bool secret = false);
    std::optional<std::vector<Scalar>> scalars(const char* key, bool secret);
    /// Both call back for each part, each_element also for one that is empty; false = absent or of the wrong kind.
    bool each_entry(const char* key, const std::function<void(const std::string&, const Scalar&)>& callback);
    bool each_element(const char* key, const std::function<void(Section&)>& callback);
    Section open(const char* key, const char* help);

    void word_value(const char* key, std::string& out, const std::vector<const char*>& accepted, const char* help);
    void integer_value(const char* key, std::int64_t& out, std::int64_t least, std::int64_t most, const char* unit,
                       const char* help);
    void duration_value(const char* key, std::optional<std::chrono::microseconds>& out, std::chrono::microseconds least,
                        std::chrono::microseconds most, std::chrono::microseconds step, const char* help);

    Walk& walk_;
    std::string path_;
    std::vector<Entry> entries_;
    std::vector<const char*> known_;
};

}  // namespace sm::config
