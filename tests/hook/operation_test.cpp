// What each operation may refuse and what it must never: design table of hook operations.
#include "tests/hook/hook_process.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace vgpu::test {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Operation : public HookTest {};

TEST_F(Operation, StartedRecordsTheVmmThatHoldsThePidFile) {
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    const PlayedVmm vmm = play_vmm("vm1");
    EXPECT_EQ(hook("vm1", "started", "begin", xml_a()).status, 0);
    EXPECT_EQ(claimed(vf0).vmm, vmm.recorded);
}

TEST_F(Operation, StartedRecordsNoVmmThatItDoesNotSee) {
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    EXPECT_EQ(hook("vm1", "started", "begin", xml_a()).status, 0);
    EXPECT_EQ(claimed(vf0).vmm, std::nullopt);
}

// hypeman 3.4: a bystander. The file's text is no proof, its lock is.
TEST_F(Operation, StartedRecordsNoProcessThatThePidFileMerelyNames) {
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    write_file(sim.libvirt_run() + "/vm1.pid", "4242\n");
    sim.control("process-add 4242 comm=qemu-system-x86 start=777");
    EXPECT_EQ(hook("vm1", "started", "begin", xml_a()).status, 0);
    EXPECT_EQ(claimed(vf0).vmm, std::nullopt);
}

TEST_F(Operation, ReconnectGivesARunningDomainItsClaimWithoutTouchingTheDevice) {
    sim.control(std::string("set-type ") + vf0 + " 1150");
    EXPECT_EQ(hook("vm1", "reconnect", "begin", xml_a()).status, 0);
    const auto made = claim(vf0);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->state, ClaimState::configured);
    EXPECT_TRUE(made->managed);
    EXPECT_EQ(made->type_id, type_4q);
    EXPECT_EQ(sim.type(vf0), type_4q);
    EXPECT_EQ(sim.counter(std::string(vf0) + ".resets"), 0U);
}

TEST_F(Operation, ReconnectLeavesAnExistingClaimAsItIs) {
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    const auto before = claim(vf0);
    EXPECT_EQ(hook("vm1", "reconnect", "begin", xml_a()).status, 0);
    EXPECT_EQ(claim(vf0), before);
    EXPECT_EQ(hook("vm2", "reconnect", "begin", xml_b()).status, 0)
        << "a conflict is logged, a guest is not killed for it";
    EXPECT_EQ(claim(vf0), before);
}

TEST_F(Operation, ReconnectNeverFailsWhateverIsBroken) { // a non-zero exit kills the guest
    write_file(claim_path(vf0), "{");
    EXPECT_EQ(hook("vm1", "reconnect", "begin", xml_a()).status, 0);
    EXPECT_EQ(hook("vm1", "reconnect", "begin", "<domain").status, 0);
    EXPECT_EQ(hook("vm1", "reconnect", "begin", "").status, 0);
    config = "/nonexistent/virt-vgpu.toml";
    EXPECT_EQ(hook("vm1", "reconnect", "begin", xml_a()).status, 0);
    EXPECT_EQ(hook("vm1", "started", "begin", xml_a()).status, 0);
    EXPECT_EQ(release("vm1", xml_a()).status, 0);
}

TEST_F(Operation, EverythingElseSucceedsAndTouchesNothing) {
    const std::vector<std::pair<std::string, std::string>> operations{
        {"start", "begin"},  {"stopped", "end"}, {"migrate", "begin"}, {"restore", "begin"},
        {"attach", "begin"}, {"prepare", "end"}, {"release", "begin"}, {"future", "operation"}};
    for (const auto& [operation, sub] : operations) {
        const HookEnd end = hook("vm1", operation, sub, xml_a());
        EXPECT_EQ(end.status, 0) << operation;
        EXPECT_THAT(end.message, IsEmpty());
    }
    EXPECT_EQ(sim.counter(std::string(vf0) + ".types_set"), 0U);
    expect_all_free();
}

TEST_F(Operation, ADomainWithoutVgpusIsNobodysBusiness) {
    config = "/nonexistent/virt-vgpu.toml"; // not even read
    for (const char* operation : {"prepare", "started", "reconnect"}) {
        EXPECT_EQ(hook("plain", operation, "begin", domain_xml("plain", uuid_a, {})).status, 0);
    }
    EXPECT_EQ(release("plain", domain_xml("plain", uuid_a, {})).status, 0);
}

TEST_F(Operation, PrepareRefusesWhatCannotBeRead) {
    EXPECT_EQ(prepare("vm1", "<domain type='kvm'><hostdev").status, 1);
    std::string big = xml_a();
    big.insert(big.find("<devices>"), "<!--" + std::string(5U << 20U, 'x') + "-->");
    const HookEnd end = prepare("vm1", big);
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, HasSubstr("vm1"));
    config = "/nonexistent/virt-vgpu.toml";
    EXPECT_THAT(prepare("vm1", xml_a()).message, HasSubstr("/nonexistent/virt-vgpu.toml"));
}

