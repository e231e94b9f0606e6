#include "hooks/invocation.hpp"

namespace vgpu {

namespace {

/// libvirt runs /etc/libvirt/hooks/DRIVER, or a file in /etc/libvirt/hooks/DRIVER.d, under that
/// name.
bool of_another_driver(std::string_view program) {
    constexpr std::string_view folder = "/libvirt/hooks/";
    const std::size_t at = program.find(folder);
    if (at == std::string_view::npos) {
        return false; // run by hand, or under a name of somebody's choice
    }
    std::string_view driver = program.substr(at + folder.size());
    driver = driver.substr(0, driver.find('/'));
    return driver != "qemu" && driver != "qemu.d";
}

HookOperation operation_of(std::string_view operation, std::string_view sub_operation) {
    if (operation == "prepare" && sub_operation == "begin") {
        return HookOperation::prepare;
    }
    if (operation == "started" && sub_operation == "begin") {
        return HookOperation::started;
    }
    if (operation == "release" && sub_operation == "end") {
        return HookOperation::release;
    }
    if (operation == "reconnect" && sub_operation == "begin") {
        return HookOperation::reconnect;
    }
    return HookOperation::nothing;
}

} // namespace

Invocation parse_invocation(int argc, const char* const* argv) {
    Invocation invocation;
    if (argc < 4 || of_another_driver(argv[0])) {
        return invocation;
    }
    invocation.operation = operation_of(argv[2], argv[3]);
    invocation.domain_name = argv[1];
    invocation.extra = argc > 4 ? argv[4] : "";
    return invocation;
}

} // namespace vgpu
