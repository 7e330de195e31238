// The typed lines of Section: one function per kind of value, each able to read and to describe.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config/address.hpp"
#include "config/reader.hpp"
#include "config/units.hpp"

namespace sm::config {
namespace {

std::string joined(const std::vector<const char*>& words, const char* separator) {
    return fmt::format("{}", fmt::join(words, separator));
}

std::string flow(const std::vector<std::string>& items) {
    return fmt::format("[{}]", fmt::join(items, ", "));
}

}  // namespace

void Section::add(const char* key, std::string type, std::string value, std::string limits, const char* help,
                  bool group) {
    walk_.settings->push_back({path_of(key), std::move(type), std::move(value), std::move(limits), help, group});
}

void Section::add_list(const char* key, const std::vector<Settings>& elements, const Settings& defaults,
                       const char* help) {
    std::vector<std::string> shown;
    for (const auto& element : elements) {
        std::vector<std::string> parts;
        for (std::size_t i = 0; i < element.size() && i < defaults.size(); ++i) {
            const bool always = i == 0;
            if (element[i].group || (!always && element[i].value == defaults[i].value)) continue;
            parts.push_back(element[i].path + ": " + element[i].value);
        }
        shown.push_back(fmt::format("{{{}}}", fmt::join(parts, ", ")));
    }
    add(key, "list", flow(shown), "", help, true);
}

void Section::text(const char* key, std::string& out, const char* help) {
    if (describing()) return add(key, "text", out, "", help);
    if (auto value = scalar(key)) out = std::move(value->text);
}

void Section::uri(const char* key, std::string& out, const char* help) {
    if (describing()) return add(key, "uri", redact_uri(out), "", help);
    if (auto value = scalar(key)) out = std::move(value->text);
}

void Section::text_list(const char* key, std::vector<std::string>& out, const char* help) {
    if (describing()) return add(key, "list of texts", flow(out), "", help);
    if (auto values = scalars(key, false)) {
        out.clear();
        for (auto& value : *values) out.push_back(std::move(value.text));
    }
}

void Section::uri_list(const char* key, std::vector<std::string>& out, const char* help) {
    if (!describing()) return text_list(key, out, help);
    std::vector<std::string> shown;
    for (const auto& uri : out) shown.push_back(redact_uri(uri));
    add(key, "list of uris", flow(shown), "", help);
}

void Section::secret(const char* key, Secret& out, const char* help) {
    if (describing()) return add(key, "secret", out.empty() ? "" : "[secret]", "", help);
    if (auto value = scalar(key, true)) out.value = std::move(value->text);
}

void Section::secret_list(const char* key, std::vector<Secret>& out, const char* help) {
    if (describing())
        return add(key, "list of secrets", flow(std::vector<std::string>(out.size(), "[secret]")), "", help);
    if (auto values = scalars(key, true)) {
        out.clear();
        for (auto& value : *values) out.push_back(Secret{std::move(value.text)});
    }
}

void Section::word(const char* key, std::string& out, Words accepted, const char* help) {
    word_value(key, out, accepted, help);
}

void Section::word_value(const char* key, std::string& out, const std::vector<const char*>& accepted,
                         const char* help) {
    if (describing()) return add(key, joined(accepted, " | "), out, "", help);
    const auto value = scalar(key);
    if (!value) return;
    if (std::find(accepted.begin(), accepted.end(), value->text) == accepted.end()) {
        return wrong(path_of(key), *value, "is not one of the words it takes", "write " + joined(accepted, ", "));
    }
    out = value->text;
}

void Section::flag(const char* key, bool& out, const char* help) {
    if (describing()) return add(key, "true | false", out ? "true" : "false", "", help);
    const auto value = scalar(key);
    if (!value) return;
    const auto flag = parse_flag(value->text);
    if (!flag) return wrong(path_of(key), *value, "is neither true nor false", "write true or false");
    out = *flag;
}

void Section::number(const char* key, double& out, double least, double most, const char* help) {
    const auto limits = fmt::format("{} to {}", least, most);
    if (describing()) return add(key, "number", format_number(out), limits, help);
    const auto value = scalar(key);
    if (!value) return;
    const auto number = parse_number(value->text);
    if (!number) return wrong(path_of(key), *value, "is not a number", "write a number from " + limits);
    if (*number < least || *number > most)
        return wrong(path_of(key), *value, "is out of range", "write a number from " + limits);
    out = *number;
}

void Section::integer_value(const char* key, std::int64_t& out, std::int64_t least, std::int64_t most, const char* unit,
                            const char* help) {
    const auto limits = fmt::format("{} to {}", least, most);
    if (describing()) {
        return add(key, *unit == '\0' ? "integer" : fmt::format("integer, {}", unit), std::to_string(out), limits,
                   help);
    }
    const auto value = scalar(key);
    if (!value) return;
    const auto number = parse_integer(value->text);
    if (!number) return wrong(path_of(key), *value, "is not a whole number", "write a whole number from " + limits);
    if (*number < least || *number > most)
        return wrong(path_of(key), *value, "is out of range", "write a number from " + limits);
    out = *number;
}

void Section::size(const char* key, std::size_t& out, std::uint64_t least, std::uint64_t most, const char* help) {
    const auto limits = fmt::format("{} to {}", format_size(least), format_size(most));
    if (describing()) return add(key, "size, bytes", format_size(out), limits, help);
    const auto value = scalar(key);
    if (!value) return;
    const auto bytes = parse_size(value->text);
    if (!bytes) return wrong(path_of(key), *value, "is not a size", "write bytes as 65536, 64KiB or 1MiB");
    if (*bytes < least || *bytes > most)
        return wrong(path_of(key), *value, "is out of range", "write a size from " + limits);
    out = static_cast<std::size_t>(*bytes);
}

void Section::duration_value(const char* key, std::optional<std::chrono::microseconds>& out,
                             std::chrono::microseconds least, std::chrono::microseconds most,
                             std::chrono::microseconds step, const char* help) {
    const auto limits = fmt::format("{} to {}", format_duration(least), format_duration(most));
    if (describing()) return add(key, "duration", out ? format_duration(*out) : "", limits, help);
    const auto value = scalar(key);
    if (!value) return;
    const auto duration = parse_duration(value->text);
    if (!duration) {
        const bool bare = parse_number(value->text).has_value();
        return wrong(path_of(key), *value, bare ? "has no unit" : "is not a duration",
                     "write it as 250ms, 30s, 2m or 1h");
    }
    if (*duration < least || *duration > most) {
        return wrong(path_of(key), *value, "is out of range", "write a duration from " + limits);
    }
    if (duration->count() % step.count() != 0) {
        return wrong(path_of(key), *value, "is finer than this setting",
                     "write whole " + std::string(step >= std::chrono::seconds{1} ? "seconds" : "milliseconds"));
    }
    out = duration;
}

void Section::word_map(const char* key, std::map<std::string, std::string>& out, Words names, Words accepted,
                       const char* help) {
    const std::vector<const char*> words(accepted);
    if (describing()) {
        std::vector<std::string> shown;
        for (const auto& [name, word] : out) shown.push_back(name + ": " + word);
        return add(key, "map of name: " + joined(words, " | "), fmt::format("{{{}}}", fmt::join(shown, ", ")),
                   "names: " + joined(names, ", "), help);
    }
    std::map<std::string, std::string> read;
    const bool there = each_entry(key, [&](const std::string& name, const Scalar& value) {
        const auto path = path_of(key) + "." + name;
        if (std::find_if(names.begin(), names.end(), [&](const char* known) { return name == known; }) == names.end()) {
            return problem(value.at, path + ": there is no such name", "write " + joined(names, ", "));
        }
        if (std::find(words.begin(), words.end(), value.text) == words.end()) {
            return wrong(path, value, "is not one of the words it takes", "write " + joined(words, ", "));
        }
        read[name] = value.text;
    });
    if (there) out = std::move(read);
}

void Section::text_map(const char* key, std::map<std::string, std::string>& out, const char* help) {
    if (describing()) {
        std::vector<std::string> shown;
        for (const auto& [name, text] : out) shown.push_back(name + ": " + text);
        return add(key, "map of name: text", fmt::format("{{{}}}", fmt::join(shown, ", ")), "", help);
    }
    std::map<std::string, std::string> read;
    if (each_entry(key, [&](const std::string& name, const Scalar& value) { read[name] = value.text; })) {
        out = std::move(read);
    }
}

void Section::number_map(const char* key, std::map<std::string, double>& out, double least, double most,
                         const char* help) {
    const auto limits = fmt::format("{} to {}", least, most);
    if (describing()) {
        std::vector<std::string> shown;
        for (const auto& [name, number] : out) shown.push_back(name + ": " + format_number(number));
        return add(key, "map of name: number", fmt::format("{{{}}}", fmt::join(shown, ", ")), limits, help);
    }
    std::map<std::string, double> read;
    const bool there = each_entry(key, [&](const std::string& name, const Scalar& value) {
        const auto number = parse_number(value.text);
        if (!number || *number < least || *number > most) {
            return wrong(path_of(key) + "." + name, value, "is not a number in range", "write a number from " + limits);
        }
        read[name] = *number;
    });
    if (there) out = std::move(read);
}

}  // namespace sm::config
