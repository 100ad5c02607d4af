"""Opens the PyTorch adapter (``libsonde_torch.so``) in this process.

The adapter follows the recorder's sessions by itself; attaching it once is all there is to do.
Between sessions nothing of it is active.
"""

import ctypes
import json
import sys
import threading
from typing import Any, Optional

from sonde import _native
from sonde.torch import _compilation, _compiled, _device, _graphs, _kernels

_lock = threading.Lock()
_library: Optional[ctypes.PyDLL] = None


def _open() -> ctypes.PyDLL:
    _native.recorder()  # loaded first: the adapter links with it
    path = _native.find_library(_native.ADAPTER_LIBRARY)
    if path is None:
        raise _native.NativeError(
            f"{_native.ADAPTER_LIBRARY} not found in {', '.join(_native.library_folders())}"
        )
    try:
        library = ctypes.PyDLL(path)
    except OSError as error:
        raise _native.NativeError(f"cannot load {path}: {error}") from None
    library.sonde_torch_attach.restype = ctypes.c_int
    library.sonde_torch_attach.argtypes = [ctypes.c_char_p]
    library.sonde_torch_self_test.restype = ctypes.c_int
    library.sonde_torch_self_test.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.sonde_torch_kernel_begin.restype = ctypes.c_uint32
    library.sonde_torch_kernel_begin.argtypes = [ctypes.c_uint32, ctypes.c_uint32]
    library.sonde_torch_kernel_end.restype = None
    library.sonde_torch_kernel_end.argtypes = [ctypes.c_uint32]
    library.sonde_torch_last_error.restype = ctypes.c_char_p
    return library


def attach() -> None:
    """Makes torch, which must be imported, recordable. Later calls do nothing.

    Raises ``NativeError``.
    """
    global _library
    if _library is not None:
        return
    with _lock:
        if _library is not None:
            return
        library = _open()
        if library.sonde_torch_attach(None) != 0:
            text = (library.sonde_torch_last_error() or b"").decode("utf-8", "replace")
            raise _native.NativeError(f"cannot attach to torch: {text}")
        _library = library
        _device.attach()
        _compiled.watch()
        _compilation.watch()
        _graphs.watch()
        _kernels.watch(library)
        if not _report(library)["records"]["kinds"]:
            _learn_layout(library)


def _learn_layout(library: ctypes.PyDLL) -> None:
    """Asks the headers of a torch that is newer than the adapter where it keeps what is read."""
    from sonde.torch import _layout

    torch = sys.modules["torch"]
    problem = "the self-test does not agree with its headers"
    try:
        options = _native.json_text(_layout.options(torch))
        library.sonde_torch_attach(options.encode())
    except _layout.LayoutError as error:
        problem = str(error)
    if not _report(library)["records"]["kinds"]:
        sys.stderr.write(
            f"sonde: torch {torch.__version__} is not known ({problem}): "
            "operators are recorded with names and times only\n"
        )


def _report(library: ctypes.PyDLL) -> dict[str, Any]:
    buffer = ctypes.create_string_buffer(1 << 16)
    if library.sonde_torch_self_test(buffer, len(buffer)) < 0:
        text = (library.sonde_torch_last_error() or b"").decode("utf-8", "replace")
        raise _native.NativeError(f"no self-test result: {text}")
    return json.loads(buffer.value.decode("utf-8", "replace"))


def self_test() -> dict[str, Any]:
    """What the adapter's self-test found; attaches if need be. Raises ``NativeError``."""
    attach()
    assert _library is not None
    return _report(_library)


def loaded() -> Optional[ctypes.PyDLL]:
    """The adapter's library if it is attached."""
    return _library
