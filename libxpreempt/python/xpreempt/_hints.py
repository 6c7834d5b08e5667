# SPDX-License-Identifier: MIT
"""Hints to xpreemptd about the job of this process."""

import ctypes
import errno
import os
from contextlib import contextmanager
from types import TracebackType
from typing import Callable, Dict, Iterator, List, Optional, Type, Union

from xpreempt._native import Error, HintHandle, call

Time = Union[int, float]

_BANDS = {None: 0, "realtime": 1, "high": 2, "normal": 3, "idle": 4}
_DEFAULT_PRIORITY = -(2**31)
_MAX_DEADLINE_US = 3600 * 1000 * 1000
_MAX_SOON_US = 100 * 1000
# No daemon takes the hint: it does not run, hangs, or does not know the job yet, or enough came; or
# this process has no descriptor for it.
_NOT_TAKEN = (
    errno.ENOENT,
    errno.ECONNREFUSED,
    errno.ECONNRESET,
    errno.EACCES,
    errno.ETIMEDOUT,
    errno.ESRCH,
    errno.EAGAIN,
    errno.EUSERS,
    errno.EPROTO,
    errno.EMFILE,
    errno.ENFILE,
)


def _us(name: str, ms: Time, most: int) -> int:
    us = round(ms * 1000)
    if not 1 <= us <= most:
        raise ValueError("{} is {} ms: it must be from 0.001 to {}".format(name, ms, most // 1000))
    return us


class Hint:
    """A connection to xpreemptd: one sequence of requests. Its hints end when it is closed.

    Each method waits for the daemon's reply, 100 ms at most, and raises Error: ENOENT or
    ECONNREFUSED when it does not run, EAGAIN for too many hints, EPERM for a band or a priority
    that the user may not choose. A daemon that was restarted is found again by itself.
    """

    def __init__(self, socket: Optional[str] = None) -> None:
        """socket: path of the daemon's socket; None: XPREEMPTD_SOCKET, or the usual one."""
        self._handle = HintHandle(0)
        path = None if socket is None else os.fsencode(socket)
        call("xp_hint_open", path, ctypes.byref(self._handle))
        self.process = os.getpid()
        self._is_open = True

    def begin(self, deadline_ms: Optional[Time] = None) -> None:
        """A request begins, due in deadline_ms."""
        us = 0 if deadline_ms is None else _us("deadline_ms", deadline_ms, _MAX_DEADLINE_US)
        call("xp_hint_begin", self._handle, us)

    def end(self) -> None:
        """It has ended, and no work follows soon: lower bands may run."""
        call("xp_hint_end", self._handle)

    def soon(self, ms: Time) -> None:
        """Work follows within ms, at most 100: lower bands stop."""
        call("xp_hint_soon", self._handle, _us("ms", ms, _MAX_SOON_US))

    def set_band(self, band: Optional[str]) -> None:
        """realtime, high, normal or idle; None: that of the job's rule."""
        if band not in _BANDS:
            raise ValueError("{!r} is not a band: use realtime, high, normal or idle".format(band))
        call("xp_hint_set_band", self._handle, _BANDS[band])

    def set_priority(self, priority: Optional[int]) -> None:
        """-255 to 255, for policy HPF; None: that of the job's rule."""
        if priority is not None and not -255 <= priority <= 255:
            raise ValueError("priority is {}: it must be from -255 to 255".format(priority))
        call(
            "xp_hint_set_priority",
            self._handle,
            _DEFAULT_PRIORITY if priority is None else priority,
        )

    def close(self) -> None:
        """Ends its hints. EBADF: it was closed."""
        self._is_open = False
        call("xp_hint_close", self._handle)

    def __del__(self) -> None:
        # A child leaves those of its parent alone.
        if getattr(self, "_is_open", False) and self.process == os.getpid():
            self.close()

    def __enter__(self) -> "Hint":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()


_MOST_UNUSED = 4
# By process, because a child opens its own. append() and pop() are atomic.
_unused = {}  # type: Dict[int, List[Hint]]


def _take() -> Hint:
    """A connection for one block: it is one sequence of requests, and a thread may have several."""
    try:
        return _unused[os.getpid()].pop()
    except (KeyError, IndexError):
        return Hint()


def _give_back(hint: Hint, undone: bool = True) -> None:
    # A hint that the daemon still has would count for the next block: it ends with its connection.
    if hint.process != os.getpid():
        return
    unused = _unused.setdefault(os.getpid(), [])
    if undone and len(unused) < _MOST_UNUSED:
        unused.append(hint)
    else:
        hint.close()


def _is_taken(error: Optional[Error]) -> bool:
    if error is not None and error.errno not in _NOT_TAKEN:
        raise error
    return error is None


def soon(ms: Time) -> bool:
    """Work of this process follows within ms, at most 100. False: no daemon took the hint."""
    hint = _take()
    try:
        hint.soon(ms)
    except Error as error:
        return _is_taken(error)
    finally:
        _give_back(hint)
    return True


def _undo(hint: Hint, end: Callable[[], None]) -> None:
    # A child that leaves a block of its parent ends nothing.
    undone = hint.process != os.getpid()
    try:
        if not undone:
            end()
            undone = True
    except Error as error:
        _is_taken(error)
    finally:
        _give_back(hint, undone)


@contextmanager
def deadline(ms: Optional[Time] = None) -> Iterator[bool]:
    """A request, due in ms. Gives False if no daemon took the hint."""
    hint = _take()
    taken = False
    try:
        hint.begin(ms)
        taken = True
    except Error as error:
        _give_back(hint)
        _is_taken(error)
    except BaseException:  # the daemon may have the request already
        _give_back(hint, False)
        raise
    try:
        yield taken
    finally:
        if taken:
            _undo(hint, hint.end)


@contextmanager
def band(name: str) -> Iterator[None]:
    """The band of this process' job in the block; of several blocks' the highest counts.

    Raises Error also when no daemon runs, for a program that asks for a band depends on it.
    """
    hint = _take()
    taken = False
    try:
        hint.set_band(name)
        taken = True
    finally:
        if not taken:
            _give_back(hint, False)  # a band that times out is repeated to the next daemon
    try:
        yield
    finally:
        _undo(hint, lambda: hint.set_band(None))
