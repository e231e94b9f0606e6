# Third parties, all from the distribution's own packages.
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tl-expected REQUIRED)
find_package(LibXml2 REQUIRED)
pkg_check_modules(LIBXML2_PC REQUIRED libxml-2.0)
find_package(CLI11 REQUIRED)
find_package(Boost 1.74 REQUIRED)  # headers only
pkg_check_modules(TOMLPLUSPLUS REQUIRED IMPORTED_TARGET tomlplusplus)
pkg_check_modules(LIBVIRT REQUIRED IMPORTED_TARGET libvirt)
pkg_check_modules(PROMETHEUS REQUIRED IMPORTED_TARGET prometheus-cpp-core)
pkg_check_modules(SYSTEMD REQUIRED IMPORTED_TARGET libsystemd)
if(VGPU_BUILD_TESTS)
    find_package(GTest REQUIRED)
    pkg_check_modules(FUSE3 REQUIRED IMPORTED_TARGET fuse3)
endif()

# fmt as a static library, which Debian has not and a static hook needs: its headers compiled once, in a source of ours, with every inline
# function kept; all others see declarations only. As headers alone it is a third of the whole build.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    get_target_property(fmt_headers fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
    add_library(vgpu_fmt STATIC packaging/cmake/fmt.cpp)
    target_compile_options(vgpu_fmt PRIVATE -fkeep-inline-functions)
    target_include_directories(vgpu_fmt SYSTEM PUBLIC ${fmt_headers})
else()
    add_library(vgpu_fmt INTERFACE)
    target_link_libraries(vgpu_fmt INTERFACE fmt::fmt-header-only)
endif()
