#include "server/admission/limits.hpp"

#include <algorithm>
#include <bit>

namespace sm::admission {
namespace {

constexpr std::size_t kReservedDescriptors = 256;

}  // namespace

LoopLimiter::LoopLimiter(const Options& options)
    : options_(options), buckets_(std::bit_ceil(std::max<std::size_t>(kWays, options.places))) {}

std::size_t LoopLimiter::set_of(protocol::Eui64 eui) const noexcept {
    const std::size_t hash = std::hash<protocol::Eui64>{}(protocol::Eui64{eui.value ^ options_.salt});
    return hash & (buckets_.size() - 1) & ~(kWays - 1);
}

double LoopLimiter::used_at(const Bucket& bucket, protocol::Instant now) const noexcept {
    if (bucket.last_us == INT64_MIN) return 0;
    const double refilled =
        static_cast<double>(now.micros - bucket.last_us) / static_cast<double>(options_.per_connect.count());
    return std::max(0.0, bucket.used - std::max(0.0, refilled));
}

protocol::Micros LoopLimiter::connect(protocol::Eui64 eui, protocol::Instant now) noexcept {
    const auto first = buckets_.begin() + static_cast<std::ptrdiff_t>(set_of(eui));
    auto chosen = first;
    for (auto it = first; it != first + kWays; ++it) {
        if (it->eui == eui.value && it->last_us != INT64_MIN) {
            chosen = it;
            break;
        }
        // A looping gateway must not be pushed out by strangers: the emptiest bucket goes, then the oldest.
        const double a = used_at(*it, now);
        const double b = used_at(*chosen, now);
        if (a < b || (a == b && it->last_us < chosen->last_us)) chosen = it;
    }
    if (chosen->eui != eui.value || chosen->last_us == INT64_MIN) *chosen = {eui.value, now.micros, 0};
    // What is used beyond the bucket stays within what the longest hold can pay back.
    const double most = options_.burst + static_cast<double>(options_.longest.count()) /
                                             static_cast<double>(options_.per_connect.count());
    chosen->used = std::min(used_at(*chosen, now) + 1.0, most);
    chosen->last_us = now.micros;
    const double beyond = chosen->used - options_.burst;
    if (beyond <= 0) return protocol::Micros{0};
    const auto wait =
        protocol::Micros{static_cast<std::int64_t>(beyond * static_cast<double>(options_.per_connect.count()))};
    return std::min(wait, options_.longest);
}

bool LoopLimiter::looping(protocol::Eui64 eui, protocol::Instant now) const noexcept {
    const auto first = buckets_.begin() + static_cast<std::ptrdiff_t>(set_of(eui));
    return std::any_of(first, first + kWays, [&](const Bucket& bucket) {
        return bucket.eui == eui.value && bucket.last_us != INT64_MIN && used_at(bucket, now) + 1.0 > options_.burst;
    });
}

const char* to_string(Fullness fullness) noexcept {
    switch (fullness) {
        case Fullness::kRoom:
            return "room";
        case Fullness::kNear:
            return "near";
        case Fullness::kFull:
            break;
    }
    return "full";
}

Fullness fullness(std::size_t connected, std::size_t limit) noexcept {
    if (limit == 0) return Fullness::kRoom;
    if (connected >= limit) return Fullness::kFull;
    return connected * 100 >= limit * 85 ? Fullness::kNear : Fullness::kRoom;
}

DescriptorBudget DescriptorBudget::derive(std::size_t open_file_limit, std::size_t configured_parked,
                                          std::size_t configured_gateways) noexcept {
    const std::size_t reserved = kReservedDescriptors + open_file_limit / 50;
    const std::size_t usable = open_file_limit > 2 * reserved ? open_file_limit - reserved : open_file_limit / 2;
    DescriptorBudget out;
    out.max_parked = configured_parked != 0 ? configured_parked : std::max<std::size_t>(16, open_file_limit * 95 / 100);
    out.max_parked = std::min(out.max_parked, usable);
    out.max_gateways = configured_gateways != 0 ? configured_gateways : usable;
    return out;
}

}  // namespace sm::admission
