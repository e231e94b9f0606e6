// SIGKILL at every system call of a hook. Whatever was done by then, the next hook ends in a state
// that breaks no invariant.
#include "tests/hook/hook_process.hpp"
#include "tests/hook/killed_hook.hpp"

#include <fmt/format.h>

#include <sys/syscall.h>

#include <algorithm>
#include <iterator>

namespace vgpu::test {

class Crash : public HookTest {
public:
    /// What must hold at any moment, whoever was killed where.
    void expect_invariants(const std::string& where) const {
        for (const char* vf : {vf0, vf1}) {
            const auto found = claim(vf); // fails the test if it is torn
            if (sim.type(vf) != 0) {
                EXPECT_TRUE(found)
                    << where << ": " << vf << " carries a type and belongs to nobody (I2, I3)";
            }
            if (found) {
                EXPECT_NE(found->state, ClaimState::claimed) << where;
            }
        }
        EXPECT_EQ(sim.counter("writes_while_open"), 0U) << where;
    }

    /// Runs `scenario` for N = 1, 2, ... until the hook ends before its N-th call. `begin` sets up,
    /// `after` looks and ends clean.
    template <typename Begin, typename After>
    void sweep(const std::vector<std::string>& arguments, const std::string& xml, Begin begin,
               After after) {
        std::size_t n = 1;
        for (long call = 0;; ++n) {
            begin();
            const bool killed = kill_hook_at(n, config, arguments, xml, call);
            const std::string where = fmt::format("killed at call {} (number {})", n, call);
            expect_invariants(where);
            after(where);
            expect_all_free();
            if (!killed || HasFailure()) {
                break;
            }
        }
        EXPECT_GT(n, 30U) << "the sweep saw hardly a system call";
    }
    static std::vector<std::string> call_of(const std::string& operation) {
        return {"vm1", operation, operation == "release" ? "end" : "begin", "-"};
    }
};

TEST_F(Crash, TheClaimIsDurableBeforeTheDriverIsAskedForAnything) { // I2
    ASSERT_EQ(prepare("vm1", xml_a()).status, 0);                   // makes the directories
    ASSERT_EQ(release("vm1", xml_a()).status, 0);
    const auto calls = trace_hook(config, call_of("prepare"), xml_a());
    const auto first = [&calls](bool by_hook, long number) {
        return std::find_if(calls.begin(), calls.end(), [&](const TracedCall& call) {
            return call.by_hook == by_hook && call.number == number;
        });
    };
    // The last one: a sanitizer's runtime writes as well, before.
    const auto last = std::find_if(calls.rbegin(), calls.rend(), [](const TracedCall& call) {
        return !call.by_hook && call.number == SYS_write;
    });
    ASSERT_NE(last, calls.rend());
    const auto driver_write = std::prev(last.base());
    EXPECT_LT(first(true, SYS_fdatasync), first(true, SYS_link)) << "the file before its name";
    EXPECT_LT(first(true, SYS_link), first(true, SYS_fsync)) << "the name before its directory";
    EXPECT_LT(first(true, SYS_fsync), driver_write) << "the directory before the driver";
    EXPECT_EQ(release("vm1", xml_a()).status, 0);
}

TEST_F(Crash, APrepareKilledAnywhereCanBeRepeated) {
    sweep(
        call_of("prepare"), xml_a(), [] {},
        [this](const std::string& where) {
            const HookEnd again = prepare("vm1", xml_a());
            EXPECT_EQ(again.status, 0) << where << again.message;
            EXPECT_EQ(sim.type(vf0), type_4q) << where;
            EXPECT_EQ(claimed(vf0).state, ClaimState::configured) << where;
            EXPECT_EQ(release("vm1", xml_a()).status, 0);
        });
}

TEST_F(Crash, APrepareKilledAnywhereLeavesNothingThatAnotherDomainCouldTakeUnnoticed) {
    sweep(
        call_of("prepare"), xml_a(), [] {},
        [this](const std::string& where) {
            const auto before = claim(vf0);
            const HookEnd other = prepare("vm2", xml_b());
            if (before) {
                EXPECT_EQ(other.status, 1) << where;
                EXPECT_EQ(claim(vf0), before) << where;
            } else {
                EXPECT_EQ(other.status, 0) << where << other.message;
            }
            EXPECT_EQ(release("vm1", xml_a()).status, 0);
            EXPECT_EQ(release("vm2", xml_b()).status, 0);
        });
}

TEST_F(Crash, APrepareOfADirtyDeviceKilledAnywhereCanBeRepeated) {
    sweep(
        call_of("prepare"), xml_a(),
        [this] {
            sim.control(fmt::format("set-type {} 1159", vf0));
            // A claim that is over: the invariant of a type without a claim is checked from
            // outside.
            ASSERT_EQ(hook("vm2", "reconnect", "begin", xml_b()).status, 0);
            edit_claim(vf0, [](Claim& c) { c.state = ClaimState::draining; });
        },
        [this](const std::string& where) {
            const HookEnd again = prepare("vm1", xml_a());
            EXPECT_EQ(again.status, 0) << where << again.message;
            EXPECT_EQ(release("vm1", xml_a()).status, 0);
        });
}

TEST_F(Crash, APrepareOfTwoDevicesKilledAnywhereCanBeRepeated) {
    const std::string both = domain_xml(
        "vm1", uuid_a,
        {{"vgpu0", profile, vf0, "", "", false}, {"vgpu1", profile, vf1, "", "", false}});
    sweep(
        call_of("prepare"), both, [] {},
        [&](const std::string& where) {
            const HookEnd again = prepare("vm1", both);
            EXPECT_EQ(again.status, 0) << where << again.message;
            EXPECT_EQ(release("vm1", both).status, 0);
        });
}

TEST_F(Crash, AReleaseKilledAnywhereIsFinishedByTheNextStart) {
    sweep(
        call_of("release"), xml_a(), [this] { ASSERT_EQ(prepare("vm1", xml_a()).status, 0); },
        [this](const std::string& where) {
            const HookEnd again = prepare("vm1", xml_a());
            EXPECT_EQ(again.status, 0) << where << again.message;
            EXPECT_EQ(claimed(vf0).state, ClaimState::configured) << where;
            EXPECT_EQ(release("vm1", xml_a()).status, 0);
        });
}

TEST_F(Crash, AReleaseKilledAnywhereCanBeRepeated) {
    sweep(
        call_of("release"), xml_a(), [this] { ASSERT_EQ(prepare("vm1", xml_a()).status, 0); },
        [this](const std::string&) { EXPECT_EQ(release("vm1", xml_a()).status, 0); });
}

TEST_F(Crash, AReconnectKilledAnywhereCanBeRepeated) {
    sweep(
        call_of("reconnect"), xml_a(), [] {},
        [this](const std::string& where) {
            EXPECT_EQ(hook("vm1", "reconnect", "begin", xml_a()).status, 0);
            EXPECT_TRUE(claim(vf0)) << where;
            EXPECT_EQ(release("vm1", xml_a()).status, 0);
        });
}

} // namespace vgpu::test
