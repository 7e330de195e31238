#include "server/metrics/registry.hpp"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <limits>
#include <utility>

namespace sm::metrics {
namespace {

prometheus::ClientMetric to_client_metric(const Labels& labels, const Page::Series& series, Page::Kind kind) {
    prometheus::ClientMetric metric;
    for (const auto& label : labels) metric.label.push_back({label.name(), label.value()});
    switch (kind) {
        case Page::Kind::kCounter:
            metric.counter.value = series.value;
            break;
        case Page::Kind::kGauge:
            metric.gauge.value = series.value;
            break;
        case Page::Kind::kHistogram: {
            const Distribution& distribution = series.distribution;
            std::uint64_t cumulative = 0;
            for (std::size_t i = 0; i <= distribution.bounds.size(); ++i) {
                cumulative += distribution.counts[i];
                const double bound =
                    i < distribution.bounds.size() ? distribution.bounds[i] : std::numeric_limits<double>::infinity();
                metric.histogram.bucket.push_back({cumulative, bound});
            }
            metric.histogram.sample_count = cumulative;
            metric.histogram.sample_sum = distribution.sum;
            break;
        }
    }
    return metric;
}

prometheus::MetricType to_type(Page::Kind kind) {
    switch (kind) {
        case Page::Kind::kCounter:
            return prometheus::MetricType::Counter;
        case Page::Kind::kHistogram:
            return prometheus::MetricType::Histogram;
        case Page::Kind::kGauge:
            break;
    }
    return prometheus::MetricType::Gauge;
}

}  // namespace

std::string to_text(const Page& page) {
    std::vector<prometheus::MetricFamily> families;
    families.reserve(page.families().size());
    for (const auto& [name, family] : page.families()) {
        prometheus::MetricFamily out;
        out.name = "stationmaster_" + name;
        out.help = family.help;
        out.type = to_type(family.kind);
        for (const auto& [labels, series] : family.series)
            out.metric.push_back(to_client_metric(labels, series, family.kind));
        families.push_back(std::move(out));
    }
    return prometheus::TextSerializer{}.Serialize(families);
}

Registry::Registration::Registration(Registration&& other) noexcept
    : registry_(std::exchange(other.registry_, nullptr)), id_(other.id_) {}

Registry::Registration& Registry::Registration::operator=(Registration&& other) noexcept {
    if (this != &other) {
        release();
        registry_ = std::exchange(other.registry_, nullptr);
        id_ = other.id_;
    }
    return *this;
}

Registry::Registration::~Registration() {
    release();
}

void Registry::Registration::release() noexcept {
    if (Registry* registry = std::exchange(registry_, nullptr)) {
        const std::lock_guard lock(registry->mutex_);
        registry->collectors_.erase(id_);
    }
}

Registry::Registration Registry::add(Collector collector) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t id = next_id_++;
    collectors_.emplace(id, std::move(collector));
    return Registration(*this, id);
}

Page Registry::collect() const {
    Page page;
    const std::lock_guard lock(mutex_);
    for (const auto& [id, collector] : collectors_) collector(page);
    return page;
}

std::string Registry::scrape() const {
    return to_text(collect());
}

}  // namespace sm::metrics
