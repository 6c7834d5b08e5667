# SPDX-License-Identifier: MIT
# find_xsched(DIR SOURCE_DIR): the target xsched_hal, which is XSched's libhalhip and libpreempt with
# the headers that a C++ HAL needs. DIR: a source tree of XSched that was built, or the prefix of an
# installed one. XSched installs neither the headers of its HIP queue nor those of its utils, so a
# prefix outside of its source tree needs SOURCE_DIR too. Sets XSCHED_SHIM to libshimhip, if there.
function(find_xsched dir source_dir)
  if(NOT IS_DIRECTORY "${dir}")
    message(FATAL_ERROR "XSCHED_DIR: ${dir}: no such directory")
  endif()
  set(queue platforms/hip/hal/include/xsched/hip/hal/hip_queue.h)
  # "make hip" of XSched installs into output/ of its source tree.
  foreach(candidate IN ITEMS "${source_dir}" "${dir}" "${dir}/..")
    if(candidate AND EXISTS "${candidate}/${queue}")
      cmake_path(SET source NORMALIZE "${candidate}")
      break()
    endif()
  endforeach()
  if(NOT source)
    message(FATAL_ERROR
      "XSched's headers were not found: no ${queue} in XSCHED_SOURCE_DIR (${source_dir}) or "
      "XSCHED_DIR (${dir}).\nXSched does not install this header. Set -DXSCHED_SOURCE_DIR= to the "
      "source tree that the XSched in XSCHED_DIR was built from.")
  endif()

  set(missing "")
  foreach(name IN ITEMS halhip preempt shimhip)
    # Not cached: a second configuration with another XSCHED_DIR must look again.
    find_library(found_${name} ${name} NO_CACHE NO_DEFAULT_PATH PATHS
      ${dir}/lib ${dir}/lib64 ${dir}/output/lib ${dir}/build/platforms/hip ${dir}/build/preempt)
    if(NOT found_${name} AND NOT name STREQUAL shimhip)
      string(APPEND missing " lib${name}.so")
    endif()
  endforeach()
  if(missing)
    message(FATAL_ERROR
      "XSched's libraries were not found:${missing} in ${dir}/lib, lib64, output/lib or build.\n"
      "Build XSched with \"make hip\" in its source tree, or with cmake -DPLATFORM_HIP=ON, and set "
      "-DXSCHED_DIR= to that tree or to the prefix that it was installed into.")
  endif()
  if(found_shimhip)
    set(XSCHED_SHIM ${found_shimhip} CACHE INTERNAL "for tests")
  else()
    set(XSCHED_SHIM "" CACHE INTERNAL "for tests")
  endif()
  message(STATUS "XSched: headers of ${source}, ${found_halhip}, ${found_preempt}")

  add_library(xsched_hal INTERFACE)
  target_include_directories(xsched_hal SYSTEM INTERFACE ${source}/include ${source}/utils/include
    ${source}/preempt/include ${source}/protocol/include ${source}/platforms/hip/hal/include)
  target_link_libraries(xsched_hal INTERFACE ${found_halhip} ${found_preempt} ${CMAKE_DL_LIBS})
endfunction()
