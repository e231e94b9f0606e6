#include "agent/cli/command.hpp"
#include "agent/cli/output.hpp"
#include "agent/cli/screen.hpp"
#include "agent/cli/terminal_signals.hpp"
#include "agent/cli/top_source.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <utility>

namespace vgpu::cli {

namespace {

constexpr const char* details =
    R"(Shows GPUs with their framebuffer and devices with state, profile and domain, those in use first.
It is drawn anew when something happens, and every 10 seconds; q or Ctrl-C ends it, r looks now.
HELD OPEN BY: a process that has the device open, as far as virt-vgpud can see. With --once or --json,
and without a terminal, it is printed once. Asks virt-vgpud.)";

Json answers_json(const TopAnswers& answers) {
    return {{"host", answers.host},
            {"gpus", answers.gpus},
            {"resources", answers.resources},
            {"devices", answers.devices}};
}

/// Draws until somebody ends it. Each turn waits for a key, a signal or news.
class LiveView {
public:
    LiveView(const DaemonClient& daemon, TopAnswers first)
        : shown_{std::move(first), ""}, source_(daemon, shown_.answers) {}

    Result<int> run() {
        VGPU_TRY(screen_.enter());
        while (!code_) {
            VGPU_TRY(draw());
            std::array<pollfd, 3> fds{
                {{STDIN_FILENO, POLLIN, 0}, {signals_.fd(), POLLIN, 0}, {source_.fd(), POLLIN, 0}}};
            if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) {
                return fail(Error::system(errno, "wait for", "the terminal"));
            }
            if (fds[0].revents != 0) {
                read_key();
            }
            if (fds[1].revents != 0) {
                VGPU_TRY(handle_signal());
            }
            if (fds[2].revents != 0) {
                shown_ = source_.latest();
            }
        }
        return *code_;
    }

private:
    Result<void> draw() {
        return screen_.draw(top_text(shown_.answers, shown_.error, screen_.rows(), colour_));
    }

    void read_key() {
        char key = 0;
        const ssize_t count = ::read(STDIN_FILENO, &key, 1);
        if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) {
            code_ = exit_failed; // the terminal is gone
        } else if (key == 'q' || key == 'Q') {
            code_ = exit_done;
        } else if (key == 'r') {
            source_.refresh();
        }
    }

    Result<void> handle_signal() {
        const int signal = signals_.take();
        if (signal == SIGTSTP) {
            screen_.leave();
            (void)::raise(SIGSTOP); // goes on here after `fg`
            return screen_.enter();
        }
        if (signal == SIGINT) {
            code_ = exit_done;
        } else if (signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT) {
            constexpr int of_signals = 128;
            code_ = of_signals + signal;
        }
        return {}; // another size is drawn at once
    }

    const TerminalSignals
        signals_; ///< before the threads of source_, which inherit what is blocked
    TopSource::View shown_;
    TopSource source_;
    Screen screen_;
    bool colour_ = wants_colour();
    std::optional<int> code_;
};

int run_top(const CommonOptions& options, bool once) {
    const auto daemon = DaemonClient::open(options);
    if (!daemon) {
        return report(daemon.error());
    }
    auto answers = ask_top(*daemon);
    if (!answers) {
        return report_refusal(answers.error());
    }
    if (options.json) {
        return print(written(answers_json(*answers)));
    }
    if (once || !Screen::is_possible()) {
        return print(top_text(*answers, "", 0, wants_colour()));
    }
    auto code = LiveView(*daemon, *std::move(answers)).run();
    return code ? *code : report(code.error());
}

} // namespace

void add_top(CLI::App& app, Program& program) {
    CLI::App* command =
        add_command(app, program, "top", "Watch GPUs, devices and domains", details);
    const auto once = std::make_shared<bool>(false);
    command->add_flag("--once", *once, "Print it once and end");
    command->callback([&program, once] {
        program.run = [&program, once] { return run_top(program.options, *once); };
    });
}

} // namespace vgpu::cli
