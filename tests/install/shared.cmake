# Builds tapegrad as shared libraries, from a project that hides symbols: the project in outside/ runs with them, and
# they export the namespace of tapegrad alone.

include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

execute_process(COMMAND ${CMAKE_COMMAND} ${release} -S ${SOURCE} -B ${WORK}/refused -DBUILD_SHARED_LIBS=ON
                RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE output)
if(NOT status)
  message(FATAL_ERROR "tests of a shared library were not refused")
endif()
expect("TAPEGRAD_BUILD_TESTS=OFF")

run(${CMAKE_COMMAND} ${quick} -S ${SOURCE} -B ${WORK}/tapegrad -DBUILD_SHARED_LIBS=ON
    -DTAPEGRAD_BUILD_TESTS=OFF -DTAPEGRAD_BUILD_BENCH=OFF -DTAPEGRAD_BUILD_EXAMPLES=OFF
    -DTAPEGRAD_BUILD_TRAIN=OFF -DCMAKE_CXX_VISIBILITY_PRESET=hidden)
run(${CMAKE_COMMAND} --build ${WORK}/tapegrad)
file(REMOVE_RECURSE ${WORK}/prefix ${WORK}/found)
run(${CMAKE_COMMAND} --install ${WORK}/tapegrad --prefix ${WORK}/prefix)

run(${CMAKE_COMMAND} ${release} -S ${SOURCE}/tests/install/outside -B ${WORK}/found
    -DCMAKE_PREFIX_PATH=${WORK}/prefix -DLINALG=${LINALG})
run(${CMAKE_COMMAND} --build ${WORK}/found)
run(${WORK}/found/outside)
run(${WORK}/found/outside64)
run(${WORK}/found/both)
run(${WORK}/found/host ${WORK}/found/libwide.so ${WORK}/found/libplugin.so)
if(LINALG)
  run(${WORK}/found/linear)
  run(${WORK}/found/linear64)
endif()
run(readelf -d ${WORK}/found/outside)
expect("NEEDED[^\n]*libtapegrad.so.0.2]")
expect("NEEDED[^\n]*libtbb" NOT)

set(libraries tapegrad tapegrad64)
if(LINALG)
  list(APPEND libraries tapegrad_linalg tapegrad_linalg64)
endif()
foreach(name IN LISTS libraries)
  file(GLOB library ${WORK}/prefix/lib*/lib${name}.so)
  run(readelf -dlW ${library})
  expect("SONAME[^\n]*lib${name}.so.0.2]")
  expect(GNU_RELRO)
  expect("BIND_NOW")
  run(nm -D --defined-only --format=just-symbols ${library})
  if(NOT name MATCHES "linalg")
    expect("_ZTIN8tapegrad7float(32|64)10ShapeErrorE@@TAPEGRAD_0.2")  # to be caught by type
  endif()
  string(REGEX MATCHALL "[^\n]+" symbols "${output}")
  list(FILTER symbols EXCLUDE REGEX "^_Z(NK?|T[ISVTHW]N|GVN)8tapegrad|^TAPEGRAD_0.2")
  set(output "${symbols}")
  expect("." NOT)
  run(nm -D --defined-only --demangle ${library})
  expect("[ :]kernels::[A-Za-z_]+[(@]" NOT)
endforeach()
