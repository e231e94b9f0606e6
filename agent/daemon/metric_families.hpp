#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <utility>
#include <vector>

namespace vgpu {

using Labels = std::vector<std::pair<std::string, std::string>>;

/// Metrics under construction, for prometheus-cpp's serializer.
class MetricFamilies {
public:
    /// The values of one name follow each other.
    void gauge(const std::string& name, const std::string& help, const Labels& labels,
               double value);
    void counter(const std::string& name, const std::string& help, const Labels& labels,
                 double value);
    /// `buckets`: upper bound in seconds and how many were up to it, the last one without a bound.
    void histogram(const std::string& name, const std::string& help, const Labels& labels,
                   const std::vector<std::pair<double, std::uint64_t>>& buckets, double sum);

    /// Prometheus' text format, version 0.0.4.
    [[nodiscard]] std::string text() const;

private:
    prometheus::ClientMetric& add(const std::string& name, const std::string& help,
                                  const Labels& labels, prometheus::MetricType type);

    std::vector<prometheus::MetricFamily> families_;
};

} // namespace vgpu
