#pragma once

#include "agent/cli/daemon_client.hpp"

#include <string>

namespace vgpu::cli {

/// What `top` shows: answers of virt-vgpud, looked at one after the other.
struct TopAnswers {
    Json host;
    Json gpus;
    Json resources;
    Json devices;
};

/// Asks for all of them. Blocks. Error: the first that is not answered.
[[nodiscard]] Result<TopAnswers> ask_top(const DaemonClient& daemon);

/// One word for the state of a device of GET /v1/devices: the same as state_word() says.
[[nodiscard]] std::string device_state(const Json& device);

/// GPUs with their framebuffer, then devices: those in use first, each group in the order sent.
/// With `rows` not 0, at most so many lines, and the last says how many devices are left out.
/// `note` is a line for what is wrong; empty: none. Text in answers is untrusted and is made
/// harmless.
[[nodiscard]] std::string top_text(const TopAnswers& answers, const std::string& note,
                                   std::size_t rows, bool colour);

} // namespace vgpu::cli
