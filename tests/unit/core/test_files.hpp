#pragma once

#include "tests/support/temp_dir.hpp"

#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>

namespace vgpu::test {

/// Files in a directory of their own, which goes with them.
class TestFiles {
public:
    [[nodiscard]] std::string path() const { return dir_.path().string(); }
    [[nodiscard]] std::string path(std::string_view below) const { return dir_ / below; }

    /// Creates a file and the directories it needs; returns its whole path.
    std::string write(std::string_view below, std::string_view content) const {
        write_file(path(below), content);
        return path(below);
    }
    [[nodiscard]] std::string read(std::string_view below) const { return read_file(path(below)); }
    /// How many entries the directory has.
    [[nodiscard]] std::ptrdiff_t entries() const {
        return std::distance(std::filesystem::directory_iterator(dir_.path()), {});
    }

private:
    TempDir dir_;
};

} // namespace vgpu::test
