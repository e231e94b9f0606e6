#include "agent/cli/command.hpp"
#include "agent/cli/event_follow.hpp"
#include "agent/cli/event_text.hpp"
#include "agent/cli/output.hpp"

#include <chrono>
#include <memory>

namespace vgpu::cli {

namespace {

constexpr const char* details =
    R"(Prints what virt-vgpud still knows of what has happened, the oldest first: at most 1024 events since
it was started. The whole log, with times, is in the journal: journalctl -u virt-vgpud. With --follow,
prints what happens from now on until it is interrupted, also across restarts of virt-vgpud. Kinds: log,
operation (requests begin and end), reconcile (a pass has found something to do), libvirt (a domain has
changed, the connection), resync (events were lost). --json: one object a line, with its id.)";

struct EventsOptions {
    bool follow = false;
    std::string since;
};

/// Prints events; remembers whether one could not be printed.
class Printer {
public:
    explicit Printer(bool json) : json_(json) {}
    bool operator()(const http::ReceivedEvent& event) {
        code_ = print(json_ ? event_json(event) : event_text(event));
        return code_ == exit_done;
    }
    [[nodiscard]] int code() const { return code_; }

private:
    bool json_;
    int code_ = exit_done;
};

int print_kept(const DaemonClient& daemon, const std::string& since, Printer& printer) {
    using std::chrono::seconds;
    const auto end = daemon.http().events(
        {"/v1/events?follow=false", since, -1}, Deadline::in(seconds(30)), seconds(30),
        [&printer](const http::ReceivedEvent& event) { return printer(event); });
    return end ? printer.code() : report_refusal(end.error());
}

int print_new(const DaemonClient& daemon, const std::string& since, Printer& printer) {
    EventFollow follow;
    follow.since = since;
    follow.each = [&printer](const http::ReceivedEvent& event) { return printer(event); };
    follow.interrupted = [](const std::string& why) { warn(why + "; connecting again"); };
    const auto end = follow_events(daemon, std::move(follow));
    return end ? printer.code() : report_refusal(end.error());
}

int run_events(const CommonOptions& common, const EventsOptions& options) {
    const auto daemon = DaemonClient::open(common);
    if (!daemon) {
        return report(daemon.error());
    }
    Printer printer(common.json);
    return options.follow ? print_new(*daemon, options.since, printer)
                          : print_kept(*daemon, options.since, printer);
}

} // namespace

void add_events(CLI::App& app, Program& program) {
    CLI::App* command =
        add_command(app, program, "events", "Print what has happened, or what happens", details);
    const auto options = std::make_shared<EventsOptions>();
    command->add_flag("-f,--follow", options->follow, "Print new events as they come");
    command->add_option("--since", options->since, "Only events after the one with this id")
        ->type_name("ID");
    command->callback([&program, options] {
        program.run = [&program, options] { return run_events(program.options, *options); };
    });
}

} // namespace vgpu::cli
