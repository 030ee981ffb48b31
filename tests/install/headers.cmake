# Programs include the headers, also those of the training kit, under the warnings that they have chosen, and with
# exceptions. A wrong field of `visit` is reported in words.

include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
set(compile ${COMPILER} -std=c++20 -I${BUILD}/include -fsyntax-only)
set(program ${SOURCE}/tests/install/outside/main.cpp)
set(warnings -Wall -Wextra -Wconversion -Wshadow -Wold-style-cast -pedantic -Werror)
foreach(precision -UTAPEGRAD_DOUBLE -DTAPEGRAD_DOUBLE)
  run(${compile} ${warnings} ${precision} ${program})
  run(${compile} ${warnings} ${precision} ${SOURCE}/tests/install/outside/linear.cpp)
  run(${compile} ${warnings} ${precision} -include tapegrad/train.h -x c++ /dev/null)
endforeach()

execute_process(COMMAND ${compile} -fno-exceptions ${program} RESULT_VARIABLE status ERROR_VARIABLE output)
if(NOT status)
  message(FATAL_ERROR "-fno-exceptions was not refused")
endif()
expect("error: (#error )?\"tapegrad reports errors with exceptions: compile without -fno-exceptions")

function(expect_field type problem)
  execute_process(COMMAND ${compile} "-DFIELD=${type}" ${SOURCE}/tests/install/outside/field.cpp
                  OUTPUT_VARIABLE output ERROR_VARIABLE output)
  expect("${problem}")
endfunction()
foreach(type tapegrad::Parameter std::vector<tapegrad::Buffer> std::optional<tapegrad::Linear>)
  expect_field(${type} "^$")
endforeach()
foreach(type tapegrad::Tensor std::vector<tapegrad::Tensor>)
  expect_field(${type} "error: [^\n]*a Tensor is not a field: make it a Parameter, which is trained and saved, or a Buffer")
endforeach()
foreach(type std::string double std::optional<tapegrad::Index>)
  expect_field(${type} "error: [^\n]*this is not a field, as it has no `void visit")
endforeach()
