#include "tests/unit/xml/domain_files.hpp"
#include "tests/unit/xml/instance_files.hpp"
#include "xml/instance_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace vgpu::xml {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string with_gpu(const std::string& members) {
    return json_with(R"("gpus":[{"profile":"p",)" + members + "}]");
}

std::string with_disk(const std::string& members) {
    return json_with(R"("disks":[{)" + members + "}]");
}

TEST(InstanceJson, TheSmallestRequestAsksForOneVgpu) {
    const InstanceRequest request = minimal_request();
    EXPECT_EQ(request.name, "vm1");
    EXPECT_EQ(request.vcpus, 2U);
    EXPECT_EQ(request.memory_mib, 2048U);
    ASSERT_EQ(request.gpus.size(), 1U);
    EXPECT_EQ(request.gpus[0].name, "vgpu0");
    EXPECT_EQ(request.gpus[0].profile, "NVIDIA L40S-4Q");
    EXPECT_TRUE(request.start);
    EXPECT_TRUE(request.console);
}

TEST(InstanceJson, EveryFieldSurvivesTheWayThereAndBack) {
    for (const auto& [name, request] : sample_requests()) {
        const nlohmann::json json = to_json(request);
        const auto back = parse_instance_request(json);
        ASSERT_TRUE(back.has_value()) << name << ": " << back.error().text();
        EXPECT_EQ(*back, request) << name << json.dump(1);
        EXPECT_EQ(value_of(parse_instance_request_text(json.dump())), request) << name;
    }
}

