#include "xml/sha256.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace vgpu::xml {

namespace {

using Word = std::uint32_t;
__extension__ using Wide = unsigned __int128;
constexpr std::size_t block_bytes = 64;
constexpr int rounds = 64;

/// The first 32 bits of the fraction of the root of `prime`, by bisection on integers: the
/// constants of the standard are defined so, for square roots (start values) and cube roots
/// (rounds).
constexpr Word root_fraction(Word prime, bool cube) {
    // The root of prime scaled by 2^32 lies below 2^37 (2^36 for a cube root of 311).
    Wide low = 0;
    Wide high = Wide{1} << 37;
    while (high - low > 1) {
        const Wide middle = (low + high) / 2;
        bool above = false;
        if (cube) {
            above = middle * middle * middle > (Wide{prime} << 96);
        } else {
            above = middle * middle > (Wide{prime} << 64);
        }
        (above ? high : low) = middle;
    }
    return static_cast<Word>(low);
}

template <std::size_t Count>
constexpr std::array<Word, Count> root_fractions(bool cube) {
    std::array<Word, Count> result{};
    std::size_t found = 0;
    for (Word candidate = 2; found < Count; ++candidate) {
        bool prime = true;
        for (Word divisor = 2; divisor * divisor <= candidate; ++divisor) {
            prime = prime && candidate % divisor != 0;
        }
        if (prime) {
            result[found++] = root_fraction(candidate, cube);
        }
    }
    return result;
}

constexpr auto start_values = root_fractions<8>(false);
constexpr auto round_values = root_fractions<rounds>(true);
static_assert(start_values[0] == 0x6a09e667 && round_values[63] == 0xc67178f2);

constexpr Word big_sigma(Word x, int a, int b, int c) {
    return std::rotr(x, a) ^ std::rotr(x, b) ^ std::rotr(x, c);
}

constexpr Word small_sigma(Word x, int a, int b, int shift) {
    return std::rotr(x, a) ^ std::rotr(x, b) ^ (x >> shift);
}

void add_block(std::array<Word, 8>& hash, std::string_view block) {
    std::array<Word, rounds> w{};
    for (std::size_t i = 0; i < block_bytes; ++i) {
        w[i / 4] = w[i / 4] << 8 | static_cast<unsigned char>(block[i]);
    }
    for (std::size_t t = 16; t < rounds; ++t) {
        w[t] = small_sigma(w[t - 2], 17, 19, 10) + w[t - 7] + small_sigma(w[t - 15], 7, 18, 3) +
               w[t - 16];
    }
    auto [a, b, c, d, e, f, g, h] = hash;
    for (std::size_t t = 0; t < rounds; ++t) {
        const Word one =
            h + big_sigma(e, 6, 11, 25) + ((e & f) ^ (~e & g)) + round_values[t] + w[t];
        const Word two = big_sigma(a, 2, 13, 22) + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + one;
        d = c;
        c = b;
        b = a;
        a = one + two;
    }
    const std::array<Word, 8> sum{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < hash.size(); ++i) {
        hash[i] += sum[i];
    }
}

} // namespace

std::string sha256_hex(std::string_view bytes) {
    std::array<Word, 8> hash = start_values;
    const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
    while (bytes.size() >= block_bytes) {
        add_block(hash, bytes.substr(0, block_bytes));
        bytes.remove_prefix(block_bytes);
    }
    std::string tail(bytes);
    tail += '\x80';
    tail.resize(tail.size() + (2 * block_bytes - 8 - tail.size()) % block_bytes, '\0');
    for (int shift = 56; shift >= 0; shift -= 8) {
        tail += static_cast<char>(bits >> shift & 0xffU);
    }
    for (std::size_t at = 0; at < tail.size(); at += block_bytes) {
        add_block(hash, std::string_view(tail).substr(at, block_bytes));
    }
    std::string text;
    for (const Word word : hash) {
        text += fmt::format("{:08x}", word);
    }
    return text;
}

} // namespace vgpu::xml
