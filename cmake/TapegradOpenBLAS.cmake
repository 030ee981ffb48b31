# The target tapegrad::openblas, if OpenBLAS and LAPACK's header are found; here and, installed, for
# programs that link tapegrad::linalg. They are found as files, since OpenBLAS's own CMake file names
# folders that Debian 13 does not have; CMAKE_DISABLE_FIND_PACKAGE_OpenBLAS leaves them out all the same.
find_library(TAPEGRAD_OPENBLAS openblas)
find_path(TAPEGRAD_CBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas)
find_path(TAPEGRAD_LAPACK_INCLUDE lapack.h PATH_SUFFIXES openblas)
mark_as_advanced(TAPEGRAD_OPENBLAS TAPEGRAD_CBLAS_INCLUDE TAPEGRAD_LAPACK_INCLUDE)
if(TAPEGRAD_OPENBLAS AND TAPEGRAD_CBLAS_INCLUDE AND TAPEGRAD_LAPACK_INCLUDE AND
   NOT CMAKE_DISABLE_FIND_PACKAGE_OpenBLAS AND NOT TARGET tapegrad::openblas)
  add_library(tapegrad::openblas INTERFACE IMPORTED GLOBAL)
  set_target_properties(tapegrad::openblas PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${TAPEGRAD_CBLAS_INCLUDE};${TAPEGRAD_LAPACK_INCLUDE}"
    INTERFACE_LINK_LIBRARIES "${TAPEGRAD_OPENBLAS}")
endif()
