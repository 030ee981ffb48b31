# A level of _FORTIFY_SOURCE that the compiler or the flags of a distribution choose is kept.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -O2)
check_cxx_source_compiles("#ifndef _FORTIFY_SOURCE
                           #error
                           #endif
                           int main() {}" TAPEGRAD_FORTIFIED)
unset(CMAKE_REQUIRED_FLAGS)

# Warnings, hardening and sanitizers, for everything that is built in this tree.
function(tapegrad_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -fstack-protector-strong)
  # Clang has it in -Wall, but looks for constants only in files that it compiles by themselves.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wunused-const-variable=1>)
  target_compile_definitions(${target} PRIVATE $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)
  if(TAPEGRAD_SANITIZE)
    target_compile_definitions(${target} PRIVATE _GLIBCXX_ASSERTIONS)
  endif()
  target_link_options(${target} PRIVATE -Wl,-z,relro,-z,now)
  if(NOT TAPEGRAD_FORTIFIED AND NOT TAPEGRAD_SANITIZE)
    target_compile_definitions(${target} PRIVATE
      $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:_FORTIFY_SOURCE=2>)
  endif()
  # fmt switches optimization on for its own code when there is none. GCC forgets to switch it off
  # after a precompiled header: then intrinsics take the form that only the optimizer can compile.
  target_compile_options(${target} PRIVATE "-DFMT_GCC_PRAGMA(pragma)=")
  # The stable_sort of libstdc++ 12 uses what libstdc++ 12 deprecates, and later clangs than 14 may say so, as 19 does.
  target_compile_options(${target} PRIVATE
    $<$<AND:$<CXX_COMPILER_ID:Clang>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,15>>:-Wno-deprecated-declarations>)
  # Without it, ccache cannot tell which precompiled header a source takes, and keeps nothing.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  if(TAPEGRAD_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(TAPEGRAD_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${TAPEGRAD_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${TAPEGRAD_SANITIZE})
  endif()
endfunction()

# The same for programs and what they share: they spend their time in the library, and less to
# optimize halves the time of a compilation.
function(tapegrad_program_options target)
  tapegrad_compile_options(${target})
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# The same for tests. With sanitizers, what is tested is optimized and the tests are not: sixteen files take clang 23 s,
# and optimized 68. The suite then runs for 7 minutes, beside clang-tidy.
function(tapegrad_test_program_options target)
  tapegrad_program_options(${target})
  target_compile_definitions(${target} PRIVATE _GLIBCXX_ASSERTIONS)
  if(TAPEGRAD_SANITIZE)
    target_compile_definitions(${target} PRIVATE TAPEGRAD_SANITIZED)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()
