# Programs include the headers under the warnings that they have chosen, and with exceptions.

include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
set(compile ${COMPILER} -std=c++20 -I${BUILD}/include -fsyntax-only)
set(program ${SOURCE}/tests/install/outside/main.cpp)
set(warnings -Wall -Wextra -Wconversion -Wshadow -Werror)
foreach(precision -UTAPEGRAD_DOUBLE -DTAPEGRAD_DOUBLE)
  run(${compile} ${warnings} ${precision} ${program})
  run(${compile} ${warnings} ${precision} ${SOURCE}/tests/install/outside/linear.cpp)
endforeach()

execute_process(COMMAND ${compile} -fno-exceptions ${program} RESULT_VARIABLE status ERROR_VARIABLE output)
if(NOT status)
  message(FATAL_ERROR "-fno-exceptions was not refused")
endif()
expect("error: (#error )?\"tapegrad reports errors with exceptions: compile without -fno-exceptions")
