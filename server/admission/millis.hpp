#pragma once

#include <cstdint>

#include "protocol/time.hpp"

namespace sm::admission {

constexpr double to_ms(protocol::Micros time) noexcept {
    return static_cast<double>(time.count()) / 1000.0;
}
constexpr protocol::Micros from_ms(std::uint32_t ms) noexcept {
    return protocol::Micros{std::int64_t{ms} * 1000};
}

}  // namespace sm::admission
