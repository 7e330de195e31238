#include "config/load.hpp"

#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "config/address.hpp"
#include "config/describe.hpp"
#include "config/settings.hpp"
#include "config/suggest.hpp"
#include "config/validate.hpp"

namespace sm::config {
namespace {

std::string host_name() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "stationmaster";
    return name.data();
}

Config bare_defaults() {
    Config config;
    config.listen.gateways.resize(2);
    config.listen.gateways[0].address = "127.0.0.1:8886";
    config.listen.gateways[0].tls = false;
    config.listen.gateways[1].address = "127.0.0.1:8887";
    return config;
}

/// `mqtts://user:password@broker` becomes username, password and `mqtts://broker`, so that URIs can be logged.
void take_user_info(MqttTarget& target) {
    for (auto& text : target.uris) {
        const auto uri = parse_uri(text);
        if (!uri || uri->user_info.empty()) continue;
        const auto colon = uri->user_info.find(':');
        const auto user = percent_decode(uri->user_info.substr(0, colon));
        const auto password =
            colon == std::string::npos ? std::string() : percent_decode(uri->user_info.substr(colon + 1));
        if (!user || !password || !target.username.empty()) continue;
        target.username = *user;
        target.password.value = *password;
    }
    for (auto& text : target.uris) {
        if (const auto uri = parse_uri(text); uri && !uri->user_info.empty()) {
            text.erase(uri->scheme.size() + 3, uri->user_info.size() + 1);
        }
    }
}

/// What is derived from other settings; after validation, which speaks of the file as it is written.
void complete(Config& config) {
    if (config.instance.id.empty()) config.instance.id = host_name();
    auto& upstream = config.upstream;
    if (upstream.kind == "mqtt" && upstream.targets.empty() && !upstream.uri.empty()) {
        upstream.targets.emplace_back();
        upstream.targets.back().uris = {upstream.uri};
    }
    for (auto& target : upstream.targets) {
        if (target.topic_prefix.empty()) target.topic_prefix = upstream.topic_prefix;
        take_user_info(target);
    }
}

/// "did you mean …", or where else the key belongs.
std::string remedy_for(const UnknownKey& unknown) {
    const auto near = nearest(unknown.key, unknown.known);
    if (!near.empty()) return "did you mean " + near + "?";
    std::string homes;
    for (const auto& setting : describe(bare_defaults())) {
        if (!setting.path.ends_with("." + unknown.key)) continue;
        homes += (homes.empty() ? "" : " or ") + setting.path;
    }
    if (!homes.empty()) return "there is " + homes;
    std::string list;
    for (const auto& key : unknown.known) list += (list.empty() ? "" : ", ") + key;
    return "known here: " + list;
}

/// yaml-cpp puts names of anchors and tags into its messages; an unquoted password may look like one.
std::string syntax_message(const YAML::Exception& error) {
    const auto& message = error.msg;
    return message.substr(0, message.find(": "));
}

Loaded failed(const std::string& file, Position at, std::string message, std::string remedy) {
    Loaded loaded;
    loaded.file = file;
    loaded.errors.push_back({file, at.line, at.column, std::move(message), std::move(remedy)});
    return loaded;
}

}  // namespace

Config defaults() {
    Config config = bare_defaults();
    complete(config);
    return config;
}

Loaded load_text(std::string_view text, const std::string& file, const Environment& environment) {
    std::vector<YAML::Node> documents;
    try {
        documents = YAML::LoadAll(std::string(text));
    } catch (const YAML::Exception& error) {
        const Position at = error.mark.is_null() ? Position{} : Position{error.mark.line + 1, error.mark.column + 1};
        return failed(file, at, "this is not YAML: " + syntax_message(error),
                      "check indentation and quotes; quote values with special characters");
    }
    if (documents.size() > 1) {
        const auto mark = documents[1].Mark();
        return failed(file, {mark.line + 1, mark.column + 1}, "there is a second YAML document",
                      "keep one; remove the \"---\"");
    }
    Loaded loaded;
    loaded.file = file;
    loaded.config = bare_defaults();
    Walk walk;
    walk.file = file;
    walk.environment = environment;
    Section root(walk, "", documents.empty() ? YAML::Node() : documents.front());
    walk_settings(root, loaded.config);
    root.finish();
    for (const auto& unknown : walk.unknown) {
        const auto where = unknown.section.empty() ? unknown.key : unknown.section + "." + unknown.key;
        walk.problems.push_back(
            {file, unknown.at.line, unknown.at.column, where + ": there is no such key", remedy_for(unknown)});
    }
    loaded.errors = std::move(walk.problems);
    loaded.places = std::move(walk.places);
    validate(loaded);
    complete(loaded.config);
    sort_by_place(loaded.errors);
    sort_by_place(loaded.warnings);
    return loaded;
}

Loaded load(const std::string& path, const Environment& environment) {
    if (path.empty()) {
        Loaded loaded;
        loaded.config = defaults();
        return loaded;
    }
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))
        return failed(path, {}, "is a folder, not a file", "name the file");
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        const std::string reason = std::strerror(errno);
        return failed(path, {}, "cannot be read: " + reason, "check the path and the permissions");
    }
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    return load_text(text, path, environment);
}

}  // namespace sm::config
