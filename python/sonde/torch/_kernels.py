"""Kernels that Inductor generated for the CPU: each call is an operator of the recording.

Generated modules call their kernels by names in their own global scope, and torch reports them to
no observer. While something is recorded those names lead to functions that notify the adapter; what
was compiled, and the key under which torch keeps it, stay as they are. Threads: any.
"""

import sys
import threading
from typing import Any, Callable, Optional

from sonde import _native
from sonde._seams import Around, Part, Seam

_PREFIX = "cpp_"  # of names of kernels, by which Inductor makes them
_BUILTIN = type(len)  # what a loaded kernel is
_MOST_SHAPES = 4096  # of one kernel
# Torch's types by their numbers.
_NAMES = (
    "uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool "
    "qint8 quint8 qint32 bfloat16 quint4x2 quint2x4 bits1x8 bits2x4 bits4x2 bits8 bits16 "
    "float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz uint16 uint32 uint64"
)
_DTYPES = {name: number for number, name in enumerate(_NAMES.split())}


def watch(adapter: Any) -> None:
    """Follows the recorder's sessions from now on. Once a process."""
    kernels = _Kernels(adapter.sonde_torch_kernel_begin, adapter.sonde_torch_kernel_end)
    _native.recorder().add_listener(kernels.session_event)
    for seam in seams(kernels):
        seam.install()


def seams(kernels: "Optional[_Kernels]" = None) -> tuple[Seam, ...]:
    """Generated modules as they are loaded."""
    loaded = kernels.loaded if kernels is not None else _Kernels.loaded
    part = Part("AsyncCompile.wait", loaded)
    return (
        Seam(
            "kernels that are generated while recording", "torch._inductor.async_compile", (part,)
        ),
    )


class _Kernels:
    def __init__(self, begin: Callable[[int, int], int], end: Callable[[int], None]) -> None:
        self._begin = begin
        self._end = end
        self._lock = threading.Lock()

    def session_event(self, event: int, _: str) -> None:
        if event == _native.EVENT_START:
            self._change_all(self._lead_to_us)
        elif event == _native.EVENT_STOP:
            self._change_all(_restore)

    def loaded(self, _: Any, scope: dict[str, Any], *__: Any) -> Around:
        """A generated module calls ``wait(globals())`` when all its kernels are to be loaded."""
        yield
        if _native.recorder().features() & _native.FEATURE_OPS:
            with self._lock:
                self._lead_to_us(scope)

    def _change_all(self, change: Callable[[dict[str, Any]], None]) -> None:
        with self._lock:
            for module in _generated_modules():
                change(vars(module))

    def _lead_to_us(self, scope: dict[str, Any]) -> None:
        for name, value in list(scope.items()):
            if name.startswith(_PREFIX) and isinstance(value, _BUILTIN):
                scope[name] = self._recorded(value, _native.recorder().intern(name))

    def _recorded(self, kernel: Any, number: int) -> Any:
        begin, end = self._begin, self._end
        with_shapes = _native.recorder().features() & _native.FEATURE_SHAPES
        inputs = _Inputs().number_of if with_shapes else _no_inputs

        def call(*args: Any) -> Any:
            begun = begin(number, inputs(args))
            try:
                return kernel(*args)
            finally:
                end(begun)

        call._sonde_kernel = kernel  # type: ignore[attr-defined]
        return call


def _no_inputs(_: Any) -> int:
    return 0


class _Inputs:
    """Argument sets of the tensors that a kernel is called with; most calls are alike."""

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}
        torch = sys.modules["torch"]
        self._tensor = torch.Tensor

    def number_of(self, args: Any) -> int:
        """0 where they cannot be described."""
        key = tuple((each.dtype, each.shape) for each in args if isinstance(each, self._tensor))
        number = self._known.get(key)
        if number is None:
            numbers = [(_DTYPES.get(str(dtype)[6:], 255), tuple(shape)) for dtype, shape in key]
            number = _native.recorder().inputs(numbers)
            if len(self._known) < _MOST_SHAPES:
                self._known[key] = number
        return number


def _restore(scope: dict[str, Any]) -> None:
    for name, value in list(scope.items()):
        kernel = getattr(value, "_sonde_kernel", None) if name.startswith(_PREFIX) else None
        if kernel is not None:
            scope[name] = kernel


def _generated_modules() -> list[Any]:
    codecache = sys.modules.get("torch._inductor.codecache")
    cache = getattr(codecache, "PyCodeCache", None)
    modules = getattr(cache, "modules", None)
    if modules is None:
        modules = getattr(cache, "cache", {}).values()  # torch before 2.6
    return list(modules)
