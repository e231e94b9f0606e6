# What every target of ours is compiled with; linked PRIVATE by own code only.
add_library(vgpu_settings INTERFACE)
target_include_directories(vgpu_settings INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(vgpu_settings INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor
    -Woverloaded-virtual -Wnull-dereference -Wcast-align -Wformat=2 -Wimplicit-fallthrough
    $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond -Wlogical-op>
    $<$<BOOL:${VGPU_WERROR}>:-Werror>)
target_compile_definitions(vgpu_settings INTERFACE VGPU_VERSION="${PROJECT_VERSION}")

option(VGPU_PRECOMPILE "Precompile the headers that every source includes" ON)
if(VGPU_PRECOMPILE)
    target_precompile_headers(vgpu_settings INTERFACE <fmt/format.h>)
endif()

if(VGPU_SANITIZE)
    # -Wnull-dereference and -Wmaybe-uninitialized are wrong about instrumented code (GCC 12).
    add_compile_options(-fsanitize=${VGPU_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
        -Wno-null-dereference -Wno-maybe-uninitialized)
    add_link_options(-fsanitize=${VGPU_SANITIZE})
    if(VGPU_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
        # Asio's fences: ThreadSanitizer does not see them, and GCC 12 says so wherever they are inlined.
        # At worst that is a false report; what they order is ordered by the loop's mutex as well.
        add_compile_options(-Wno-tsan)
    endif()
endif()
