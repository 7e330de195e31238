#include "server/admission/limits.hpp"

#include <catch2/catch.hpp>

using namespace sm::admission;
using sm::protocol::Eui64;
using sm::protocol::Instant;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {
constexpr Instant kStart{5'000'000'000};
constexpr Eui64 kLooper{0xaa}, kQuiet{0xbb};
}  // namespace

TEST_CASE("loop limiter: a healthy station's retries are never held", "[admission]") {
    LoopLimiter limiter({});
    auto now = kStart;
    // Accepted and closed again and again: 1, 2, 4, 8, 16 s, then discovery after 10 s and 4, 8, 16 s (station-protocol
    // §2.4); a discovery is two connects.
    for (const int wait : {1, 2, 4, 8, 16, 10, 0, 4, 8, 16, 10, 0, 4, 8, 16, 10, 0, 4, 8, 16}) {
        now = now + seconds{wait};
        CHECK(limiter.connect(kQuiet, now).count() == 0);
        CHECK_FALSE(limiter.looping(kQuiet, now + seconds{1}));
    }
}

TEST_CASE("loop limiter: a loop slows only its own gateway", "[admission]") {
    LoopLimiter limiter({});
    sm::protocol::Micros hold{0};
    for (int i = 0; i < 30; ++i) hold = limiter.connect(kLooper, kStart + milliseconds{100 * i});
    CHECK(hold > seconds{10});
    CHECK(hold <= seconds{60});
    CHECK(limiter.looping(kLooper, kStart + seconds{3}));
    CHECK(limiter.connect(kQuiet, kStart + seconds{3}).count() == 0);
}

TEST_CASE("loop limiter: forgives with time", "[admission]") {
    LoopLimiter limiter({});
    for (int i = 0; i < 1000; ++i) limiter.connect(kLooper, kStart);
    CHECK(limiter.connect(kLooper, kStart) == seconds{60});
    CHECK(limiter.connect(kLooper, kStart + seconds{200}).count() == 0);
    CHECK_FALSE(limiter.looping(kLooper, kStart + seconds{200}));
}

TEST_CASE("loop limiter: strangers do not push a looping gateway out", "[admission]") {
    LoopLimiter::Options options;
    options.places = 64;
    LoopLimiter limiter(options);
    for (int i = 0; i < 100; ++i) limiter.connect(kLooper, kStart);
    for (std::uint64_t i = 1000; i < 100'000; ++i) limiter.connect(Eui64{i}, kStart + milliseconds{i / 100});
    CHECK(limiter.looping(kLooper, kStart + seconds{2}));
}

TEST_CASE("loop limiter: the EUI zero is a gateway like others", "[admission]") {
    LoopLimiter limiter({});
    CHECK(limiter.connect(Eui64{0}, kStart).count() == 0);
    for (int i = 0; i < 100; ++i) limiter.connect(Eui64{0}, kStart);
    CHECK(limiter.looping(Eui64{0}, kStart));
}

TEST_CASE("fullness: near before full, unlimited never", "[admission]") {
    CHECK(fullness(0, 100) == Fullness::kRoom);
    CHECK(fullness(84, 100) == Fullness::kRoom);
    CHECK(fullness(85, 100) == Fullness::kNear);
    CHECK(fullness(99, 100) == Fullness::kNear);
    CHECK(fullness(100, 100) == Fullness::kFull);
    CHECK(fullness(1'000'000, 0) == Fullness::kRoom);
}

TEST_CASE("descriptor budget: leaves head-room, keeps to what was configured", "[admission]") {
    const auto derived = DescriptorBudget::derive(65'536, 0, 0);
    CHECK(derived.max_parked <= 65'536 * 95 / 100);
    CHECK(derived.max_parked > 60'000);
    CHECK(derived.max_gateways < 65'536);
    const auto configured = DescriptorBudget::derive(65'536, 1'000, 20'000);
    CHECK(configured.max_parked == 1'000);
    CHECK(configured.max_gateways == 20'000);
    const auto tiny = DescriptorBudget::derive(64, 0, 0);
    CHECK(tiny.max_parked > 0);
    CHECK(tiny.max_parked < 64);
}
