#include "server/gateways/keys.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "protocol/bytes.hpp"

namespace sm::gateways {

namespace {

using Bytes32 = std::array<unsigned char, 32>;
constexpr unsigned char kSealedLayout = 1;
constexpr std::size_t kNonceBytes = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr std::size_t kTagBytes = crypto_aead_xchacha20poly1305_ietf_ABYTES;
constexpr std::size_t kHeaderBytes = 1 + KeyRing::kIdBytes + kNonceBytes;

const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) {
    return reinterpret_cast<unsigned char*>(text.data());
}

Bytes32 derive(const Bytes32& master, std::string_view purpose) {
    std::array<unsigned char, crypto_generichash_blake2b_PERSONALBYTES> personal{};
    std::memcpy(personal.data(), purpose.data(), std::min(purpose.size(), personal.size()));
    Bytes32 out{};
    crypto_generichash_blake2b_salt_personal(out.data(), out.size(), nullptr, 0, master.data(), master.size(), nullptr,
                                             personal.data());
    return out;
}

std::optional<std::string> read_key_file(const std::filesystem::path& path) {
    std::ifstream in(path);
    std::string text;
    if (!in || !std::getline(in, text) || text.size() < 32) return std::nullopt;
    return text;
}

/// Whole or not at all, also when two processes start at once or one is killed half-way: written aside, then linked.
bool write_key_file(const std::filesystem::path& path, const std::string& text) {
    std::string aside = path.string() + ".XXXXXX";
    const int fd = ::mkstemp(aside.data());
    if (fd < 0) return false;
    const std::string line = text + "\n";
    bool ok = ::fchmod(fd, 0600) == 0 && ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
              ::fsync(fd) == 0;
    ok = ::close(fd) == 0 && ok;
    ok = ok && ::link(aside.c_str(), path.c_str()) == 0;
    ::unlink(aside.c_str());
    return ok;
}

std::string random_key() {
    std::array<unsigned char, 32> random{};
    randombytes_buf(random.data(), random.size());
    return protocol::to_hex(random);
}

}  // namespace

KeyRing::KeyRing(const std::vector<std::string>& secrets) {
    if (sodium_init() < 0) throw std::runtime_error("libsodium does not start");
    for (const std::string& secret : secrets) {
        Bytes32 master{};
        crypto_generichash(master.data(), master.size(), bytes_of(secret), secret.size(), nullptr, 0);
        Key key;
        const Bytes32 id = derive(master, "sm-id");
        std::memcpy(key.id.data(), id.data(), key.id.size());
        key.id[0] |= 1;  // zeros mean "any key"
        key.seal = derive(master, "sm-seal");
        key.digest = derive(master, "sm-token");
        sodium_memzero(master.data(), master.size());
        keys_.push_back(key);
    }
    if (keys_.empty()) throw std::runtime_error("no key");
}

KeyRing::~KeyRing() {
    sodium_memzero(keys_.data(), keys_.size() * sizeof(Key));
}

const KeyRing::Key* KeyRing::find(std::string_view id) const noexcept {
    for (const Key& key : keys_) {
        if (std::memcmp(key.id.data(), id.data(), kIdBytes) == 0) return &key;
    }
    return nullptr;
}

std::string KeyRing::digest(std::string_view token) const {
    const Key& key = keys_.front();
    std::string out(kIdBytes + kDigestBytes, '\0');
    std::memcpy(out.data(), key.id.data(), kIdBytes);
    crypto_generichash(bytes_of(out) + kIdBytes, kDigestBytes, bytes_of(token), token.size(), key.digest.data(),
                       key.digest.size());
    return out;
}

bool KeyRing::matches(std::string_view digest, std::string_view token) const {
    if (digest.size() != kIdBytes + kDigestBytes) return false;
    const std::string_view id = digest.substr(0, kIdBytes);
    const bool any = id == std::string_view("\0\0\0\0", kIdBytes);
    bool match = false;
    for (const Key& key : keys_) {
        if (!any && std::memcmp(key.id.data(), id.data(), kIdBytes) != 0) continue;
        std::array<unsigned char, kDigestBytes> ours{};
        crypto_generichash(ours.data(), ours.size(), bytes_of(token), token.size(), key.digest.data(),
                           key.digest.size());
        match |= sodium_memcmp(ours.data(), digest.data() + kIdBytes, kDigestBytes) == 0;
    }
    return match;
}

std::optional<std::string> KeyRing::parse_digest(std::string_view hex) {
    if (hex.size() != 2 * kDigestBytes && hex.size() != 2 * (kIdBytes + kDigestBytes)) return std::nullopt;
    const auto bytes = protocol::from_hex(hex);
    if (!bytes) return std::nullopt;
    std::string out(kIdBytes + kDigestBytes - bytes->size(), '\0');
    out.append(bytes->begin(), bytes->end());
    return out;
}

std::string KeyRing::seal(std::string_view plain, std::string_view context) const {
    const Key& key = keys_.front();
    std::string out(kHeaderBytes + plain.size() + kTagBytes, '\0');
    unsigned char* at = bytes_of(out);
    *at++ = kSealedLayout;
    std::memcpy(at, key.id.data(), kIdBytes);
    at += kIdBytes;
    randombytes_buf(at, kNonceBytes);
    crypto_aead_xchacha20poly1305_ietf_encrypt(at + kNonceBytes, nullptr, bytes_of(plain), plain.size(),
                                               bytes_of(context), context.size(), nullptr, at, key.seal.data());
    return out;
}

std::optional<KeyRing::Opened> KeyRing::open(std::string_view sealed, std::string_view context) const {
    if (sealed.size() < kHeaderBytes + kTagBytes || static_cast<unsigned char>(sealed[0]) != kSealedLayout)
        return std::nullopt;
    const Key* key = find(sealed.substr(1, kIdBytes));
    if (key == nullptr) return std::nullopt;
    Opened opened;
    opened.by_old_key = key != &keys_.front();
    opened.plain.resize(sealed.size() - kHeaderBytes - kTagBytes);
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(
            bytes_of(opened.plain), nullptr, nullptr, bytes_of(sealed) + kHeaderBytes, sealed.size() - kHeaderBytes,
            bytes_of(context), context.size(), bytes_of(sealed) + 1 + kIdBytes, key->seal.data()) != 0) {
        return std::nullopt;
    }
    return opened;
}

KeyRingPtr load_keys(const config::Cache& settings, const log::Logger& log) {
    if (sodium_init() < 0) throw std::runtime_error("libsodium does not start");
    std::vector<std::string> secrets;
    for (const config::Secret& key : settings.keys) secrets.push_back(key.value);

    const std::filesystem::path path = std::filesystem::path(settings.path) / "stationmaster.key";
    if (auto text = read_key_file(path)) {
        secrets.push_back(std::move(*text));
    } else if (secrets.empty()) {
        std::error_code ignored;
        std::filesystem::create_directories(path.parent_path(), ignored);
        const std::string fresh = random_key();
        if (write_key_file(path, fresh)) {
            log.info("key_generated", {{"path", path.string()}});
            secrets.push_back(fresh);
        } else if (auto others = read_key_file(path)) {
            secrets.push_back(std::move(*others));
        } else {
            log.warn("key_not_kept", {{"path", path.string()}, {"error", std::strerror(errno)}});
            secrets.push_back(fresh);
        }
    }
    auto ring = std::make_shared<const KeyRing>(secrets);
    for (std::string& secret : secrets) sodium_memzero(secret.data(), secret.size());
    return ring;
}

}  // namespace sm::gateways
