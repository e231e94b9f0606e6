#pragma once

#include "agent/core/ids.hpp"
#include "agent/core/result.hpp"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace vgpu {

/// The parts of a reconcile pass, in the order in which they are made.
enum class Stage { release, adopt, repair, rebind };

inline constexpr std::array all_stages{Stage::release, Stage::adopt, Stage::repair, Stage::rebind};

/// "release", "adopt", "repair", "rebind".
[[nodiscard]] std::string_view to_string(Stage stage);

/// One thing that a pass has done, would do (dry run), or could not do.
struct Action {
    Stage stage = Stage::release;
    std::string text;                ///< for people, with device and domain
    std::optional<DeviceKey> device; ///< none when it concerns a domain as a whole
    std::string domain_name;         ///< empty if no domain is concerned
    std::optional<Uuid> domain_uuid;
    std::optional<Error> error; ///< why it could not be done; it is tried again by the next pass
};

struct ReconcileReport {
    bool dry_run = false;
    std::vector<Action> actions;
    /// Why something was not looked at or left alone; nothing is freed for want of evidence.
    std::vector<std::string> problems;
    std::string libvirt_trouble; ///< why libvirt's domains are not known; empty: they are

    [[nodiscard]] std::size_t failures() const;
    /// Something has been changed, so that a further pass may find more to do.
    [[nodiscard]] bool changed() const;
};

/// A line for each action and problem; "Nothing to do." when there is none.
[[nodiscard]] std::string report_text(const ReconcileReport& report);
/// {"dry_run":…,"actions":[{"stage","text","device","domain":{"name","uuid"},"error"}],"problems":[…]}
[[nodiscard]] std::string report_json(const ReconcileReport& report);
/// The same on one line, for the event stream.
[[nodiscard]] std::string report_line(const ReconcileReport& report);

} // namespace vgpu
