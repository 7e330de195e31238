#include "server/upstream/context_token.hpp"

#include <array>
#include <charconv>

namespace sm::upstream {
namespace {

constexpr std::size_t kPart = 16;

std::optional<std::uint64_t> read_part(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + kPart, value, 16);
    if (error != std::errc{} || end != text.data() + kPart) return std::nullopt;
    return value;
}

}  // namespace

void append_token(std::string& out, const protocol::UplinkContext& context) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (std::uint64_t part :
         {static_cast<std::uint64_t>(context.rctx), static_cast<std::uint64_t>(context.xtime), context.epoch}) {
        std::array<char, kPart> text{};
        for (std::size_t i = kPart; i > 0; --i, part >>= 4U) text[i - 1] = kDigits[part & 15U];
        out.append(text.data(), text.size());
    }
}

std::string to_token(const protocol::UplinkContext& context) {
    std::string out;
    append_token(out, context);
    return out;
}

std::optional<protocol::UplinkContext> from_token(std::string_view text) {
    if (text.size() != 2 * kPart && text.size() != 3 * kPart) return std::nullopt;
    const auto rctx = read_part(text);
    const auto xtime = read_part(text.substr(kPart));
    const auto epoch = text.size() == 3 * kPart ? read_part(text.substr(2 * kPart)) : std::optional<std::uint64_t>(0);
    if (!rctx || !xtime || !epoch) return std::nullopt;
    return protocol::UplinkContext{static_cast<std::int64_t>(*rctx), static_cast<std::int64_t>(*xtime), *epoch};
}

}  // namespace sm::upstream
