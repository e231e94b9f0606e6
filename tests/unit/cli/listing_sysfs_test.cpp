#include "agent/core/listing_sysfs.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <set>
#include <stdexcept>

namespace vgpu::cli {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Answers every read, except below the devices that hang: there a read never comes back.
class HangingSysfs final : public Sysfs {
public:
    HangingSysfs() {
        if (::pipe(pipe_.data()) != 0) {
            throw std::runtime_error("pipe");
        }
    }
    HangingSysfs(const HangingSysfs&) = delete;
    HangingSysfs& operator=(const HangingSysfs&) = delete;
    ~HangingSysfs() override {
        ::close(pipe_[0]);
        ::close(pipe_[1]);
    }

    std::set<std::string> hanging;

    const std::string& root() const override { return root_; }
    Result<std::string> read(const std::string& path) override {
        for (const std::string& device : hanging) {
            if (path.starts_with(device)) {
                char byte = 0;
                static_cast<void>(::read(pipe_[0], &byte, 1)); // nobody writes
            }
        }
        return path;
    }
    Result<void> write(const std::string&, std::string_view) override { return {}; }
    Result<std::vector<std::string>> list(const std::string&) override {
        return std::vector<std::string>{"a"};
    }
    Result<std::string> read_link(const std::string&) override { return std::string("b"); }
    Result<bool> exists(const std::string&) override { return true; }

private:
    std::array<int, 2> pipe_{};
    std::string root_ = "/sys";
};

std::string attribute(int device) {
    return "bus/pci/devices/0000:41:00." + std::to_string(device) + "/numa_node";
}

} // namespace

TEST(ListingSysfs, LosesOneDeviceAndReadsTheOthers) {
    HangingSysfs inner;
    inner.hanging = {"bus/pci/devices/0000:41:00.1/"};
    ListingSysfs sysfs(inner, Deadline::in(seconds(60)), milliseconds(200));
    EXPECT_EQ(sysfs.read(attribute(0)).value(), attribute(0));
    const auto lost = sysfs.read(attribute(1));
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code(), ErrorCode::timeout);
    EXPECT_EQ(sysfs.read(attribute(2)).value(), attribute(2));
    EXPECT_FALSE(sysfs.read("bus/pci/devices/0000:41:00.1/driver_override"));
}

TEST(ListingSysfs, GivesUpWhenTooManyDevicesAreLost) {
    HangingSysfs inner;
    inner.hanging = {"bus/pci/devices/"};
    ListingSysfs sysfs(inner, Deadline::in(seconds(60)), milliseconds(20));
    for (std::size_t i = 0; i < ListingSysfs::most_lost; ++i) {
        EXPECT_FALSE(sysfs.read("bus/pci/devices/device" + std::to_string(i) + "/x"));
    }
    inner.hanging.clear();
    EXPECT_FALSE(sysfs.read("bus/pci/devices/another/x"));
}

TEST(ListingSysfs, ReadsNothingMoreAfterItsDeadline) {
    HangingSysfs inner;
    ListingSysfs sysfs(inner, Deadline::in(milliseconds(0)));
    const auto late = sysfs.read(attribute(0));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code(), ErrorCode::timeout);
}

TEST(ListingSysfs, WritesNothing) {
    HangingSysfs inner;
    ListingSysfs sysfs(inner, Deadline::in(seconds(60)));
    EXPECT_FALSE(sysfs.write(attribute(0), "0"));
    EXPECT_TRUE(sysfs.list("x"));
    EXPECT_TRUE(sysfs.read_link("x"));
    EXPECT_TRUE(sysfs.exists("x"));
}

} // namespace vgpu::cli
