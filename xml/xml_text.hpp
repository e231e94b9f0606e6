#pragma once

#include <string_view>

namespace vgpu::xml {

/// True if XML 1.0 can hold the text and give it back unchanged: UTF-8 without surrogates, U+FFFE
/// and U+FFFF, and without control characters. `lines` allows line feeds and tabs too, which only
/// the text of an element keeps; in an attribute they would come back as spaces.
[[nodiscard]] bool fits_xml(std::string_view text, bool lines = false);

} // namespace vgpu::xml
