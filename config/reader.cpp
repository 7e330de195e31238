#include "config/reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/address.hpp"

namespace sm::config {
namespace {

Position place_of(const YAML::Node& node) {
    const auto mark = node.Mark();
    return mark.is_null() ? Position{} : Position{mark.line + 1, mark.column + 1};
}

/// What a person would call the node.
const char* kind_of(const YAML::Node& node) {
    if (node.IsMap()) return "a mapping";
    if (node.IsSequence()) return "a list";
    return "a single value";
}

std::string quoted(std::string_view text) {
    constexpr std::size_t kShown = 60;
    return "\"" + std::string(text.substr(0, kShown)) + (text.size() > kShown ? "...\"" : "\"");
}

}  // namespace

Section::Section(Walk& walk, std::string path, const YAML::Node& node) : walk_(walk), path_(std::move(path)) {
    if (!node.IsDefined() || node.IsNull()) return;
    if (!node.IsMap()) {
        problem(place_of(node), (path_.empty() ? "the file" : path_) + " is " + kind_of(node) + ", not a mapping",
                "write \"key: value\" lines below it");
        return;
    }
    for (const auto& pair : node) {
        const auto at = place_of(pair.first);
        if (!pair.first.IsScalar()) {
            problem(at, "a key must be a single word", "");
            continue;
        }
        const auto& key = pair.first.Scalar();
        const auto earlier =
            std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.key == key; });
        if (earlier != entries_.end()) {
            problem(at, fmt::format("{} is there twice, first on line {}", path_of(key), earlier->key_at.line),
                    "keep one of the two");
            continue;
        }
        entries_.push_back({key, at, pair.second});
    }
}

void Section::finish() {
    if (describing()) return;
    std::vector<std::string> known;
    for (const auto& entry : known_) known.emplace_back(entry);
    for (const auto& entry : entries_) {
        if (!entry.asked) walk_.unknown.push_back({path_, entry.key, entry.key_at, known});
    }
}

std::string Section::path_of(std::string_view key) const {
    return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

void Section::problem(Position at, std::string message, std::string remedy) {
    walk_.problems.push_back({walk_.file, at.line, at.column, std::move(message), std::move(remedy)});
}

void Section::wrong(const std::string& path, const Scalar& value, const std::string& what, std::string remedy) {
    const auto shown =
        value.from_environment ? std::string("what the environment variable gives") : quoted(redact_uri(value.text));
    problem(value.at, path + ": " + shown + " " + what, std::move(remedy));
}

Section::Entry* Section::ask(const char* key) {
    known_.push_back(key);
    for (auto& entry : entries_) {
        if (entry.key != key) continue;
        entry.asked = true;
        auto at = place_of(entry.value);
        if (entry.value.IsNull() || at.line == 0) at = entry.key_at;
        walk_.places[path_of(key)] = at;
        return &entry;
    }
    return nullptr;
}

Section Section::open(const char* key, const char* help) {
    if (describing()) {
        add(key, "section", "", "", help, true);
        return {walk_, path_of(key), YAML::Node()};
    }
    const Entry* entry = ask(key);
    return {walk_, path_of(key), entry ? entry->value : YAML::Node()};
}

std::optional<Section::Scalar> Section::scalar_of(const std::string& path, const YAML::Node& node, Position at,
                                                  bool secret) {
    const auto tag = node.Tag();
    if (tag.size() > 1 && tag.front() == '!') {
        problem(at, path + " has a YAML tag, which no setting takes", "quote a value that begins with \"!\"");
        return std::nullopt;
    }
    if (node.IsNull()) {
        problem(at, path + " has no value", "write one, or remove the line for the default");
        return std::nullopt;
    }
    if (!node.IsScalar()) {
        problem(at, path + " is " + kind_of(node) + ", not a single value",
                secret ? "quote the value if it begins with \"[\" or \"{\"" : "write one value");
        return std::nullopt;
    }
    auto expansion = expand(node.Scalar(), walk_.environment);
    if (!expansion.error.empty()) {
        problem(at, path + " " + expansion.error, expansion.remedy);
        return std::nullopt;
    }
    return Scalar{std::move(expansion.text), at, expansion.used};
}

std::optional<Section::Scalar> Section::scalar(const char* key, bool secret) {
    const Entry* entry = ask(key);
    if (entry == nullptr) return std::nullopt;
    return scalar_of(path_of(key), entry->value, walk_.places[path_of(key)], secret);
}

std::optional<std::vector<Section::Scalar>> Section::scalars(const char* key, bool secret) {
    const Entry* entry = ask(key);
    if (entry == nullptr) return std::nullopt;
    const auto path = path_of(key);
    std::vector<Scalar> values;
    if (entry->value.IsNull()) return values;
    if (!entry->value.IsSequence()) {
        problem(walk_.places[path], path + " is " + kind_of(entry->value) + ", not a list", "write [one, two]");
        return std::nullopt;
    }
    bool good = true;
    for (std::size_t i = 0; i < entry->value.size(); ++i) {
        const auto item_path = fmt::format("{}[{}]", path, i);
        const auto item = entry->value[i];
        auto value = scalar_of(item_path, item, place_of(item), secret);
        good = good && value;
        if (!value) continue;
        walk_.places[item_path] = value->at;
        values.push_back(std::move(*value));
    }
    if (!good) return std::nullopt;
    return values;
}

bool Section::each_element(const char* key, const std::function<void(Section&)>& callback) {
    const Entry* entry = ask(key);
    if (entry == nullptr) return false;
    const auto path = path_of(key);
    if (entry->value.IsNull()) return true;
    if (!entry->value.IsSequence()) {
        problem(walk_.places[path], path + " is " + kind_of(entry->value) + ", not a list",
                "begin each element with \"- \"");
        return false;
    }
    for (std::size_t i = 0; i < entry->value.size(); ++i) {
        const auto item = entry->value[i];
        const auto item_path = fmt::format("{}[{}]", path, i);
        walk_.places[item_path] = place_of(item);
        if (item.IsNull()) {
            problem(place_of(item), item_path + " is empty", "remove the \"-\"");
        }
        Section inner(walk_, item_path, item);
        callback(inner);
    }
    return true;
}

bool Section::each_entry(const char* key, const std::function<void(const std::string&, const Scalar&)>& callback) {
    const Entry* entry = ask(key);
    if (entry == nullptr) return false;
    const auto path = path_of(key);
    Section inner(walk_, path, entry->value);
    for (const auto& [name, key_at, value, asked] : inner.entries_) {
        const auto inner_path = path + "." + name;
        auto at = place_of(value);
        if (value.IsNull() || at.line == 0) at = key_at;
        walk_.places[inner_path] = at;
        if (const auto scalar = scalar_of(inner_path, value, at, false)) callback(name, *scalar);
    }
    return true;
}

}  // namespace sm::config
