# What the scripts of this folder share.

function(run)  # run(COMMAND...): sets `output`; ends the test when the command fails
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status)
    message(FATAL_ERROR "${ARGN}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect pattern)  # expect(PATTERN [NOT]): whether `output` has it
  if(ARGN STREQUAL NOT AND output MATCHES "${pattern}" OR NOT ARGN AND NOT output MATCHES "${pattern}")
    message(FATAL_ERROR "expected ${ARGN} ${pattern} in:\n${output}")
  endif()
endfunction()

set(release -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=${COMPILER}
    -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
# For scripts that build the library again: without optimization and what a debugger reads, it takes less time.
set(quick ${release} -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=)
