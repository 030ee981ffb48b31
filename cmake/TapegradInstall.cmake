include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/tapegrad)
install(TARGETS tapegrad tapegrad64 EXPORT tapegradTargets)
install(EXPORT tapegradTargets NAMESPACE tapegrad:: DESTINATION ${package})
install(DIRECTORY core ops nn models DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tapegrad
        FILES_MATCHING PATTERN "*.h" PATTERN "kernels" EXCLUDE PATTERN "internal" EXCLUDE)
install(FILES ${PROJECT_BINARY_DIR}/include/tapegrad/tapegrad.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tapegrad)

configure_package_config_file(cmake/tapegradConfig.cmake.in
  ${PROJECT_BINARY_DIR}/tapegradConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tapegradConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tapegradConfig.cmake
              ${PROJECT_BINARY_DIR}/tapegradConfigVersion.cmake DESTINATION ${package})
