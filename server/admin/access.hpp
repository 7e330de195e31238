#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.hpp"

namespace sm::admin {

/// What a request may do. Each role includes the ones before it.
enum class Role : std::uint8_t { kNobody, kReader, kWriter };
const char* to_string(Role role) noexcept;

/// Who may do what, by bearer token. Keeps digests of the tokens only; every comparison takes the same time.
///
/// | configured | without a token | |
/// |---|---|---|
/// | no token (loopback only) | writer | `open()`: requests are checked not to come from a web page elsewhere |
/// | write token only, loopback | reader | |
/// | anything else | nobody | |
///
/// A wrong token is always nobody.
class Access {
  public:
    /// Throws std::runtime_error when the address is not loopback and no token is set.
    Access(const config::Admin& settings, bool loopback);

    Role role_of(std::string_view authorization) const;
    /// Nobody needs a token.
    bool open() const noexcept { return !read_ && !write_; }

  private:
    using Digest = std::array<unsigned char, 32>;
    Digest digest(std::string_view token) const;
    std::optional<Digest> digest_of(const config::Secret& token) const;

    std::array<unsigned char, 32> key_{};  ///< random: digests of one process mean nothing elsewhere
    std::optional<Digest> read_;
    std::optional<Digest> write_;
    Role without_token_ = Role::kNobody;
};

/// The host of a Host header or of an Origin ("https://host:port"), without port and brackets, lower case.
std::string host_name(std::string_view host_or_origin);

}  // namespace sm::admin
