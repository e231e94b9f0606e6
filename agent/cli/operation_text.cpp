#include "agent/cli/operation_text.hpp"

#include "agent/cli/instance_text.hpp"
#include "agent/cli/operation_wait.hpp"
#include "agent/cli/table.hpp"

#include <fmt/format.h>

namespace vgpu::cli {

namespace {

Cell state_cell(const Json& operation) {
    const std::string state = text_member(operation, "state");
    return {cell_text(state), state == "failed" ? Tone::bad
                              : state == "done" ? Tone::good
                                                : Tone::plain};
}

std::string what(const Json& operation) {
    const std::string target = text_member(operation, "target");
    return cell_text(text_member(operation, "kind")) +
           (target.empty() ? "" : " " + cell_text(target));
}

} // namespace

std::string operation_summary(const Json& operation) {
    const Json& problem = member(operation, "problem");
    return fmt::format("{}: {}{}", what(operation), cell_text(text_member(operation, "state")),
                       problem.is_object() ? ": " + error_of_problem(problem).text() : "");
}

std::string operation_text(const Json& operation, bool colour) {
    const Cell state = state_cell(operation);
    std::string text =
        fmt::format("{} ({}): {}\nstarted {}, ended {}\n", what(operation),
                    cell_text(text_member(operation, "id")), toned(state.text, state.tone, colour),
                    cell_text(text_member(operation, "started_at")),
                    cell_text(text_member(operation, "ended_at")));
    const Json& problem = member(operation, "problem");
    if (problem.is_object()) {
        text += "\n" + error_of_problem(problem).text() + "\n";
    }
    const Json& result = member(operation, "result");
    if (member(result, "gpus").is_array()) {
        text += "\n" + instance_text(result, colour);
    }
    return text;
}

std::string operations_text(const Json& operations, bool colour) {
    if (!operations.is_array() || operations.empty()) {
        return "No operation since virt-vgpud was started.\n";
    }
    Table table({{"ID"}, {"KIND"}, {"TARGET"}, {"STATE"}, {"STARTED"}, {"ENDED"}});
    for (const Json& operation : operations) {
        table.add({{cell_text(text_member(operation, "id"))},
                   {cell_text(text_member(operation, "kind"))},
                   {cell_text(text_member(operation, "target"))},
                   state_cell(operation),
                   {cell_text(text_member(operation, "started_at"))},
                   {cell_text(text_member(operation, "ended_at"))}});
    }
    return table.text(colour);
}

} // namespace vgpu::cli
