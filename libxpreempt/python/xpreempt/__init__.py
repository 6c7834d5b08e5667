# SPDX-License-Identifier: MIT
"""Preemption of HIP streams on AMD GPUs, and hints to xpreemptd.

A stream is its integer handle, or anything that has one: an object with an attribute
``cuda_stream`` as torch.cuda.Stream, a ctypes.c_void_p, None or 0 for the default stream.

    with xpreempt.suspended(stream):        # at its best level: mid-kernel on a queue of its own
        ...

    with xpreempt.deadline(20):             # a request, due in 20 ms
        xpreempt.soon(2)                    # work follows in 2 ms: batch jobs stop now
        run(model)
    # batch jobs may run at once

    with xpreempt.band("high"):             # of xpreemptd's bands
        train_step()

Streams need libxpreempt-hook.so in the process: LD_PRELOAD=libxpreempt-hook.so python3 PROGRAM.
Hints need neither the hook nor HIP, only a running xpreemptd(8).

Every error is an Error, an OSError whose errno is that of the C function and whose text says what
failed. ``deadline`` and ``soon`` do not raise when no daemon takes the hint, so that a program runs
the same without one.
"""

from xpreempt._hints import Hint, band, deadline, soon
from xpreempt._native import Error, version
from xpreempt._streams import (
    Level,
    StreamLike,
    get_priority,
    hold,
    release,
    set_priority,
    suspended,
)

__all__ = [
    "Error",
    "Hint",
    "Level",
    "StreamLike",
    "band",
    "deadline",
    "get_priority",
    "hold",
    "release",
    "set_priority",
    "soon",
    "suspended",
    "version",
]
