# Builds programs with the flags that pkg-config gives for an installed tapegrad, which may have been moved.

include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
file(RENAME ${WORK}/prefix ${WORK}/moved)
file(GLOB folder ${WORK}/moved/lib*/pkgconfig ${WORK}/moved/lib/*/pkgconfig)
set(ENV{PKG_CONFIG_PATH} ${folder})

foreach(library tapegrad tapegrad64)
  foreach(static "" --static)
    run(pkg-config --cflags --libs ${static} ${library})
    separate_arguments(flags UNIX_COMMAND "${output}")
    run(${COMPILER} -std=c++20 ${SOURCE}/tests/install/outside/main.cpp -o ${WORK}/program ${flags})
    run(${WORK}/program)
  endforeach()
endforeach()
