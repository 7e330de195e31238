#include "server/metrics/page.hpp"

#include <algorithm>
#include <cassert>

namespace sm::metrics {

Page::Series& Page::series(std::string_view name, std::string_view help, Kind kind, Labels labels) {
    auto it = families_.find(name);
    if (it == families_.end()) {
        it = families_.emplace(std::string(name), Family{kind, std::string(help), {}}).first;
    }
    // Two rooms that disagree about a name are a bug of ours; a page with two kinds under one name is not valid text.
    assert(it->second.kind == kind);
    std::sort(labels.begin(), labels.end());
    return it->second.series[std::move(labels)];
}

void Page::counter(std::string_view name, std::string_view help, std::uint64_t value, Labels labels) {
    assert(name.ends_with("_total"));
    series(name, help, Kind::kCounter, std::move(labels)).value += static_cast<double>(value);
}

void Page::counter_seconds(std::string_view name, std::string_view help, double value, Labels labels) {
    assert(name.ends_with("_seconds_total"));
    series(name, help, Kind::kCounter, std::move(labels)).value += value;
}

void Page::gauge(std::string_view name, std::string_view help, double value, Labels labels) {
    assert(!name.ends_with("_total"));
    series(name, help, Kind::kGauge, std::move(labels)).value += value;
}

void Page::histogram(std::string_view name, std::string_view help, const Distribution& value, Labels labels) {
    Distribution& sum = series(name, help, Kind::kHistogram, std::move(labels)).distribution;
    if (sum.bounds.empty()) {
        sum = value;
        return;
    }
    assert(std::equal(sum.bounds.begin(), sum.bounds.end(), value.bounds.begin(), value.bounds.end()));
    for (std::size_t i = 0; i <= sum.bounds.size(); ++i) sum.counts[i] += value.counts[i];
    sum.sum += value.sum;
}

}  // namespace sm::metrics
