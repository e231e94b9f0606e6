#pragma once

#include <sys/types.h>

#include <string>

namespace vgpu::test {

/// virt-vgpud itself as a process that is ready to serve; ends with this object. Throws
/// std::runtime_error when it does not become ready.
class DaemonProcess {
public:
    explicit DaemonProcess(const std::string& config);
    ~DaemonProcess();
    DaemonProcess(const DaemonProcess&) = delete;
    DaemonProcess& operator=(const DaemonProcess&) = delete;

private:
    pid_t pid_ = -1;
};

} // namespace vgpu::test
