#pragma once

#include "agent/cli/doctor.hpp"

#include <string>

namespace vgpu::test {

/// All findings as text, one per line, "level check: text -> advice", for looking things up.
inline std::string lines_of(const cli::Findings& findings) {
    std::string lines;
    for (const cli::Finding& finding : findings.all()) {
        lines += std::string(cli::to_string(finding.level)) + " " + finding.check + ": " +
                 finding.text + " -> " + finding.advice + "\n";
    }
    return lines;
}

} // namespace vgpu::test
