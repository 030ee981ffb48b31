# Builds each example as a stranger would: a copy of its one file in an empty folder, beside the project of
# docs/install.md, against an installed tapegrad. It must run and print what it promises.

include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
file(READ ${SOURCE}/docs/install.md page)
string(REGEX MATCH "```cmake\n(cmake_minimum_required[^`]*)```" block "${page}")
set(project "${CMAKE_MATCH_1}")

function(example name pattern)  # example(NAME PATTERN [ARGUMENT...]): what it prints with these arguments
  set(folder ${WORK}/${name})
  file(WRITE ${folder}/CMakeLists.txt "${project}")
  configure_file(${SOURCE}/examples/${name}.cpp ${folder}/program.cpp COPYONLY)
  run(${CMAKE_COMMAND} ${release} -S ${folder} -B ${folder}/build -DCMAKE_PREFIX_PATH=${WORK}/prefix)
  run(${CMAKE_COMMAND} --build ${folder}/build)
  run(${folder}/build/program ${ARGN})
  expect("${pattern}")
  list(APPEND seen ${name})
  set(seen ${seen} PARENT_SCOPE)
endfunction()

example(first_gradient "\nd2y/da2 +-0\\.909297 +-0\\.909297 ")
example(exclusive_or "\n0 xor 1: true with probability 0\\.9")
example(digits "\n9[0-9]\\.[0-9] % of 1000 unseen digits are read correctly\n")
example(char_lstm "\nThis is the .* house that Jack built\\.\n")
example(own_operation "\nsecond gradient against differences: ok,")
example(own_norm "\ndetached, against deviation fixed: largest difference 0\\.0e\\+00\n")
example(shapes "\n9[0-9]\\.[0-9] % of 400 unseen images are named correctly\n")
example(reversal "\n(9[5-9]|100)\\.[0-9]* % of the letters of 1000 unseen words are right\n")
example(autoencoder "\nunseen images: 3[0-9]\\.[0-9]* nats\n")
example(heat_equation "\nlargest error at 1000 points: 0\\.0")

# What PyTorch wrote, and the logits that it finds.
configure_file(${SOURCE}/tests/golden/pytorch/mlp.safetensors ${WORK}/net.safetensors COPYONLY)
example(pytorch_weights "from PyTorch: logits of \\(1, 2, 3, 4\\): 0\\.03263[0-9] -0\\.5917[67][0-9] -0\\.17913[67]\n"
        ${WORK}/net.safetensors)
if(NOT EXISTS ${WORK}/net_trained.safetensors)
  message(FATAL_ERROR "pytorch_weights has written nothing back")
endif()

file(GLOB sources ${SOURCE}/examples/*.cpp)
list(TRANSFORM sources REPLACE ".*/(.*)\\.cpp" "\\1")
list(REMOVE_ITEM sources ${seen})
if(sources)
  message(FATAL_ERROR "nothing is expected of the examples ${sources}")
endif()

foreach(name digits char_lstm pytorch_weights)
  execute_process(COMMAND ${WORK}/${name}/build/program ${WORK}/missing
                  RESULT_VARIABLE status OUTPUT_VARIABLE printed ERROR_VARIABLE output)
  expect("^${name}: [^\n]*/missing[^\n]*\n$")
  if(NOT status EQUAL 1 OR printed)
    message(FATAL_ERROR "${name} with a missing file: exit status ${status}, on standard output: ${printed}")
  endif()
endforeach()
