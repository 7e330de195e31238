#include "server/gateways/record_json.hpp"

#include <boost/json.hpp>
#include <cmath>
#include <stdexcept>
#include <unordered_map>

#include "server/gateways/token_list.hpp"

namespace sm::gateways {

namespace json = boost::json;

namespace {

constexpr std::size_t kMaxTags = 64, kMaxText = 1024, kMaxTokens = 16;

/// Why a record is refused; stays inside this file.
struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

SourceAnswer error(std::string text) {
    return {SourceAnswer::Kind::kError, nullptr, std::move(text)};
}

const json::value* member(const json::object& object, std::string_view name) {
    const json::value* value = object.if_contains(name);
    return value != nullptr && !value->is_null() ? value : nullptr;
}

std::string text(const json::object& object, std::string_view name) {
    const json::value* value = member(object, name);
    if (value == nullptr) return {};
    if (!value->is_string()) throw Refused(std::string(name) + " is not a text");
    if (value->get_string().size() > kMaxText) throw Refused(std::string(name) + " is too long");
    return std::string(value->get_string());
}

bool flag(const json::object& object, std::string_view name) {
    const json::value* value = member(object, name);
    if (value == nullptr) return false;
    if (!value->is_bool()) throw Refused(std::string(name) + " is not true or false");
    return value->get_bool();
}

double number(const json::object& object, std::string_view name, double least, double most) {
    const json::value* value = member(object, name);
    if (value == nullptr) return 0;
    boost::system::error_code ec;
    const auto number = value->is_number() ? value->to_number<double>(ec) : std::nan("");
    if (!(number >= least && number <= most)) throw Refused(std::string(name) + " is not a number in range");
    return number;
}

const json::object* object(const json::object& outer, std::string_view name) {
    const json::value* value = member(outer, name);
    if (value == nullptr) return nullptr;
    if (!value->is_object()) throw Refused(std::string(name) + " is not an object");
    return &value->get_object();
}

const json::array& list(const json::object& outer, std::string_view name) {
    static const json::array kEmpty;
    const json::value* value = member(outer, name);
    if (value == nullptr) return kEmpty;
    if (!value->is_array()) throw Refused(std::string(name) + " is not a list");
    return value->get_array();
}

void read_tokens(const json::object& credential, std::string_view name, CredentialRule& rule, const KeyRing& keys) {
    const json::array& tokens = list(credential, name);
    if (tokens.size() > kMaxTokens) throw Refused(std::string(name) + " has too many entries");
    for (const json::value& token : tokens) {
        if (!token.is_string()) throw Refused(std::string(name) + " has something that is not a text");
        std::string written(token.get_string());
        if (name == "token_digests" && !written.starts_with("$") && !written.starts_with("blake2b:")) {
            written.insert(0, "blake2b:");
        }
        if (!add_token(rule, written, keys))
            throw Refused(std::string(name) + " has something that is no token or digest");
    }
}

CredentialRule read_credential(const json::object& record, const KeyRing& keys) {
    CredentialRule rule;
    const json::object* credential = object(record, "credential");
    if (credential == nullptr) return rule;
    read_tokens(*credential, "tokens", rule, keys);
    read_tokens(*credential, "token_digests", rule, keys);
    const bool tokens = !rule.token_digests.empty() || !rule.slow_digests.empty();
    const std::string kind = text(*credential, "kind");
    if (kind.empty()) {
        rule.kind = tokens ? CredentialRule::Kind::kToken : CredentialRule::Kind::kNone;
    } else if (!parse_kind(kind, rule.kind)) {
        throw Refused("credential.kind is none of none, token, certificate, both");
    }
    return rule;
}

RecordPtr read_object(const json::object& in, const KeyRing& keys, const std::string& default_tenant) {
    auto record = std::make_shared<Record>();
    const auto eui = protocol::parse_eui(text(in, "eui"));
    if (!eui) throw Refused("eui is missing or not an EUI");
    record->eui = *eui;
    record->tenant = text(in, "tenant");
    if (record->tenant.empty()) record->tenant = default_tenant;
    record->plan = text(in, "plan");
    record->antenna_gain_db = static_cast<float>(number(in, "antenna_gain", -30, 60));
    if (const json::object* position = object(in, "position")) {
        record->position =
            Record::Position{number(*position, "latitude", -90, 90), number(*position, "longitude", -180, 180),
                             number(*position, "altitude", -1000, 20000)};
    }
    if (const json::object* permissions = object(in, "permissions")) {
        record->allow_rmtsh = flag(*permissions, "rmtsh");
        record->allow_runcmd = flag(*permissions, "runcmd");
    }
    record->credential = read_credential(in, keys);
    if (const json::object* tags = object(in, "tags")) {
        if (tags->size() > kMaxTags) throw Refused("tags has too many entries");
        for (const auto& tag : *tags) record->tags.emplace_back(tag.key(), text(*tags, tag.key()));
    }
    return record;
}

}  // namespace

SourceAnswer read_record(const json::value& value, const KeyRing& keys, const std::string& default_tenant) {
    if (!value.is_object()) return error("a gateway is not an object");
    try {
        return {SourceAnswer::Kind::kFound, read_object(value.get_object(), keys, default_tenant), {}};
    } catch (const Refused& refused) {
        return error(refused.what());
    }
}

SourceAnswer read_single(std::string_view body, protocol::Eui64 asked, const KeyRing& keys,
                         const std::string& default_tenant) {
    boost::system::error_code ec;
    const json::value value = json::parse(body, ec);
    if (ec) return error("the answer is not JSON");
    SourceAnswer answer = read_record(value, keys, default_tenant);
    if (answer.kind == SourceAnswer::Kind::kFound && answer.record->eui != asked)
        return error("the answer is about another EUI");
    return answer;
}

std::vector<SourceAnswer> read_batch(std::string_view body, const std::vector<protocol::Eui64>& asked,
                                     const KeyRing& keys, const std::string& default_tenant) {
    const auto all = [&](const char* why) { return std::vector<SourceAnswer>(asked.size(), error(why)); };
    boost::system::error_code ec;
    const json::value value = json::parse(body, ec);
    if (ec || !value.is_object()) return all("the answer is not a JSON object");

    std::unordered_map<protocol::Eui64, SourceAnswer> answers;
    try {
        for (const json::value& one : list(value.get_object(), "gateways")) {
            SourceAnswer answer = read_record(one, keys, default_tenant);
            if (answer.kind == SourceAnswer::Kind::kFound) {
                const protocol::Eui64 eui = answer.record->eui;
                answers[eui] = std::move(answer);
            } else if (one.is_object()) {
                const auto eui = protocol::parse_eui(text(one.get_object(), "eui"));
                if (eui) answers[*eui] = std::move(answer);
            }
        }
        for (const json::value& one : list(value.get_object(), "unknown")) {
            const auto eui =
                one.is_string() ? protocol::parse_eui(std::string_view(one.get_string()))
                                : protocol::Result<protocol::Eui64>(protocol::make_error_code(protocol::Errc::kBadEui));
            if (eui) answers.try_emplace(*eui, SourceAnswer{SourceAnswer::Kind::kUnknown, nullptr, {}});
        }
    } catch (const Refused& refused) {
        return all(refused.what());
    }
    std::vector<SourceAnswer> out;
    out.reserve(asked.size());
    for (const protocol::Eui64 eui : asked) {
        const auto it = answers.find(eui);
        out.push_back(it != answers.end() ? it->second : error("the answer does not mention this EUI"));
    }
    return out;
}

std::string batch_question(const std::vector<protocol::Eui64>& euis) {
    json::array list;
    for (const protocol::Eui64 eui : euis) list.emplace_back(protocol::to_hex(eui));
    return json::serialize(json::object{{"euis", std::move(list)}});
}

}  // namespace sm::gateways
