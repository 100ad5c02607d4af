"""Opens the adapters of devices where the process can be asked for what its device does:
``libsonde_ascend.so`` where ``sonde run`` has loaded CANN's ``libmspti.so`` into it before all
others, ``libsonde_nvidia.so`` once a torch for CUDA has begun to use a GPU.

Not before: asking whether there is a GPU would start CUDA's driver, and processes that are forked
afterwards could not use it. The adapters follow the recorder's sessions by themselves. Threads:
any. Nothing raises: a program whose device cannot be recorded is recorded without, and one line
reports it.
"""

import ctypes
import glob
import os
import sys
from typing import Any

from sonde import _native, _report

_SWITCH = "SONDE_PROFILE_WITH_DEVICE"  # 1, 0 or unset: where it can be
_libraries: dict[str, ctypes.CDLL] = {}
_watched: list[bool] = []


def attach() -> None:
    """Once torch is there. Later calls do nothing."""
    wanted = os.environ.get(_SWITCH)
    if wanted == "0" or _watched:
        return
    _watched.append(True)
    torch: Any = sys.modules["torch"]
    is_preloaded = "libmspti.so" in os.environ.get("LD_PRELOAD", "")
    if wanted == "1" and (is_preloaded or not glob.glob("/dev/nvidia[0-9]*")):
        _attach("ascend", "NPU")
    when_begun = getattr(torch.cuda, "_lazy_call", None)
    if torch.version.cuda and when_begun is not None:
        when_begun(lambda: _attach("nvidia", "GPU"))


def is_recorded(vendor: str) -> bool:
    """Whether sessions of this process record a device of ``ascend`` or ``nvidia``."""
    return vendor in _libraries


def _attach(vendor: str, device: str) -> None:
    if vendor in _libraries:
        return
    problem = _open(vendor)
    if problem:
        _report.log(f"tasks of the {device} are not recorded: {problem}", error=True)


def _open(vendor: str) -> str:
    name = f"libsonde_{vendor}.so"
    path = _native.find_library(name)
    if path is None:
        return f"{name} not found in {', '.join(_native.library_folders())}"
    try:
        library: Any = ctypes.CDLL(path)
    except OSError as error:
        return f"cannot load {path}: {error}"
    last_error = getattr(library, f"sonde_{vendor}_last_error")
    last_error.restype = ctypes.c_char_p
    if getattr(library, f"sonde_{vendor}_attach")() != 0:
        return (last_error() or b"").decode("utf-8", "replace")
    _libraries[vendor] = library
    return ""
