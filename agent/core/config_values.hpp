#pragma once

#include "agent/core/config.hpp"
#include "agent/core/toml.hpp"
#include "agent/core/toml_guard.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace vgpu {

/// Readers of one configuration value each: they set `target`, or leave it and say what is wrong
/// and on which line.
using ReadOutcome = std::optional<TextProblem>;

/// An absolute path; slashes at its end are dropped.
ReadOutcome read_path(const toml::node& node, std::string& target);
/// A whole number with ms, s, m or h; at least 1 ms, at most 1 h, and less than `below` if given.
ReadOutcome read_duration(const toml::node& node, std::chrono::milliseconds& target,
                          std::optional<std::chrono::milliseconds> below = std::nullopt);
/// A duration, or 0 with any unit, or "auto", which is stored as -1 ms.
ReadOutcome read_self_removal(const toml::node& node, std::chrono::milliseconds& target);
ReadOutcome read_bool(const toml::node& node, bool& target);
/// Any text but an empty one: which drivers there are is libvirt's business.
ReadOutcome read_uri(const toml::node& node, std::string& target);
ReadOutcome read_group(const toml::node& node, std::string& target);
/// ["*"], or PCI addresses, of which duplicates count once.
ReadOutcome read_managed(const toml::node& node, Config::Gpus& gpus);
/// PCI addresses, of which duplicates count once.
ReadOutcome read_ignored(const toml::node& node, Config::Gpus& gpus);

} // namespace vgpu
