#include "tests/support/simulator.hpp"
#include "tests/unit/cli/daemon_process.hpp"
#include "tests/unit/cli/program_process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace vgpu {

namespace {

using nlohmann::json;
using test::DaemonProcess;
using test::Ended;
using test::Simulator;
using test::SimulatorOptions;
using testing::HasSubstr;

/// The command line, virt-vgpud and libvirt's test driver on a simulated host that makes mdevs.
class WithDaemon : public testing::Test {
protected:
    Ended run(const std::vector<std::string>& arguments) const {
        return test::run_program_process(arguments, config);
    }
    Ended create(const std::string& name, const std::string& memory = "512") const {
        return run({"create", name, "--profile", "T4-1Q", "--count", "2", "--vcpus", "1",
                    "--memory", memory, "--disk", "/images/" + name + ".qcow2"});
    }
    static SimulatorOptions one_card() {
        SimulatorOptions options;
        options.config = "gpu 0000:41:00.0 model=T4 framework=mdev-pf\n";
        return options;
    }
    json json_of(std::vector<std::string> arguments) const {
        arguments.emplace_back("--json");
        const Ended ended = run(arguments);
        EXPECT_EQ(ended.code, 0) << ended.err;
        return json::parse(ended.out);
    }

    Simulator simulator{one_card()};
    std::string config =
        simulator.write_config("[libvirt]\nuri = \"test:///default\"\n[api]\ngroup = \"\"\n");
    DaemonProcess daemon{config};
};

} // namespace

TEST_F(WithDaemon, ADomainIsMadeListedForkedAndDeleted) {
    const Ended created = create("vm1");
    ASSERT_EQ(created.code, 0) << created.err;
    EXPECT_THAT(created.out, HasSubstr("vgpu1"));
    EXPECT_EQ(json_of({"instance", "vm1"}).at("gpus").size(), 2U);
    const Ended forked = run({"fork", "vm1", "vm2", "--disk", "/images/vm1.qcow2=/images/b.qcow2"});
    EXPECT_EQ(forked.code, 0) << forked.err;
    EXPECT_EQ(run({"instances", "--names"}).out, "vm1\nvm2\n");
    EXPECT_EQ(run({"delete", "vm1"}).code, 0);
    EXPECT_EQ(run({"delete", "vm2"}).code, 0);
    EXPECT_EQ(json_of({"instances"}), json::array());
}

TEST_F(WithDaemon, ARepeatedCommandIsAnsweredWithWhatIsThere) {
    const Ended first = create("vm1");
    ASSERT_EQ(first.code, 0) << first.err;
    EXPECT_EQ(create("vm1").out, first.out);
    const Ended other = create("vm1", "1024");
    EXPECT_EQ(other.code, 1);
    EXPECT_THAT(other.err, HasSubstr("another request"));
}

TEST_F(WithDaemon, WhatItRefusesIsSaidAndKeptAsAnOperation) {
    const Ended ended = run({"start", "nobody"});
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.err, HasSubstr("nobody"));
    const json operations = json_of({"operations"});
    ASSERT_EQ(operations.size(), 1U);
    const std::string id = operations[0].at("id");
    EXPECT_THAT(run({"operations", id}).out, HasSubstr("start nobody (" + id + "): failed"));
}

TEST_F(WithDaemon, EventsThatAreKeptArePrintedAndThenItEnds) {
    ASSERT_EQ(create("vm1").code, 0);
    const Ended all = run({"events"});
    EXPECT_EQ(all.code, 0) << all.err;
    EXPECT_THAT(all.out, HasSubstr("operation  create vm1: running\n"));
    EXPECT_THAT(all.out, HasSubstr("operation  create vm1: done\n"));
    const Ended whole = run({"events", "--json"});
    const json first = json::parse(whole.out.substr(0, whole.out.find('\n')));
    const std::string rest = run({"events", "--json", "--since", first.at("id")}).out;
    EXPECT_EQ(rest.substr(0, 20), whole.out.substr(whole.out.find('\n') + 1, 20));
    EXPECT_THAT(run({"events", "--since", "none"}).out, HasSubstr("resync"));
}

TEST_F(WithDaemon, ReconcileAndTopAskTheDaemon) {
    EXPECT_EQ(run({"reconcile"}).out, "Nothing to do.\n");
    EXPECT_EQ(json_of({"operations"}).at(0).at("kind"), "reconcile");
    const Ended here = run({"reconcile", "--no-rebind"});
    EXPECT_EQ(here.code, 1);
    EXPECT_THAT(here.err, HasSubstr("[libvirt]"));
    EXPECT_THAT(run({"top"}).out, HasSubstr("0 of 1 devices in use"));
}

} // namespace vgpu
