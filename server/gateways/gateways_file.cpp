#include "server/gateways/gateways_file.hpp"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <optional>
#include <unordered_map>

#include "config/reader.hpp"
#include "config/suggest.hpp"
#include "server/gateways/token_list.hpp"

namespace sm::gateways {

namespace {

using config::Section;

// What the file says of one gateway, before it is checked.
struct Position {
    std::optional<double> latitude, longitude;
    double altitude = 0;
};
struct Permissions {
    bool rmtsh = false, runcmd = false;
};
struct Credential {
    std::string kind;
    std::vector<config::Secret> tokens, token_digests;
};
struct Entry {
    std::string eui, tenant, plan;
    double antenna_gain = 0;
    Position position;
    Permissions permissions;
    config::Secret token;
    Credential credential;
    std::map<std::string, std::string> tags;
};
struct File {
    std::vector<Entry> gateways;
};

constexpr double kUnset = 1000;

void read_position(Section& s, Position& out) {
    double latitude = kUnset, longitude = kUnset;
    s.number("latitude", latitude, -90, 90, "Degrees north.");
    s.number("longitude", longitude, -180, 180, "Degrees east.");
    s.number("altitude", out.altitude, -1000, 20000, "Metres above sea level.");
    if (latitude != kUnset) out.latitude = latitude;
    if (longitude != kUnset) out.longitude = longitude;
}

void read_permissions(Section& s, Permissions& out) {
    s.flag("rmtsh", out.rmtsh, "Remote shell sessions are allowed.");
    s.flag("runcmd", out.runcmd, "Commands may be run.");
}

void read_credential(Section& s, Credential& out) {
    s.word("kind", out.kind, {"none", "token", "certificate", "both"}, "What the gateway must show.");
    s.secret_list("tokens", out.tokens, "Valid tokens, in clear text or as digest.");
    s.secret_list("token_digests", out.token_digests, "Digests of valid tokens: hex, or \"$argon2id$...\".");
}

void read_entry(Section& s, Entry& out) {
    s.text("eui", out.eui, "The gateway's EUI in any spelling.");
    s.text("tenant", out.tenant, "Whose gateway it is.");
    s.text("plan", out.plan, "Channel plan; empty = the default one.");
    s.number("antenna_gain", out.antenna_gain, -30, 60, "dBi, taken off the transmit power.");
    s.section("position", out.position, read_position, "Where the antenna is.");
    s.section("permissions", out.permissions, read_permissions, "What the gateway may be asked to do.");
    s.secret("token", out.token, "Short for credential.tokens with one token.");
    s.section("credential", out.credential, read_credential, "What the gateway must show to be let in.");
    s.text_map("tags", out.tags, "Names and values passed on with its events.");
}

/// Turns entries into records; knows where each stands.
class Checker {
  public:
    Checker(config::Walk& walk, const KeyRing& keys, const std::string& default_tenant)
        : walk_(walk), keys_(keys), default_tenant_(default_tenant) {}

    RecordPtr check(const Entry& entry, std::size_t index) {
        base_ = fmt::format("gateways[{}]", index);
        auto record = std::make_shared<Record>();
        read_eui(entry, *record);
        record->tenant = entry.tenant.empty() ? default_tenant_ : entry.tenant;
        record->plan = entry.plan;
        record->antenna_gain_db = static_cast<float>(entry.antenna_gain);
        if (entry.position.latitude && entry.position.longitude) {
            record->position =
                Record::Position{*entry.position.latitude, *entry.position.longitude, entry.position.altitude};
        } else if (written(".position.latitude") != written(".position.longitude")) {
            problem(".position", "has only one of latitude and longitude", "write both");
        }
        record->allow_rmtsh = entry.permissions.rmtsh;
        record->allow_runcmd = entry.permissions.runcmd;
        read_credential_of(entry, record->credential);
        record->tags.assign(entry.tags.begin(), entry.tags.end());
        return record;
    }

  private:
    bool written(const std::string& path) const { return walk_.places.contains(base_ + path); }
    config::Position place(const std::string& path) const {
        for (std::string at = base_ + path;; at.resize(at.rfind('.'))) {
            if (const auto it = walk_.places.find(at); it != walk_.places.end()) return it->second;
            if (at.rfind('.') == std::string::npos) return {};
        }
    }
    void problem(const std::string& path, const std::string& what, const std::string& remedy) {
        const config::Position at = place(path);
        walk_.problems.push_back({walk_.file, at.line, at.column, base_ + path + " " + what, remedy});
    }

