# One spelling of includes in the tree and installed: BUILD/include/tapegrad holds links to the
# source folders and the generated umbrella header.
function(tapegrad_includes)
  set(root ${PROJECT_BINARY_DIR}/include/tapegrad)
  file(MAKE_DIRECTORY ${root})
  set(includes "")
  foreach(folder core ops nn models)
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${folder} ${root}/${folder} SYMBOLIC)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
         ${PROJECT_SOURCE_DIR}/${folder}/*.h)
    list(FILTER headers EXCLUDE REGEX "^(core|ops|nn)/(kernels|internal)/")
    foreach(header IN LISTS headers)
      string(APPEND includes "#include \"tapegrad/${header}\"\n")
    endforeach()
  endforeach()
  set(TAPEGRAD_INCLUDES "${includes}")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/tapegrad.h.in ${root}/tapegrad.h @ONLY)
endfunction()
