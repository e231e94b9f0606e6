#include "agent/core/bounded_sysfs.hpp"

#include <fmt/format.h>

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace vgpu {

namespace {

// One message each way. Request: operation, path, NUL, data. Answer: header, then the content or
// the error's text.
constexpr std::size_t max_message = std::size_t{96} * 1024;

struct AnswerHeader {
    int ok = 0;
    int code = 0;
    int error_number = 0;
};

std::string encode(const Result<std::string>& result) {
    AnswerHeader header;
    header.ok = result.has_value() ? 1 : 0;
    if (!result) {
        header.code = static_cast<int>(result.error().code());
        header.error_number = result.error().error_number();
    }
    std::string message(sizeof header, '\0');
    std::memcpy(message.data(), &header, sizeof header);
    return message += result ? *result : result.error().text();
}

Result<std::string> decode(std::string_view message) {
    AnswerHeader header;
    if (message.size() < sizeof header) {
        return fail(ErrorCode::io, "the process that reads the driver's attributes has ended");
    }
    std::memcpy(&header, message.data(), sizeof header);
    std::string text(message.substr(sizeof header));
    if (header.ok != 0) {
        return text;
    }
    return fail(Error(static_cast<ErrorCode>(header.code), std::move(text), header.error_number));
}

} // namespace

std::string device_of_attribute(std::string_view path) {
    for (const std::string_view devices :
         {"bus/pci/devices/", "bus/mdev/devices/", "class/mdev_bus/"}) {
        if (path.starts_with(devices)) {
            return std::string(path.substr(0, path.find('/', devices.size())));
        }
    }
    return std::string(path);
}

BoundedSysfs::BoundedSysfs(Sysfs& inner, Deadline deadline,
                           std::function<void(int socket)> in_child)
    : inner_(inner), limit_(deadline), deadline_(deadline), in_child_(std::move(in_child)) {}

BoundedSysfs::~BoundedSysfs() {
    // An idle child leaves when it reads the end of the stream. It is not waited for: the end of a
    // process costs as much as a driver access, and has nothing more to do with any lock, which are
    // given back explicitly.
    socket_.reset();
}

void BoundedSysfs::forget_child() {
    if (child_ < 0) {
        return;
    }
    socket_.reset(); // the idle child reads the end of the stream and leaves
    while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
    child_ = -1;
}

Result<void> BoundedSysfs::start_child() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return fail(Error::system(errno, "create", "a socket pair"));
    }
    UniqueFd ours(ends[0]);
    const UniqueFd theirs(ends[1]);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) {
        return fail(Error::system(errno, "start", "a process for the driver's attributes"));
    }
    if (child == 0) {
        ours.reset();
        serve(theirs, parent);
    }
    socket_ = std::move(ours);
    child_ = child;
    return {};
}

void BoundedSysfs::serve(const UniqueFd& socket, pid_t parent) {
    // Whoever started this process may wait for the end of its output (libvirt does, without
    // limit).
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        ::close(standard);
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) {
        ::_exit(0);
    }
    ::alarm(0);
    if (in_child_) {
        in_child_(socket.get());
    }
    while (true) {
        const std::string_view request = receive(socket);
        if (request.empty()) {
            break;
        }
        const std::string reply = answer(request);
        if (::send(socket.get(), reply.data(), reply.size(), MSG_NOSIGNAL) < 0) {
            break;
        }
    }
    ::_exit(0);
}

std::string_view BoundedSysfs::receive(const UniqueFd& socket) {
    if (!buffer_) {
        buffer_ =
            std::make_unique_for_overwrite<char[]>(max_message); // only what is used is touched
    }
    while (true) {
        const ssize_t size = ::recv(socket.get(), buffer_.get(), max_message, 0);
        if (size >= 0 || errno != EINTR) {
            return {buffer_.get(), size > 0 ? static_cast<std::size_t>(size) : 0};
        }
    }
}

std::string BoundedSysfs::answer(std::string_view request) {
    const char operation = request.front();
    const std::size_t end = request.find('\0', 1);
    const std::string path(request.substr(1, end - 1));
    if (operation == 'r') {
        return encode(inner_.read(path));
    }
    if (operation != 'w' || end == std::string_view::npos) {
        return encode(fail(ErrorCode::invalid, "no such access"));
    }
    const auto written = inner_.write(path, request.substr(end + 1));
    return encode(written ? Result<std::string>(std::string()) : fail(written.error()));
}

void BoundedSysfs::get_ready() {
    if (child_ < 0) {
        static_cast<void>(start_child()); // an error comes back with the first access
    }
}

Result<std::string> BoundedSysfs::ask(char operation, const std::string& path,
                                      std::string_view data) {
    const std::string what =
        fmt::format("{} {}", operation == 'r' ? "read" : "write", inner_.absolute(path));
    if (stuck_.contains(device_of_attribute(path))) {
        return fail(ErrorCode::timeout,
                    what + ": not tried, the driver has not come back from an earlier access");
    }
    if (child_ < 0) {
        VGPU_TRY(start_child());
    }
    std::string message(1, operation);
    message.append(path).append(1, '\0').append(data);
    if (::send(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL) < 0) {
        return fail(Error::system(errno, "ask for", what));
    }
    pollfd wait{socket_.get(), POLLIN, 0};
    int ready = 0;
    do {
        ready = ::poll(&wait, 1, static_cast<int>(deadline_.remaining().count()));
    } while (ready < 0 && errno == EINTR && !deadline_.passed());
    if (ready <= 0) {
        // Left to itself, and to the locks it has: another child serves other devices.
        stuck_.insert(device_of_attribute(path));
        socket_.reset();
        child_ = -1;
        return fail(ErrorCode::timeout, what + ": the driver has not come back in time");
    }
    const std::string_view reply = receive(socket_);
    if (reply.empty()) {
        forget_child(); // somebody killed it; the next access starts another one
    }
    return decode(reply);
}

Result<std::string> BoundedSysfs::read(const std::string& path) {
    return ask('r', path, {});
}

Result<void> BoundedSysfs::write(const std::string& path, std::string_view data) {
    VGPU_TRY(ask('w', path, data));
    return {};
}

} // namespace vgpu
