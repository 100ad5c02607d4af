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
    def __init__(self, begin: Callable[[int], int], end: Callable[[int], None]) -> None:
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

        def call(*args: Any) -> Any:
            begun = begin(number)
            try:
                return kernel(*args)
            finally:
                end(begun)

        call._sonde_kernel = kernel  # type: ignore[attr-defined]
        return call


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
