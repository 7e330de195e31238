#include "server/gateways/credentials.hpp"

#include <sodium.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace sm::gateways {

namespace asio = boost::asio;

namespace {

bool blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

std::string_view trim(std::string_view text) {
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return text;
}

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_word(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

bool begins_with(std::string_view text, std::string_view word) {
    return text.size() >= word.size() && same_word(text.substr(0, word.size()), word);
}

bool says(std::string_view text, protocol::Eui64 eui) {
    const auto read = protocol::parse_eui(text);
    return read && *read == eui;
}

/// 16 bytes that name an expensive digest, so that its text need not be kept twice.
std::string hash_of(std::string_view slow_digest) {
    std::string out(16, '\0');
    crypto_generichash(reinterpret_cast<unsigned char*>(out.data()), out.size(),
                       reinterpret_cast<const unsigned char*>(slow_digest.data()), slow_digest.size(), nullptr, 0);
    return out;
}

}  // namespace

const char* to_string(Verdict verdict) noexcept {
    switch (verdict) {
        case Verdict::kOk:
            return "ok";
        case Verdict::kMissing:
            return "missing";
        case Verdict::kAmbiguous:
            return "ambiguous";
        case Verdict::kWrongToken:
            return "wrong_token";
        case Verdict::kNoCertificate:
            return "no_certificate";
        case Verdict::kWrongCertificate:
            return "wrong_certificate";
        case Verdict::kNotProtected:
            return "not_protected";
        case Verdict::kToVerify:
            return "to_verify";
        case Verdict::kBusy:
            return "busy";
    }
    return "?";
}

unsigned http_status(Verdict verdict) noexcept {
    switch (verdict) {
        case Verdict::kOk:
        case Verdict::kToVerify:
            return 0;
        case Verdict::kAmbiguous:
            return 400;
        case Verdict::kMissing:
        case Verdict::kWrongToken:
        case Verdict::kNoCertificate:
            return 401;
        case Verdict::kWrongCertificate:
        case Verdict::kNotProtected:
            return 403;
        case Verdict::kBusy:
            return 503;
    }
    return 401;
}

std::string_view token_in(std::string_view value) noexcept {
    constexpr std::string_view kScheme = "bearer";
    value = trim(value);
    if (!begins_with(value, kScheme)) return value;
    if (value.size() == kScheme.size()) return {};
    return blank(value[kScheme.size()]) ? trim(value.substr(kScheme.size())) : value;
}

std::string_view token_as_written(std::string_view text) noexcept {
    constexpr std::string_view kHeader = "authorization:";
    text = trim(text);
    if (begins_with(text, kHeader)) text.remove_prefix(kHeader.size());
    return token_in(text);
}

bool names_gateway(std::string_view name, protocol::Eui64 eui) {
    name = trim(name);
    if (says(name, eui)) return true;
    if (begins_with(name, "urn:")) return names_gateway(name.substr(name.rfind(':') + 1), eui);
    if (const auto at = name.find('@'); at != std::string_view::npos) return names_gateway(name.substr(0, at), eui);
    if (const auto dot = name.find('.'); dot != std::string_view::npos) return names_gateway(name.substr(0, dot), eui);
    for (const std::string_view prefix : {"eui-", "eui64-", "gw-", "gateway-"}) {
        if (begins_with(name, prefix)) return says(name.substr(prefix.size()), eui);
    }
    return false;
}

Credentials::Credentials(Settings settings, KeyRingPtr keys, Memories& memories, const runtime::Clock& clock)
    : settings_(std::move(settings)), keys_(std::move(keys)), memories_(memories), clock_(clock) {
    thread_.start();
}

Verdict Credentials::check(const Presented& presented, const Record& record) {
    const Verdict verdict = judge(presented, record);
    verdicts_.add(verdict);
    return verdict;
}

Verdict Credentials::judge(const Presented& presented, const Record& record) {
    using Kind = CredentialRule::Kind;
    const Kind kind = record.credential.kind;
    if (kind == Kind::kNone) return settings_.require_credentials ? Verdict::kNotProtected : Verdict::kOk;
    if (kind == Kind::kCertificate || kind == Kind::kBoth) {
        if (!presented.certificate) return Verdict::kNoCertificate;
        const auto& names = presented.certificate->names;
        if (std::none_of(names.begin(), names.end(),
                         [&](const auto& name) { return names_gateway(name, record.eui); })) {
            return Verdict::kWrongCertificate;
        }
        if (kind == Kind::kCertificate) return Verdict::kOk;
    }
    return judge_token(presented, record);
}

/// Every configured header may carry a token; the same header twice with two different ones is refused.
Credentials::Token Credentials::find_token(const Presented& presented) const {
    Token token;
    for (const std::string& wanted : settings_.token_headers) {
        std::optional<std::string_view> seen;
        for (const auto& [name, value] : presented.headers) {
            if (!same_word(name, wanted)) continue;
            const std::string_view found = token_in(value);
            if (seen && *seen != found) return {Verdict::kAmbiguous, {}};
            seen = found;
        }
        if (seen && !seen->empty()) token.values.push_back(*seen);
    }
    if (!token.values.empty()) token.verdict = Verdict::kOk;
    return token;
}

Verdict Credentials::judge_token(const Presented& presented, const Record& record) {
    const Token token = find_token(presented);
    if (token.verdict != Verdict::kOk) return token.verdict;
    const CredentialRule& rule = record.credential;
    bool match = false;
    for (const std::string_view value : token.values) {
        for (const std::string& digest : rule.token_digests) match |= keys_->matches(digest, value);
    }
    if (match) return Verdict::kOk;
    if (rule.slow_digests.empty()) return Verdict::kWrongToken;

    const MemoryPtr memory = memories_.recall(record.eui);
    for (const std::string& slow : rule.slow_digests) {
        const std::string name = hash_of(slow);
        for (std::size_t i = 0; memory && i < memory->verified.size(); ++i) {
            if (memory->verified[i].slow_digest_hash != name) continue;
            for (const std::string_view value : token.values)
                match |= keys_->matches(memory->verified[i].token_digest, value);
        }
    }
    if (match) return Verdict::kOk;
    const bool hopeless = std::all_of(token.values.begin(), token.values.end(),
                                      [&](std::string_view value) { return known_wrong(trial_of(value, record)); });
    return hopeless ? Verdict::kWrongToken : Verdict::kToVerify;
}

Verdict Credentials::verify_slowly(const Presented& presented, const Record& record) {
    const Token tokens = find_token(presented);
    for (const std::string_view token : tokens.values) {
        for (const std::string& slow : record.credential.slow_digests) {
            if (crypto_pwhash_str_verify(slow.c_str(), token.data(), token.size()) != 0) continue;
            VerifiedToken verified{hash_of(slow), keys_->digest(token)};
            memories_.learn(record.eui, [&](Memory& memory) {
                std::erase_if(memory.verified,
                              [&](const auto& old) { return old.slow_digest_hash == verified.slow_digest_hash; });
                memory.verified.push_back(std::move(verified));
            });
            return Verdict::kOk;
        }
        remember_wrong(trial_of(token, record));
    }
    return Verdict::kWrongToken;
}

runtime::Task<Verdict> Credentials::verify(Presented presented, RecordPtr record) {
    const Verdict quick = judge(presented, *record);
    if (quick != Verdict::kToVerify) co_return quick;
    {
        const std::lock_guard lock(mutex_);
        if (verifying_ >= kMaxVerifying) {
            verdicts_.add(Verdict::kBusy);
            co_return Verdict::kBusy;
        }
        ++verifying_;
    }
    struct Job {
        static runtime::Task<Verdict> run(Credentials& self, Presented shown, RecordPtr wanted) {
            // Another connection of the same gateway may have been verified while this one was in line.
            Verdict verdict = self.judge(shown, *wanted);
            if (verdict == Verdict::kToVerify) verdict = self.verify_slowly(shown, *wanted);
            const std::lock_guard lock(self.mutex_);
            --self.verifying_;
            co_return verdict;
        }
    };
    auto job = Job::run(*this, std::move(presented), std::move(record));
    const Verdict verdict = co_await asio::co_spawn(thread_.executor(), std::move(job), asio::use_awaitable);
    verdicts_.add(verdict);
    co_return verdict;
}

/// A token tried for one gateway under one set of expensive digests, without the token.
std::string Credentials::trial_of(std::string_view token, const Record& record) const {
    std::string all = protocol::to_hex(record.eui);
    for (const std::string& slow : record.credential.slow_digests) all += hash_of(slow);
    all += token;
    return keys_->digest(all);
}

bool Credentials::known_wrong(const std::string& trial) {
    const std::lock_guard lock(mutex_);
    const auto it = wrong_.find(trial);
    return it != wrong_.end() && clock_.now().steady < it->second;
}

void Credentials::remember_wrong(const std::string& trial) {
    const std::lock_guard lock(mutex_);
    const protocol::Instant now = clock_.now().steady;
    if (wrong_.size() >= kMaxWrong) std::erase_if(wrong_, [now](const auto& entry) { return entry.second <= now; });
    if (wrong_.size() >= kMaxWrong) wrong_.erase(wrong_.begin());
    wrong_[trial] = now + kWrongFor;
}

void Credentials::report(metrics::Page& page) const {
    page.counters("credentials_total", "What became of the credentials that gateways showed.", "result", verdicts_);
}

}  // namespace sm::gateways