TEST(InstanceJson, WhatIsLeftOutIsTheSameAsItsDefault) {
    const InstanceRequest said =
        request_from(json_with(R"("console":true,"start":false,"distinct_gpus":false,"disks":[],
                                  "networks":[],"gpus":[{"name":"vgpu0","profile":"p",
                                  "display":false}],"numa":{},"graphics":"none")"));
    const InstanceRequest silent = request_from(json_with(R"("gpus":[{"profile":"p"}])"));
    EXPECT_EQ(said, silent);
    EXPECT_EQ(request_text(said), request_text(silent));
}

TEST(InstanceJson, UnknownFieldsAreNamedByTheirPointer) {
    EXPECT_EQ(refusal_of(json_with(R"("gpus":[{"profle":"p"}])")), "/gpus/0/profle: unknown field");
    EXPECT_EQ(refusal_of(json_with(R"("vcpu":1)")), "/vcpu: unknown field");
    EXPECT_EQ(refusal_of(json_with(R"("a/b~c\n":1)")), "/a~1b~0c?: unknown field");
    EXPECT_EQ(refusal_of(json_with(R"("numa":{"node":1})")), "/numa/node: unknown field");
    EXPECT_LT(refusal_of(json_with("\"" + std::string(100000, 'k') + "\":1")).size(), 200U);
}

TEST(InstanceJson, WrongTypesAreNamedByTheirPointer) {
    EXPECT_THAT(refusal_of("[]"), HasSubstr("an object is needed"));
    EXPECT_THAT(refusal_of("null"), HasSubstr("an object is needed"));
    EXPECT_THAT(refusal_of(json_with(R"("title":null)")), StartsWith("/title: a string"));
    EXPECT_THAT(refusal_of(json_with(R"("start":"yes")")), StartsWith("/start: true or false"));
    EXPECT_THAT(refusal_of(json_with(R"("disks":{})")), StartsWith("/disks: an array"));
    EXPECT_THAT(refusal_of(json_with(R"("disks":[1])")), StartsWith("/disks/0: an object"));
    EXPECT_THAT(refusal_of(json_with(R"("numa":[])")), StartsWith("/numa: an object"));
    EXPECT_THAT(refusal_of(R"({"name":1})"), StartsWith("/name: a string"));
    EXPECT_THAT(refusal_of(json_with(R"("cpu":"")")), StartsWith("/cpu: empty"));
    EXPECT_THAT(refusal_of(with_gpu(R"("gpu":7)")), StartsWith("/gpus/0/gpu: a string"));
    EXPECT_THAT(refusal_of(with_gpu(R"("gpu":"41:00.0")")), StartsWith("/gpus/0/gpu: "));
    EXPECT_THAT(refusal_of(json_with(R"("uuid":"x")")), StartsWith("/uuid: "));
}

TEST(InstanceJson, NumbersHaveToBeWholeAndInRange) {
    const auto sized = [](const std::string& vcpus, const std::string& memory) {
        return refusal_of(R"({"name":"a","vcpus":)" + vcpus + R"(,"memory_mib":)" + memory + "}");
    };
    EXPECT_EQ(sized("1", "16"), "no error");
    EXPECT_EQ(sized("4096", "16777216"), "no error");
    EXPECT_THAT(sized("0", "64"), StartsWith("/vcpus: 0 is not within"));
    EXPECT_THAT(sized("4097", "64"), StartsWith("/vcpus: 4097 is not within"));
    EXPECT_THAT(sized("1.0", "64"), StartsWith("/vcpus: a whole number"));
    EXPECT_THAT(sized("-1", "64"), StartsWith("/vcpus: not within"));
    EXPECT_THAT(sized("4294967298", "64"), StartsWith("/vcpus: not within"));
    EXPECT_THAT(sized("true", "64"), StartsWith("/vcpus: a whole number"));
    EXPECT_THAT(sized("1", "15"), StartsWith("/memory_mib: 15 is not within"));
    EXPECT_THAT(sized("1", "16777217"), StartsWith("/memory_mib: "));
    EXPECT_THAT(sized("1", "18446744073709551616"), StartsWith("/memory_mib: a whole number"));
    EXPECT_THAT(refusal_of(R"({"name":"a","vcpus":1})"), StartsWith("/memory_mib: 0"));
    EXPECT_THAT(refusal_of(R"({"name":"a","memory_mib":64})"), StartsWith("/vcpus: 0"));
}

TEST(InstanceJson, NamesAreWhatLibvirtAccepts) {
    const auto named = [](const std::string& json_string) {
        return refusal_of(R"({"vcpus":1,"memory_mib":64,"name":)" + json_string + "}");
    };
    for (const char* good : {R"("a")", R"("..a")", R"("a b:c@[]<&>")", R"("\u00e4\ud83d\ude00")"}) {
        EXPECT_EQ(named(good), "no error") << good;
    }
    EXPECT_EQ(named('"' + std::string(128, 'n') + '"'), "no error");
    EXPECT_THAT(named('"' + std::string(129, 'n') + '"'), StartsWith("/name: "));
    for (const char* bad : {R"("")", R"(".")", R"("..")", R"("a/b")", R"("a\nb")", R"("a\u0000b")",
                            R"("\u007f")", R"("  ")", R"("\u0085")", R"("\uffff")"}) {
        EXPECT_THAT(named(bad), StartsWith("/name: ")) << bad;
    }
    EXPECT_THAT(refusal_of(R"({"vcpus":1,"memory_mib":64})"), StartsWith("/name: "));
}

TEST(InstanceJson, VgpusAreCheckedAsTheMetadataReaderDoes) {
    EXPECT_THAT(refusal_of(json_with(R"("gpus":[{}])")), StartsWith("/gpus/0: vGPU vgpu0 has no"));
    EXPECT_THAT(refusal_of(with_gpu(R"("name":"a b")")), StartsWith("/gpus/0: "));
    EXPECT_THAT(refusal_of(with_gpu(R"("params":"a\nb")")), StartsWith("/gpus/0/params: "));
    EXPECT_THAT(refusal_of(with_gpu(R"("numa_node":4096)")), StartsWith("/gpus/0/numa_node: "));
    EXPECT_THAT(refusal_of(with_gpu(R"("display":true)")), StartsWith("/gpus/0/display: "));
    EXPECT_THAT(refusal_of(json_with(R"("gpus":[{"profile":"p"},{"profile":"p","name":"vgpu0"}])")),
                StartsWith("/gpus/1/name: two vGPUs"));
}

TEST(InstanceJson, ListsAreBounded) {
    const auto list = [](const char* key, const std::string& entry, std::size_t count) {
        std::string text;
        for (std::size_t i = 0; i < count; ++i) {
            text += (i == 0 ? "" : ",") + entry;
        }
        return refusal_of(json_with("\"" + std::string(key) + "\":[" + text + "]"));
    };
    EXPECT_EQ(list("gpus", R"({"profile":"p"})", 16), "no error");
    EXPECT_THAT(list("gpus", R"({"profile":"p"})", 17), StartsWith("/gpus: 17 entries"));
    EXPECT_EQ(list("networks", R"({"network":"n"})", 64), "no error");
    EXPECT_THAT(list("networks", R"({"network":"n"})", 65), StartsWith("/networks: 65 entries"));
    const std::string cdrom = R"({"path":"/a","device":"cdrom"})";
    EXPECT_EQ(list("disks", cdrom, 64), "no error");
    EXPECT_THAT(list("disks", cdrom, 65), StartsWith("/disks: 65 entries"));
}

TEST(InstanceJson, DisksAndNetworksAreWhole) {
    EXPECT_THAT(refusal_of(with_disk(R"("format":"raw")")), StartsWith("/disks/0/path: missing"));
    EXPECT_THAT(refusal_of(with_disk(R"("path":"/a")")), StartsWith("/disks/0/format: missing"));
    EXPECT_THAT(refusal_of(with_disk(R"("path":"a","format":"raw")")),
                StartsWith("/disks/0/path: "));
    EXPECT_THAT(refusal_of(with_disk(R"("path":"/a","format":"vmdk")")),
                StartsWith("/disks/0/format: \"vmdk\" is not one of: raw, qcow2"));
    EXPECT_THAT(refusal_of(with_disk(R"("path":"/a","device":"floppy")")),
                StartsWith("/disks/0/device: "));
    EXPECT_THAT(refusal_of(with_disk(R"("path":"/a","device":"cdrom","bus":"virtio")")),
                StartsWith("/disks/0/bus: "));
    EXPECT_THAT(refusal_of(with_disk(R"("path":"/a","format":"raw","boot_order":0)")),
                StartsWith("/disks/0/boot_order: "));
    const std::string disk = R"({"path":"/a","format":"raw"})";
    EXPECT_THAT(refusal_of(json_with("\"disks\":[" + disk + "," + disk + "]")),
                StartsWith("/disks/1/path: the same"));
    for (const char* bad : {"{}", R"({"network":"a","bridge":"b"})"}) {
        EXPECT_THAT(refusal_of(json_with("\"networks\":[" + std::string(bad) + "]")),
                    StartsWith("/networks/0: exactly one"));
    }
    for (const char* mac : {"00:00:00:00:00:00", "01:00:5e:00:00:01", "52:54:00:12:34",
                            "52-54-00-12-34-56", "52:54:00:12:34:5g", "-2:54:00:12:34:56"}) {
        EXPECT_THAT(refusal_of(json_with(R"("networks":[{"network":"n","mac":")" +
                                         std::string(mac) + "\"}]")),
                    StartsWith("/networks/0/mac: "))
            << mac;
    }
}

