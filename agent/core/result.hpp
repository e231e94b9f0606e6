#pragma once

#include "agent/core/error.hpp"

#include <tl/expected.hpp>

#include <utility>

namespace vgpu {

/// A value, or why there is none. tl::expected carries no [[nodiscard]]: functions say it
/// themselves.
template <typename T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Error error) {
    return tl::unexpected<Error>(std::move(error));
}

inline tl::unexpected<Error> fail(ErrorCode code, std::string text) {
    return tl::unexpected<Error>(Error(code, std::move(text)));
}

} // namespace vgpu

#define VGPU_CONCAT_(a, b) a##b
#define VGPU_CONCAT(a, b) VGPU_CONCAT_(a, b)

/// Returns the error of `expression` from the calling function, if it has one.
#define VGPU_TRY(expression)                                                                       \
    do {                                                                                           \
        auto VGPU_CONCAT(result_, __LINE__) = (expression);                                        \
        if (!VGPU_CONCAT(result_, __LINE__)) {                                                     \
            return ::vgpu::fail(std::move(VGPU_CONCAT(result_, __LINE__)).error());                \
        }                                                                                          \
    } while (false)

// NOLINTBEGIN(bugprone-macro-parentheses): a declaration cannot stand in parentheses.
/// `declaration` = the value of `expression`, or returns its error from the calling function.
#define VGPU_TRY_ASSIGN(declaration, expression)                                                   \
    auto VGPU_CONCAT(result_, __LINE__) = (expression);                                            \
    if (!VGPU_CONCAT(result_, __LINE__)) {                                                         \
        return ::vgpu::fail(std::move(VGPU_CONCAT(result_, __LINE__)).error());                    \
    }                                                                                              \
    declaration = *std::move(VGPU_CONCAT(result_, __LINE__))
// NOLINTEND(bugprone-macro-parentheses)
