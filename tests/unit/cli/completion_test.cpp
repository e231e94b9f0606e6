#include "tests/support/temp_dir.hpp"
#include "tests/unit/cli/program_process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

namespace vgpu {

namespace {

using test::Ended;
using test::run_program_process;
using test::TempDir;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

/// The scripts in a directory, with stand-ins for the programs that list domains.
class Completion : public testing::Test {
protected:
    Completion() {
        for (const char* shell : {"bash", "zsh", "fish"}) {
            const Ended ended = run_program_process({"completion", shell});
            EXPECT_EQ(ended.code, 0) << ended.err;
            test::write_file(directory / shell, ended.out);
        }
        add_program("virt-vgpu", "[ \"$*\" = 'instances --names' ] && printf 'vm1\\nvm 2\\n'");
        add_program("virsh", "printf 'vm1\\nother\\n'");
    }

    void add_program(const std::string& name, const std::string& commands) {
        test::write_file(directory / ("bin/" + name), "#!/bin/sh\n" + commands + "\n");
        ::chmod((directory / ("bin/" + name)).c_str(), 0755);
    }

    /// What bash offers for the last of these words.
    std::vector<std::string> offered(const std::vector<std::string>& words) {
        std::string script = "source " + (directory / "bash") + "; COMP_WORDS=(virt-vgpu";
        for (const std::string& word : words) {
            script += " '" + word + "'";
        }
        script += "); COMP_CWORD=" + std::to_string(words.size()) +
                  "; _virt_vgpu; printf '%s\\n' \"${COMPREPLY[@]}\"";
        test::write_file(directory / "try", script);
        auto lines = lines_of(output_of("cd " + directory.path().string() +
                                        " && PATH=" + (directory / "bin") + ":$PATH bash try"));
        if (lines == std::vector<std::string>{""}) {
            lines.clear();
        }
        return lines;
    }

    static std::string output_of(const std::string& command) {
        std::string text;
        FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
        for (int c = 0; (c = std::fgetc(pipe)) != EOF;) {
            text += static_cast<char>(c);
        }
        ::pclose(pipe);
        return text;
    }

    TempDir directory;
};

} // namespace

TEST_F(Completion, OffersEveryCommandThatHelpNames) {
    std::vector<std::string> commands;
    for (const std::string& line : lines_of(run_program_process({"--help"}).out)) {
        if (line.starts_with("  ") && line.size() > 2 && line[2] >= 'a' && line[2] <= 'z') {
            commands.push_back(line.substr(2, line.find(' ', 2) - 2));
        }
    }
    EXPECT_THAT(commands, Contains("instances"));
    EXPECT_THAT(offered({""}), testing::UnorderedElementsAreArray(commands));
}

TEST_F(Completion, BashScriptParsesWithoutAWord) {
    EXPECT_EQ(output_of("bash -n " + (directory / "bash")), "");
}

TEST_F(Completion, CompletesCommandsAndTheCommandsBelowThem) {
    EXPECT_THAT(offered({"sta"}), ElementsAre("start"));
    EXPECT_THAT(offered({"instance"}), UnorderedElementsAre("instance", "instances"));
    EXPECT_THAT(offered({"config", ""}), ElementsAre("check"));
    EXPECT_THAT(offered({"--config", "x", "xml", ""}), ElementsAre("inspect"));
    EXPECT_THAT(offered({"nonsense", "x"}), IsEmpty());
}

TEST_F(Completion, CompletesOptions) {
    EXPECT_THAT(offered({"stop", "vm1", "--"}),
                UnorderedElementsAre("--help", "--json", "--config", "--force", "--timeout"));
    EXPECT_THAT(offered({"events", "-f"}), ElementsAre("-f"));
    EXPECT_THAT(offered({"--v"}), ElementsAre("--version"));
}

TEST_F(Completion, CompletesChoicesInBothSpellings) {
    EXPECT_THAT(offered({"create", "--policy", ""}), UnorderedElementsAre("spread", "pack"));
    EXPECT_THAT(offered({"create", "--policy", "=", "s"}), ElementsAre("spread"));
    EXPECT_THAT(offered({"create", "--policy", "="}), UnorderedElementsAre("spread", "pack"));
    EXPECT_THAT(offered({"completion", "z"}), ElementsAre("zsh"));
}

TEST_F(Completion, CompletesDomainsAsTheyHaveToBeTyped) {
    EXPECT_THAT(offered({"start", ""}), ElementsAre("vm1", "vm\\ 2"));
    EXPECT_THAT(offered({"stop", "--force", "vm1"}), ElementsAre("vm1"));
    EXPECT_THAT(offered({"stop", "--timeout", "5", "v"}), ElementsAre("vm1", "vm\\ 2"));
    EXPECT_THAT(offered({"assign", "o"}), ElementsAre("other"));
    // Only the first argument is a domain that is there.
    EXPECT_THAT(offered({"fork", "vm1", "v"}), IsEmpty());
}

TEST_F(Completion, OffersNothingWhenTheDaemonIsNotThere) {
    add_program("virt-vgpu", "echo 'virt-vgpud is not running' >&2; exit 1");
    EXPECT_THAT(offered({"start", ""}), IsEmpty());
}

TEST_F(Completion, NeverRunsANameThatItOffers) {
    add_program("virt-vgpu", "printf '$(touch harm)\\n'");
    EXPECT_THAT(offered({"start", ""}), ElementsAre("\\$\\(touch\\ harm\\)"));
    EXPECT_THAT(offered({"start", "$(touch harm)"}), Not(Contains("x")));
    EXPECT_EQ(output_of("ls " + directory.path().string() + "/harm*"),
              "ls: cannot access '" + directory.path().string() +
                  "/harm*': No such file or directory\n");
}

TEST_F(Completion, CompletesFiles) {
    test::write_file(directory / "request.json", "{}");
    EXPECT_THAT(offered({"create", "--file", "req"}), ElementsAre("request.json"));
    EXPECT_THAT(offered({"xml", "inspect", "req"}), ElementsAre("request.json"));
}

} // namespace vgpu
