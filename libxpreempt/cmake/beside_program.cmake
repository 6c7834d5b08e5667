# SPDX-License-Identifier: MIT
# beside_program(VARIABLE [MACRO FILE]...): definitions of macros for test::beside_program() of tests/unit/beside.hpp.
function(beside_program variable)
  set(definitions)
  while(ARGN)
    list(POP_FRONT ARGN macro file)
    list(APPEND definitions "${macro}=\"$<PATH:RELATIVE_PATH,${file},${CMAKE_CURRENT_BINARY_DIR}>\"")
  endwhile()
  set(${variable} ${definitions} PARENT_SCOPE)
endfunction()
