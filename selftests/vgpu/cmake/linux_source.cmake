# SPDX-License-Identifier: MIT
# Finds amdgpu's headers in LINUX_SOURCE and sets VGPU_AMD_DIR to their drivers/gpu/drm/amd.
set(register_headers
  include/asic_reg/athub/athub_1_0_offset.h
  include/asic_reg/athub/athub_1_8_0_offset.h
  include/asic_reg/gc/gc_9_0_offset.h
  include/asic_reg/gc/gc_9_4_1_offset.h
  include/asic_reg/gc/gc_9_4_2_offset.h
  include/asic_reg/gc/gc_9_4_3_offset.h
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
  set(VGPU_AMD_DIR "${LINUX_SOURCE}/drivers/gpu/drm/amd")
elseif(EXISTS "${LINUX_SOURCE}")
  # Only these few files are taken out; the tarball is read once for each version of it.
  set(VGPU_AMD_DIR "${CMAKE_CURRENT_BINARY_DIR}/amd")
  file(TIMESTAMP "${LINUX_SOURCE}" tarball_time)
  set(stamp "${LINUX_SOURCE} ${tarball_time} ${register_headers}")
  set(stamp_file "${VGPU_AMD_DIR}/stamp")
  set(old_stamp "")
  if(EXISTS "${stamp_file}")
    file(READ "${stamp_file}" old_stamp)
  endif()
  if(NOT old_stamp STREQUAL stamp)
    file(MAKE_DIRECTORY "${VGPU_AMD_DIR}")
    list(TRANSFORM register_headers PREPEND "*/drivers/gpu/drm/amd/" OUTPUT_VARIABLE members)
    message(STATUS "Taking register headers out of ${LINUX_SOURCE}")
    execute_process(
      COMMAND tar -xf "${LINUX_SOURCE}" -C "${VGPU_AMD_DIR}" --strip-components=5 --wildcards
              --occurrence=1 ${members}
      RESULT_VARIABLE tar_result)
    if(NOT tar_result EQUAL 0)
      message(FATAL_ERROR "LINUX_SOURCE=${LINUX_SOURCE}: cannot take amdgpu's headers out of it")
    endif()
    file(WRITE "${stamp_file}" "${stamp}")
  endif()
else()
  message(FATAL_ERROR "LINUX_SOURCE=${LINUX_SOURCE} does not exist: install linux-source-6.12, "
    "or point -DLINUX_SOURCE at a tarball or directory of a Linux 6.12 source")
endif()

foreach(header IN LISTS register_headers)
  if(NOT EXISTS "${VGPU_AMD_DIR}/${header}")
    message(FATAL_ERROR "LINUX_SOURCE=${LINUX_SOURCE} has no drivers/gpu/drm/amd/${header}: "
      "it must be a Linux 6.12 source")
  endif()
endforeach()
