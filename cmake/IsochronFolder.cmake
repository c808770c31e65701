# isochron_folder(NAME [COLD] [DEPENDS folder…] [LIBRARIES target…] SOURCES file…)
#
# One folder of isochron/ is one object library, `isochron_NAME`. DEPENDS names the folders it may
# include from; tools/check_layers.py reads the same lines and rejects every other #include, so the
# edges of the house are said here and nowhere else. The objects of all folders are linked into the
# one installed library, `isochron`. COLD: nothing here runs inside a step or a byte loop (it builds, traces, reports), so
# it is compiled lightly, which saves a third of its build time.
add_library(isochron_flags INTERFACE)
target_include_directories(isochron_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/generated)
# The last four misfire on std::string concatenation in GCC 12.
target_compile_options(isochron_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers
  -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds
  $<$<BOOL:${ISOCHRON_WERROR}>:-Werror> -fno-semantic-interposition
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)  # messages that name a line of ours name no folder of the machine that built it
# Three Highway targets: plain x86-64, AVX2 and AVX-512; the ones between would only lengthen the build. A sanitized
# build leaves out what the machine at hand does not run: it is long enough.
set(skipped_targets "HWY_SSSE3|HWY_SSE4")
if(ISOCHRON_SANITIZE)
  file(STRINGS /proc/cpuinfo avx512 REGEX "avx512vl" LIMIT_COUNT 1)
  if(avx512)
    string(APPEND skipped_targets "|HWY_AVX2")
  else()
    string(APPEND skipped_targets "|HWY_AVX3")
  endif()
endif()
set(ISOCHRON_SKIPPED_TARGETS ${skipped_targets} CACHE STRING "Highway targets that are not compiled")
target_compile_definitions(isochron_flags INTERFACE HWY_SHARED_DEFINE "HWY_DISABLED_TARGETS=(${ISOCHRON_SKIPPED_TARGETS})")
target_link_libraries(isochron_flags INTERFACE Threads::Threads fmt::fmt nlohmann_json::nlohmann_json)
# Highway's prefetches do not compile without any optimisation: GCC takes their hint for no constant then.
target_compile_options(isochron_flags INTERFACE $<$<CONFIG:Debug>:-Og>)
# GCC looks for garbage of its own from 128 MB on, which united files and the headers of tests always hold: a seventh of
# their compile time. Files that Highway compiles once per CPU gain by it.
target_compile_options(isochron_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1000000>)
# An index beyond a vector, a span or a view ends the test, also where a sanitizer sees memory that is somebody's.
if(ISOCHRON_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_definitions(isochron_flags INTERFACE _GLIBCXX_ASSERTIONS)
endif()
if(ISOCHRON_SANITIZE)
  # Lightly optimised, with lines and no variables: kernels take minutes a file as it is.
  target_compile_options(isochron_flags INTERFACE -O1 -g1 -fsanitize=${ISOCHRON_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    -Wno-maybe-uninitialized)  # what sanitizers add to a function hides from the compiler that it is initialised
  target_link_options(isochron_flags INTERFACE -fsanitize=${ISOCHRON_SANITIZE})
endif()

# Parsing the standard headers is half of a build: they are precompiled once for the library and once for the tests.
option(ISOCHRON_PCH "Precompile the headers most files include" ON)
set(isochron_common_headers
  <algorithm> <array> <atomic> <cmath> <condition_variable> <cstdint> <filesystem> <functional> <map> <memory> <mutex>
  <numeric> <optional> <set> <span> <string> <string_view> <thread> <unordered_map> <utility> <variant> <vector>
  <fmt/core.h>)
# isochron_precompile(TARGET OWNER header…): TARGET uses the precompiled headers of OWNER, which is the first to ask.
function(isochron_precompile target owner)
  if(NOT ISOCHRON_PCH)
    return()
  elseif(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

# isochron_unite(TARGET file…): the files are compiled some at a time as one, which parses their headers once and halves a
# build. So a name in an anonymous namespace is its folder's. Files that Highway compiles once per CPU stay alone.
option(ISOCHRON_UNITY "Compile several files at a time; OFF rebuilds quicker after a small change" ON)
function(isochron_unite target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${ISOCHRON_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  # What a file keeps for itself looks to the compiler like part of a header.
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  foreach(file ${ARGN})
    file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/${file} per_cpu REGEX "define HWY_TARGET_INCLUDE" LIMIT_COUNT 1)
    if(per_cpu)
      set_source_files_properties(${file} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=131072>)
    endif()
  endforeach()
endfunction()

set_property(GLOBAL PROPERTY ISOCHRON_FOLDERS "")
function(isochron_folder name)
  cmake_parse_arguments(ARG "COLD" "" "DEPENDS;LIBRARIES;SOURCES" ${ARGN})
  add_library(isochron_${name} OBJECT ${ARG_SOURCES})
  target_link_libraries(isochron_${name} PUBLIC isochron_flags ${ARG_LIBRARIES})
  if(ARG_COLD)
    target_compile_options(isochron_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  isochron_precompile(isochron_${name} isochron_base ${isochron_common_headers})
  isochron_unite(isochron_${name} ${ARG_SOURCES})
  set_property(GLOBAL APPEND PROPERTY ISOCHRON_FOLDERS isochron_${name})
endfunction()
