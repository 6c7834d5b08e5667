# SPDX-License-Identifier: MIT
# Tests that need a program or a library which this machine may lack. ci/test configures with
# -DXPREEMPT_ALL_TESTS=ON: there a lack is an error, so that no test is left out unseen.
include_guard(GLOBAL)
option(XPREEMPT_ALL_TESTS "Fail if a test is left out because something is not installed" OFF)

# left_out(TESTS PACKAGE...): the tests need these packages of Debian.
function(left_out tests)
  list(JOIN ARGN " " packages)
  set(kind STATUS)
  if(XPREEMPT_ALL_TESTS)
    set(kind FATAL_ERROR)
  endif()
  message(${kind} "xpreempt: without ${tests}: apt-get install ${packages}")
endfunction()
