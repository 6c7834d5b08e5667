# SPDX-License-Identifier: MIT
# Fuzz targets. The preset `fuzz` makes them, with clang, because libFuzzer is a part of clang. Other builds make
# a program that reads the corpus.
#   cmake --preset fuzz && cmake --build --preset fuzz      builds them
#   build/fuzz/DIRECTORY/NAME_fuzz DIRECTORY/corpus/NAME    runs one until it fails; see -help=1
cmake_path(SET xpreempt_root NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/..)
include(${CMAKE_CURRENT_LIST_DIR}/all_tests.cmake)
cmake_path(SET uapi NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../../uapi)
option(KFD_PREEMPT_FUZZ "Make the fuzz targets, with clang" OFF)
find_program(FUZZ_CXX NAMES clang++-19 clang++)
set(fuzz_flags -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
if(KFD_PREEMPT_FUZZ AND FUZZ_CXX AND NOT DEFINED FUZZ_WORKS)
  # The compiler may be there without its runtime (libclang-rt-19-dev).
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/probe.cpp
    "extern \"C\" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }\n")
  execute_process(
    COMMAND ${FUZZ_CXX} ${fuzz_flags} ${CMAKE_CURRENT_BINARY_DIR}/probe.cpp
            -o ${CMAKE_CURRENT_BINARY_DIR}/probe
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed EQUAL 0)
    set(FUZZ_WORKS ON CACHE INTERNAL "clang can link a libFuzzer program")
  endif()
endif()
if(KFD_PREEMPT_FUZZ AND NOT TARGET fuzzers)
  add_custom_target(fuzzers)
  if(NOT FUZZ_WORKS)
    left_out("fuzz targets" clang-19 libclang-rt-19-dev)
  endif()
endif()

# fuzzer(NAME TESTS PREFIX INCLUDES DIRECTORIES... LIBRARIES... SOURCES...): NAME_fuzz.cpp of the
# current directory and the sources that it tests, a corpus of seeds in corpus/NAME, and a smoke test
# PREFIX.fuzz_NAME of a fixed number of runs.
function(fuzzer name)
  cmake_parse_arguments(arg "" "TESTS" "INCLUDES;LIBRARIES;SOURCES" ${ARGN})
  if(NOT KFD_PREEMPT_FUZZ OR NOT FUZZ_WORKS)
    return()
  endif()
  list(TRANSFORM arg_INCLUDES PREPEND -I)
  list(TRANSFORM arg_LIBRARIES PREPEND -l)
  set(compile ${CMAKE_CXX_COMPILER_LAUNCHER} ${FUZZ_CXX} ${fuzz_flags}
      -I${xpreempt_root}/src -I${xpreempt_root}/include ${arg_INCLUDES} -isystem ${uapi})
  set(objects "")
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${name}_objects)
  foreach(source ${CMAKE_CURRENT_SOURCE_DIR}/${name}_fuzz.cpp ${arg_SOURCES})
    # Sources of two directories may have one name.
    string(MAKE_C_IDENTIFIER ${source} object)
    set(object ${name}_objects/${object}.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${compile} -MD -MF ${object}.d -c ${source} -o ${object}
      DEPENDS ${source} DEPFILE ${object}.d VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(program ${CMAKE_CURRENT_BINARY_DIR}/${name}_fuzz)
  add_custom_command(OUTPUT ${program}
    COMMAND ${FUZZ_CXX} ${fuzz_flags} ${objects} ${arg_LIBRARIES} -o ${program}
    DEPENDS ${objects} VERBATIM)
  add_custom_target(${name}_fuzzer ALL DEPENDS ${program})
  add_dependencies(fuzzers ${name}_fuzzer)
  add_test(NAME ${arg_TESTS}.fuzz_${name}
    COMMAND ${program} -runs=4000 -seed=1 -max_len=4096 -timeout=25
            ${CMAKE_CURRENT_BINARY_DIR}/${name}_found ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${name}_found)
endfunction()

# corpus(PROGRAM TESTS PREFIX LIBRARIES... INPUTS NAMES...): a program of the NAME_fuzz.cpp files, made with the
# compiler of the project, and for each NAME a test PREFIX.fuzz_NAME that no seed of its corpus fails.
function(corpus program)
  cmake_parse_arguments(arg "" "TESTS" "LIBRARIES;INPUTS" ${ARGN})
  if(KFD_PREEMPT_FUZZ)
    return()
  endif()
  add_executable(${program} ${xpreempt_root}/tests/fuzz/corpus.cpp)
  target_include_directories(${program} PRIVATE ${xpreempt_root}/src ${xpreempt_root}/include)
  target_include_directories(${program} SYSTEM PRIVATE ${uapi})
  target_compile_features(${program} PRIVATE cxx_std_20)
  target_compile_options(${program} PRIVATE
    -Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor -Wold-style-cast)
  target_link_libraries(${program} PRIVATE ${arg_LIBRARIES})
  set(inputs "")
  foreach(name IN LISTS arg_INPUTS)
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/${name}_fuzz.cpp)
    target_sources(${program} PRIVATE ${source})
    set_source_files_properties(${source} PROPERTIES
      COMPILE_DEFINITIONS LLVMFuzzerTestOneInput=${name}_input)
    string(APPEND inputs "INPUT(${name})")
    set(seeds ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
    if(EXISTS ${seeds}.tar.gz) # those that fuzzing has found
      file(ARCHIVE_EXTRACT INPUT ${seeds}.tar.gz DESTINATION ${CMAKE_CURRENT_BINARY_DIR}/corpus/${name})
      list(APPEND seeds ${CMAKE_CURRENT_BINARY_DIR}/corpus/${name})
    endif()
    add_test(NAME ${arg_TESTS}.fuzz_${name} COMMAND ${program} ${name} ${seeds})
  endforeach()
  target_compile_definitions(${program} PRIVATE "INPUTS=${inputs}")
endfunction()
