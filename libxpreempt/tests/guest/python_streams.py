# SPDX-License-Identifier: MIT
"""Two streams of HIP by ctypes alone; one is suspended mid-kernel while the other runs. Prints TAP.

usage: python_streams.py CODE_OBJECT   (walk.co, with libxpreempt-hook.so preloaded)
"""
import ctypes
import errno
import sys
import time
from pathlib import Path

import xpreempt

LIBRARY = min(Path("/usr/lib/x86_64-linux-gnu").glob("libamdhip64.so.?"))
HIP = ctypes.CDLL(LIBRARY.name, mode=ctypes.RTLD_GLOBAL)
# Through the program, so that the hook in front of HIP sees the calls.
PROGRAM = ctypes.CDLL(None)
LANES = 64
FACTOR, SUMMAND, MASK = 1664525, 1013904223, 0xFFFFFFFF
count = failed = 0


class Lane(ctypes.Structure):
    _fields_ = [("value", ctypes.c_uint32), ("rounds", ctypes.c_uint32)]


class Walk(ctypes.Structure):
    """struct Walk of walk.hpp"""

    _fields_ = [
        ("rounds", ctypes.c_uint32),
        ("end", ctypes.c_uint32),
        ("lane", Lane * LANES),
    ]


def check(good, what):
    global count, failed
    count += 1
    failed += not good
    print("{}ok {} - {}".format("" if good else "not ", count, what), flush=True)


def must(name, *arguments):
    answer = getattr(PROGRAM, name)(*arguments)
    if answer != 0:
        print("Bail out! {}: {}".format(name, answer), flush=True)
        sys.exit(1)


def value_after(value, steps):
    """As sequence.hpp."""
    a, b = FACTOR, SUMMAND
    while steps:
        if steps & 1:
            value = (value * a + b) & MASK
        b = (b * a + b) & MASK
        a = (a * a) & MASK
        steps >>= 1
    return value


class Job:
    def __init__(self, function):
        memory = ctypes.c_void_p()
        must("hipHostMalloc", ctypes.byref(memory), ctypes.c_size_t(ctypes.sizeof(Walk)),
             ctypes.c_uint(0x40000000))  # hipHostMallocCoherent
        self.walk = Walk.from_address(memory.value)
        self.argument = memory
        stream = ctypes.c_void_p()
        must("hipStreamCreateWithFlags", ctypes.byref(stream), ctypes.c_uint(1))
        self.cuda_stream = stream.value  # as torch.cuda.Stream
        self.launch(function)

    def launch(self, function):
        ctypes.memset(ctypes.addressof(self.walk), 0, ctypes.sizeof(Walk))
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(self.argument))
        must("hipModuleLaunchKernel", function, 1, 1, 1, LANES, 1, 1, 0,
             ctypes.c_void_p(self.cuda_stream), arguments, None)

    def moves(self):
        """Within 60 s: the machine may be busy."""
        before, end = self.walk.rounds, time.monotonic() + 60
        while self.walk.rounds == before and time.monotonic() < end:
            time.sleep(0.01)
        return self.walk.rounds != before

    def end(self):
        self.walk.end = 1
        must("hipStreamSynchronize", ctypes.c_void_p(self.cuda_stream))

    def is_right(self):
        return all(
            lane.rounds != 0 and lane.value == value_after(number, lane.rounds)
            for number, lane in enumerate(self.walk.lane)
        )


def main():
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    must("hipModuleLoad", ctypes.byref(module), sys.argv[1].encode())
    must("hipModuleGetFunction", ctypes.byref(function), module, b"walk_to_the_end")
    first, second = Job(function), Job(function)
    check(first.moves() and second.moves(), "two kernels run")
    with xpreempt.suspended(first) as level:
        check(level == xpreempt.Level.INTERRUPT, "one stream is suspended mid-kernel")
        stood = first.walk.rounds
        check(second.moves() and second.moves(), "the other one runs on")
        check(first.walk.rounds == stood, "while its kernel makes no progress")
    check(first.moves(), "and continues afterwards")
    for job in (first, second):
        job.end()
        check(job.is_right(), "the result is right")
    try:
        xpreempt.release(second)
        check(False, "what is not held cannot be released")
    except OSError as error:
        check(error.errno == errno.ENOENT and error.strerror != "",
              "what is not held cannot be released: " + error.strerror)
    with xpreempt.deadline(20) as taken:
        check(not taken, "a request runs without a daemon, too")
    print("1..{}".format(count))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
