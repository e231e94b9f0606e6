#include "tests/support/simulator.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/unit/cli/program_process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace vgpu {

namespace {

using nlohmann::json;
using test::Ended;
using test::Simulator;
using test::SimulatorOptions;
using test::TempDir;
using testing::HasSubstr;
using testing::StartsWith;

Ended run(const std::vector<std::string>& arguments,
          const std::string& config = "/no/such/config") {
    return test::run_program_process(arguments, config);
}

class ProgramOnAHost : public testing::Test {
protected:
    Ended on_host(const std::vector<std::string>& arguments) const {
        return run(arguments, config);
    }
    static SimulatorOptions one_card() {
        SimulatorOptions options;
        options.config = "gpu 0000:41:00.0 model=L40S vfs=4\nset-type 0000:41:00.4 1150\n";
        return options;
    }
    json json_of(const std::vector<std::string>& arguments) const {
        const Ended ended = on_host(arguments);
        EXPECT_EQ(ended.code, 0) << ended.err;
        return json::parse(ended.out);
    }

    Simulator simulator{one_card()};
    std::string config = simulator.write_config("[libvirt]\nuri = \"test:///default\"\n");
};

} // namespace

TEST(Program, TellsItsVersion) {
    const Ended ended = run({"--version"});
    EXPECT_EQ(ended.code, 0);
    EXPECT_THAT(ended.out, StartsWith("virt-vgpu "));
}

TEST(Program, HelpsWithEachCommand) {
    const std::vector<std::vector<std::string>> commands{{},
                                                         {"gpus"},
                                                         {"devices"},
                                                         {"profiles"},
                                                         {"claims"},
                                                         {"doctor"},
                                                         {"release"},
                                                         {"assign"},
                                                         {"unassign"},
                                                         {"config"},
                                                         {"config", "check"},
                                                         {"xml"},
                                                         {"xml", "inspect"},
                                                         {"create"},
                                                         {"start"},
                                                         {"stop"},
                                                         {"reboot"},
                                                         {"delete"},
                                                         {"fork"},
                                                         {"instances"},
                                                         {"instance"},
                                                         {"operations"},
                                                         {"events"},
                                                         {"top"},
                                                         {"reconcile"},
                                                         {"completion"}};
    for (auto command : commands) {
        command.push_back("--help");
        const Ended ended = run(command);
        EXPECT_EQ(ended.code, 0) << command.front();
        EXPECT_THAT(ended.out, HasSubstr("--help")) << command.front();
        EXPECT_EQ(ended.err, "");
    }
}

TEST(Program, ExitsWith2OnWrongUsage) {
    const std::vector<std::vector<std::string>> wrong{
        {},
        {"nonsense"},
        {"gpus", "--nonsense"},
        {"release"},
        {"release", "no-device"},
        {"assign"},
        {"assign", "vm1", "--profile", "P", "--gpu", "41:00.0"},
        {"xml", "inspect"},
        {"config"},
        {"create"},
        {"create", "vm1"},
        {"create", "vm1", "--profile", ""},
        {"create", "--profile", "L40S-4Q"},
        {"create", "vm1", "--profile", "P", "--count", "17"},
        {"create", "vm1", "--profile", "P", "--disk", "/image"},
        {"create", "vm1", "--profile", "P", "--network", "a,b=c"},
        {"create", "vm1", "--file", "x", "--start"},
        {"start"},
        {"start", ""},
        {"stop", "vm1", "--timeout", "151"},
        {"fork", "vm1"},
        {"fork", "vm1", "vm2", "--disk", "/a"},
        {"fork", "vm1", "vm2", "--uuid", "x"},
        {"completion"},
        {"completion", "tcsh"}};
    for (const auto& arguments : wrong) {
        const Ended ended = run(arguments);
        EXPECT_EQ(ended.code, 2) << (arguments.empty() ? "nothing" : arguments.back());
        EXPECT_NE(ended.err, "");
        EXPECT_EQ(ended.out, "");
    }
}

TEST(Program, ExitsWith1WhenANamedConfigurationIsMissing) {
    const Ended ended = run({"gpus"});
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.err, StartsWith("virt-vgpu: "));
    EXPECT_THAT(ended.err, HasSubstr("/no/such/config"));
    EXPECT_EQ(run({"gpus", "--config", "/no/such/other"}).code, 1);
    EXPECT_EQ(run({"--config", "/no/such/other", "gpus"}).code, 1);
}

TEST(Program, NamesTheLineOfAMistakeInTheConfiguration) {
    const TempDir directory;
    test::write_file(directory / "broken.toml", "[paths]\nsysfs = \"/sys\"\nnonsense = 1\n");
    const Ended ended = run({"config", "check", "--config", directory / "broken.toml"});
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.err, HasSubstr("broken.toml:3"));
}

