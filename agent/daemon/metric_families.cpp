#include "agent/daemon/metric_families.hpp"

#include <prometheus/text_serializer.h>

namespace vgpu {

prometheus::ClientMetric& MetricFamilies::add(const std::string& name, const std::string& help,
                                              const Labels& labels, prometheus::MetricType type) {
    if (families_.empty() || families_.back().name != name) {
        families_.push_back({name, help, type, {}});
    }
    prometheus::ClientMetric metric;
    for (const auto& [label, value] : labels) {
        prometheus::ClientMetric::Label one;
        one.name = label;
        one.value = value;
        metric.label.push_back(std::move(one));
    }
    families_.back().metric.push_back(std::move(metric));
    return families_.back().metric.back();
}

void MetricFamilies::gauge(const std::string& name, const std::string& help, const Labels& labels,
                           double value) {
    add(name, help, labels, prometheus::MetricType::Gauge).gauge.value = value;
}

void MetricFamilies::counter(const std::string& name, const std::string& help, const Labels& labels,
                             double value) {
    add(name, help, labels, prometheus::MetricType::Counter).counter.value = value;
}

void MetricFamilies::histogram(const std::string& name, const std::string& help,
                               const Labels& labels,
                               const std::vector<std::pair<double, std::uint64_t>>& buckets,
                               double sum) {
    auto& histogram = add(name, help, labels, prometheus::MetricType::Histogram).histogram;
    for (const auto& [bound, count] : buckets) {
        prometheus::ClientMetric::Bucket bucket;
        bucket.upper_bound = bound;
        bucket.cumulative_count = count;
        histogram.bucket.push_back(bucket);
        histogram.sample_count = count;
    }
    histogram.sample_sum = sum;
}

std::string MetricFamilies::text() const {
    return prometheus::TextSerializer().Serialize(families_);
}

} // namespace vgpu
