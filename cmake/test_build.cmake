# SPDX-License-Identifier: MIT
# A build for ci/test and ci/demo that costs a third of the CPU time: several files are compiled as one, tests
# without optimisation. Code of users keeps its optimisation. The top CMakeLists.txt includes this file last,
# when all targets are there. `ci/soak alone` compiles each file by itself.
set(test_code "/tests(/|$)") # matches the source directory of a target
# count-instructions counts those of a function of this program, and of the runtime below it.
set(measured xpreempt_instructions null_hip)
set(benchmarks xpreempt_xqueue_bench xpreempt_library_bench xpreempt_lookup_bench vgpu_interpreter_bench)

function(all_targets directory result)
  get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(below DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(each IN LISTS below)
    all_targets(${each} more)
    list(APPEND targets ${more})
  endforeach()
  set(${result} ${targets} PARENT_SCOPE)
endfunction()

# Lines `TARGET SOURCE` of the C++ sources of this tree; generated ones may not be there yet.
function(sources_of target result)
  get_target_property(directory ${target} SOURCE_DIR)
  get_target_property(sources ${target} SOURCES)
  set(lines "")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${directory} NORMALIZE)
    cmake_path(IS_PREFIX CMAKE_BINARY_DIR ${source} generated)
    if(source MATCHES "\\.cpp$" AND NOT generated)
      string(APPEND lines "${target} ${source}\n")
    endif()
  endforeach()
  set(${result} "${lines}" PARENT_SCOPE)
endfunction()

# The command lines of the software GPU: half of the time goes into CLI11.
set_source_files_properties(selftests/vgpu/main.cpp TARGET_DIRECTORY vgpu PROPERTIES COMPILE_OPTIONS -O0)
set_source_files_properties(selftests/vgpu/tables/firmware_main.cpp TARGET_DIRECTORY vgpu-firmware
  PROPERTIES COMPILE_OPTIONS -O0)

# The test of the binary interface reads the types of the exported functions.
foreach(target xpreempt_capi xpreempt_hook_objects)
  target_compile_options(${target} PRIVATE -g2)
endforeach()

find_package(Python3 REQUIRED COMPONENTS Interpreter)
all_targets(${CMAKE_SOURCE_DIR} targets)
set(lines "")
foreach(target IN LISTS targets)
  get_target_property(type ${target} TYPE)
  if(NOT type MATCHES "EXECUTABLE|LIBRARY" OR type STREQUAL INTERFACE_LIBRARY)
    continue()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  sources_of(${target} more)
  string(APPEND lines "${more}")
  get_target_property(directory ${target} SOURCE_DIR)
  if((directory MATCHES "${test_code}" OR target IN_LIST benchmarks) AND NOT target IN_LIST measured)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endforeach()

set(groups ${CMAKE_BINARY_DIR}/unity_groups)
file(WRITE ${CMAKE_BINARY_DIR}/unity_sources "${lines}")
set(script ${CMAKE_CURRENT_LIST_DIR}/unity_groups.py)
set(alone ${CMAKE_CURRENT_LIST_DIR}/unity_alone)
# The names in a source change without CMake; selftests/vm/build runs this before each build, too.
execute_process(COMMAND ${Python3_EXECUTABLE} ${script} ${alone} ${CMAKE_BINARY_DIR}/unity_sources ${groups}
  COMMAND_ERROR_IS_FATAL ANY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script} ${alone} ${groups})
file(STRINGS ${groups} lines)
foreach(line IN LISTS lines)
  separate_arguments(words UNIX_COMMAND "${line}")
  list(POP_FRONT words target group source)
  set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${group})
endforeach()
