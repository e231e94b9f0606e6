#include "agent/cli/create_request.hpp"
#include "xml/instance_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vgpu::cli {

namespace {

using testing::HasSubstr;

std::string disk_error(const std::string& text) {
    const auto disk = disk_of(text);
    return disk ? "none" : disk.error().text();
}

} // namespace

TEST(CreateRequest, SaysOnlyWhatWasSaidSoThatTheDaemonsDefaultsCount) {
    CreateOptions options;
    options.name = "vm1";
    options.profiles = {"L40S-4Q"};
    EXPECT_EQ(*create_request(options),
              Json::parse(R"({"name":"vm1","gpus":[{"profile":"L40S-4Q"}]})"));
}

TEST(CreateRequest, IsWhatTheApiReads) {
    CreateOptions options;
    options.name = "vm1";
    options.uuid = "f0f0f0f0-0000-4000-8000-000000000001";
    options.title = "a title";
    options.vcpus = 4;
    options.memory_mib = 8192;
    options.virt_type = "kvm";
    options.machine = "q35";
    options.graphics = "vnc";
    options.no_console = true;
    options.kernel = "/boot/vmlinuz";
    options.cmdline = "quiet";
    options.disks = {"/a,,b.qcow2,bus=scsi,boot=1", "/dev/vg/data,readonly"};
    options.cdroms = {"/cd.iso"};
    options.cloud_init_iso = "/seed.iso";
    options.networks = {"default,mac=52:54:00:12:34:56", "bridge=br0,model=e1000"};
    options.profiles = {"L40S-4Q", "L40S-8Q"};
    options.count = 2;
    options.gpu = "0000:41:00.0";
    options.params = "frame_rate_limiter=0";
    options.numa_node = 1;
    options.policy = "pack";
    options.start = true;
    const auto request = create_request(options);
    ASSERT_TRUE(request) << request.error().text();
    const auto read = xml::parse_instance_request_text(request->dump());
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->disks.at(0).path, "/a,b.qcow2");
    EXPECT_EQ(read->disks.at(0).format, "qcow2");
    EXPECT_EQ(read->disks.at(0).boot_order, 1U);
    EXPECT_TRUE(read->disks.at(1).readonly);
    EXPECT_EQ(read->disks.at(1).format, "raw");
    EXPECT_TRUE(read->disks.at(2).cdrom);
    EXPECT_EQ(read->networks.at(0).network, "default");
    EXPECT_EQ(read->networks.at(1).bridge, "br0");
    ASSERT_EQ(read->gpus.size(), 4U);
    EXPECT_EQ(read->gpus.at(3).profile, "L40S-8Q");
    EXPECT_EQ(read->gpus.at(3).numa_node, 1U);
    EXPECT_FALSE(read->console);
    EXPECT_TRUE(read->start);
}

TEST(CreateRequest, DoesNotGuessTheFormatOfADisk) {
    EXPECT_THAT(disk_error("/images/vm1"), HasSubstr("format=raw"));
    EXPECT_THAT(disk_error("/images/vm1.img"), HasSubstr("format=qcow2"));
    EXPECT_EQ(disk_of("/images/vm1.img,format=raw")->at("format"), "raw");
    EXPECT_EQ(disk_of("/images/vm1.qcow2,format=raw")->at("format"), "raw");
}

TEST(CreateRequest, RefusesPartsThatItDoesNotKnow) {
    EXPECT_THAT(disk_error("/a.raw,size=7"), HasSubstr("size=7"));
    EXPECT_THAT(disk_error("/a.raw,readonly=yes"), HasSubstr("readonly"));
    EXPECT_THAT(disk_error("/a.raw,bus"), HasSubstr("bus="));
    EXPECT_THAT(disk_error("/a.raw,boot=x1"), HasSubstr("boot="));
    EXPECT_THAT(disk_error("/a.raw,bus=scsi,bus=usb"), HasSubstr("twice"));
    EXPECT_THAT(network_of("bridge=br0,network=default").error().text(), HasSubstr("either"));
    EXPECT_THAT(network_of("mac=52:54:00:12:34:56").error().text(), HasSubstr("either"));
}

} // namespace vgpu::cli
