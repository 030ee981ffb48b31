# Tests of the code in pages and in comments, of the engine and of the laboratory. It is linked to `libraries`.
set(tests_of_docs ${CMAKE_CURRENT_LIST_DIR})

# A header that several programs of this folder include is compiled by the first of them.
function(tapegrad_share_header program header)
  get_property(first DIRECTORY PROPERTY first_with_${header})
  if(first)
    target_precompile_headers(${program} REUSE_FROM ${first})
  else()
    target_precompile_headers(${program} PRIVATE <tapegrad/${header}.h>)
    set_property(DIRECTORY PROPERTY first_with_${header} ${program})
  endif()
endfunction()

# The code in README.md and docs/ of the project. What a page quotes stands in one of the source folders.
function(tapegrad_pages source_folders)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/code)
  set(pages_with_commands "")
  file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/docs/*.md)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${pages})

  set(extract ${Python3_EXECUTABLE} ${tests_of_docs}/extract.py ${PROJECT_SOURCE_DIR} ${out} ${source_folders})
  execute_process(COMMAND ${extract} OUTPUT_VARIABLE names)
  string(REGEX MATCHALL "[^\n]+" names "${names}")
  foreach(name IN LISTS names)
    file(STRINGS ${out}/${name}.cpp linear REGEX "<tapegrad/linalg.h>")
    if(linear AND NOT TARGET tapegrad::linalg)
      message(STATUS "tapegrad: without OpenBLAS, the code of ${name} is not tested")
      continue()
    endif()
    add_executable(docs_${name} ${out}/${name}.cpp)
    target_link_libraries(docs_${name} PRIVATE ${libraries})
    target_compile_options(docs_${name} PRIVATE -O0)  # for a short compilation
    file(STRINGS ${out}/${name}.cpp included REGEX "#include <tapegrad/")
    if(included MATCHES "/train.h")
      tapegrad_share_header(docs_${name} train)
    elseif(included)
      tapegrad_share_header(docs_${name} tapegrad)
    endif()
    if(linear)
      target_link_libraries(docs_${name} PRIVATE tapegrad::linalg)
    endif()
    # A program that names its file belongs to the commands of its page.
    file(STRINGS ${out}/${name}.cpp named LIMIT_COUNT 1 REGEX "^// [a-z_]+[.]cpp:")
    if(named)
      string(REGEX REPLACE "_[0-9]+$" "" page ${name})
      list(APPEND pages_with_commands ${page})
      list(APPEND ${page}_programs $<TARGET_FILE:docs_${name}>)
      continue()
    endif()
    file(STRINGS ${out}/${name}.cpp trains REGEX "flags.run\\(argc")
    if(trains)
      add_test(NAME "docs: ${name} logs, saves and resumes"
               COMMAND ${Python3_EXECUTABLE} ${tests_of_docs}/trainer_test.py $<TARGET_FILE:docs_${name}>)
      set_tests_properties("docs: ${name} logs, saves and resumes" PROPERTIES
        ENVIRONMENT "PYTHONPATH=${tests_of_docs}/../examples;PYTHONDONTWRITEBYTECODE=1")
    endif()
    add_test(NAME "docs: ${name}"
             COMMAND ${Python3_EXECUTABLE} ${tests_of_docs}/compare.py
                     $<TARGET_FILE:docs_${name}> ${out}/${name}.txt)
  endforeach()
  list(REMOVE_DUPLICATES pages_with_commands)
  foreach(page IN LISTS pages_with_commands)
    add_test(NAME "docs: commands of ${page}"
             COMMAND ${Python3_EXECUTABLE} ${tests_of_docs}/commands_test.py
                     ${PROJECT_SOURCE_DIR}/docs/${page}.md ${${page}_programs})
  endforeach()
  add_test(NAME "docs: quotations stand in the sources" COMMAND ${extract})
endfunction()

# The examples in the comments of the public headers in these folders of the project, as one program.
function(tapegrad_header_examples)
  set(examples ${CMAKE_CURRENT_BINARY_DIR}/examples)
  set(generated ${examples}/examples.cpp)
  set(headers "")
  foreach(layer IN LISTS ARGN)
    list(APPEND generated ${examples}/examples_${layer}.cpp)
    file(GLOB_RECURSE of_layer CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${layer}/*.h)
    list(APPEND headers ${of_layer})
  endforeach()
  add_custom_command(OUTPUT ${generated}
    COMMAND ${Python3_EXECUTABLE} -B ${tests_of_docs}/header_examples.py ${PROJECT_SOURCE_DIR} ${examples} ${ARGN}
    DEPENDS ${headers} ${tests_of_docs}/header_examples.py ${tests_of_docs}/public_names.py)
  add_executable(docs_header_examples ${tests_of_docs}/examples_main.cpp ${generated})
  target_include_directories(docs_header_examples PRIVATE ${tests_of_docs} ${tests_of_docs}/..)
  target_link_libraries(docs_header_examples PRIVATE ${libraries})
  if(TARGET tapegrad::linalg)
    target_link_libraries(docs_header_examples PRIVATE tapegrad::linalg)
  endif()
  tapegrad_share_header(docs_header_examples train)
  # Not optimized, for a short compilation. Examples drop what they compute.
  target_compile_options(docs_header_examples PRIVATE -O0 -w)
  add_test(NAME "docs: examples of the headers" COMMAND docs_header_examples)
endfunction()