TEST(InstanceJson, SetsOfNodesAndCpusAreWellFormed) {
    for (const char* bad : {",", "0,", ",0", "1-", "-1", "3-2", "0--1", "a", "4096", "0 1", "^1"}) {
        EXPECT_THAT(refusal_of(json_with(R"("numa":{"cpuset":")" + std::string(bad) + "\"}")),
                    StartsWith("/numa/cpuset: "))
            << bad;
    }
    EXPECT_THAT(refusal_of(json_with(R"("numa":{"mode":"strict"})")), StartsWith("/numa/mode: "));
    EXPECT_THAT(refusal_of(json_with(R"("numa":{"nodeset":"0-1","mode":"preferred"})")),
                StartsWith("/numa/nodeset: "));
}

TEST(InstanceJson, FieldsThatContradictEachOtherAreRefused) {
    EXPECT_THAT(refusal_of(json_with(R"("cmdline":"a")")), StartsWith("/cmdline: needs a kernel"));
    EXPECT_THAT(refusal_of(json_with(R"("initrd":"/a")")), StartsWith("/initrd: needs a kernel"));
    EXPECT_THAT(refusal_of(json_with(R"("virt_type":"qemu","cpu":"host-model")")),
                StartsWith("/cpu: "));
    EXPECT_THAT(refusal_of(json_with(R"("virt_type":"xen")")), StartsWith("/virt_type: "));
    EXPECT_THAT(refusal_of(json_with(R"("arch":"aarch64","firmware":"bios")")),
                StartsWith("/firmware: "));
    EXPECT_THAT(refusal_of(json_with(R"("base_xml":"<domain/>")")),
                StartsWith("/vcpus: conflicts"));
    for (const char* field : {R"("title":"t")", R"("console":false)", R"("numa":{"cpuset":"1"})",
                              R"("disks":[{"path":"/a","format":"raw"}])"}) {
        EXPECT_THAT(refusal_of(R"({"name":"a","base_xml":"<domain/>",)" + std::string(field) + "}"),
                    HasSubstr(": conflicts with base_xml"));
    }
}

