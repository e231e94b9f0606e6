#pragma once

#include "agent/core/result.hpp"

#include <cstddef>
#include <initializer_list>
#include <string_view>

/// Grammars of the fields of an instance request, inside xml/ only. All accept an empty text, which
/// stands for "not said"; their errors are invalid and begin with `pointer`.
namespace vgpu::xml {

using Words = std::initializer_list<std::string_view>;

/// "POINTER: what".
[[nodiscard]] Result<void> refuse(std::string_view pointer, std::string_view what);

/// Text that XML can hold; `lines` as in fits_xml().
[[nodiscard]] Result<void> check_text(std::string_view pointer, std::string_view text,
                                      std::size_t limit, bool lines = false);
/// One of the words.
[[nodiscard]] Result<void> check_choice(std::string_view pointer, std::string_view text,
                                        Words words);
/// A name as machine types, CPU models, NIC models and bridges have one.
[[nodiscard]] Result<void> check_word(std::string_view pointer, std::string_view text,
                                      std::size_t limit = 64);
/// An absolute path.
[[nodiscard]] Result<void> check_path(std::string_view pointer, std::string_view path);
/// "0-3,8". libvirt reads an exclusion ("^2") too, which nobody needs here.
[[nodiscard]] Result<void> check_set(std::string_view pointer, std::string_view set);
/// The MAC address of a card. libvirt takes no multicast address for one, and six zeros are none.
[[nodiscard]] Result<void> check_mac(std::string_view pointer, std::string_view mac);

} // namespace vgpu::xml
