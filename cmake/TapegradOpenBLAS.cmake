# The target tapegrad::openblas, if OpenBLAS and LAPACK's header are found; here and, installed, for
# programs that link tapegrad::linalg.
find_package(OpenBLAS CONFIG QUIET)
find_path(TAPEGRAD_LAPACK_INCLUDE lapack.h)
mark_as_advanced(TAPEGRAD_LAPACK_INCLUDE)
if(OpenBLAS_FOUND AND TAPEGRAD_LAPACK_INCLUDE AND NOT TARGET tapegrad::openblas)
  add_library(tapegrad::openblas INTERFACE IMPORTED GLOBAL)
  set_target_properties(tapegrad::openblas PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${OpenBLAS_INCLUDE_DIRS};${TAPEGRAD_LAPACK_INCLUDE}"
    INTERFACE_LINK_LIBRARIES "${OpenBLAS_LIBRARIES}")
endif()