    void read_eui(const Entry& entry, Record& record) {
        const auto eui = protocol::parse_eui(entry.eui);
        if (entry.eui.empty()) return problem("", "has no eui", "write eui: 16 hex digits");
        if (!eui) return problem(".eui", "is not an EUI", "write 16 hex digits, or eight pairs with dashes, in quotes");
        record.eui = *eui;
        const int line = place(".eui").line;
        if (const auto [it, fresh] = lines_.emplace(*eui, line); !fresh) {
            problem(".eui", fmt::format("({}) is there twice, first on line {}", protocol::to_hex(*eui), it->second),
                    "keep one of the two");
        }
    }

    void read_credential_of(const Entry& entry, CredentialRule& rule) {
        if (!entry.token.empty()) add(rule, ".token", entry.token);
        for (const auto& token : entry.credential.tokens) add(rule, ".credential.tokens", token);
        for (const auto& digest : entry.credential.token_digests) {
            const bool slow = digest.value.starts_with("$argon2");
            if (!slow && !KeyRing::parse_digest(digest.value)) {
                problem(".credential.token_digests", "has something that is no digest",
                        "write 64 or 72 hex digits, or \"$argon2id$...\"");
            } else {
                add(rule, ".credential.token_digests", config::Secret{slow ? digest.value : "blake2b:" + digest.value});
            }
        }
        const bool tokens = !rule.token_digests.empty() || !rule.slow_digests.empty();
        using Kind = CredentialRule::Kind;
        if (entry.credential.kind.empty()) {
            rule.kind = tokens ? Kind::kToken : Kind::kNone;
        } else if (!parse_kind(entry.credential.kind, rule.kind)) {
            return;  // the reader has said so
        }
        const bool wants = rule.kind == Kind::kToken || rule.kind == Kind::kBoth;
        if (wants && !tokens) problem(".credential", "asks for a token but has none", "add credential.tokens");
        if (!wants && tokens)
            problem(".credential.kind", "does not ask for the token that is there", "write kind: token");
    }

    void add(CredentialRule& rule, const std::string& path, const config::Secret& token) {
        if (add_token(rule, token.value, keys_)) return;
        problem(path, "has something that is neither a token nor a digest",
                "write the token, \"blake2b:\" and hex digits, or \"$argon2id$...\"");
    }

    config::Walk& walk_;
    const KeyRing& keys_;
    const std::string& default_tenant_;
    std::string base_;
    std::unordered_map<protocol::Eui64, int> lines_;
};

GatewaysFile refused(const std::string& file, config::Position at, std::string what, std::string remedy) {
    GatewaysFile out;
    out.problems.push_back({file, at.line, at.column, std::move(what), std::move(remedy)});
    return out;
}

}  // namespace

GatewaysFile read_gateways(std::string_view text, const std::string& file, const KeyRing& keys,
                           const std::string& default_tenant, const config::Environment& environment) {
    std::vector<YAML::Node> documents;
    try {
        documents = YAML::LoadAll(std::string(text));
    } catch (const YAML::Exception& error) {
        const auto at =
            error.mark.is_null() ? config::Position{} : config::Position{error.mark.line + 1, error.mark.column + 1};
        // What follows a colon in yaml-cpp's messages is a piece of the file, perhaps of a token.
        return refused(file, at, "this is not YAML: " + error.msg.substr(0, error.msg.find(": ")),
                       "check indentation and quotes");
    }
    if (documents.empty() || documents.front().IsNull()) {
        return refused(file, {}, "is empty", "write \"gateways: []\" if there are none");
    }
    if (documents.size() > 1) {
        const auto mark = documents[1].Mark();
        return refused(file, {mark.line + 1, mark.column + 1}, "there is a second YAML document",
                       "keep one; remove the \"---\"");
    }
    config::Walk walk;
    walk.file = file;
    walk.environment = environment;
    Section root(walk, "", documents.front());
    File read;
    root.list("gateways", read.gateways, read_entry, "The registered gateways.");
    root.finish();
    if (documents.front().IsMap() && !walk.places.contains("gateways")) {
        walk.problems.push_back(
            {file, 1, 0, "there is no list \"gateways\"", "write \"gateways:\" and one \"- eui: ...\" for each"});
    }
    for (const auto& unknown : walk.unknown) {
        const auto near = config::nearest(unknown.key, unknown.known);
        walk.problems.push_back(
            {file, unknown.at.line, unknown.at.column,
             (unknown.section.empty() ? "" : unknown.section + ".") + unknown.key + ": there is no such key",
             near.empty() ? "remove it" : "did you mean " + near + "?"});
    }
    GatewaysFile out;
    Checker checker(walk, keys, default_tenant);
    for (std::size_t i = 0; i < read.gateways.size(); ++i) out.records.push_back(checker.check(read.gateways[i], i));
    out.problems = std::move(walk.problems);
    config::sort_by_place(out.problems);
    return out;
}

}  // namespace sm::gateways
