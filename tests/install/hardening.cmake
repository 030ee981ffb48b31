# The hardening of an optimized build is in effect, in the library and in a program.

include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
run(nm --undefined-only ${LIBRARY})
expect("__stack_chk_fail")
expect("__[a-z]+_chk\n")
run(readelf -dlW ${PROGRAM})
expect("GNU_RELRO")
expect("BIND_NOW|FLAGS[^\n]* NOW")
