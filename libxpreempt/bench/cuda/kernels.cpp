// SPDX-License-Identifier: MIT
// PTX for sm_70 and later.
#include "kernels.hpp"

namespace cuda {

const char* const kernel_text = R"ptx(
.version 6.3
.target sm_70
.address_size 64

.visible .entry tiny()
{
    ret;
}

.visible .entry spin(.param .u64 p_ns)
{
    .reg .pred %more;
    .reg .u64 %begin, %now, %past, %ns;

    mov.u64 %begin, %globaltimer;
    ld.param.u64 %ns, [p_ns];
$spin_loop:
    mov.u64 %now, %globaltimer;
    sub.u64 %past, %now, %begin;
    setp.lt.u64 %more, %past, %ns;
    @%more bra $spin_loop;
    ret;
}

.visible .entry stamp(.param .u64 p_ns, .param .u64 p_times, .param .u64 p_progress,
                      .param .u32 p_number, .param .u64 p_arrivals)
{
    .reg .pred %more, %other;
    .reg .u32 %thread, %blocks, %arrived, %number;
    .reg .u64 %begin, %now, %past, %ns, %times, %progress, %arrivals;

    // One thread of a block reads the clock; the others only occupy the multiprocessor.
    mov.u64 %begin, %globaltimer;
    mov.u32 %thread, %tid.x;
    setp.ne.u32 %other, %thread, 0;
    @%other bra $stamp_barrier;
    ld.param.u64 %ns, [p_ns];
$stamp_loop:
    mov.u64 %now, %globaltimer;
    sub.u64 %past, %now, %begin;
    setp.lt.u64 %more, %past, %ns;
    @%more bra $stamp_loop;
$stamp_barrier:
    bar.sync 0;
    @%other bra $stamp_end;
    // The counter wraps to zero at the last block, ready for the stream's next kernel.
    ld.param.u64 %arrivals, [p_arrivals];
    mov.u32 %blocks, %nctaid.x;
    sub.u32 %blocks, %blocks, 1;
    atom.global.inc.u32 %arrived, [%arrivals], %blocks;
    setp.ne.u32 %other, %arrived, %blocks;
    @%other bra $stamp_end;

    ld.param.u64 %times, [p_times];
    ld.param.u64 %progress, [p_progress];
    ld.param.u32 %number, [p_number];
    mov.u64 %now, %globaltimer;
    st.volatile.global.u64 [%times], %begin;
    st.volatile.global.u64 [%times+8], %now;
    membar.sys;
    st.volatile.global.u32 [%progress], %number;
    membar.sys;
$stamp_end:
    ret;
}

.visible .entry answer(.param .u64 p_mailbox, .param .u64 p_times)
{
    .reg .pred %other, %end;
    .reg .u32 %round, %seen;
    .reg .u64 %mailbox, %times, %now, %wide;

    ld.param.u64 %mailbox, [p_mailbox];
    ld.param.u64 %times, [p_times];
    mov.u32 %round, 1;
$answer_loop:
    ld.volatile.global.u32 %seen, [%mailbox];
    setp.eq.u32 %end, %seen, 0xffffffff;
    @%end bra $answer_end;
    setp.ne.u32 %other, %seen, %round;
    @%other bra $answer_loop;
    mov.u64 %now, %globaltimer;
    st.volatile.global.u64 [%times], %now;
    membar.sys;
    cvt.u64.u32 %wide, %round;
    st.volatile.global.u64 [%times+8], %wide;
    membar.sys;
    add.u32 %round, %round, 1;
    bra $answer_loop;
$answer_end:
    ret;
}
)ptx";

} // namespace cuda
