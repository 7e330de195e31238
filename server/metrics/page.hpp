#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "server/metrics/probe.hpp"

namespace sm::metrics {

/// One label of a series. Values are enumerators, so a peer can never add a series; `fixed` is for words that the
/// program or its configuration chose (version, thread name), never for what a client sent, an EUI or an address.
class Label {
  public:
    template <class Enum>
    requires std::is_enum_v<Enum> Label(std::string_view name, Enum value) : name_(name), value_(to_string(value)) {}

    static Label fixed(std::string_view name, std::string_view value) { return Label(name, std::string(value)); }

    const std::string& name() const noexcept { return name_; }
    const std::string& value() const noexcept { return value_; }

    friend auto operator<=>(const Label&, const Label&) = default;

  private:
    Label(std::string_view name, std::string value) : name_(name), value_(std::move(value)) {}

    std::string name_;
    std::string value_;
};
using Labels = std::vector<Label>;

/// One scrape being put together: collectors write into it, `Registry` prints it. A series that is written twice is the
/// sum of both, so each shard's probe writes the same names and the page shows the total. Names come without the prefix
/// `stationmaster_`; counters end in `_total`, units are seconds and bytes. One thread, lives for one scrape.
class Page {
  public:
    enum class Kind : std::uint8_t { kCounter, kGauge, kHistogram };
    struct Series {
        double value = 0;
        Distribution distribution;
    };
    struct Family {
        Kind kind = Kind::kGauge;
        std::string help;
        std::map<Labels, Series> series;
    };

    void counter(std::string_view name, std::string_view help, std::uint64_t value, Labels labels = {});
    /// For counters with a fraction, such as CPU seconds.
    void counter_seconds(std::string_view name, std::string_view help, double value, Labels labels = {});
    void gauge(std::string_view name, std::string_view help, double value, Labels labels = {});
    void histogram(std::string_view name, std::string_view help, const Distribution& value, Labels labels = {});

    /// One series per enumerator, zeros too: a series that is there before its first event can be alerted on.
    template <class Enum, int Count, Writers W>
    void counters(std::string_view name, std::string_view help, std::string_view label,
                  const BasicCounters<Enum, Count, W>& values, const Labels& more = {}) {
        for (int i = 0; i < Count; ++i) {
            const auto which = static_cast<Enum>(i);
            Labels labels = more;
            labels.emplace_back(label, which);
            counter(name, help, values.value(which), std::move(labels));
        }
    }

    const std::map<std::string, Family, std::less<>>& families() const noexcept { return families_; }

  private:
    Series& series(std::string_view name, std::string_view help, Kind kind, Labels labels);

    std::map<std::string, Family, std::less<>> families_;
};

}  // namespace sm::metrics
