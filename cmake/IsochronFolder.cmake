# isochron_folder(NAME [DEPENDS folder…] [LIBRARIES target…] SOURCES file…)
#
# One folder of isochron/ is one object library, `isochron_NAME`. DEPENDS names the folders it may
# include from; tools/check_layers.py reads the same lines and rejects every other #include, so the
# edges of the house are said here and nowhere else. The objects of all folders are linked into the
# one installed library, `isochron`.
add_library(isochron_flags INTERFACE)
target_include_directories(isochron_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
# -Wrestrict misfires on std::string concatenation in GCC 12.
target_compile_options(isochron_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers -Wno-restrict
  $<$<BOOL:${ISOCHRON_WERROR}>:-Werror> -fno-semantic-interposition)
# Three Highway targets: plain x86-64, AVX2 and AVX-512; the ones between would only lengthen the build.
target_compile_definitions(isochron_flags INTERFACE "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4)")
target_link_libraries(isochron_flags INTERFACE Threads::Threads fmt::fmt)
if(ISOCHRON_SANITIZE)
  target_compile_options(isochron_flags INTERFACE -fsanitize=${ISOCHRON_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(isochron_flags INTERFACE -fsanitize=${ISOCHRON_SANITIZE})
endif()

set_property(GLOBAL PROPERTY ISOCHRON_FOLDERS "")
function(isochron_folder name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LIBRARIES;SOURCES" ${ARGN})
  add_library(isochron_${name} OBJECT ${ARG_SOURCES})
  target_link_libraries(isochron_${name} PUBLIC isochron_flags ${ARG_LIBRARIES})
  set_property(GLOBAL APPEND PROPERTY ISOCHRON_FOLDERS isochron_${name})
endfunction()
