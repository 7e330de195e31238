#include "server/upstream/json_text.hpp"

#include <array>
#include <chrono>

namespace sm::upstream {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

/// Length of the valid UTF-8 sequence at the start of `text` (RFC 3629: no overlong forms, no surrogates), else 0.
std::size_t utf8_length(std::string_view text) {
    const auto byte = [&text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::uint8_t lead = byte(0);
    const std::size_t length = lead >= 0xc2 && lead <= 0xdf   ? 2
                               : lead >= 0xe0 && lead <= 0xef ? 3
                               : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                              : 0;
    if (length == 0 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0U) != 0x80) return 0;
    }
    const std::uint8_t second = byte(1);
    if (lead == 0xe0 && second < 0xa0) return 0;
    if (lead == 0xed && second > 0x9f) return 0;
    if (lead == 0xf0 && second < 0x90) return 0;
    if (lead == 0xf4 && second > 0x8f) return 0;
    return length;
}

/// "2026-03-03T02:11:04" of a second; the last one is remembered, because most events of a thread fall into it.
std::string_view second_text(std::chrono::sys_seconds second) {
    struct Memory {
        std::chrono::sys_seconds second{};
        std::array<char, 32> text{};
        std::size_t size = 0;
    };
    thread_local Memory memory;
    if (memory.size == 0 || memory.second != second) {
        const auto day = std::chrono::floor<std::chrono::days>(second);
        const std::chrono::year_month_day date{day};
        const std::chrono::hh_mm_ss clock{second - day};
        const auto end = fmt::format_to_n(memory.text.data(), memory.text.size(), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
                                          static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                                          static_cast<unsigned>(date.day()), clock.hours().count(),
                                          clock.minutes().count(), clock.seconds().count());
        memory.size = std::min(end.size, memory.text.size());
        memory.second = second;
    }
    return {memory.text.data(), memory.size};
}

}  // namespace

void JsonText::hex(std::string_view key, std::span<const std::uint8_t> bytes) {
    name(key);
    out_ += '"';
    for (const std::uint8_t byte : bytes) {
        out_ += kDigits[byte >> 4U];
        out_ += kDigits[byte & 15U];
    }
    out_ += '"';
}

void JsonText::hex64(std::string_view key, std::uint64_t value) {
    name(key);
    std::array<char, 18> text{};
    text.front() = text.back() = '"';
    for (std::size_t i = 16; i > 0; --i, value >>= 4U) text[i] = kDigits[value & 15U];
    out_.append(text.data(), text.size());
}

void JsonText::time(std::string_view key, protocol::UtcTime value) {
    const std::chrono::sys_time<std::chrono::microseconds> time{std::chrono::microseconds{value.micros}};
    const auto second = std::chrono::floor<std::chrono::seconds>(time);
    name(key);
    out_ += '"';
    out_ += second_text(second);
    auto fraction = static_cast<std::uint32_t>((time - second).count());
    std::array<char, 9> text{'.', '0', '0', '0', '0', '0', '0', 'Z', '"'};
    for (std::size_t i = 6; i > 0; --i, fraction /= 10) text[i] = static_cast<char>('0' + fraction % 10);
    out_.append(text.data(), text.size());
}

void JsonText::quoted(std::string_view value) {
    out_ += '"';
    while (!value.empty()) {
        std::size_t plain = 0;
        while (plain < value.size() && static_cast<std::uint8_t>(value[plain]) >= 0x20 &&
               static_cast<std::uint8_t>(value[plain]) < 0x7f && value[plain] != '"' && value[plain] != '\\') {
            ++plain;
        }
        out_ += value.substr(0, plain);
        value.remove_prefix(plain);
        if (value.empty()) break;
        const auto c = static_cast<std::uint8_t>(value.front());
        std::size_t length = 1;
        if (c == '"' || c == '\\') {
            out_ += '\\';
            out_ += value.front();
        } else if (c < 0x20 || c == 0x7f) {
            out_ += "\\u00";
            out_ += kDigits[c >> 4U];
            out_ += kDigits[c & 15U];
        } else if (const std::size_t sequence = utf8_length(value); sequence > 0) {
            out_ += value.substr(0, sequence);
            length = sequence;
        } else {
            out_ += "\\ufffd";
        }
        value.remove_prefix(length);
    }
    out_ += '"';
}

}  // namespace sm::upstream
