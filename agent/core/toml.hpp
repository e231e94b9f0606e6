#pragma once

// toml++ for the files of this folder that read the configuration; nothing else may include it: its
// settings have to be the same everywhere. As headers only, because the hook is linked statically;
// errors as values. It limits nested values, but not the parts of a dotted key: see toml_guard.hpp.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 8
// Some broken texts ("[=]") fail an assertion of the parser right before the branch that reports
// them (seen in 3.3.0). It must be neither checked nor, as with NDEBUG and Clang, assumed to hold.
#define TOML_ASSERT(expression) static_assert(true)
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
