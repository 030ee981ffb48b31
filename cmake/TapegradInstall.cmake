include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# As part of another project that has not asked for it, only `cmake --install BUILD --component tapegrad` installs.
set(component COMPONENT tapegrad)
if(NOT TAPEGRAD_INSTALL)
  list(APPEND component EXCLUDE_FROM_ALL)
endif()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tapegrad)
install(TARGETS tapegrad tapegrad64 EXPORT tapegradTargets
  ARCHIVE ${component} LIBRARY ${component} RUNTIME ${component})
install(EXPORT tapegradTargets NAMESPACE tapegrad:: DESTINATION ${package} ${component})
export(EXPORT tapegradTargets NAMESPACE tapegrad:: FILE ${PROJECT_BINARY_DIR}/tapegradTargets.cmake)
set(folders ops io nn models inspect)
set(programs_headers ${PROJECT_BINARY_DIR}/include/tapegrad/tapegrad.h)
# A component: its libraries in both precisions, its folder of headers, and the header of its name.
macro(tapegrad_install_component name export)
  install(TARGETS tapegrad_${name} tapegrad_${name}64 EXPORT ${export}
    ARCHIVE ${component} LIBRARY ${component} RUNTIME ${component})
  install(EXPORT ${export} NAMESPACE tapegrad:: DESTINATION ${package} ${component})
  export(EXPORT ${export} NAMESPACE tapegrad:: FILE ${PROJECT_BINARY_DIR}/${export}.cmake)
  list(APPEND folders ${name})
  list(APPEND programs_headers ${PROJECT_BINARY_DIR}/include/tapegrad/${name}.h)
endmacro()
if(TARGET tapegrad_cluster)
  tapegrad_install_component(cluster tapegradClusterTargets)
endif()
if(TAPEGRAD_BUILD_TRAIN)
  tapegrad_install_component(train tapegradTrainTargets)
endif()
if(TARGET tapegrad_linalg)
  tapegrad_install_component(linalg tapegradLinalgTargets)
  install(FILES cmake/TapegradOpenBLAS.cmake DESTINATION ${package} ${component})
endif()
# What headers for users are built from lies in internal folders of core, but for one.
install(DIRECTORY core DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tapegrad ${component}
        FILES_MATCHING PATTERN "*.h")
install(FILES io/internal/honest_size.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tapegrad/io/internal ${component})
install(DIRECTORY ${folders} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tapegrad ${component}
        FILES_MATCHING PATTERN "*.h" PATTERN "kernels" EXCLUDE PATTERN "internal" EXCLUDE)
install(FILES ${programs_headers}
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tapegrad ${component})

# Who links a static library also links what it is made of.
get_target_property(library_type tapegrad TYPE)
configure_package_config_file(cmake/tapegradConfig.cmake.in
  ${PROJECT_BINARY_DIR}/tapegradConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tapegradConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tapegradConfig.cmake
              ${PROJECT_BINARY_DIR}/tapegradConfigVersion.cmake DESTINATION ${package} ${component})

# tapegrad.pc and tapegrad64.pc find what they name from the folder in which they lie.
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_prefix ${pc_prefix})
set(pc_requires fmt)
if(library_type STREQUAL STATIC_LIBRARY)
  set(pc_requires "fmt, tbb, libhwy, zlib")
  set(pc_threads -pthread)
endif()
function(tapegrad_pkg_config pc_name pc_precision pc_definition)
  configure_file(cmake/tapegrad.pc.in ${pc_name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${pc_name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${component})
endfunction()
tapegrad_pkg_config(tapegrad "single precision" "")
tapegrad_pkg_config(tapegrad64 "double precision" -DTAPEGRAD_DOUBLE)

if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

# `cpack` in the build folder: a package for Debian with all that programs are built with.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME libtapegrad-dev)
set(CPACK_PACKAGE_CONTACT "The authors of tapegrad <tapegrad@localhost>")
set(CPACK_PACKAGE_DESCRIPTION "Tensors, a tape of operations, gradients of any order, layers,
optimizers and whole networks in C++20. This package has the headers and
libraries in single and double precision, for CMake and pkg-config, the
training kit, linear algebra and training with several processes.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_DEPENDS
    "libfmt-dev, libtbb-dev, libhwy-dev, zlib1g-dev, nlohmann-json3-dev")
if(TAPEGRAD_MPI)
  string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", libopenmpi-dev")
endif()
if(TARGET tapegrad_linalg)
  string(APPEND CPACK_DEBIAN_PACKAGE_DEPENDS ", libopenblas-dev, liblapacke-dev")
endif()
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
    GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_INSTALLED_DIRECTORIES ${PROJECT_BINARY_DIR}/debian /usr/share/doc/libtapegrad-dev)
configure_file(cmake/debian_copyright debian/copyright COPYONLY)
execute_process(COMMAND gzip -9nc ${PROJECT_SOURCE_DIR}/CHANGELOG.md
                OUTPUT_FILE ${PROJECT_BINARY_DIR}/debian/changelog.gz)
include(CPack)
