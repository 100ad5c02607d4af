"""Names of what torch compiled.

Compiled code names its regions and kernels only where torch's flag says that a profiler runs, and
by a class that does nothing unless that is torch's own. Both change while something is recorded.
Threads: any.
"""

import sys
from typing import Any

from sonde import _native

_CLASS = "_RecordFunctionFast"


def watch() -> None:
    """Follows the recorder's sessions from now on. Once a process."""
    _native.recorder().add_listener(_session_event)


def _session_event(event: int, _: str) -> None:
    profiler = sys.modules.get("torch.autograd.profiler")
    if profiler is None or not hasattr(profiler, "_is_profiler_enabled"):
        return  # torch before 2.1
    if event == _native.EVENT_START:
        profiler._is_profiler_enabled = True
        _replace_class(profiler)
    elif event == _native.EVENT_STOP:
        profiler._is_profiler_enabled = _is_torch_profiling()
        _restore_class()


def _is_torch_profiling() -> bool:
    return bool(getattr(sys.modules["torch"]._C._autograd, "_profiler_enabled", bool)())


def _replace_class(profiler: Any) -> None:
    holder = sys.modules["torch"]._C._profiler
    original = getattr(holder, _CLASS, None)
    if original is None or hasattr(original, "_sonde_original"):
        return

    def region(name: str, *args: Any, **kwargs: Any) -> Any:
        if _is_torch_profiling():
            return original(name, *args, **kwargs)
        return profiler.record_function(name)

    region._sonde_original = original  # type: ignore[attr-defined]
    setattr(holder, _CLASS, region)


def _restore_class() -> None:
    holder = sys.modules["torch"]._C._profiler
    original = getattr(getattr(holder, _CLASS, None), "_sonde_original", None)
    if original is not None:
        setattr(holder, _CLASS, original)
