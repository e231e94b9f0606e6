#define FMT_HEADER_ONLY
#include <fmt/format.h>

namespace fmt {

// In a library of their own these are explicit instantiations; used once, they are emitted here.
std::string (*const vgpu_emitted)(string_view, format_args) = &vformat;

} // namespace fmt
