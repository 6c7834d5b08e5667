# SPDX-License-Identifier: MIT
"""HIP streams: hold, release, priority."""

import ctypes
import enum
from contextlib import contextmanager
from typing import Any, Iterator, Optional, Union

from xpreempt._native import call

# An integer, None, a ctypes.c_void_p, or an object with the integer attribute cuda_stream.
StreamLike = Union[int, None, ctypes.c_void_p, Any]

_SHARED = 0x2


class Level(enum.IntEnum):
    """How far a held stream has stopped."""

    BLOCK = 1
    DEACTIVATE = 2
    INTERRUPT = 3


def _handle(stream: StreamLike) -> Optional[int]:
    stream = getattr(stream, "cuda_stream", stream)
    if isinstance(stream, ctypes.c_void_p):
        stream = stream.value
    if stream is None:
        return None
    if isinstance(stream, bool) or not isinstance(stream, int):
        raise TypeError(
            "a stream is an integer handle, or an object with cuda_stream, not {!r}".format(stream)
        )
    if not 0 <= stream < 1 << 64:
        raise ValueError("{} is not the handle of a stream".format(stream))
    return stream


# The library writes the level on success only. An exception between its return and the next line of
# Python, as Ctrl-C makes one, must not lose the hold.
def _hold(stream: StreamLike, least: Level, allow_shared: bool, level: ctypes.c_uint32) -> None:
    flags = (_SHARED if allow_shared else 0) | Level(least) * 0x100
    call("xp_stream_hold", _handle(stream), flags, ctypes.byref(level))


def hold(stream: StreamLike, *, least: Level = Level.BLOCK, allow_shared: bool = False) -> Level:
    """Stops the stream, and returns how far.

    Counted: the stream runs after as many release(). least: the level that must be reached, else
    EOPNOTSUPP and nothing is held. allow_shared: streams on the same queue may stop with it.
    A thread that waits for the stream waits until the release: release it from another one.
    """
    level = ctypes.c_uint32()
    try:
        _hold(stream, least, allow_shared, level)
    except BaseException:
        if level.value:
            release(stream)
        raise
    return Level(level.value)


def release(stream: StreamLike) -> None:
    """Undoes one hold(). ENOENT: the stream is not held."""
    call("xp_stream_release", _handle(stream))


@contextmanager
def suspended(
    stream: StreamLike, *, least: Level = Level.BLOCK, allow_shared: bool = False
) -> Iterator[Level]:
    """Holds the stream in the block, which must not wait for it. Gives the level."""
    level = ctypes.c_uint32()
    try:
        _hold(stream, least, allow_shared, level)
        yield Level(level.value)
    finally:
        if level.value:
            release(stream)


def set_priority(stream: StreamLike, priority: int) -> None:
    """-255 to 255; a scheduler of this process, or xpreemptd, runs the highest first."""
    if not -255 <= priority <= 255:
        raise ValueError("priority is {}: it must be from -255 to 255".format(priority))
    call("xp_stream_set_priority", _handle(stream), priority)


def get_priority(stream: StreamLike) -> int:
    """The priority that was set last; 0 before."""
    priority = ctypes.c_int32()
    call("xp_stream_get_priority", _handle(stream), ctypes.byref(priority))
    return priority.value
