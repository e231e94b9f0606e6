#include "tests/unit/xml/domain_files.hpp"
#include "tests/unit/xml/instance_files.hpp"
#include "tests/unit/xml/schema_validator.hpp"
#include "xml/forked.hpp"
#include "xml/instance_builder.hpp"
#include "xml/instance_metadata.hpp"
#include "xml/instance_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vgpu::xml {
namespace {

using testing::HasSubstr;
using testing::Not;

const ForkOptions mapped{{{"/srv/desk.qcow2", "/srv/copy & one.qcow2"}}, false};

std::string running() {
    return domain_file("running.xml");
}

std::string fork_of(const std::string& xml, const ForkOptions& options = mapped) {
    return value_of(forked_xml(xml, "desk 2", instance_uuid(), options));
}

Error refusal(const std::string& xml, const ForkOptions& options,
              const std::string& name = "desk 2") {
    auto fork = forked_xml(xml, name, instance_uuid(), options);
    return fork ? Error(ErrorCode::io, "no error") : fork.error();
}

/// A domain with one more device.
std::string with_device(const std::string& device) {
    return domain_with("", device);
}

TEST(Fork, HasAnIdentityOfItsOwn) {
    const std::string xml = fork_of(running());
    const DomainView view = value_of(read_domain(xml));
    EXPECT_EQ(view.name, "desk 2");
    EXPECT_EQ(view.uuid, instance_uuid());
    EXPECT_FALSE(view.is_copy());
    EXPECT_THAT(xml, Not(HasSubstr("11112222-3333-4444-8555-666677778888")));
    EXPECT_THAT(xml, HasSubstr("<genid/>"));
    EXPECT_THAT(xml, Not(HasSubstr("id='3'")));
    EXPECT_THAT(xml, HasSubstr("<entry name='serial'>" + instance_uuid().to_string()));
    EXPECT_THAT(xml, HasSubstr("<entry name='uuid'>" + instance_uuid().to_string()));
}

TEST(Fork, KeepsTheRequestsAndDropsTheirDevices) {
    const DomainView before = value_of(read_domain(running()));
    const DomainView after = value_of(read_domain(fork_of(running())));
    EXPECT_EQ(after.requests, before.requests);
    ASSERT_EQ(after.hostdevs.size(), 1U);
    EXPECT_EQ(after.hostdevs[0].address, pci("0000:17:02.1"));
}

TEST(Fork, KeepsNothingThatIsLibvirtsToGiveOut) {
    const std::string xml = fork_of(running());
    for (const char* gone :
         {"<mac ", "vnet4", "portid", "interfaceid", "/dev/pts", "domain-3-desk", "desk-serial",
          "desk_VARS", "+64055", "seclabel", "virtio-disk0", "\"net0\"", "'net0'", "serial0",
          "address='3'", "backingStore", "hostdev1"}) {
        EXPECT_THAT(xml, Not(HasSubstr(gone)));
    }
    for (const char* kept :
         {"<nvram template='/usr/share/OVMF/OVMF_VARS_4M.fd'/>", "mytap", "profileid='studio'",
          "/srv/agent.sock", "ua-agent", "<qemu:arg value='-name'/>", "desk of the studio",
          "<other:note xmlns:other=\"urn:other\">desk</other:note>", "file='/srv/tools.iso'",
          "<address type='pci' domain='0x0000' bus='0x01'", "<listen type='socket'/>",
          "<cid auto='yes'/>"}) {
        EXPECT_THAT(xml, HasSubstr(kept));
    }
}

TEST(Fork, OnlyLogsOfTheSourceGo) {
    const auto log = [](const std::string& file) {
        return fork_of(with_device("<serial type='pty'><log file='" + file + "'/></serial>"), {});
    };
    for (const char* gone : {"/l/vm1", "/l/vm1.log", "/l/a-vm1_0"}) {
        EXPECT_THAT(log(gone), Not(HasSubstr("<log"))) << gone;
    }
    for (const char* kept : {"/l/vm12", "/vm1/x", "/l/xvm1", "", "/"}) {
        EXPECT_THAT(log(kept), HasSubstr("<log")) << kept;
    }
}

TEST(Fork, ASocketThatIsNoChannelsStays) {
    EXPECT_THAT(fork_of(with_device("<serial type='unix'><source mode='bind' "
                                    "path='/run/libvirt/x'/></serial>"),
                        {}),
                HasSubstr("/run/libvirt/x"));
}

TEST(Fork, SatisfiesTheSchemas) {
    const std::string xml = fork_of(running());
    EXPECT_EQ(schema_errors(VGPU_METADATA_SCHEMA, metadata_element(xml)), "");
    for (const std::string& schema : libvirt_schemas()) {
        EXPECT_EQ(schema_errors(schema, running()), "") << schema;
        EXPECT_EQ(schema_errors(schema, xml), "") << schema << "\n" << xml;
    }
}

TEST(Fork, HasTheRequestThatWouldHaveMadeIt) {
    const auto text = value_of(instance_request_of(fork_of(running())));
    ASSERT_TRUE(text.has_value());
    const InstanceRequest request = request_from(*text);
    EXPECT_EQ(request.name, "desk 2");
    EXPECT_EQ(request.disks.at(0).path, "/srv/copy & one.qcow2");
    EXPECT_EQ(request.networks.at(0).mac, "");
    EXPECT_EQ(request.gpus.size(), 2U);
    EXPECT_EQ(request_text(request), *text);
}

TEST(Fork, LosesARequestThatCannotBeRead) {
    const std::string odd = replaced(running(), R"("vcpus":2})", R"("vcpus":2,"new":1})");
    EXPECT_EQ(value_of(instance_request_of(fork_of(odd))), std::nullopt);
}

TEST(Fork, CanBeForkedAgainAndGivenDevices) {
    const std::string first = fork_of(running());
    const ForkOptions next{{{"/srv/copy & one.qcow2", "/dev/vg/three"}}, false};
    const std::string second =
        value_of(forked_xml(first, "desk 3", uuid("0a0b0c0d-1111-4222-8333-444455556667"), next));
    EXPECT_THAT(second, HasSubstr("<disk type='block' device='disk'>"));
    EXPECT_THAT(second, HasSubstr("<source dev='/dev/vg/three'/>"));
    EXPECT_EQ(value_of(read_domain(value_of(with_assignment(second, pci_assignment("vgpu0")))))
                  .hostdevs.size(),
              2U);
    for (const std::string& schema : libvirt_schemas()) {
        EXPECT_EQ(schema_errors(schema, second), "") << second;
    }
}

TEST(Fork, WritableDisksHaveToBeMapped) {
    const Error error = refusal(running(), {});
    EXPECT_EQ(error.code(), ErrorCode::conflict);
    EXPECT_THAT(error.text(), HasSubstr("vda (/srv/desk.qcow2"));
    EXPECT_THAT(fork_of(running(), {{}, true}), HasSubstr("file='/srv/desk.qcow2'"));
}

TEST(Fork, WhatIsReadOnlyOrSharedMayBeKept) {
    for (const char* disk :
         {"<disk type='file'><source file='/a'/><target dev='vda'/><readonly/></disk>",
          "<disk type='network'><source protocol='rbd' name='p/v'/><target dev='vda'/>"
          "<shareable/></disk>",
          "<disk type='block' device='cdrom'><source dev='/dev/sr0'/><target dev='sda'/></disk>",
          "<disk type='file' device='floppy'><target dev='fda'/></disk>"}) {
        EXPECT_EQ(refusal(with_device(disk), {}).text(), "no error") << disk;
    }
}

TEST(Fork, EveryKindOfWritableStorageIsNoticed) {
    for (const char* disk :
         {"<disk type='block' device='lun'><source dev='/dev/sda'/><target dev='sda'/></disk>",
          "<disk type='file' device='floppy'><source file='/f'/><target dev='fda'/></disk>",
          "<disk><source file='/f'/></disk>",
          "<disk type='network'><source protocol='rbd' name='p/v'/><target dev='vdb'/></disk>",
          "<disk type='volume'><source pool='p' volume='v'/><target dev='vdb'/></disk>",
          "<memory model='nvdimm'><source><path>/n</path></source><target/></memory>"}) {
        EXPECT_EQ(refusal(with_device(disk), {}).code(), ErrorCode::conflict) << disk;
        EXPECT_EQ(refusal(with_device(disk), {{}, true}).text(), "no error") << disk;
    }
    const std::string memory =
        with_device("<memory model='nvdimm'><source><path>/n</path></source><target/></memory>");
    EXPECT_THAT(fork_of(memory, {{{"/n", "/m"}}, false}), HasSubstr("<path>/m</path>"));
}

TEST(Fork, MappingsHaveToMakeSense) {
    EXPECT_EQ(refusal(running(), {{{"/srv/x", "/srv/y"}}, true}).code(), ErrorCode::not_found);
    EXPECT_EQ(refusal(running(), {{{"", "/srv/y"}}, true}).code(), ErrorCode::not_found);
    for (const char* path : {"/srv/desk.qcow2", "/srv/tools.iso"}) {
        EXPECT_EQ(refusal(running(), {{{"/srv/desk.qcow2", path}}, false}).code(),
                  ErrorCode::conflict);
    }
    for (const char* path : {"", "relative", "/a\nb"}) {
        EXPECT_EQ(refusal(running(), {{{"/srv/desk.qcow2", path}}, false}).code(),
                  ErrorCode::invalid);
    }
    EXPECT_EQ(
        refusal(running(), {{{"/srv/desk.qcow2", "/z"}, {"/srv/tools.iso", "/z"}}, false}).code(),
        ErrorCode::conflict);
}

TEST(Fork, NamesOfOthersAndBadOnesAreRefused) {
    for (const std::string name : {"", ".", "a/b", "a\nb", "desk"}) {
        EXPECT_EQ(refusal(running(), mapped, name).code(), ErrorCode::invalid) << name;
    }
    const auto same =
        forked_xml(running(), "x", uuid("11112222-3333-4444-8555-666677778888"), mapped);
    EXPECT_FALSE(same.has_value());
    EXPECT_EQ(refusal(domain_file("status.xml"), {{}, true}).code(), ErrorCode::invalid);
    EXPECT_THAT(fork_of(running(), mapped), Not(HasSubstr("<name>desk<")));
    const std::string markup = value_of(forked_xml(running(), "<a>&]]>", instance_uuid(), mapped));
    EXPECT_EQ(value_of(read_domain(markup)).name, "<a>&]]>");
}

TEST(Fork, EveryGoodDomainForksIntoAGoodDomain) {
    for (const std::string& file : good_domain_files()) {
        if (file == "status.xml") {
            continue;
        }
        const std::string source = domain_file(file);
        const std::string xml = value_of(forked_xml(source, "copy", instance_uuid(), {{}, true}));
        EXPECT_EQ(value_of(read_domain(xml)).requests, value_of(read_domain(source)).requests);
        for (const std::string& schema : libvirt_schemas()) {
            EXPECT_EQ(schema_errors(schema, xml), "") << file << "\n" << xml;
        }
    }
}

TEST(Fork, ABuiltInstanceForksIntoWhatItsRequestSays) {
    for (const auto& [name, request] : sample_requests()) {
        ForkOptions options;
        for (const InstanceDisk& disk : request.disks) {
            if (!disk.cdrom && !disk.readonly) {
                options.disks[disk.path] = disk.path + ".2";
            }
        }
        const std::string source = value_of(
            instance_xml(request, uuid("1" + instance_uuid().to_string().substr(1)), "kvm"));
        const std::string fork = fork_of(source, options);
        const InstanceRequest kept = request_from(*value_of(instance_request_of(fork)));
        EXPECT_EQ(value_of(instance_xml(kept, instance_uuid(), "kvm")), fork) << name;
    }
}

TEST(Fork, HostileSourcesAreRefusedOrForkedButNeverBreak) {
    const std::string source = running();
    EXPECT_FALSE(
        forked_xml("<!DOCTYPE d [<!ENTITY e 'x'>]>" + source, "a", instance_uuid(), mapped));
    for (std::size_t cut = 0; cut < source.size() - 1; cut += 23) {
        EXPECT_FALSE(forked_xml(source.substr(0, cut), "a", instance_uuid(), mapped).has_value());
        std::string changed = source;
        changed[cut] = changed[cut] == '<' ? '>' : '<';
        static_cast<void>(forked_xml(changed, "a", instance_uuid(), mapped));
        std::string shorter = source;
        const auto fork = forked_xml(shorter.erase(cut, 5), "a", instance_uuid(), {{}, true});
        EXPECT_TRUE(!fork || read_domain(*fork).has_value());
    }
}

} // namespace
} // namespace vgpu::xml
