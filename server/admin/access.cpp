#include "server/admin/access.hpp"

#include <sodium.h>

#include <algorithm>
#include <stdexcept>

namespace sm::admin {
namespace {

constexpr std::string_view kScheme = "bearer ";

char to_lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

/// The token of "Bearer <token>", the scheme in any case; empty when it is something else.
std::string_view token_of(std::string_view authorization) {
    if (authorization.size() <= kScheme.size() ||
        !std::equal(kScheme.begin(), kScheme.end(), authorization.begin(),
                    [](char want, char have) { return want == to_lower(have); })) {
        return {};
    }
    authorization.remove_prefix(kScheme.size());
    authorization.remove_prefix(std::min(authorization.find_first_not_of(' '), authorization.size()));
    return authorization.substr(0, authorization.find_last_not_of(' ') + 1);
}

}  // namespace

const char* to_string(Role role) noexcept {
    switch (role) {
        case Role::kReader:
            return "reader";
        case Role::kWriter:
            return "writer";
        case Role::kNobody:
            break;
    }
    return "nobody";
}

Access::Access(const config::Admin& settings, bool loopback) {
    if (sodium_init() < 0) throw std::runtime_error("libsodium cannot start");
    randombytes_buf(key_.data(), key_.size());
    read_ = digest_of(settings.read_token);
    write_ = digest_of(settings.write_token);
    if (open() && !loopback) {
        throw std::runtime_error(
            "admin.address is reachable from elsewhere without a token: set admin.read_token and admin.write_token");
    }
    if (loopback && !read_) without_token_ = write_ ? Role::kReader : Role::kWriter;
}

Access::Digest Access::digest(std::string_view token) const {
    Digest out{};
    crypto_generichash(out.data(), out.size(), reinterpret_cast<const unsigned char*>(token.data()), token.size(),
                       key_.data(), key_.size());
    return out;
}

std::optional<Access::Digest> Access::digest_of(const config::Secret& token) const {
    if (token.empty()) return std::nullopt;
    return digest(token.value);
}

Role Access::role_of(std::string_view authorization) const {
    if (authorization.empty()) return without_token_;
    const std::string_view token = token_of(authorization);
    if (token.empty()) return Role::kNobody;
    const Digest asked = digest(token);
    // Both are compared, whatever the first says.
    const bool writes = write_ && sodium_memcmp(asked.data(), write_->data(), asked.size()) == 0;
    const bool reads = read_ && sodium_memcmp(asked.data(), read_->data(), asked.size()) == 0;
    if (writes) return Role::kWriter;
    if (reads) return Role::kReader;
    // Without any token configured a client may still send one; it changes nothing.
    return open() ? without_token_ : Role::kNobody;
}

std::string host_name(std::string_view host_or_origin) {
    if (const auto scheme = host_or_origin.find("://"); scheme != std::string_view::npos)
        host_or_origin.remove_prefix(scheme + 3);
    if (host_or_origin.starts_with('[')) {
        host_or_origin = host_or_origin.substr(1, host_or_origin.find(']') - 1);
    } else {
        host_or_origin = host_or_origin.substr(0, host_or_origin.find(':'));
    }
    std::string out(host_or_origin);
    std::transform(out.begin(), out.end(), out.begin(), to_lower);
    return out;
}

}  // namespace sm::admin
