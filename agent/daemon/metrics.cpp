#include "agent/daemon/metrics.hpp"

#include "agent/core/hook_counters.hpp"
#include "agent/daemon/host_look.hpp"
#include "agent/daemon/metric_families.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

namespace vgpu {

namespace {

constexpr double bytes_per_mib = 1024.0 * 1024.0;

double seconds_of(std::chrono::milliseconds time) {
    return std::chrono::duration<double>(time).count();
}

double number(std::uint64_t value) {
    return static_cast<double>(value);
}

/// One word for each device, the one that an operator has to know first.
std::string state_of(const DeviceInfo& row) {
    if (!row.error.empty()) {
        return "broken";
    }
    if (row.foreign()) {
        return "foreign";
    }
    if (!row.managed) {
        return "unmanaged";
    }
    if (row.claim) {
        return row.claim->claim && row.claim->claim->state == ClaimState::draining ? "draining"
                                                                                   : "claimed";
    }
    if (row.dirty()) {
        return "dirty";
    }
    return row.in_use.value_or(true) ? "busy" : "free";
}

void add_claims(MetricFamilies& metrics, const std::vector<StoredClaim>& claims,
                const ClaimStore& store) {
    std::map<std::string, std::uint64_t> states{
        {"claimed", 0}, {"configuring", 0}, {"configured", 0}, {"draining", 0}, {"unreadable", 0}};
    std::chrono::milliseconds oldest{};
    for (const StoredClaim& stored : claims) {
        ++states[stored.claim ? std::string(to_string(stored.claim->state)) : "unreadable"];
        if (stored.claim && stored.claim->state == ClaimState::draining) {
            oldest = std::max(oldest, store.age(stored.key).value_or(std::chrono::milliseconds(0)));
        }
    }
    for (const auto& [state, count] : states) {
        metrics.gauge("virt_vgpu_claims", "Claims by state", {{"state", state}}, number(count));
    }
    metrics.gauge("virt_vgpu_claim_oldest_draining_seconds",
                  "How long the claim that has been draining longest has been", {},
                  seconds_of(oldest));
}

void add_devices(MetricFamilies& metrics, const Inventory& inventory) {
    std::map<std::tuple<std::string, std::string, std::string>, std::uint64_t> counts;
    std::uint64_t suspects = 0;
    for (const DeviceInfo& row : inventory.devices) {
        const std::string framework =
            row.framework ? std::string(to_string(*row.framework)) : "none";
        ++counts[{row.gpu.to_string(), framework, state_of(row)}];
        suspects += row.suspect ? 1U : 0U;
    }
    for (const auto& [key, count] : counts) {
        const auto& [gpu, framework, state] = key;
        metrics.gauge("virt_vgpu_devices", "VFs, mdevs and places for mdevs by what they are now",
                      {{"gpu", gpu}, {"framework", framework}, {"state", state}}, number(count));
    }
    metrics.gauge("virt_vgpu_suspect_devices",
                  "Devices whose VMM was killed while its vGPU may have been initialising", {},
                  number(suspects));
}

void add_capacity(MetricFamilies& metrics, const Inventory& inventory) {
    const auto profiles = profiles_of(inventory);
    for (const ProfileInfo& profile : profiles) {
        metrics.gauge("virt_vgpu_allocatable",
                      "vGPUs of a profile that could be started now, if only that one is",
                      {{"profile", profile.type.name}}, profile.available);
    }
    for (const GpuInfo& gpu : inventory.gpus) {
        metrics.gauge("virt_vgpu_gpu_framebuffer_bytes", "Framebuffer of a GPU",
                      {{"gpu", gpu.address.to_string()}}, gpu.framebuffer_mib * bytes_per_mib);
    }
    for (const GpuInfo& gpu : inventory.gpus) {
        metrics.gauge("virt_vgpu_gpu_framebuffer_claimed_bytes",
                      "Framebuffer of a GPU that its vGPUs have",
                      {{"gpu", gpu.address.to_string()}},
                      number(claimed_framebuffer_mib(inventory, gpu, profiles)) * bytes_per_mib);
    }
}

void add_host(MetricFamilies& metrics, const ApiContext& context) {
    const auto site = context.site.get();
    const auto inventory = look_at_host(*site, context.log.notes());
    metrics.gauge("virt_vgpu_scan_errors", "What could not be looked at on the host", {},
                  inventory ? number(inventory->problems.size()) : 1);
    if (inventory) {
        add_claims(metrics, inventory->claims, ClaimStore(site->config.paths));
        add_devices(metrics, *inventory);
        add_capacity(metrics, *inventory);
    }
}

void add_reconcile(MetricFamilies& metrics, const Status::View& status) {
    const char* const runs = "virt_vgpu_reconcile_runs_total";
    metrics.counter(runs, "Reconcile passes", {{"result", "ok"}},
                    number(status.passes - status.failed_passes));
    metrics.counter(runs, "Reconcile passes", {{"result", "failed"}}, number(status.failed_passes));
    for (const Stage stage : all_stages) {
        metrics.counter("virt_vgpu_reconcile_actions_total", "What passes have done",
                        {{"stage", std::string(to_string(stage))}},
                        number(status.actions[static_cast<std::size_t>(stage)]));
    }
    for (const Stage stage : all_stages) {
        metrics.counter("virt_vgpu_reconcile_failures_total", "What passes could not do",
                        {{"stage", std::string(to_string(stage))}},
                        number(status.failures[static_cast<std::size_t>(stage)]));
    }
    metrics.gauge("virt_vgpu_reconcile_last_seconds", "How long the last pass took", {},
                  seconds_of(status.last_pass));
    metrics.gauge("virt_vgpu_reconcile_last_end_timestamp_seconds", "When the last pass ended", {},
                  static_cast<double>(status.last_pass_ended));
}

void add_libvirt(MetricFamilies& metrics, const Status::View& status) {
    metrics.gauge("virt_vgpu_libvirt_up",
                  "1 while the connection for events is there and the last pass got an answer", {},
                  status.libvirt_up && status.libvirt_answers.empty() ? 1 : 0);
    metrics.counter("virt_vgpu_libvirt_reconnects_total", "Connections for events after the first",
                    {}, number(status.libvirt_connects > 0 ? status.libvirt_connects - 1 : 0));
    metrics.counter("virt_vgpu_libvirt_events_total", "Events of domains", {},
                    number(status.libvirt_events));
    metrics.gauge("virt_vgpu_libvirt_event_lag_seconds",
                  "From the last event that asked for a pass to the end of that pass", {},
                  seconds_of(status.event_lag));
}

void add_operations(MetricFamilies& metrics, const Operations& operations) {
    for (const auto& [key, count] : operations.counts()) {
        metrics.counter("virt_vgpu_operations_total", "Operations that have ended",
                        {{"kind", key.first}, {"result", key.second ? "done" : "failed"}},
                        number(count));
    }
}

void add_queues(MetricFamilies& metrics, Queues& queues) {
    for (const WorkQueue* queue : queues.all()) {
        metrics.gauge("virt_vgpu_queue_waiting", "Work that waits for a thread",
                      {{"queue", queue->name()}}, number(queue->waiting()));
    }
    for (const WorkQueue* queue : queues.all()) {
        metrics.gauge("virt_vgpu_queue_longest_seconds",
                      "How long the oldest work that is under way has been",
                      {{"queue", queue->name()}}, seconds_of(queue->longest()));
    }
}

void add_http(MetricFamilies& metrics, const http::Counters& http) {
    for (std::size_t i = 1; i < http.requests_by_class.size(); ++i) {
        metrics.counter("virt_vgpu_http_requests_total", "Answers of the API",
                        {{"class", std::to_string(i) + "xx"}}, number(http.requests_by_class[i]));
    }
    metrics.counter("virt_vgpu_http_refused_total",
                    "Requests and connections over a limit, malformed or too slow", {},
                    number(http.connections_refused + http.requests_refused +
                           http.requests_malformed + http.timeouts));
    metrics.gauge("virt_vgpu_http_connections", "Connections to the API", {},
                  number(http.connections_open));
}

/// Cumulative, as Prometheus wants it.
std::vector<std::pair<double, std::uint64_t>> buckets_of(const HookCounters::Row& row) {
    std::vector<std::pair<double, std::uint64_t>> buckets;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < row.durations.size(); ++i) {
        sum += row.durations[i];
        buckets.emplace_back(i < HookCounters::bounds.size()
                                 ? seconds_of(HookCounters::bounds[i])
                                 : std::numeric_limits<double>::infinity(),
                             sum);
    }
    return buckets;
}

void add_hook(MetricFamilies& metrics, const Config::Paths& paths) {
    const auto counters = read_hook_counters(paths);
    if (!counters) {
        return;
    }
    for (std::size_t i = 0; i < counters->rows.size(); ++i) {
        const std::string operation(HookCounters::operations[i]);
        metrics.counter("virt_vgpu_hook_runs_total", "Runs of the hook for domains with vGPUs",
                        {{"operation", operation}, {"result", "ok"}}, number(counters->rows[i].ok));
        metrics.counter("virt_vgpu_hook_runs_total", "Runs of the hook for domains with vGPUs",
                        {{"operation", operation}, {"result", "refused"}},
                        number(counters->rows[i].failed));
    }
    constexpr double microseconds_per_second = 1e6;
    for (std::size_t i = 0; i < counters->rows.size(); ++i) {
        metrics.histogram("virt_vgpu_hook_duration_seconds", "How long runs of the hook took",
                          {{"operation", std::string(HookCounters::operations[i])}},
                          buckets_of(counters->rows[i]),
                          number(counters->rows[i].microseconds) / microseconds_per_second);
    }
}

} // namespace

http::Response metrics_response(const ApiContext& context) {
    MetricFamilies metrics;
    const Status::View status = context.status.view();
    metrics.gauge("virt_vgpu_build_info", "Always 1", {{"version", VGPU_VERSION}}, 1);
    add_host(metrics, context);
    add_reconcile(metrics, status);
    add_libvirt(metrics, status);
    add_operations(metrics, context.operations);
    add_queues(metrics, context.queues);
    add_http(metrics, status.http);
    add_hook(metrics, context.site.get()->config.paths);
    http::Response response;
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    response.body = metrics.text();
    return response;
}

} // namespace vgpu
