// SPDX-License-Identifier: MIT
// GPU programs that keep state in every place a context save has to carry.
#pragma once

#include <string>

namespace vgpu::test {

// Kernel arguments: output address (64 bit), iterations (32 bit). Two waves per workgroup
// exchange values through LDS in each round. State lives in SGPRs, VGPRs, AccVGPRs, VCC, SCC, M0,
// a partial EXEC, and in LDS across the barrier.
inline std::string exchange_kernel() {
    return R"(
        s_load_dwordx2 s[16:17], s[0:1], 0x0
        s_load_dword s18, s[0:1], 0x8
        v_and_b32_e32 v0, 0x3ff, v0
        v_lshlrev_b32_e32 v1, 2, v0        ; own LDS slot
        v_xor_b32_e32 v2, 64, v0
        v_lshlrev_b32_e32 v2, 2, v2        ; the other wave's
        v_add_u32_e32 v3, 7, v0
        v_accvgpr_write_b32 a3, v3
        v_accvgpr_write_b32 a15, v0
        v_mov_b32_e32 v31, 0
        s_mov_b32 s90, 0x12345678
        s_mov_b32 m0, 0x77
        s_mov_b32 s40, 0
        v_cmp_lt_u32_e32 vcc, 20, v0
    loop:
        v_add_u32_e32 v4, s18, v3
        ds_write_b32 v1, v4
        s_waitcnt lgkmcnt(0)
        s_barrier
        ds_read_b32 v5, v2
        s_waitcnt lgkmcnt(0)
        s_barrier
        s_and_saveexec_b64 s[20:21], vcc
        v_add_u32_e32 v31, v31, v5
        v_accvgpr_read_b32 v6, a3
        v_add_u32_e32 v6, v6, v31
        v_accvgpr_write_b32 a3, v6
        s_mov_b64 exec, s[20:21]
        v_cndmask_b32_e32 v7, 3, v5, vcc
        v_mul_lo_u32 v3, v3, v7
        v_add3_u32 v3, v3, s90, v0
        s_add_u32 s90, s90, s18
        s_addc_u32 s40, s40, m0
        s_sub_u32 s18, s18, 1
        s_cmp_lg_u32 s18, 0
        s_cbranch_scc1 loop
        v_accvgpr_read_b32 v8, a3
        v_accvgpr_read_b32 v9, a15
        v_xor_b32_e32 v8, s40, v8
        v_add_u32_e32 v8, v8, v9
        v_add_u32_e32 v8, m0, v8
        s_lshl_b32 s22, s8, 9              ; 128 work-items of 4 bytes
        v_lshl_add_u32 v10, v0, 2, s22
        v_add_u32_e32 v8, v8, v31
        v_xor_b32_e32 v8, v8, v3
        global_store_dword v10, v8, s[16:17]
        s_endpgm
    )";
}

} // namespace vgpu::test
