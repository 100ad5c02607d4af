"""Opens the MindSpore adapter (``libsonde_mindspore.so``) in this process.

The adapter follows the recorder's sessions by itself; attaching it once is all there is to do.
Between sessions its functions cost less than those of MindSpore that they stand for.
"""

import ctypes
import json
import re
import sys
import threading
from typing import Any, Optional

from sonde import _native

LIBRARY = "libsonde_mindspore.so"
#: Releases in which everything that is read was looked at.
KNOWN = ((2, 7), (2, 10))

_lock = threading.Lock()
_library: Optional[ctypes.PyDLL] = None


def _open() -> ctypes.PyDLL:
    _native.recorder()  # loaded first: the adapter links with it
    path = _native.find_library(LIBRARY)
    if path is None:
        raise _native.NativeError(f"{LIBRARY} not found in {', '.join(_native.library_folders())}")
    try:
        library = ctypes.PyDLL(path)
    except OSError as error:
        raise _native.NativeError(f"cannot load {path}: {error}") from None
    library.sonde_mindspore_attach.restype = ctypes.c_int
    library.sonde_mindspore_attach.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    library.sonde_mindspore_self_test.restype = ctypes.c_int
    library.sonde_mindspore_self_test.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.sonde_mindspore_cell_begin.restype = ctypes.c_uint32
    library.sonde_mindspore_cell_begin.argtypes = [ctypes.c_uint32, ctypes.c_uint32]
    library.sonde_mindspore_cell_end.restype = None
    library.sonde_mindspore_cell_end.argtypes = [ctypes.c_uint32]
    library.sonde_mindspore_last_error.restype = ctypes.c_char_p
    return library


def version() -> str:
    """Of the MindSpore that is imported; empty for one without a version."""
    return str(getattr(sys.modules.get("mindspore"), "__version__", ""))


def is_known(text: str) -> bool:
    """Whether a release is one of those that were looked at."""
    found = re.match(r"(\d+)\.(\d+)", text)
    return found is not None and KNOWN[0] <= (int(found[1]), int(found[2])) <= KNOWN[1]


def attach() -> None:
    """Makes MindSpore, which must be imported, recordable. Later calls look for libraries that were
    loaded since.

    Raises ``NativeError``.
    """
    global _library
    with _lock:
        library = _library or _open()
        options = {"python_parts": "torch" not in sys.modules}
        text = _native.json_text(options)
        if library.sonde_mindspore_attach(version().encode(), text.encode()) != 0:
            problem = (library.sonde_mindspore_last_error() or b"").decode("utf-8", "replace")
            raise _native.NativeError(f"cannot attach to MindSpore: {problem}")
        is_first, _library = _library is None, library
    if is_first:
        _say_what_lacks(library)


def _say_what_lacks(library: ctypes.PyDLL) -> None:
    failed = [check for check in _report(library)["checks"] if not check["ok"]]
    if failed:
        what = "; ".join(f"{check['part']} ({check['detail']})" for check in failed)
        sys.stderr.write(f"sonde: MindSpore {version()}: not recorded: {what}\n")
    elif not is_known(version()):
        oldest, newest = (".".join(map(str, numbers)) for numbers in KNOWN)
        sys.stderr.write(
            f"sonde: MindSpore {version()} is not known (known are {oldest} to {newest}); what the "
            "self-test found is recorded\n"
        )


def _report(library: ctypes.PyDLL) -> dict[str, Any]:
    buffer = ctypes.create_string_buffer(1 << 16)
    if library.sonde_mindspore_self_test(buffer, len(buffer)) < 0:
        raise _native.NativeError("no self-test result")
    return json.loads(buffer.value.decode("utf-8", "replace"))


def self_test() -> dict[str, Any]:
    """What the adapter's self-test found; attaches if need be. Raises ``NativeError``."""
    attach()
    assert _library is not None
    return _report(_library)


def loaded() -> Optional[ctypes.PyDLL]:
    """The adapter's library if it is attached."""
    return _library
