#include "agent/http/listener.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/unit/http/raw_client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>

namespace vgpu::test {
namespace {

using namespace http;
using testing::HasSubstr;

struct stat look_at(const std::string& path) {
    struct stat found{};
    EXPECT_EQ(::lstat(path.c_str(), &found), 0) << path;
    return found;
}

TEST(Listener, MakesTheFileWithItsModeWhateverTheUmask) {
    const TempDir dir;
    const mode_t before = ::umask(0777);
    const auto listener = Listener::create({dir / "s", 0660, ""});
    ::umask(before);
    ASSERT_TRUE(listener) << listener.error().text();
    const auto found = look_at(dir / "s");
    EXPECT_TRUE(S_ISSOCK(found.st_mode));
    EXPECT_EQ(found.st_mode & 07777U, 0660U);
    EXPECT_FALSE(std::filesystem::exists(dir / "s.new"));
}

TEST(Listener, GivesTheFileToTheGroup) {
    const TempDir dir;
    const group* const own = ::getgrgid(::getegid());
    ASSERT_NE(own, nullptr);
    const auto listener = Listener::create({dir / "s", 0660, own->gr_name});
    ASSERT_TRUE(listener) << listener.error().text();
    EXPECT_EQ(look_at(dir / "s").st_gid, own->gr_gid);
}

TEST(Listener, NamesAGroupThatIsNotThere) {
    const TempDir dir;
    const auto listener = Listener::create({dir / "s", 0660, "no-such-group"});
    ASSERT_FALSE(listener);
    EXPECT_EQ(listener.error().code(), ErrorCode::not_found);
    EXPECT_THAT(listener.error().text(), HasSubstr("no-such-group"));
    EXPECT_FALSE(std::filesystem::exists(dir / "s"));
}

TEST(Listener, ReplacesTheFileOfOneThatIsGone) {
    const TempDir dir;
    const std::string path = dir / "s";
    {
        auto gone = Listener::create({path, 0660, ""});
        ASSERT_TRUE(gone);
        std::filesystem::rename(path, dir / "kept"); // so that its end does not find it
    }
    std::filesystem::rename(dir / "kept", path);
    const auto listener = Listener::create({path, 0660, ""});
    ASSERT_TRUE(listener) << listener.error().text();
    RawClient client(path);
}

TEST(Listener, NeverTakesTheSocketOfALiveServer) {
    const TempDir dir;
    const auto first = Listener::create({dir / "s", 0660, ""});
    ASSERT_TRUE(first);
    const auto before = look_at(dir / "s");
    const auto second = Listener::create({dir / "s", 0660, ""});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), ErrorCode::busy);
    EXPECT_EQ(look_at(dir / "s").st_ino, before.st_ino);
    EXPECT_FALSE(std::filesystem::exists(dir / "s.new"));
}

TEST(Listener, LeavesWhatIsNoSocketAlone) {
    const TempDir dir;
    write_file(dir / "s", "precious");
    const auto listener = Listener::create({dir / "s", 0660, ""});
    ASSERT_FALSE(listener);
    EXPECT_EQ(listener.error().code(), ErrorCode::invalid);
    EXPECT_EQ(read_file(dir / "s"), "precious");
}

TEST(Listener, RemovesItsFileButNotThatOfASuccessor) {
    const TempDir dir;
    {
        const auto listener = Listener::create({dir / "s", 0660, ""});
        ASSERT_TRUE(listener);
    }
    EXPECT_FALSE(std::filesystem::exists(dir / "s"));
    {
        const auto listener = Listener::create({dir / "s", 0660, ""});
        ASSERT_TRUE(listener);
        std::filesystem::remove(dir / "s");
        write_file(dir / "s", "another's");
    }
    EXPECT_EQ(read_file(dir / "s"), "another's");
}

TEST(Listener, RefusesAPathThatDoesNotFit) {
    const TempDir dir;
    const auto listener = Listener::create({dir / std::string(120, 'a'), 0660, ""});
    ASSERT_FALSE(listener);
    EXPECT_EQ(listener.error().code(), ErrorCode::invalid);
}

TEST(Listener, AdoptsAListeningSocketAndLeavesItsFile) {
    const TempDir dir;
    auto made = Listener::create({dir / "s", 0660, ""});
    ASSERT_TRUE(made);
    {
        const auto adopted = Listener::adopt(::dup(made->fd()));
        ASSERT_TRUE(adopted) << adopted.error().text();
        EXPECT_NE(::fcntl(adopted->fd(), F_GETFL) & O_NONBLOCK, 0);
        EXPECT_NE(::fcntl(adopted->fd(), F_GETFD) & FD_CLOEXEC, 0);
    }
    EXPECT_TRUE(std::filesystem::exists(dir / "s"));
}

TEST(Listener, RefusesToAdoptAnythingElse) {
    EXPECT_FALSE(Listener::adopt(::open("/dev/null", O_RDWR | O_CLOEXEC)));
    EXPECT_FALSE(Listener::adopt(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)));
    EXPECT_FALSE(Listener::adopt(-1));
}

} // namespace
} // namespace vgpu::test