TEST(Program, InspectsXmlWithoutLibvirtAndWithoutAGpu) {
    const Ended ended =
        run({"xml", "inspect", std::string(VGPU_TEST_DOMAINS) + "/pci-live.xml", "--json"});
    ASSERT_EQ(ended.code, 0) << ended.err;
    const json domain = json::parse(ended.out);
    ASSERT_FALSE(domain["requests"].empty());
    for (const char* field : {"name", "profile", "gpu"}) {
        EXPECT_TRUE(domain["requests"][0].contains(field)) << field;
    }
    ASSERT_FALSE(domain["hostdevs"].empty());
    EXPECT_EQ(domain["hostdevs"][0]["type"], "pci");
    EXPECT_EQ(domain["hostdevs"][0]["managed"], false);
    EXPECT_TRUE(domain["hostdevs"][0].contains("address"));
    EXPECT_TRUE(domain["hostdevs"][0].contains("alias"));
    EXPECT_TRUE(domain.contains("uuid"));
    EXPECT_TRUE(domain.contains("name"));
}

TEST(Program, RefusesXmlThatIsNone) {
    const TempDir directory;
    test::write_file(directory / "no.xml", "<domain><name>x");
    const Ended ended = run({"xml", "inspect", directory / "no.xml"});
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.err, HasSubstr("no.xml"));
    EXPECT_EQ(ended.out, "");
}

TEST_F(ProgramOnAHost, ListsWhatThereIs) {
    EXPECT_EQ(json_of({"gpus", "--json"}).at(0).at("allocated"), 1);
    EXPECT_EQ(json_of({"devices", "--json"}).size(), 4U);
    EXPECT_EQ(json_of({"claims", "--json"}), json::array());
    EXPECT_THAT(on_host({"gpus"}).out, HasSubstr("NVIDIA L40S"));
    EXPECT_THAT(on_host({"devices"}).out, HasSubstr("dirty"));
}

TEST_F(ProgramOnAHost, RemembersProfilesThatAreSoldOut) {
    ASSERT_EQ(on_host({"release", "0000:41:00.4"}).code, 0);
    ASSERT_EQ(on_host({"profiles"}).code, 0); // root teaches the memory
    simulator.control("set-type 0000:41:00.4 1156");
    simulator.control("process-add 4242");
    simulator.control("process-fd 4242 7 group:0000:41:00.4"); // so that no repair can free it
    bool found = false;
    for (const json& profile : json_of({"profiles", "--json"})) {
        EXPECT_EQ(profile.at("available"), 0);
        found = found || profile.at("profile") == "NVIDIA L40S-4Q";
    }
    EXPECT_EQ(found, ::geteuid() == 0);
}

TEST_F(ProgramOnAHost, ReleasesADirtyDevice) {
    const Ended ended = on_host({"release", "0000:41:00.4", "--json"});
    ASSERT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(json::parse(ended.out).at("effect"), "reset");
    EXPECT_EQ(simulator.type("0000:41:00.4"), 0U);
}

// bug report D4: nvidia-smi's form of an address
TEST_F(ProgramOnAHost, TakesAnAddressInEveryForm) {
    EXPECT_EQ(on_host({"release", "00000000:41:00.4"}).code, 0);
    EXPECT_EQ(simulator.type("0000:41:00.4"), 0U);
}

TEST_F(ProgramOnAHost, IsLoudAboutForce) {
    EXPECT_THAT(on_host({"release", "0000:41:00.4", "--force"}).err, HasSubstr("warning: --force"));
}

TEST_F(ProgramOnAHost, RefusesToAssignAVfWithAHypervisorThatCannot) {
    const Ended ended = on_host({"assign", "test", "--profile", "L40S-4Q"});
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.err, HasSubstr("QEMU"));
}

TEST_F(ProgramOnAHost, SaysThatADomainIsNotThere) {
    const Ended ended = on_host({"unassign", "nobody"});
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.err, HasSubstr("nobody"));
}

TEST_F(ProgramOnAHost, DoctorExitsWith1WhenSomethingHasFailed) {
    const TempDir hooks;
    const Ended ended = on_host({"doctor", "--json", "--hooks-dir", hooks.path().string()});
    EXPECT_EQ(ended.code, 1);
    bool failed = false;
    for (const json& finding : json::parse(ended.out)) {
        failed = failed || (finding.at("check") == "hook" && finding.at("status") == "failure");
    }
    EXPECT_TRUE(failed);
}

TEST_F(ProgramOnAHost, PrintsNoColoursIntoAFile) {
    EXPECT_EQ(on_host({"devices"}).out.find('\033'), std::string::npos);
}

TEST_F(ProgramOnAHost, FailsWhenItsResultCannotBeWritten) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::setenv("VIRT_VGPU_CONFIG", config.c_str(), 1);
        ::dup2(::open("/dev/full", O_WRONLY), STDOUT_FILENO);
        ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);
        ::execl(VGPU_PROGRAM, VGPU_PROGRAM, "gpus", nullptr);
        ::_exit(127);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 1);
}

} // namespace vgpu