TEST_F(Operation, AForeignDomainStartsEvenIfOurConfigurationIsBroken) {
    write_file(sim.directory() + "/broken.toml", "[hook]\ndeadlin = \"1s\"\n");
    config = sim.directory() + "/broken.toml";
    EXPECT_EQ(prepare("vm1", domain_xml("vm1", uuid_a, {{"", "", vf0, "", "", false}})).status, 0);
    const HookEnd end = prepare("vm1", xml_a());
    EXPECT_EQ(end.status, 1);
    EXPECT_THAT(end.message, HasSubstr("deadlin"));
}

TEST_F(Operation, AnotherDriversHookSucceedsAtOnce) {
    const std::string link = sim.directory() + "/libvirt/hooks/lxc.d/virt-vgpu";
    std::filesystem::create_directories(std::filesystem::path(link).parent_path());
    std::filesystem::create_symlink(hook_program(), link);
    const std::string command =
        fmt::format("VIRT_VGPU_CONFIG={} {} vm1 prepare begin - </dev/null", config, link);
    EXPECT_EQ(std::system(command.c_str()), 0); // NOLINT(cert-env33-c): a fixed command
    EXPECT_NE(
        std::system(fmt::format("VIRT_VGPU_CONFIG={} {} vm1 prepare begin - </dev/null 2>/dev/null",
                                config, VGPU_HOOK_PATH)
                        .c_str()),
        0)
        << "the qemu hook refuses an empty document";
}

TEST_F(Operation,
       ReleaseToleratesTheReasonsOfNewerLibvirts) { // since 10.5 the 4th argument says why
    for (const char* reason :
         {"-", "shutdown", "destroyed", "crashed", "from snapshot", "failed", "something new"}) {
        ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
        EXPECT_EQ(hook("vm1", "release", "end", xml_a(), reason).status, 0);
        expect_all_free();
    }
}

TEST_F(Operation, AFullDiskDoesNotKeepADeviceFromBeingFreed) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "needs root, to mount a small file system";
    }
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    write_file(sim.directory() + "/vm1.xml", xml_a());
    // A file system of one page, which the claim takes, in a mount namespace of its own.
    write_file(sim.directory() + "/full",
               fmt::format("set -e; cd {0}; cp {1} claim; mount -t tmpfs -o size=4k tmpfs "
                           "{2}/claims; cp claim {1}\n"
                           "VIRT_VGPU_CONFIG={3} {4} vm1 release end - <vm1.xml; test ! -e {1}\n",
                           sim.directory(), claim_path(vf0), sim.state(), config, hook_program()));
    const std::string command = fmt::format("unshare --mount sh {}/full", sim.directory());
    EXPECT_EQ(std::system(command.c_str()), 0); // NOLINT(cert-env33-c): a fixed command
    EXPECT_EQ(sim.type(vf0), 0U);
}

TEST_F(
    Operation,
    ALockIsNotLostToAClosedStandardFile) { // its descriptor would be taken for stderr, and closed
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);
    config = write_config("[hook]\nrelease_budget = \"300ms\"\n");
    write_file(sim.directory() + "/vm1.xml", xml_a());
    sim.control(std::string("block ") + vf0 + " hard");
    const std::string command =
        fmt::format("VIRT_VGPU_CONFIG={} {} vm1 release end - <{}/vm1.xml >&- 2>&-", config,
                    hook_program(), sim.directory());
    EXPECT_EQ(std::system(command.c_str()), 0); // NOLINT(cert-env33-c): a fixed command
    const std::string lock = sim.runtime() + "/devices/pci-" + vf0 + ".lock";
    const int fd = ::open(lock.c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_NE(::flock(fd, LOCK_EX | LOCK_NB), 0) << "a write is pending";
    ::close(fd);
    sim.control(std::string("unblock ") + vf0);
}

TEST_F(Operation, AReaderThatDoesNotReadItsErrorDoesNotHoldUpARefusal) { // I8
    int message[2];
    ASSERT_EQ(::pipe2(message, O_CLOEXEC | O_NONBLOCK), 0);
    const std::string filling(65'536, 'x');
    while (::write(message[1], filling.data(), filling.size()) > 0) {
    }
    ::fcntl(message[1], F_SETFL, 0);
    const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    const pid_t refused = ::fork();
    if (refused == 0) {
        exec_hook(input, message[1], config, {"vm1", "prepare", "begin", "-"});
    }
    int status = 0;
    EXPECT_EQ(::waitpid(refused, &status, 0), refused);
    EXPECT_EQ(WEXITSTATUS(status), 1);
    for (const int fd : {input, message[0], message[1]}) {
        ::close(fd);
    }
}

} // namespace vgpu::test