TEST(InstanceJson, TextThatIsNoRequestIsRefused) {
    EXPECT_EQ(refusal_of(""), "the request is not JSON");
    EXPECT_EQ(refusal_of("{"), "the request is not JSON");
    EXPECT_EQ(refusal_of("{\"name\":\"\xff\"}"), "the request is not JSON");
    EXPECT_EQ(refusal_of(minimal_request().name + " "), "the request is not JSON");
    EXPECT_EQ(refusal_of(R"({"name":"a","name":"b"})"),
              "the request: the field \"name\" is there twice");
    EXPECT_EQ(refusal_of(R"({"gpus":[{"profile":"a","profile":"b"}]})"),
              "the request: the field \"profile\" is there twice");
    EXPECT_THAT(refusal_of(std::string(100000, '[')), HasSubstr("nested more than"));
    EXPECT_THAT(refusal_of(R"({"a":)" + std::string(50000, '[') + std::string(50000, ']') + "}"),
                HasSubstr("nested more than"));
    EXPECT_THAT(refusal_of(std::string(max_request_bytes + 1, ' ')), HasSubstr("bytes"));
}

TEST(RequestText, IsOneLineOfAsciiThatReadsBack) {
    for (const auto& [name, request] : sample_requests()) {
        const std::string text = request_text(request);
        for (const char c : text) {
            ASSERT_TRUE(c >= ' ' && c <= '~') << name;
        }
        EXPECT_EQ(request_text(request_from(text)), text) << name;
    }
}

TEST(RequestText, LeavesOutWhatIsNotKept) {
    InstanceRequest request = minimal_request();
    const std::string text = request_text(request);
    request.start = false;
    request.uuid = instance_uuid();
    EXPECT_EQ(request_text(request), text);
    request.vcpus = 3;
    EXPECT_NE(request_text(request), text);
}

TEST(RequestText, HoldsADigestInPlaceOfTheBase) {
    InstanceRequest request;
    request.name = "a";
    request.base_xml = "abc";
    const std::string text = request_text(request);
    EXPECT_EQ(text, R"({"base_xml":"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9c)"
                    R"(b410ff61f20015ad","name":"a"})");
    EXPECT_EQ(request_text(request_from(text)), text);
}

} // namespace
} // namespace vgpu::xml
