#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace sm::test {

/// A fuzzer's bytes, taken from the front; zeros once they are used up.
class FuzzInput {
  public:
    FuzzInput(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

    bool empty() const { return rest_.empty(); }
    template <class Value>
    Value take() {
        static_assert(std::is_trivially_copyable_v<Value>);
        Value value{};
        const std::string_view bytes = take_text(sizeof value);
        std::memcpy(&value, bytes.data(), bytes.size());
        return value;
    }
    std::string_view take_text(std::size_t length) {
        const std::string_view text = rest_.substr(0, length);
        rest_.remove_prefix(text.size());
        return text;
    }
    /// Up to and without the next newline.
    std::string_view take_line() {
        const std::string_view line = take_text(std::min(rest_.find('\n'), rest_.size()));
        take_text(1);
        return line;
    }
    std::string_view rest() const { return rest_; }

  private:
    std::string_view rest_;
};

/// Fails the run when a promise is broken.
inline void require(bool promise) {
    if (!promise) __builtin_trap();
}

}  // namespace sm::test
