#include "tests/unit/xml/instance_files.hpp"

#include "tests/unit/xml/domain_files.hpp"
#include "xml/instance_request.hpp"

#include <gtest/gtest.h>

namespace vgpu::xml {

Uuid instance_uuid() {
    return uuid("0a0b0c0d-1111-4222-8333-444455556666");
}

InstanceRequest minimal_request() {
    return request_from(R"({"name":"vm1","vcpus":2,"memory_mib":2048,
                            "gpus":[{"profile":"NVIDIA L40S-4Q"}],"start":true})");
}

InstanceRequest request_from(const std::string& json) {
    return value_of(parse_instance_request_text(json));
}

std::string refusal_of(const std::string& json) {
    const auto request = parse_instance_request_text(json);
    if (request) {
        return "no error";
    }
    EXPECT_EQ(request.error().code(), ErrorCode::invalid);
    return request.error().text();
}

std::string json_with(const std::string& members) {
    return R"({"name":"vm1","vcpus":2,"memory_mib":2048,)" + members + "}";
}

std::vector<std::pair<std::string, InstanceRequest>> sample_requests() {
    std::vector<std::pair<std::string, InstanceRequest>> samples{{"minimal", minimal_request()}};
    const std::pair<const char*, const char*> members[] = {
        {"heading", R"("title":"A <title> & more","description":"two\nlines\t]]>","virt_type":"kvm",
                       "uuid":"0A0B0C0D-1111-4222-8333-444455556666")"},
        {"machine",
         R"("arch":"x86_64","machine":"pc-q35-7.2","cpu":"host-model","firmware":"uefi")"},
        {"cpu model", R"("cpu":"Skylake-Server-v4","machine":"pc","firmware":"bios")"},
        {"arm", R"("arch":"aarch64","graphics":"vnc","cloud_init_iso":"/i.iso","cpu":"maximum")"},
        {"disks", R"("disks":[{"path":"/var/lib/a b&c.qcow2","format":"qcow2"},
                              {"path":"/dev/vg/lv","format":"raw","bus":"scsi","readonly":true},
                              {"path":"/u.img","format":"raw","bus":"usb"},
                              {"path":"/s.img","format":"raw","bus":"sata","device":"disk"},
                              {"path":"/c.iso","device":"cdrom"},
                              {"path":"/d.iso","device":"cdrom","bus":"scsi","format":"raw"}],
                     "cloud_init_iso":"/seed.iso")"},
        {"boot order", R"("disks":[{"path":"/a.img","format":"raw","boot_order":2}],
                          "networks":[{"network":"default","boot_order":1}])"},
        {"networks", R"("networks":[{"network":"de fault<"},
                                    {"bridge":"br0.5","mac":"52:54:00:AB:cd:ef","model":"e1000e"}])"},
        {"numa", R"("numa":{"nodeset":"0-1,3","mode":"interleave","cpuset":"0-7,16"})"},
        {"one node", R"("numa":{"nodeset":"1","mode":"preferred"})"},
        {"cpus only", R"("numa":{"cpuset":"2"},"console":false)"},
        {"screen", R"("graphics":"vnc","gpus":[{"profile":"GRID T4-2Q","display":true}])"},
        {"screen beside", R"("graphics":"vnc","gpus":[{"profile":"GRID T4-2Q"}])"},
        {"direct boot", R"("kernel":"/boot/vmlinuz","initrd":"/boot/initrd",
                           "cmdline":"console=ttyS0 \"quoted\" a<b&c '")"},
        {"gpus", R"("gpus":[{"profile":"nvidia-1150","gpu":"0000:41:00.0","params":"a=\"1\",b=<2>"},
                            {"name":"second","profile":"x & y","numa_node":1}],
                    "policy":"pack","distinct_gpus":true)"},
    };
    for (const auto& [name, text] : members) {
        samples.emplace_back(name, request_from(json_with(text)));
    }
    return samples;
}

} // namespace vgpu::xml
