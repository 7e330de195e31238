#include "server/app_options.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <thread>

#include "server/admission/descriptor.hpp"

namespace sm {

namespace {

/// Descriptors that are not gateway connections: files, stores, brokers, admin clients.
constexpr std::size_t kOtherDescriptors = 256;

/// One gateway may connect this often in a row, and then at this pace, before it alone is held (a real station that loops
/// connects once a second at most).
constexpr double kLoopBurst = 1000;
constexpr protocol::Micros kLoopPace{100'000};
constexpr protocol::Micros kLongestLoopHold{10'000'000};

std::string random_key() {
    unsigned char bytes[32];
    randombytes_buf(bytes, sizeof bytes);
    char hex[65];
    sodium_bin2hex(hex, sizeof hex, bytes, sizeof bytes);
    return hex;
}

/// The key in the file, made when there is none; empty when neither can be done.
std::string kept_key(const std::filesystem::path& file) {
    std::string key;
    if (std::ifstream in(file); in && std::getline(in, key) && key.size() >= 32) return key;
    key = random_key();
    std::error_code ignored;
    std::filesystem::create_directories(file.parent_path(), ignored);
    const admission::Descriptor out(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!out || ::write(out.get(), key.data(), key.size()) != static_cast<ssize_t>(key.size())) return {};
    return key;
}

}  // namespace

ProcessLimits take_process_limits() {
    ProcessLimits limits;
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
        if (files.rlim_cur < files.rlim_max) {
            files.rlim_cur = files.rlim_max;
            ::setrlimit(RLIMIT_NOFILE, &files);
            ::getrlimit(RLIMIT_NOFILE, &files);
        }
        limits.descriptors = static_cast<std::size_t>(files.rlim_cur);
    }
    limits.cores = std::max(1U, std::thread::hardware_concurrency());
    return limits;
}

Capacity capacity_of(const config::Config& config, const ProcessLimits& limits) {
    Capacity capacity;
    capacity.shards = config.instance.shards > 0 ? config.instance.shards : static_cast<unsigned>(limits.cores);
    capacity.lobbies = config.instance.lobby_threads > 0 ? config.instance.lobby_threads
                                                         : static_cast<unsigned>(std::max<std::size_t>(limits.cores / 2, 1));
    // 5 % stay free: accepting, files and brokers must go on when gateways use up the rest (admission.md §9).
    const auto usable = limits.descriptors - std::min(limits.descriptors / 2, limits.descriptors / 20 + kOtherDescriptors);
    capacity.connections =
        config.listen.max_connections > 0 ? std::min(config.listen.max_connections, usable) : usable;
    capacity.parked = config.admission.max_parked > 0 ? config.admission.max_parked : capacity.connections;
    return capacity;
}

admission::DeskOptions desk_options(const config::Admission& settings, const Capacity& capacity) {
    admission::DeskOptions options;
    options.queue.fifo = settings.policy == "fifo";
    options.queue.max_waiting = capacity.parked;
    options.queue.source_share = settings.source_share;
    options.queue.reject_margin = settings.reject_margin;
    options.queue.salt = static_cast<std::uint64_t>(randombytes_random()) << 32U | randombytes_random();
    options.max_in_flight = settings.max_in_flight;
    options.in_flight_window = settings.credit_window;
    options.credit_window = settings.credit_window;
    options.max_hold = settings.max_hold;
    options.loops.burst = kLoopBurst;
    options.loops.per_connect = kLoopPace;
    options.loops.longest = kLongestLoopHold;
    options.loops.salt = options.queue.salt;
    options.tenant_weights = settings.tenant_weights;
    return options;
}

admission::TicketMint::Options ticket_options(const config::Admission& settings, const std::string& store_path,
                                              const log::Logger& log) {
    admission::TicketMint::Options options;
    options.lifetime = settings.ticket_lifetime;
    options.keys = settings.ticket_keys;
    if (!options.keys.empty()) return options;
    auto key = kept_key(std::filesystem::path(store_path) / "ticket.key");
    if (key.empty()) {
        log.warn("ticket_key_not_kept", {{"directory", store_path}, {"remedy", "make it writable, or set admission.ticket_keys"}});
        // Tickets of before the restart are then of an unknown key, and must not be taken for forged.
        options.unknown_key_is_forged = false;
        return options;
    }
    options.keys.push_back(config::Secret{std::move(key)});
    return options;
}

TrustedPeers::TrustedPeers(const std::vector<std::string>& blocks) {
    for (const auto& text : blocks) {
        const auto slash = text.find('/');
        Block block;
        block.network = admission::PeerAddress::parse(text.substr(0, slash), 0);
        const bool four = text.find(':') == std::string::npos;
        unsigned bits = four ? 32 : 128;
        if (slash != std::string::npos) std::from_chars(text.data() + slash + 1, text.data() + text.size(), bits);
        block.bits = std::min(four ? bits + 96 : bits, 128U);
        blocks_.push_back(block);
    }
}

bool TrustedPeers::contains(const admission::PeerAddress& peer) const noexcept {
    return std::any_of(blocks_.begin(), blocks_.end(), [&](const Block& block) {
        for (unsigned bit = 0; bit < block.bits; bit += 8) {
            const unsigned left = block.bits - bit;
            const auto mask = static_cast<std::uint8_t>(left >= 8 ? 0xff : 0xff << (8 - left));
            if ((peer.bytes[bit / 8] & mask) != (block.network.bytes[bit / 8] & mask)) return false;
        }
        return true;
    });
}

}  // namespace sm
