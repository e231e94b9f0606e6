#include "tests/simulator/boards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace vgpu::simulator {

const VgpuType* Board::find(std::uint32_t id) const {
    const auto found = std::ranges::find(types, id, &VgpuType::id);
    return found == types.end() ? nullptr : &*found;
}

const VgpuType* Board::find(const std::string& text) const {
    const auto found = std::ranges::find_if(types, [&](const VgpuType& type) {
        return type.name == text || type.name.ends_with(" " + text);
    });
    return found == types.end() ? nullptr : &*found;
}

namespace {

using Sizes = std::initializer_list<std::uint32_t>;

/// Appends one type per size, ids counting up by `step` from `id`.
void add_series(Board& board, std::uint32_t id, std::uint32_t step, const std::string& stem,
                char series, Sizes gigabytes) {
    for (const auto size : gigabytes) {
        board.types.push_back({id, fmt::format("{}-{}{}", stem, size, series), size * 1024, 0});
        id += step;
    }
}

/// The ids and the order that a host with this card shows (a captured sysfs tree): neither
/// contiguous nor sorted by size.
Board l40s() {
    Board board{.name = "NVIDIA L40S",
                .device_id = 0x26b9,
                .subsystem_id = 0x1851,
                .framebuffer_mib = 49152,
                .types = {}};
    const std::string stem = "NVIDIA L40S";
    add_series(board, 1145, 1, stem, 'B', {1, 2});
    add_series(board, 1147, 1, stem, 'Q', {1, 2, 3, 4, 6, 8, 12, 16, 24, 48});
    add_series(board, 1157, 1, stem, 'A', {1, 2, 3, 4, 6, 8, 12, 16, 24, 48});
    add_series(board, 2164, 1, stem, 'B', {3});
    return board;
}

/// Ids as public logs of hosts with this card show them.
Board a2() {
    Board board{.name = "NVIDIA A2",
                .device_id = 0x25b6,
                .subsystem_id = 0x157e,
                .framebuffer_mib = 16384,
                .total_vfs = 16,
                .max_vgpus = 16,
                .framework = Framework::mdev,
                .types = {}};
    const std::string stem = "NVIDIA A2";
    add_series(board, 742, 1, stem, 'B', {1, 2});
    add_series(board, 744, 1, stem, 'Q', {1, 2, 4, 8, 16});
    add_series(board, 749, 1, stem, 'A', {1, 2, 4, 8, 16});
    add_series(board, 754, 1, stem, 'C', {4, 8, 16});
    return board;
}

/// A card without SR-IOV. Its names carry the older prefix, and a digit after the series on some.
Board t4() {
    Board board{.name = "Tesla T4",
                .device_id = 0x1eb8,
                .subsystem_id = 0x12a2,
                .framebuffer_mib = 16384,
                .total_vfs = 0,
                .max_vgpus = 16,
                .framework = Framework::mdev_pf,
                .types = {}};
    const std::string stem = "GRID T4";
    add_series(board, 222, 1, stem, 'B', {1, 2});
    board.types.push_back({224, "GRID T4-2B4", 2048, 0});
    add_series(board, 225, 1, stem, 'A', {1, 2, 4, 8, 16});
    add_series(board, 230, 1, stem, 'Q', {1, 2, 4, 8, 16});
    board.types.push_back({252, "GRID T4-1B4", 1024, 0});
    add_series(board, 319, 1, stem, 'C', {4, 8, 16});
    return board;
}

/// Names hold several spaces. 1519 (3Q), 1520 (3A), 1523 (6Q) and 1561 (1-24Q) are measured ids,
/// the others are filled in between them. 48 VFs, but no more than 32 vGPUs.
Board rtx_pro_6000() {
    Board board{.name = "NVIDIA RTX PRO 6000 Blackwell Server Edition",
                .device_id = 0x2bb5,
                .subsystem_id = 0x204e,
                .framebuffer_mib = 98304,
                .first_vf = 2,
                .total_vfs = 48,
                .max_vgpus = 32,
                .slices = 4,
                .types = {}};
    const std::string stem = "NVIDIA RTX Pro 6000 Blackwell DC";
    const Sizes sizes{3, 4, 6, 8, 12, 16, 24, 32, 48, 96};
    add_series(board, 1519, 2, stem, 'Q', sizes);
    add_series(board, 1520, 2, stem, 'A', sizes);
    const std::initializer_list<std::pair<const char*, std::pair<std::uint32_t, std::uint32_t>>>
        mig{{"1-3Q", {3, 1}},      {"1-6Q", {6, 1}},   {"1-12Q", {12, 1}}, {"1-24Q", {24, 1}},
            {"1-24CGFX", {24, 1}}, {"2-12Q", {12, 2}}, {"2-24Q", {24, 2}}, {"2-48Q", {48, 2}},
            {"4-48Q", {48, 4}},    {"4-96Q", {96, 4}}};
    std::uint32_t id = 1558;
    for (const auto& [suffix, size] : mig) {
        board.types.push_back({id++, stem + "-" + suffix, size.first * 1024, size.second});
    }
    return board;
}

/// 1428 (141C) and 1414 (1-18C) are measured ids, the others are filled in.
Board h200x() {
    Board board{.name = "NVIDIA H200",
                .device_id = 0x2335,
                .subsystem_id = 0x18be,
                .framebuffer_mib = 144384,
                .max_vgpus = 32,
                .slices = 7,
                .types = {}};
    const std::string stem = "NVIDIA H200X";
    board.types.push_back({1414, stem + "-1-18C", 18432, 1});
    board.types.push_back({1415, stem + "-1-18CME", 18432, 1});
    board.types.push_back({1416, stem + "-2-35C", 35840, 2});
    board.types.push_back({1417, stem + "-3-71C", 72704, 3});
    board.types.push_back({1418, stem + "-4-71C", 72704, 4});
    board.types.push_back({1419, stem + "-7-141C", 144384, 7});
    add_series(board, 1422, 1, stem, 'C', {4, 8, 17, 28, 35, 70, 141});
    return board;
}

} // namespace

Boards built_in_boards() {
    Boards boards;
    boards.emplace("L40S", std::make_shared<Board>(l40s()));
    boards.emplace("A2", std::make_shared<Board>(a2()));
    boards.emplace("T4", std::make_shared<Board>(t4()));
    boards.emplace("RTX-PRO-6000", std::make_shared<Board>(rtx_pro_6000()));
    boards.emplace("H200X", std::make_shared<Board>(h200x()));
    return boards;
}

} // namespace vgpu::simulator
