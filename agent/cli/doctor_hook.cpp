#include "agent/cli/doctor.hpp"
#include "agent/cli/hook_site.hpp"

#include <fmt/format.h>

#include <time.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace vgpu::cli {

namespace {

constexpr const char* hook = "hook";
constexpr const char* program_name = "virt-vgpu-hook";

std::string link_advice(const std::string& path) {
    return fmt::format("ln -sf /usr/sbin/{} {}, then systemctl reload libvirtd (or virtqemud)",
                       program_name, path);
}

/// The claim's time in seconds since 1970; 0 if it is not what claims write.
std::time_t time_of(const std::string& rfc3339) {
    std::tm parts{};
    const char* end = ::strptime(rfc3339.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return end != nullptr && *end == '\0' ? ::timegm(&parts) : 0;
}

/// True if the hook itself has claimed something in this boot since `since`. The daemon's own
/// claims are reservations, which prove nothing about the hook.
bool has_worked_since(const Examination& examination, std::time_t since) {
    const auto& claims = examination.inventory.claims;
    return std::any_of(claims.begin(), claims.end(), [&](const StoredClaim& stored) {
        return stored.claim && stored.claim->state != ClaimState::claimed &&
               !examination.host.of_another_boot(*stored.claim) &&
               time_of(stored.claim->claimed_at) >= since;
    });
}

/// What is wrong with our entry itself. False: libvirt could not run it, or must not.
bool check_entry(const HookEntry& entry, Findings& findings) {
    if (entry.dangling) {
        findings.fail(hook,
                      fmt::format("{} leads to {}, which is not there", entry.path, entry.target),
                      link_advice(entry.path));
        return false;
    }
    if (!entry.is_regular) {
        findings.fail(hook, entry.path + " is no regular file: libvirt skips it",
                      link_advice(entry.path));
        return false;
    }
    if (!entry.is_program) {
        findings.fail(
            hook,
            fmt::format("{} is a script: with one between libvirt and {} a hook whose libvirt "
                        "has died cannot tell, and acts too late",
                        entry.path, program_name),
            link_advice(entry.path));
        return false;
    }
    if (!entry.executable) {
        findings.fail(hook, entry.path + " is not executable: libvirt skips it without a word",
                      fmt::format("chmod 755 {}", entry.target));
        return false;
    }
    if (!entry.is_link) {
        findings.warn(hook, entry.path + " is a copy: updates of the package do not reach it",
                      link_advice(entry.path));
    } else if (!entry.target.ends_with(std::string("/") + program_name)) {
        findings.warn(hook,
                      fmt::format("{} leads to {}, which is not named {}", entry.path, entry.target,
                                  program_name),
                      link_advice(entry.path));
    }
    return true;
}

void check_others(const std::vector<HookEntry>& entries, const std::string& ours,
                  Findings& findings) {
    for (const HookEntry& entry : entries) {
        if (entry.path == ours || !entry.runs()) {
            continue;
        }
        if (entry.about_gpus) {
            findings.warn(
                "other hooks",
                fmt::format("{} runs as well, and speaks of VFIO, mdevs, SR-IOV or NVIDIA",
                            entry.path),
                "two owners of one device wipe each other's work: see that it leaves the "
                "GPUs of virt-vgpu alone");
        } else {
            findings.ok("other hooks",
                        fmt::format("{} runs as well; if it fails, so does the start of the domain",
                                    entry.path));
        }
    }
}

/// A daemon learns that there are hooks when it starts and at a reload, never in between.
void check_known_to(const DaemonProcess& daemon, const Examination& examination,
                    const std::vector<HookEntry>& entries, Findings& findings) {
    const std::string who = fmt::format("{} (pid {})", daemon.name, daemon.pid);
    if (!daemon.started) {
        findings.skip("hook known", fmt::format("the start of {} cannot be told", who));
        return;
    }
    const bool older = std::any_of(entries.begin(), entries.end(), [&](const HookEntry& entry) {
        return entry.runs() && entry.changed < *daemon.started;
    });
    if (older) {
        findings.ok("hook known", fmt::format("{} started after the hook was installed", who));
    } else if (has_worked_since(examination, *daemon.started)) {
        findings.ok("hook known", fmt::format("the hook has made claims since {} started", who));
    } else {
        findings.warn(
            "hook known",
            fmt::format("the hook was installed, or changed, after {} started, and has made no "
                        "claim since: it is not known whether the daemon runs it",
                        who),
            fmt::format("systemctl reload {} (running guests are not touched); a claim at the "
                        "next start of a domain with a vGPU is the proof",
                        daemon.name));
    }
}

} // namespace

void check_hook(const Examination& examination, Findings& findings) {
    const std::string ours = examination.hooks_directory + "/qemu.d/virt-vgpu";
    const auto entries = hook_entries(examination.hooks_directory);
    if (!entries) {
        findings.fail(hook, entries.error().text(), "run doctor as root");
        return;
    }
    const auto entry = std::find_if(entries->begin(), entries->end(),
                                    [&ours](const HookEntry& one) { return one.path == ours; });
    if (entry == entries->end()) {
        findings.fail(hook, fmt::format("not installed: there is no {}", ours), link_advice(ours));
    } else if (check_entry(*entry, findings)) {
        findings.ok(hook, fmt::format("{} -> {}", entry->path, entry->target));
        if (examination.daemons.empty()) {
            findings.skip(
                "hook known",
                "no libvirtd or virtqemud is running; one that starts learns of the hook");
        }
        for (const DaemonProcess& daemon : examination.daemons) {
            check_known_to(daemon, examination, *entries, findings);
        }
    }
    check_others(*entries, ours, findings);
}

} // namespace vgpu::cli
