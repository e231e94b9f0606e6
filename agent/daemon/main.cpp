#include "agent/daemon/daemon.hpp"

#include <CLI/CLI.hpp>

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

namespace {

constexpr int exit_failed = 1;
constexpr int exit_usage = 2;

struct Options {
    std::string config; ///< empty: $VIRT_VGPU_CONFIG, else the default
    bool check_config = false;
};

vgpu::Result<vgpu::Config> read_config(const Options& options) {
    const char* named = std::getenv("VIRT_VGPU_CONFIG");
    const bool must_exist = !options.config.empty() || (named != nullptr && *named != '\0');
    return vgpu::load_config(options.config.empty() ? vgpu::config_path() : options.config,
                             must_exist);
}

int complain(const vgpu::Error& error) {
    std::fprintf(stderr, "virt-vgpud: error: %s\n", error.text().c_str());
    return exit_failed;
}

void set_up_process() {
    // What gets the number of a closed standard descriptor would be written to as if it were it.
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(standard, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) < 0) {
            std::_Exit(exit_failed);
        }
    }
    ::umask(022);
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);
    // A child that was left in a driver write is nobody's to wait for when it ends at last.
    ::signal(SIGCHLD, SIG_IGN);
    // Each thread would have an arena of its own otherwise, and keep in it what a pass needed once.
    ::mallopt(M_ARENA_MAX, 2);
    ::mallopt(M_TRIM_THRESHOLD, 256 * 1024);
}

int run(const Options& options) {
    auto config = read_config(options);
    if (!config) {
        return complain(config.error());
    }
    if (options.check_config) {
        std::puts("The configuration is valid.");
        return 0;
    }
    auto daemon =
        vgpu::Daemon::create(std::move(*config), [options] { return read_config(options); });
    if (!daemon) {
        return complain(daemon.error());
    }
    (*daemon)->run();
    return 0;
}

int parse_and_run(int count, char** arguments) {
    CLI::App app{
        "The node agent of virt-vgpu: starts and stops domains with vGPUs on request, heals what "
        "crashes left\nbehind, and serves an HTTP API on a Unix socket. Runs in the foreground; "
        "see virt-vgpud(8).",
        "virt-vgpud"};
    Options options;
    app.set_version_flag("--version", "virt-vgpud " VGPU_VERSION);
    app.add_option("--config", options.config, "Configuration file")->type_name("FILE");
    app.add_flag("--check-config", options.check_config, "Check the configuration and end");
    try {
        app.parse(count, arguments);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : exit_usage;
    }
    return run(options);
}

} // namespace

int main(int count, char** arguments) {
    set_up_process();
    int code = exit_failed;
    try {
        code = parse_and_run(count, arguments);
    } catch (const std::exception& exception) {
        std::fprintf(stderr, "virt-vgpud: %s\n", exception.what());
    }
    std::fflush(stdout);
    // Not std::exit: threads that wait for a driver or a libvirt that hangs may still be running.
    std::_Exit(code);
}
