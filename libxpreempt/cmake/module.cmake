# SPDX-License-Identifier: MIT
# Modules of libxpreempt/src, for the library and for programs that are built from some of them.
find_package(Threads REQUIRED)
find_package(tl-expected REQUIRED)

cmake_path(SET xpreempt_root NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/..)
cmake_path(SET uapi NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../../uapi)

# add_module(NAME USES... SOURCES...): adds the OBJECT library of one module, which may include only its
# column of the layout. The compiler does not enforce that, because src/ is the include directory of
# all modules; ci/layers does.
function(add_module name)
  cmake_parse_arguments(arg "" "" "USES;SOURCES" ${ARGN})
  list(TRANSFORM arg_SOURCES PREPEND ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../)
  add_library(xpreempt_${name} OBJECT ${arg_SOURCES})
  target_include_directories(xpreempt_${name} PRIVATE ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../src)
  target_compile_features(xpreempt_${name} PUBLIC cxx_std_20)
  target_compile_options(xpreempt_${name} PRIVATE
    -Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor -Wold-style-cast)
  # Only the linker's version script controls which symbols are exported, so no visibility is set
  # here.
  set_target_properties(xpreempt_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(xpreempt_${name} PUBLIC tl::expected Threads::Threads)
  foreach(used IN LISTS arg_USES)
    # Usage requirements only; the objects are put together by the library.
    target_include_directories(xpreempt_${name} SYSTEM PUBLIC
      $<TARGET_PROPERTY:xpreempt_${used},INTERFACE_SYSTEM_INCLUDE_DIRECTORIES>)
  endforeach()
endfunction()

# The modules that the command is built from too. SYSTEM: C with the kernel's names, checked by
# rules of its own.
function(shared_modules)
  if(TARGET xpreempt_kfd)
    return()
  endif()
  add_module(kfd SOURCES src/kfd/attribute.cpp src/kfd/device.cpp src/kfd/module.cpp src/kfd/roots.cpp
    src/kfd/save_area.cpp src/kfd/save_cost.cpp src/kfd/slot_use.cpp src/kfd/sysfs.cpp src/kfd/topology.cpp
    src/kfd/watch.cpp)
  target_include_directories(xpreempt_kfd SYSTEM PUBLIC ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../uapi)
  add_module(control SOURCES src/control/answer.cpp src/control/connection.cpp
    src/control/daemon_link.cpp src/control/directory.cpp
    src/control/fork_safe_fd.cpp src/control/hold_book.cpp src/control/server.cpp
    src/control/session.cpp src/control/wire.cpp)
  # The decisions of module sched; the rest of it drives the xqueues and streams of one process.
  add_module(policy SOURCES src/sched/policies/earliest_deadline_first.cpp src/sched/policies/fair.cpp src/sched/policies/linger.cpp
    src/sched/policies/first_in_first_out.cpp src/sched/policies/highest_priority_first.cpp
    src/sched/policies/multilevel_feedback.cpp src/sched/policies/round_robin.cpp src/sched/turns.cpp
    src/sched/policies/two_level.cpp src/sched/policies/utilization_partition.cpp)
  # Those of processes, which the library cannot start.
  add_module(daemon_policies USES policy SOURCES src/sched/account.cpp src/sched/policies/band.cpp
    src/sched/policies/idle_parking.cpp src/sched/plugin.cpp src/sched/policy.cpp src/sched/policies/strict_partition.cpp)
  # Loads plug-ins: for the daemon and the simulator. Not among the sources of the library.
  set(loader plugin_library)
  if(KFD_PREEMPT_STATIC)
    set(loader no_plugin_library)
  endif()
  add_module(plugin_library USES daemon_policies SOURCES plugins/${loader}.cpp)
  target_link_libraries(xpreempt_plugin_library PUBLIC ${CMAKE_DL_LIBS})
  foreach(name daemon_policies plugin_library)
    target_include_directories(xpreempt_${name} PRIVATE ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../include)
  endforeach()
endfunction()
