# SPDX-License-Identifier: MIT
"""The C interface, libxpreempt.so.0: loaded at the first call."""

import ctypes
import os
from typing import Any, Optional

_LIBRARY = "libxpreempt.so.0"
_loaded = None  # type: Optional[ctypes.CDLL]


class Error(OSError):
    """A call of libxpreempt failed: errno, and a sentence in strerror."""


class HintHandle(ctypes.Structure):
    """xp_hint_t"""

    _fields_ = [("handle", ctypes.c_uint64)]


# Functions with arguments that ctypes would not convert by itself.
_ARGUMENTS = {
    "xp_hint_open": [ctypes.c_char_p, ctypes.POINTER(HintHandle)],
    "xp_hint_begin": [HintHandle, ctypes.c_uint64],
    "xp_hint_end": [HintHandle],
    "xp_hint_soon": [HintHandle, ctypes.c_uint32],
    "xp_hint_set_band": [HintHandle, ctypes.c_uint32],
    "xp_hint_set_priority": [HintHandle, ctypes.c_int32],
    "xp_hint_close": [HintHandle],
    "xp_stream_hold": [ctypes.c_void_p, ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint32)],
    "xp_stream_release": [ctypes.c_void_p],
    "xp_stream_set_priority": [ctypes.c_void_p, ctypes.c_int32],
    "xp_stream_get_priority": [ctypes.c_void_p, ctypes.POINTER(ctypes.c_int32)],
}


def _load() -> ctypes.CDLL:
    global _loaded
    if _loaded is None:
        try:
            library = ctypes.CDLL(_LIBRARY)
        except OSError as error:
            raise Error(2, "{}: install libxpreempt0, or set LD_LIBRARY_PATH".format(error)) from None
        for name, arguments in _ARGUMENTS.items():
            try:
                function = getattr(library, name)
            except AttributeError:
                text = "{} has no {}: install a newer libxpreempt0".format(_LIBRARY, name)
                raise Error(38, text) from None
            function.argtypes = arguments
            function.restype = ctypes.c_int
        library.xp_last_detail.restype = ctypes.c_char_p
        library.xp_version.restype = ctypes.c_char_p
        _loaded = library
    return _loaded


def call(name: str, *arguments: Any) -> None:
    """Calls a function of the library; raises Error if it returns a negative errno."""
    library = _load()
    answer = getattr(library, name)(*arguments)
    if answer < 0:
        detail = library.xp_last_detail() or b""
        raise Error(-answer, detail.decode(errors="replace") or os.strerror(-answer))


def version() -> str:
    """The version of libxpreempt that is loaded."""
    text = _load().xp_version()  # type: bytes
    return text.decode()
