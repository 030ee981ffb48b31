# Projects that build tapegrad as a part of themselves are configured: one that exports what links tapegrad and chooses
# no build type, one that hides its symbols, and one that fetches tapegrad. Their commands are read, not run: shared.cmake
# links what hides its symbols.

include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
file(REMOVE_RECURSE ${WORK})
set(configure ${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/tests/install/parent -DCMAKE_CXX_COMPILER=${COMPILER}
    -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -DTAPEGRAD_SOURCE=${SOURCE})

# expect_flags(FOLDER FILE PATTERN [NOT]): whether the command that compiles FILE has the flags.
function(expect_flags folder file pattern)
  file(READ ${WORK}/${folder}/compile_commands.json commands)
  string(REGEX MATCH "\"command\": \"[^\n]*${file}\"?,\n" output "${commands}")
  expect(".")
  expect("${pattern}" ${ARGN})
endfunction()

run(${configure} -B ${WORK}/plain -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)
expect("no build type is chosen: tapegrad is optimized, parent is not")
expect_flags(plain ops/kernels/softmax.cpp " -O2 -DNDEBUG ")
expect_flags(plain outside/plugin.cpp " -O2" NOT)
file(READ ${WORK}/plain/parentTargets.cmake output)
expect("tapegrad::tapegrad")
file(READ ${WORK}/plain/tapegrad/cmake_install.cmake output)
expect("STREQUAL \"tapegrad\" OR NOT CMAKE_INSTALL_COMPONENT" NOT)

run(${configure} -B ${WORK}/chosen -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_BUILD_TYPE=Debug -DTAPEGRAD_INSTALL=ON
    -DBUILD_SHARED_LIBS=ON -DCMAKE_CXX_VISIBILITY_PRESET=hidden)
expect("no build type" NOT)
expect_flags(chosen ops/kernels/softmax.cpp " -fvisibility=default ")
expect_flags(chosen outside/plugin.cpp " -fvisibility=hidden ")
expect_flags(chosen ops/kernels/softmax.cpp " -O2" NOT)
file(READ ${WORK}/chosen/tapegrad/cmake_install.cmake output)
expect("STREQUAL \"tapegrad\" OR NOT CMAKE_INSTALL_COMPONENT")

run(${configure} -B ${WORK}/fetched -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_BUILD_TYPE=Release -DFETCHED=ON)
expect_flags(fetched ops/kernels/softmax.cpp " -O3 ")
expect_flags(fetched outside/plugin.cpp "tapegrad/include")
file(READ ${WORK}/fetched/parentTargets.cmake output)
expect("tapegrad::tapegrad")
