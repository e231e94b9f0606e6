#include "tests/simulator/command.hpp"
#include "tests/simulator/parse.hpp"
#include "tests/simulator/vendor_vfio.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vgpu::simulator {

namespace {

tl::expected<std::shared_ptr<Vf>, std::string> vf_named(Host& host, const std::string& name) {
    SIMULATOR_TRY(const auto device, device_named(host, name));
    auto vf = std::dynamic_pointer_cast<Vf>(device);
    if (!vf) {
        return refused(fmt::format("{} is no VF", name));
    }
    return vf;
}

tl::expected<const VgpuType*, std::string> type_named(const Gpu& gpu, const std::string& name) {
    const auto id = parse_number(name);
    const auto* type =
        id ? gpu.board->find(static_cast<std::uint32_t>(*id)) : gpu.board->find(name);
    if (type == nullptr) {
        return refused(fmt::format("{} has no type '{}'", gpu.name, name));
    }
    return type;
}

Done set_type(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto name, a.next("VF"));
    SIMULATOR_TRY(const auto wanted, a.next("TYPE"));
    SIMULATOR_CHECK(a.end());
    SIMULATOR_TRY(const auto vf, vf_named(host, name));
    if (wanted == "0") {
        force_type(*vf, nullptr);
        return ok();
    }
    SIMULATOR_TRY(const auto* type, type_named(*vf->gpu.lock(), wanted));
    force_type(*vf, type);
    return ok();
}

/// A command that sets one number of a device's misbehaviour.
template <auto field>
Done set_number(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto name, a.next("DEVICE"));
    SIMULATOR_TRY(const auto value, a.amount("the number"));
    SIMULATOR_CHECK(a.end());
    SIMULATOR_TRY(const auto device, device_named(host, name));
    auto& target = device->faults.*field;
    target = static_cast<std::remove_reference_t<decltype(target)>>(value);
    return ok();
}

Done hold(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto name, a.next("DEVICE"));
    SIMULATOR_CHECK(a.end());
    SIMULATOR_TRY(const auto device, device_named(host, name));
    device->holders.marked = true;
    host.opened(*device);
    return ok();
}

Done unhold(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto name, a.next("DEVICE"));
    SIMULATOR_CHECK(a.end());
    SIMULATOR_TRY(const auto device, device_named(host, name));
    device->holders.marked = false;
    host.closed(device);
    return ok();
}

Done block(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto name, a.next("DEVICE"));
    const auto kind = a.maybe();
    SIMULATOR_CHECK(a.end());
    SIMULATOR_TRY(const auto device, device_named(host, name));
    if (kind && *kind != "hard") {
        return refused(fmt::format("'{}' is not 'hard'", *kind));
    }
    device->faults.block = kind ? Block::hard : Block::killable;
    return ok();
}

Done unblock(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto name, a.next("DEVICE"));
    SIMULATOR_CHECK(a.end());
    if (name == "*") {
        for (const auto& [address, function] : host.inventory.functions()) {
            function->faults.block = Block::none;
        }
        for (const auto& [uuid, mdev] : host.inventory.mdevs()) {
            mdev->faults.block = Block::none;
        }
        return ok();
    }
    SIMULATOR_TRY(const auto device, device_named(host, name));
    device->faults.block = Block::none;
    return ok();
}

Done wedge(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto name, a.next("VF"));
    SIMULATOR_TRY(const auto on, a.on_off("the wedge"));
    SIMULATOR_CHECK(a.end());
    SIMULATOR_TRY(const auto device, device_named(host, name));
    device->faults.wedged = on;
    return ok();
}

Done lie(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto name, a.next("VF"));
    SIMULATOR_TRY(const auto value, a.number("VALUE"));
    SIMULATOR_TRY(const auto reads, a.count(1));
    SIMULATOR_CHECK(a.end());
    SIMULATOR_TRY(const auto device, vf_named(host, name));
    device->faults.lie = {static_cast<std::uint32_t>(value), reads};
    return ok();
}

std::optional<std::pair<Operation, Fault::Data>> operation_named(std::string_view name) {
    constexpr std::pair<std::string_view, std::pair<Operation, Fault::Data>> names[] = {
        {"stat", {Operation::stat, Fault::Data::any}},
        {"open", {Operation::open, Fault::Data::any}},
        {"read", {Operation::read, Fault::Data::any}},
        {"write", {Operation::write, Fault::Data::any}},
        {"write-zero", {Operation::write, Fault::Data::zero}},
        {"write-other", {Operation::write, Fault::Data::other}},
        {"readdir", {Operation::readdir, Fault::Data::any}},
        {"readlink", {Operation::readlink, Fault::Data::any}},
    };
    const auto* found =
        std::ranges::find_if(names, [&](const auto& entry) { return entry.first == name; });
    return found == std::end(names) ? std::nullopt : std::optional(found->second);
}

