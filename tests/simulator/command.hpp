#pragma once

#include "tests/simulator/host.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vgpu::simulator {

/// One line of a configuration file or of the control file, taken apart: words separated by blanks;
/// "..." keeps blanks; \n \t \0 \" \\ stand for what they do in C; '#' at the start of a word ends
/// the line.
using Words = std::vector<std::string>;
tl::expected<Words, std::string> split_words(std::string_view line);

/// What is left of a line after the words taken so far, with complaints for people.
class Arguments {
public:
    explicit Arguments(Words words) : words_(std::move(words)) {}

    /// The next word; `what` names it in the complaint when it is missing.
    tl::expected<std::string, std::string> next(std::string_view what);
    /// The next word, or nullopt at the end.
    std::optional<std::string> maybe();
    tl::expected<std::uint64_t, std::string> number(std::string_view what);
    /// A number or "always".
    tl::expected<std::uint64_t, std::string> amount(std::string_view what);
    /// The same, or `fallback` at the end.
    tl::expected<std::uint64_t, std::string> count(std::uint64_t fallback);
    /// "on" or "off".
    tl::expected<bool, std::string> on_off(std::string_view what);
    /// All that is left, as key=value.
    tl::expected<std::map<std::string, std::string>, std::string> pairs();
    /// A complaint when something is left.
    [[nodiscard]] Done end();
    /// True if one of these functions has complained: the command was spelt wrong.
    [[nodiscard]] bool misused() const { return misused_; }

private:
    tl::unexpected<std::string> misuse(std::string reason);

    Words words_;
    std::size_t position_ = 0;
    bool misused_ = false;
};

/// Carries out one line. The complaint is a line for people.
Done execute(Host& host, std::string_view line);
/// Carries out the lines of a configuration file; the complaint names the line.
Done execute_file(Host& host, std::string_view text);

/// The device that a command names, by PCI address or mdev UUID.
tl::expected<std::shared_ptr<Device>, std::string> device_named(Host& host,
                                                                const std::string& name);
tl::expected<std::shared_ptr<Gpu>, std::string> gpu_named(Host& host, const std::string& name);
/// A number in decimal or, with 0x, hexadecimal.
std::optional<std::uint64_t> parse_number(std::string_view text);

/// A command: what follows its name, and what it does.
struct Command {
    std::string_view name;
    std::string_view usage;
    Done (*run)(Host& host, Arguments& arguments);
};

/// The commands by theme; execute() looks in all of them.
std::vector<Command> host_commands();
std::vector<Command> card_commands();
std::vector<Command> device_commands();
std::vector<Command> process_commands();

/// All commands with what they take, one per line, for --help.
std::string command_help();

/// The host as text: counters, devices that have something to say, processes, faults.
std::string report(const Host& host);

} // namespace vgpu::simulator

#define VGPU_SIMULATOR_CONCAT_(a, b) a##b
#define VGPU_SIMULATOR_CONCAT(a, b) VGPU_SIMULATOR_CONCAT_(a, b)

/// Returns the complaint of `expression` from the calling function, if there is one.
#define SIMULATOR_CHECK(expression)                                                                \
    if (auto VGPU_SIMULATOR_CONCAT(result_, __LINE__) = (expression);                              \
        !VGPU_SIMULATOR_CONCAT(result_, __LINE__)) {                                               \
        return ::vgpu::simulator::refused(                                                         \
            std::move(VGPU_SIMULATOR_CONCAT(result_, __LINE__)).error());                          \
    }                                                                                              \
    static_assert(true)

/// `declaration` = the value of `expression`, or returns its complaint from the calling function.
#define SIMULATOR_TRY(declaration, expression)                                                     \
    auto VGPU_SIMULATOR_CONCAT(result_, __LINE__) = (expression);                                  \
    if (!VGPU_SIMULATOR_CONCAT(result_, __LINE__)) {                                               \
        return ::vgpu::simulator::refused(                                                         \
            std::move(VGPU_SIMULATOR_CONCAT(result_, __LINE__)).error());                          \
    }                                                                                              \
    declaration = *std::move(VGPU_SIMULATOR_CONCAT(result_, __LINE__))
