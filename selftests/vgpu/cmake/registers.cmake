# SPDX-License-Identifier: MIT
# Generates register and IP block tables into VGPU_GENERATED.
set(VGPU_GENERATED "${CMAKE_CURRENT_BINARY_DIR}/generated")
file(GLOB register_declarations CONFIGURE_DEPENDS
  "${CMAKE_CURRENT_SOURCE_DIR}/model/regs/blocks/*.regs"
  "${CMAKE_CURRENT_SOURCE_DIR}/model/regs/gpus/*.txt"
  "${CMAKE_CURRENT_SOURCE_DIR}/model/regs/fields.txt")
set(generator "${CMAKE_CURRENT_SOURCE_DIR}/model/regs/generate.py")
set(ip_block_list "${CMAKE_CURRENT_SOURCE_DIR}/model/regs/ip_blocks.txt")
add_custom_command(
  OUTPUT "${VGPU_GENERATED}/ignored.hpp" "${VGPU_GENERATED}/ip_blocks.hpp" "${VGPU_GENERATED}/registers.hpp"
         "${VGPU_GENERATED}/register_tables.cpp" "${VGPU_GENERATED}/other_gpus.cpp"
  COMMAND Python3::Interpreter "${generator}" "${VGPU_AMD_DIR}/include/asic_reg"
          "${VGPU_GENERATED}"
  DEPENDS "${generator}" "${ip_block_list}" ${register_declarations}
  COMMENT "Generating register tables"
  VERBATIM)
add_custom_target(vgpu_registers DEPENDS "${VGPU_GENERATED}/registers.hpp")