Done fault(Host& host, Arguments& a) {
    Fault fault;
    SIMULATOR_TRY(fault.file, a.next("FILE"));
    SIMULATOR_TRY(auto word, a.next("OPERATION"));
    auto operation = operation_named(word);
    if (!operation) {
        fault.device = std::exchange(fault.file, word);
        SIMULATOR_TRY(word, a.next("OPERATION"));
        operation = operation_named(word);
    }
    SIMULATOR_TRY(const auto error, a.next("ERRNO"));
    SIMULATOR_TRY(fault.left, a.count(1));
    const auto after = a.maybe();
    SIMULATOR_CHECK(a.end());
    fault.error = errno_value(error);
    fault.after = after.has_value();
    if (!operation || fault.error == 0 || (after && *after != "after")) {
        return refused(!operation         ? fmt::format("there is no operation '{}'", word)
                       : fault.error == 0 ? fmt::format("there is no error '{}'", error)
                                          : fmt::format("'{}' is not 'after'", *after));
    }
    std::tie(fault.operation, fault.data) = *operation;
    host.faults.set(std::move(fault));
    return ok();
}

Done faults_clear(Host& host, Arguments& a) {
    SIMULATOR_CHECK(a.end());
    host.faults.clear();
    return ok();
}

Done content(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto name, a.next("DEVICE"));
    SIMULATOR_TRY(const auto file, a.next("FILE"));
    const auto text = a.maybe();
    SIMULATOR_CHECK(a.end());
    SIMULATOR_TRY(const auto device, device_named(host, name));
    if (text) {
        device->contents[file] = *text;
    } else {
        device->contents.erase(file);
    }
    return ok();
}

Done shape(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto name, a.next("DEVICE"));
    SIMULATOR_TRY(const auto file, a.next("FILE"));
    SIMULATOR_TRY(const auto word, a.next("SHAPE"));
    SIMULATOR_CHECK(a.end());
    SIMULATOR_TRY(const auto device, device_named(host, name));
    static const std::map<std::string, Shape> shapes{{"normal", Shape::normal},
                                                     {"absent", Shape::absent},
                                                     {"directory", Shape::directory},
                                                     {"empty", Shape::empty}};
    const auto found = shapes.find(word);
    if (found == shapes.end()) {
        return refused(fmt::format("there is no shape '{}'", word));
    }
    device->shapes[file] = found->second;
    return ok();
}

/// As another tool would have made it: the card's rules do not count.
Done foreign_mdev(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto text, a.next("UUID"));
    SIMULATOR_TRY(const auto wanted, a.next("TYPE"));
    SIMULATOR_TRY(const auto name, a.next("PARENT"));
    SIMULATOR_CHECK(a.end());
    SIMULATOR_TRY(const auto device, device_named(host, name));
    const auto parent = std::dynamic_pointer_cast<PciFunction>(device);
    const auto uuid = kernel_uuid(text);
    if (!parent || !uuid || !Inventory::is_mdev_parent(*parent) ||
        host.inventory.mdevs().contains(*uuid)) {
        return refused(fmt::format("{} cannot get an mdev '{}'", name, text));
    }
    SIMULATOR_TRY(const auto* type, type_named(*gpu_of(parent), wanted));
    host.inventory.create_mdev(parent, *type, *uuid, true);
    return ok();
}

Done remove_mdev(Host& host, Arguments& a) {
    SIMULATOR_TRY(const auto uuid, a.next("UUID"));
    SIMULATOR_CHECK(a.end());
    const auto found = host.inventory.mdevs().find(uuid);
    if (found == host.inventory.mdevs().end()) {
        return refused(fmt::format("there is no mdev '{}'", uuid));
    }
    host.inventory.remove_mdev(found->second);
    return ok();
}

} // namespace

std::vector<Command> device_commands() {
    return {
        {"set-type", "VF TYPE|0", set_type},
        {"hold", "DEVICE", hold},
        {"unhold", "DEVICE", unhold},
        {"ignore-resets", "VF COUNT|always", set_number<&Misbehaviour::ignore_resets>},
        {"settle", "VF MS", set_number<&Misbehaviour::settle_ms>},
        {"delay", "DEVICE MS", set_number<&Misbehaviour::delay_ms>},
        {"block", "DEVICE [hard]", block},
        {"unblock", "DEVICE|*", unblock},
        {"wedge", "VF on|off", wedge},
        {"lie", "VF VALUE [COUNT|always]", lie},
        {"stale", "VF COUNT|always", set_number<&Misbehaviour::stale_reads>},
        {"fault", "[DEVICE|*] FILE OPERATION ERRNO [COUNT|always] [after]", fault},
        {"faults-clear", "", faults_clear},
        {"content", "DEVICE FILE [TEXT]", content},
        {"shape", "DEVICE FILE normal|absent|directory|empty", shape},
        {"foreign-mdev", "UUID TYPE PARENT", foreign_mdev},
        {"remove-mdev", "UUID", remove_mdev},
    };
}

} // namespace vgpu::simulator
