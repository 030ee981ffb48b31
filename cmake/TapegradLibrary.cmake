# The page of write_viewer as a string.
file(READ ${PROJECT_SOURCE_DIR}/inspect/viewer.html TAPEGRAD_VIEWER)
configure_file(${PROJECT_SOURCE_DIR}/cmake/viewer_page.h.in
               ${PROJECT_BINARY_DIR}/generated/inspect/viewer_page.h @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${PROJECT_SOURCE_DIR}/inspect/viewer.html)

configure_file(${PROJECT_SOURCE_DIR}/cmake/tapegrad.map.in ${PROJECT_BINARY_DIR}/tapegrad.map @ONLY)

# The library for one scalar type: `tapegrad` (float) or `tapegrad64` (double).
function(tapegrad_library name definition)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS
       ${PROJECT_SOURCE_DIR}/core/*.cpp ${PROJECT_SOURCE_DIR}/ops/*.cpp
       ${PROJECT_SOURCE_DIR}/io/*.cpp ${PROJECT_SOURCE_DIR}/nn/*.cpp
       ${PROJECT_SOURCE_DIR}/models/*.cpp ${PROJECT_SOURCE_DIR}/inspect/*.cpp)
  file(GLOB_RECURSE kernels CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ops/kernels/*.cpp)
  # Highway compiles each by itself, once for each instruction set.
  set_source_files_properties(${kernels} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  add_library(${name} ${sources})
  add_library(tapegrad::${name} ALIAS ${name})
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_compile_definitions(${name} PUBLIC ${definition})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_include_directories(${name} PRIVATE ${PROJECT_BINARY_DIR}/generated)
  # What nearly every source includes takes half of the time of its compilation.
  target_precompile_headers(${name} PRIVATE <algorithm> <cmath> <tapegrad/core/tape.h>)
  # Between the baseline and AVX2, targets would add to size and time of compilation only. The vectors
  # of ARM's SVE have no size at compile time, and kernels keep vectors in arrays.
  target_compile_definitions(${name} PRIVATE
    "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4|HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128)")
  # Paths in messages and in Place do not depend on where the tree lies.
  target_compile_options(${name} PRIVATE -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
  target_link_libraries(${name} PUBLIC fmt::fmt
    PRIVATE TBB::tbb hwy::hwy ZLIB::ZLIB nlohmann_json::nlohmann_json Threads::Threads)
  if(TAPEGRAD_STD_THREADS)
    target_compile_definitions(${name} PRIVATE TAPEGRAD_STD_THREADS)
  endif()
  tapegrad_compile_options(${name})
  # Only functions with buffers of bytes are protected here: the checks of all that have arrays would
  # be a tenth of the instructions of a small operation.
  target_compile_options(${name} PRIVATE -fstack-protector)
  tapegrad_linkable(${name})
  # What is local to a thread is found without a call. A library that is loaded late, as part of a
  # plugin, takes its few bytes for each thread from what the C library keeps for this.
  target_compile_options(${name} PRIVATE -ftls-model=initial-exec)
  # A shared library shows what headers for users declare: no kernels, nothing of other libraries.
  if(BUILD_SHARED_LIBS)
    set_source_files_properties(${kernels} PROPERTIES
      COMPILE_OPTIONS -fvisibility=hidden SKIP_PRECOMPILE_HEADERS ON)
  endif()
  # GCC 12 warns of undefined values in its own <immintrin.h>.
  set_property(SOURCE ${PROJECT_SOURCE_DIR}/ops/kernels/product/bfloat16_x86.cpp APPEND PROPERTY
    COMPILE_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  # A target that links both would compile every file in double precision: CMake refuses it, and
  # $<LINK_ONLY:...> leaves the choice to each source file.
  set_target_properties(${name} PROPERTIES INTERFACE_TAPEGRAD_SCALAR ${name})
  set_property(TARGET ${name} APPEND PROPERTY COMPATIBLE_INTERFACE_STRING TAPEGRAD_SCALAR)
endfunction()

# A library that is installed. Shared libraries and plugins may link it; so that programs pay nothing
# for it, calls within the library can still be inlined. As a shared library it exports namespace
# tapegrad alone.
function(tapegrad_linkable name)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON VISIBILITY_INLINES_HIDDEN ON
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    DEFINE_SYMBOL "" LINK_DEPENDS ${PROJECT_BINARY_DIR}/tapegrad.map)
  if(BUILD_SHARED_LIBS AND CMAKE_CXX_VISIBILITY_PRESET)  # of a project that hides its own
    set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET default)
  endif()
  target_compile_options(${name} PRIVATE -fno-semantic-interposition)
  # Sanitizers watch the library in single precision: double has the same code, and with them a
  # unit of it takes clang 38 to 67 s in place of 14.
  if(TAPEGRAD_SANITIZE AND name MATCHES "64$")
    target_compile_options(${name} PRIVATE -O0 -fno-sanitize=all)
  endif()
  target_link_options(${name} PRIVATE -Wl,-Bsymbolic-functions
    -Wl,--version-script=${PROJECT_BINARY_DIR}/tapegrad.map)
endfunction()
