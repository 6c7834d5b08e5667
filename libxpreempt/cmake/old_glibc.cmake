# SPDX-License-Identifier: MIT
# for_old_glibc(TARGET): a shared library or a program that glibc 2.28 (EL8) loads, whatever it was
# built on, and that brings its own C++ library. src/base/old_glibc.cpp and old_start.cpp say how;
# tests/abi/oldest_glibc checks it.
# Only for x86-64; and not with a sanitizer, which brings functions of its own.
set(old_glibc_functions
  arc4random dladdr dlclose dlerror dlopen dlsym dlvsym fstat fstat64 fstatat lstat stat
  pthread_cond_clockwait pthread_create pthread_detach pthread_getspecific pthread_join
  pthread_key_create pthread_key_delete pthread_mutex_trylock pthread_once pthread_setname_np
  pthread_setspecific pthread_sigmask __libc_single_threaded)
set(old_glibc_dir ${CMAKE_CURRENT_LIST_DIR}/..)

function(for_old_glibc target)
  if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64 OR CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    return()
  endif()
  target_sources(${target} PRIVATE ${old_glibc_dir}/src/base/old_glibc.cpp)
  set(functions ${old_glibc_functions})
  if(target STREQUAL xpreempt-hook)
    list(REMOVE_ITEM functions dlsym)
    target_compile_definitions(${target} PRIVATE XPREEMPT_HOOK)
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    target_sources(${target} PRIVATE ${old_glibc_dir}/src/base/old_start.cpp)
    list(APPEND functions __libc_start_main)
  endif()
  foreach(name IN LISTS functions)
    target_link_options(${target} PRIVATE LINKER:--wrap=${name})
  endforeach()
  # Before 2.34 the functions are in these; now they are empty.
  target_link_libraries(${target} PRIVATE -static-libstdc++
    -Wl,--push-state,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -Wl,--pop-state)
  target_link_options(${target} PRIVATE LINKER:--exclude-libs,libstdc++.a)
endfunction()
