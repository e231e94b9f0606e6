#pragma once

#include "agent/core/host.hpp"
#include "agent/core/inventory.hpp"
#include "agent/core/listing_sysfs.hpp"
#include "agent/core/posix_sysfs.hpp"
#include "tests/support/simulator.hpp"

#include <string>
#include <utility>
#include <vector>

namespace vgpu::test {

/// The objects of the core on a simulated host.
class SimulatedHost {
public:
    explicit SimulatedHost(std::string config)
        : simulator(options(std::move(config))), configuration(configured(simulator)),
          sysfs(configuration.paths.sysfs), locks(configuration.paths), claims(configuration.paths),
          proc(configuration.paths.proc), witnesses(configuration.paths, proc),
          host{configuration,
               sysfs,
               locks,
               claims,
               proc,
               witnesses,
               proc.boot_id().value(),
               [this](NoteLevel, const std::string& text, const NoteSubject&) {
                   notes.push_back(text);
               }} {}

    Inventory inventory() {
        CatalogueMemory memory;
        return take_inventory(host, memory).value();
    }

    /// The row of a device, by address or UUID; throws when there is none.
    static const DeviceInfo& row(const Inventory& inventory, const std::string& device) {
        for (const DeviceInfo& row : inventory.devices) {
            if (row.key().device() == device) {
                return row;
            }
        }
        throw std::runtime_error("no row for " + device);
    }

    /// A claim on `device` as the hook writes it, in the state `configured`.
    Claim claim_on(const std::string& device, const std::string& profile, std::uint32_t type) {
        const DeviceKey key = DeviceKey::parse_device(device).value();
        Claim claim;
        claim.framework = key.is_mdev() ? FrameworkKind::mdev : FrameworkKind::vendor_vfio;
        claim.device_path = "/sys/bus/pci/devices/" + device;
        if (key.is_mdev()) {
            claim.mdev_uuid = key.mdev();
        }
        claim.profile = profile;
        claim.type_id = type;
        claim.domain_uuid = domain;
        claim.domain_name = "vm1";
        claim.device = "vgpu0";
        claim.state = ClaimState::configured;
        claim.incarnation = Uuid::random();
        claim.boot_id = host.boot_id;
        claim.claimed_at = "2026-11-29T14:00:00Z";
        return claim;
    }

    void store(const std::string& device, const Claim& claim) {
        const DeviceKey key = DeviceKey::parse_device(device).value();
        auto lock = locks.try_device(key).value();
        const auto stored = claims.link(*lock, claim);
        if (!stored) {
            throw std::runtime_error(stored.error().text());
        }
    }

    const Uuid domain = Uuid::parse("f0f0f0f0-0000-4000-8000-000000000001").value();
    Simulator simulator;
    Config configuration;
    PosixSysfs sysfs;
    Locks locks;
    ClaimStore claims;
    Proc proc;
    Witnesses witnesses;
    std::vector<std::string> notes;
    Host host;

private:
    static SimulatorOptions options(std::string config) {
        SimulatorOptions made;
        made.config = std::move(config);
        return made;
    }

    static Config configured(const Simulator& simulator) {
        Config config;
        config.paths.sysfs = simulator.sysfs();
        config.paths.proc = simulator.proc();
        config.paths.dev = simulator.dev();
        config.paths.libvirt_run = simulator.libvirt_run();
        config.paths.state = simulator.state();
        config.paths.runtime = simulator.runtime();
        return config;
    }
};

} // namespace vgpu::test
