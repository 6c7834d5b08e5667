# SPDX-License-Identifier: MIT
# Sets VGPU_LINUX_TREE to the directory of LINUX_SOURCE, and VGPU_AMD_DIR to its drivers/gpu/drm/amd.
set(register_headers
  include/asic_reg/athub/athub_1_0_offset.h
  include/asic_reg/athub/athub_1_8_0_offset.h
  include/asic_reg/gc/gc_9_0_offset.h
  include/asic_reg/gc/gc_9_4_1_offset.h
  include/asic_reg/gc/gc_9_4_2_offset.h
  include/asic_reg/gc/gc_9_4_3_offset.h
  include/asic_reg/gc/gc_9_4_3_sh_mask.h
  include/asic_reg/hdp/hdp_4_0_offset.h
  include/asic_reg/hdp/hdp_4_4_2_offset.h
  include/asic_reg/mmhub/mmhub_1_7_offset.h
  include/asic_reg/mmhub/mmhub_9_4_1_offset.h
  include/asic_reg/mmhub/mmhub_1_8_0_offset.h
  include/asic_reg/mp/mp_13_0_6_offset.h
  include/asic_reg/nbio/nbio_7_4_offset.h
  include/asic_reg/nbio/nbio_7_9_0_offset.h
  include/asic_reg/oss/osssys_4_2_0_offset.h
  include/asic_reg/oss/osssys_4_4_2_offset.h
  include/asic_reg/sdma0/sdma0_4_2_2_offset.h
  include/asic_reg/sdma/sdma_4_4_2_offset.h
  include/asic_reg/smuio/smuio_13_0_3_offset.h)

if(IS_DIRECTORY "${LINUX_SOURCE}")
  set(VGPU_LINUX_TREE "${LINUX_SOURCE}")
elseif(EXISTS "${LINUX_SOURCE}")
  execute_process(
    COMMAND "${CMAKE_CURRENT_LIST_DIR}/../../../kernel/source-tree" "${LINUX_SOURCE}"
    OUTPUT_VARIABLE VGPU_LINUX_TREE OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "LINUX_SOURCE=${LINUX_SOURCE}: cannot be unpacked")
  endif()
  # Another tarball has another tree.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${LINUX_SOURCE}")
else()
  message(FATAL_ERROR "LINUX_SOURCE=${LINUX_SOURCE} does not exist: install linux-source-6.12, "
    "or point -DLINUX_SOURCE at a tarball or directory of a Linux 6.12 source")
endif()
set(VGPU_AMD_DIR "${VGPU_LINUX_TREE}/drivers/gpu/drm/amd")

foreach(header IN LISTS register_headers)
  # A tree that has left the cache is unpacked again.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${VGPU_AMD_DIR}/${header}")
  if(NOT EXISTS "${VGPU_AMD_DIR}/${header}")
    message(FATAL_ERROR "LINUX_SOURCE=${LINUX_SOURCE} has no drivers/gpu/drm/amd/${header}: "
      "it must be a Linux 6.12 source")
  endif()
endforeach()
