# Builds the package for Debian and looks into it.

include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} -E chdir ${BUILD} ${CPACK} -G DEB -B ${WORK})
file(GLOB package ${WORK}/libtapegrad-dev_*.deb)

run(dpkg-deb --field ${package})
expect("Package: libtapegrad-dev\n")
expect("Section: libdevel\n")
set(depends "libfmt-dev, libtbb-dev, libhwy-dev, zlib1g-dev, nlohmann-json3-dev")
if(MPI)
  string(APPEND depends ", libopenmpi-dev")
endif()
if(LINALG)
  string(APPEND depends ", libopenblas-dev, liblapacke-dev")
  set(linalg include/tapegrad/linalg.h include/tapegrad/linalg/solve.h lib/libtapegrad_linalg.a
             lib/libtapegrad_linalg64.a lib/cmake/tapegrad/TapegradOpenBLAS.cmake)
endif()
expect("Depends: ${depends}\n")

run(dpkg-deb --contents ${package})
foreach(file include/tapegrad/tapegrad.h include/tapegrad/core/tensor.h
             include/tapegrad/train.h include/tapegrad/train/trainer.h
             include/tapegrad/cluster.h include/tapegrad/cluster/cluster.h lib/libtapegrad_cluster.a
             lib/libtapegrad.a lib/libtapegrad64.a lib/libtapegrad_train.a lib/libtapegrad_train64.a lib/cmake/tapegrad/tapegradConfig.cmake
             lib/pkgconfig/tapegrad.pc lib/pkgconfig/tapegrad64.pc
             share/doc/libtapegrad-dev/copyright share/doc/libtapegrad-dev/changelog.gz ${linalg})
  expect("-rw-r--r-- root/root [^\n]* ./usr/${file}\n")
endforeach()
expect("kernels" NOT)
