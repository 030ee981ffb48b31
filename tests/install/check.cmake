# Builds the project in outside/ as a user would: against an installed tapegrad, and with its sources
# in a subdirectory; the training program of the README with the training kit; a program for several
# processes, one with a network of a paper, and one with linear algebra. A plugin with tapegrad inside
# must load, and one program may use both libraries.
# Headers of one with the library of the other must not link, and a target whose every file would be
# compiled in double precision because it links both is refused.

file(REMOVE_RECURSE ${WORK})
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
set(outside -S ${SOURCE}/tests/install/outside)
set(configure ${CMAKE_COMMAND} ${release} ${outside})

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
file(GLOB pages ${BUILD}/tests/docs/code/README_*.cpp)
foreach(page IN LISTS pages)
  file(STRINGS ${page} trains REGEX "<tapegrad/train.h>")
  if(trains)
    set(trainer ${page})
  endif()
endforeach()
run(${configure} -B ${WORK}/found -DCMAKE_PREFIX_PATH=${WORK}/prefix -DTRAINER=${trainer}
    -DLINALG=${LINALG} -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON)
run(${CMAKE_COMMAND} --build ${WORK}/found)
run(${WORK}/found/outside)
run(${WORK}/found/outside64)
run(${WORK}/found/both)
foreach(name trainer trainer64)
  run(${WORK}/found/${name} --epochs 1 --log-dir ${WORK}/log_${name} --save ${WORK}/${name}.safetensors)
  run(${WORK}/found/${name} --resume ${WORK}/${name}.safetensors --quiet)
  if(NOT EXISTS ${WORK}/log_${name}/curves.svg)
    message(FATAL_ERROR "${name} has drawn no curves")
  endif()
endforeach()
run(${WORK}/found/host ${WORK}/found/libwide.so ${WORK}/found/libplugin.so)
run(${WORK}/found/processes)
run(${WORK}/found/processes64)
if(LINALG)
  run(${WORK}/found/linear)
  run(${WORK}/found/linear64)
else()
  message("tapegrad::linalg is not built, since OpenBLAS is not found, and so not tested")
endif()

execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK}/found --target mistaken
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status OR NOT output MATCHES "undefined reference to `tapegrad::float64::")
  message(FATAL_ERROR "headers of tapegrad64 were linked with tapegrad: ${output}")
endif()

run(${CMAKE_COMMAND} ${quick} ${outside} -B ${WORK}/added -DTAPEGRAD_SOURCE=${SOURCE})
run(${CMAKE_COMMAND} --build ${WORK}/added --target outside)
run(${WORK}/added/outside)

function(refused pattern)  # refused(PATTERN OPTIONS...): configuring with them must end with a message that matches
  execute_process(COMMAND ${configure} -B ${WORK}/refused --fresh -DCMAKE_PREFIX_PATH=${WORK}/prefix ${ARGN}
                  RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE output)
  if(NOT status OR NOT output MATCHES "${pattern}")
    message(FATAL_ERROR "expected a refusal of ${ARGN} with ${pattern}, not: ${output}")
  endif()
endfunction()

refused(TAPEGRAD_SCALAR -DLINK_BOTH=ON)
refused(nlohmann_json -DTRAINER=${trainer} -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON)
refused(OpenBLAS -DLINALG=ON -DCMAKE_DISABLE_FIND_PACKAGE_OpenBLAS=ON)
refused("no component trian; its components are cluster, linalg and train" -DCOMPONENT=trian)
