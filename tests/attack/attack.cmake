# Tests of programs and readers by hostile input, of the engine and of the laboratory.
set(attack ${CMAKE_CURRENT_LIST_DIR})

# A trainer as its users run it: KIND_test.py PROGRAM [ARGUMENT...]. The module `trainers`, on small data for each trainer,
# lies in the first of the folders `modules`.
function(tapegrad_attack_test kind program)
  set(name "attack: ${kind}: ${program}")
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} ${attack}/${kind}_test.py $<TARGET_FILE:${program}> ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600
    ENVIRONMENT "PYTHONPATH=${modules};PYTHONDONTWRITEBYTECODE=1")
endfunction()

function(tapegrad_attack_trainers)
  foreach(program IN LISTS ARGN)
    tapegrad_attack_test(notes ${program})
    tapegrad_attack_test(threads ${program})
    tapegrad_attack_test(kill ${program} $<TARGET_FILE:failing_files>)
  endforeach()
endfunction()

# Every call of the file system fails once; programs take the library by LD_PRELOAD.
add_library(failing_files SHARED ${attack}/failing_files.cpp)
target_compile_features(failing_files PRIVATE cxx_std_20)
tapegrad_compile_options(failing_files)

# Programs that attack what a library reads: NAME.cpp for each folder NAME that make_corpus.py writes. Built for libFuzzer
# they invent inputs; otherwise they run on the files that they are given. The tests give them the corpus.
function(tapegrad_attacks library)
  if(TAPEGRAD_SANITIZE MATCHES "fuzzer")
    add_library(tapegrad_attack OBJECT ${attack}/attack.cpp)
    target_link_options(tapegrad_attack PUBLIC -fsanitize=fuzzer)
  else()
    add_library(tapegrad_attack OBJECT ${attack}/attack.cpp ${attack}/corpus.cpp)
  endif()
  target_link_libraries(tapegrad_attack PUBLIC ${library} ZLIB::ZLIB)
  target_include_directories(tapegrad_attack PUBLIC ${attack} ${attack}/..)
  tapegrad_program_options(tapegrad_attack)

  set(corpus ${CMAKE_CURRENT_BINARY_DIR}/corpus)
  file(REMOVE_RECURSE ${corpus})
  execute_process(COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/make_corpus.py ${corpus}
    COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS make_corpus.py ${attack}/corpus_files.py)

  add_custom_target(attacks)
  file(GLOB names RELATIVE ${corpus} ${corpus}/*)
  list(REMOVE_ITEM names ${ARGN})  # what cannot be built here
  foreach(name IN LISTS names)
    set(target attack_${name})
    add_executable(${target} ${name}.cpp)
    target_link_libraries(${target} PRIVATE tapegrad_attack)
    target_precompile_headers(${target} REUSE_FROM tapegrad_support)
    tapegrad_program_options(${target})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name})
    add_dependencies(attacks ${target})
    file(GLOB inputs ${corpus}/${name}/*)
    add_test(NAME "attack: ${name}: the corpus" COMMAND ${target} ${inputs})
  endforeach()
endfunction()
