"""Opens the adapter of Ascend devices (``libsonde_ascend.so``) where the process can be asked for
what its device does: ``sonde run`` has loaded CANN's ``libmspti.so`` into it before all others.

The adapter follows the recorder's sessions by itself. Threads: any. Nothing raises: a program whose
device cannot be recorded is recorded without, and one line says so.
"""

import ctypes
import os
from typing import Any, Optional

from sonde import _native, _report

_LIBRARY = "libsonde_ascend.so"
_library: Optional[ctypes.CDLL] = None
_tried = False


def attach() -> None:
    """Once a process, where ``SONDE_PROFILE_WITH_DEVICE=1`` asks for it."""
    global _tried
    if _tried or os.environ.get("SONDE_PROFILE_WITH_DEVICE") != "1":
        return
    _tried = True
    problem = _open()
    if problem:
        _report.say(f"tasks of the NPU are not recorded: {problem}", error=True)


def is_recorded() -> bool:
    """Whether sessions of this process record a device."""
    return _library is not None


def _open() -> str:
    global _library
    path = _native.find_library(_LIBRARY)
    if path is None:
        return f"{_LIBRARY} not found in {', '.join(_native.library_folders())}"
    try:
        library: Any = ctypes.CDLL(path)
    except OSError as error:
        return f"cannot load {path}: {error}"
    library.sonde_ascend_last_error.restype = ctypes.c_char_p
    if library.sonde_ascend_attach() != 0:
        return (library.sonde_ascend_last_error() or b"").decode("utf-8", "replace")
    _library = library
    return ""
