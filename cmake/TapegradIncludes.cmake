# One spelling of includes in the tree and installed: BUILD/include/tapegrad holds links to the
# source folders and the generated headers for programs: tapegrad.h, train.h for those that use the
# training kit, linalg.h for those that use linear algebra, and cluster.h for those that train with
# several processes.
function(tapegrad_includes)
  set(root ${PROJECT_BINARY_DIR}/include/tapegrad)
  file(MAKE_DIRECTORY ${root})
  tapegrad_header(tapegrad core io ops nn models inspect)
  tapegrad_header(cluster cluster)
  tapegrad_header(train train)
  tapegrad_header(linalg linalg)
endfunction()

# The header of this name, with all headers for users of these folders.
function(tapegrad_header name)
  set(includes "")
  foreach(folder IN LISTS ARGN)
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${folder} ${root}/${folder} SYMBOLIC)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
         ${PROJECT_SOURCE_DIR}/${folder}/*.h)
    list(FILTER headers EXCLUDE REGEX "/(kernels|internal)/")
    list(REMOVE_ITEM headers train/json.h)  # long to compile, and few programs need it
    foreach(header IN LISTS headers)
      string(APPEND includes "#include \"tapegrad/${header}\"\n")
    endforeach()
  endforeach()
  set(TAPEGRAD_INCLUDES "${includes}")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.h.in ${root}/${name}.h @ONLY)
endfunction()
