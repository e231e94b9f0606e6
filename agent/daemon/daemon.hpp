#pragma once

#include "agent/core/config.hpp"
#include "agent/core/result.hpp"

#include <functional>
#include <memory>

namespace vgpu {

/// virt-vgpud: everything that runs, put together.
class Daemon {
public:
    /// Takes the right to be the one daemon of this host, and the API's socket. `reread` gives the
    /// configuration anew at SIGHUP. Error: busy when another daemon runs; what the socket or the
    /// directories refuse.
    [[nodiscard]] static Result<std::unique_ptr<Daemon>>
    create(Config config, std::function<Result<Config>()> reread);
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;
    ~Daemon();

    /// Serves until SIGTERM or SIGINT, then lets what is under way end, for a minute at most. A
    /// second signal ends the process at once.
    void run();

private:
    struct Parts;
    explicit Daemon(std::unique_ptr<Parts> parts);

    std::unique_ptr<Parts> parts_;
};

} // namespace vgpu
