# SPDX-License-Identifier: MIT
# Plug-ins for tests, of libxpreempt and of the programs that load them.
cmake_path(SET plugin_sources NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../tests/plugins)
cmake_path(SET plugin_include NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../include)
set(plugin_directory ${CMAKE_BINARY_DIR}/test-plugins)

# add_plugin(NAME FILE DEFINITIONS...): NAME.so in ${plugin_directory}
function(add_plugin name file)
  if(TARGET plugin_${name})
    return()
  endif()
  add_library(plugin_${name} MODULE ${plugin_sources}/${file})
  target_include_directories(plugin_${name} PRIVATE ${plugin_include})
  target_compile_definitions(plugin_${name} PRIVATE ${ARGN})
  target_compile_options(plugin_${name} PRIVATE -std=c11 -Wall -Wextra -fno-sanitize=all)
  set_target_properties(plugin_${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name}
    LIBRARY_OUTPUT_DIRECTORY ${plugin_directory})
endfunction()

add_plugin(misbehaving misbehaving.c)
add_plugin(turns round_robin.c)
add_plugin(unruly unruly.c)
