"""Opens ``libsonde_probe.so`` and makes recorders of it; see ``adapt/probe/library.cc``."""

import ctypes
import linecache
import os
import threading
from typing import Any, Callable, Optional

from sonde import _native
from sonde.torch.precision._config import Config
from sonde.torch.precision._device_statistics import DeviceStatistics
from sonde.torch.precision._values import Describer

LIBRARY = "libsonde_probe.so"

SAVE_TENSORS, FINISH, KEEP_PARTS, IN_LIST, WHOLE, WITH_STACK, PLACE = 1, 2, 4, 8, 16, 32, 64
ONLY_NAN, NO_BACKWARD, MODULE = 128, 256, 512
_SUMMARIES = {"statistics": 0, "md5": 1, "xor": 2, "none": 3, "check": 4}
_LATE_SUMMARIES = ("statistics", "md5", "xor")
_SUMMARY_OF_TASK = {"structure": "none", "nan_check": "check", "overflow_check": "statistics"}

# Order of ElementType in probe/tensor_view.h.
_ELEMENTS = {
    name: number
    for number, name in enumerate(
        "float32 float64 float16 bfloat16 float8 int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
        "bool complex64 complex128 other".split()
    )
}
_OUR_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep

_lock = threading.Lock()
_library: Optional[ctypes.PyDLL] = None


def _open() -> ctypes.PyDLL:
    global _library
    with _lock:
        if _library is None:
            path = _native.find_library(LIBRARY)
            if path is None:
                folders = ", ".join(_native.library_folders())
                raise _native.NativeError(f"{LIBRARY} not found in {folders}")
            try:
                library = ctypes.PyDLL(path)
            except OSError as problem:
                raise _native.NativeError(f"cannot load {path}: {problem}") from None
            for function in (library.sonde_probe_functions, library.sonde_probe_api_functions):
                function.restype = ctypes.py_object
                function.argtypes = [ctypes.py_object]
            library.sonde_probe_outermost.restype = ctypes.py_object
            library.sonde_probe_outermost.argtypes = [ctypes.py_object, ctypes.py_object]
            _library = library
        return _library


def _dtypes(torch: Any) -> list:
    known = []
    for name, value in vars(torch).items():
        if not isinstance(value, torch.dtype) or str(value) != f"torch.{name}":
            continue
        kind = "float8" if name.startswith("float8") else name
        if kind in _ELEMENTS or name == "complex32":
            known.append((value, name, _ELEMENTS.get(kind, _ELEMENTS["other"]), value.itemsize))
    return known


def _samples(torch: Any) -> list:
    """Tensors that differ in all that the native side looks for in memory: see tensor_memory.h."""
    shapes = (
        ("float32", 6, (2, 3, 5), (31, 7, 1), 11, False),
        ("int64", 4, (7,), (3,), 5, False),
        ("bool", 11, (3, 2, 2, 1, 2), (17, 9, 5, 4, 2), 2, False),
        ("bfloat16", 15, (4, 6), (13, 2), 3, True),
        ("float64", 7, (5, 2, 3), (8, 3, 1), 19, True),
    )
    found = []
    try:
        with torch.inference_mode(False), torch.no_grad():
            for name, number, shape, strides, offset, needs in shapes:
                base = torch.zeros(160, dtype=getattr(torch, name), device="cpu")
                storage = base.untyped_storage()
                # No view: those have what belongs to gradients whether they need them or not.
                tensor = torch.empty(0, dtype=base.dtype, device="cpu")
                tensor.set_(storage, offset, shape, strides).requires_grad_(needs)
                keys = torch._C._dispatch_keys(tensor).raw_repr()
                addresses = (tensor._cdata, storage._cdata, storage.data_ptr())
                found.append((tensor, *addresses, offset, keys, number, needs, shape, strides))
    except (AttributeError, RuntimeError, TypeError):
        return []  # this torch exports less: its tensors are asked one by one
    return found


def _describe_frame(code: Any, line: int) -> Optional[str]:
    """Text of one frame of a stack; frames of ours and those without source are left out."""
    path = code.co_filename
    if path.startswith(_OUR_FOLDER):
        return None
    source = linecache.getline(path, line).strip()
    return f"File {path}, line {line}, in {code.co_name}, \n {source}" if source else None


def _sums_are_rounded(torch: Any) -> bool:
    """Whether this torch rounds the sum of 16-bit elements before it divides (until 2.0)."""
    with torch.no_grad():
        return bool(
            torch.isinf(torch.full((3,), 60000.0, dtype=torch.float16, device="cpu").mean())
        )


def _slicer(torch: Any, slices: "list[dict]") -> Any:
    def part(tensor: Any) -> Any:
        index = [slice(None)] * tensor.dim()
        for item in slices:
            dim = item.get("dim", 0)
            if dim >= len(index):
                continue
            if item.get("size") is not None and tensor.shape[dim] != item["size"]:
                continue
            index[dim] = slice(item.get("begin", 0), item.get("end"))
        if not index:
            return tensor
        flag = tensor.requires_grad
        with torch.no_grad():
            piece = tensor.detach()[tuple(index)]
            return piece.requires_grad_(True) if flag else piece

    return part


def functions(
    torch: Any, config: Config, slices: "list[dict]", failed: "Callable[[Exception], None]"
) -> "dict[str, Any]":
    """The functions of a new recorder; ``failed`` is called for numbers that cannot be fetched from
    a device. Raises ``NativeError``."""
    library = _open()
    summary = _SUMMARY_OF_TASK.get(config.task, config.summary_mode)
    device = DeviceStatistics(torch, summary, config.precision != "high", failed)
    is_late = config.task == "statistics" and summary in _LATE_SUMMARIES
    only_looks = config.task in ("nan_check", "overflow_check")
    setup = {
        "dtypes": _dtypes(torch),
        "tensor_types": [torch.Tensor, torch.nn.Parameter],
        "samples": _samples(torch),
        "describe": Describer(torch, summary, device if is_late else None, only_looks).describe,
        "fetch": device.fetch,
        "mark": device.mark,
        "describe_frame": _describe_frame,
        "slice": _slicer(torch, slices) if slices else None,
        "summary": _SUMMARIES[summary],
        "extension": f".{config.tensor_format}",
        "with_sums": config.precision != "high",
        "mean_rounds_sum": _sums_are_rounded(torch),
    }
    return library.sonde_probe_functions(setup)


def api_functions(setup: "dict[str, Any]") -> "dict[str, Any]":
    """What makes and steers wrappers of torch's functions; one set a process, see
    ``adapt/probe/api_calls.h``. Raises ``NativeError``."""
    return _open().sonde_probe_api_functions(setup)


def outermost(original: Any, begin: Any) -> Any:
    """A stand-in for a method that calls ``begin(instance)`` before each outermost call of it in a
    thread, and what that returned, if anything, at the end. Raises ``NativeError``."""
    return _open().sonde_probe_outermost(original, begin)
