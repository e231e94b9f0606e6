// A hook outlives the libvirt daemon that started it. The next daemon may have started the domain
// again by then, so the late hook must change nothing (I5).
#include "tests/hook/hook_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>

namespace vgpu::test {

class Orphan : public HookTest {
public:
    /// Runs a hook whose parent is killed once the hook has begun to read its XML, and which gets
    /// the end of it after that.
    [[nodiscard]] HookEnd orphaned(const std::string& operation, const std::string& sub) const {
        ::prctl(PR_SET_CHILD_SUBREAPER, 1); // the orphan's end can be waited for
        int input[2];
        int message[2];
        if (::pipe2(input, O_CLOEXEC) != 0 || ::pipe2(message, O_CLOEXEC) != 0) {
            throw std::runtime_error("no pipe");
        }
        const pid_t libvirt = ::fork();
        if (libvirt == 0) {
            if (::fork() == 0) {
                exec_hook(input[0], message[1], config, {"vm1", operation, sub, "-"});
            }
            ::close(input[0]);
            ::close(input[1]);
            ::pause();
        }
        ::close(input[0]);
        ::close(message[1]);
        const std::string xml = xml_a();
        if (::write(input[1], xml.data(), xml.size()) != static_cast<ssize_t>(xml.size())) {
            throw std::runtime_error("the hook takes no input");
        }
        until_read(input[1]);
        ::kill(libvirt, SIGKILL);
        ::waitpid(libvirt, nullptr, 0);
        ::close(input[1]);
        HookEnd end;
        char text[4096];
        for (ssize_t got = 0; (got = ::read(message[0], text, sizeof text)) > 0;) {
            end.message.append(text, static_cast<std::size_t>(got));
        }
        ::close(message[0]);
        int status = 0;
        ::waitpid(-1, &status,
                  0); // the hook: our only child besides the simulator has been waited for
        end.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return end;
    }

private:
    static void until_read(int pipe) {
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        for (int left = 1; left > 0;) {
            ::ioctl(pipe, FIONREAD, &left);
            ::poll(nullptr, 0, 1);
            if (std::chrono::steady_clock::now() > limit) {
                throw std::runtime_error("the hook does not read");
            }
        }
    }
};

TEST_F(Orphan, APrepareClaimsNothing) {
    const HookEnd end = orphaned("prepare", "begin");
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, ::testing::HasSubstr("libvirt daemon that started this hook is gone"));
    expect_all_free();
}

TEST_F(Orphan, AReleaseLeavesTheDeviceAsItIs) {
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    const auto before = claim(vf0);
    EXPECT_EQ(orphaned("release", "end").status, 0);
    EXPECT_EQ(claim(vf0), before);
    EXPECT_EQ(sim.type(vf0), type_4q);
    EXPECT_EQ(release("vm1", xml_a()).status, 0);
}

TEST_F(Orphan, AReconnectRecordsNothing) {
    EXPECT_EQ(orphaned("reconnect", "begin").status, 0);
    EXPECT_FALSE(claim(vf0));
}

} // namespace vgpu::test
