"""Names of what torch compiled.

Compiled code names its regions and kernels only where torch's flag reports a running profiler, and
by a class that does nothing unless that is torch's own. We change both while something is recorded.
Threads: any.
"""

import sys
from typing import Any

from sonde import _native
from sonde._seams import Part, Seam


def watch() -> None:
    """Follows the recorder's sessions from now on. Once a process."""
    (regions,) = seams()

    def session_event(event: int, _: str) -> None:
        profiler: Any = sys.modules.get("torch.autograd.profiler")
        if profiler is None or not hasattr(profiler, "_is_profiler_enabled"):
            return  # torch before 2.1
        if event == _native.EVENT_START:
            profiler._is_profiler_enabled = True
            regions.apply(sys.modules["torch"])
        elif event == _native.EVENT_STOP:
            profiler._is_profiler_enabled = _is_torch_profiling()
            regions.undo()

    _native.recorder().add_listener(regions.guarded(session_event))


def seams() -> tuple[Seam, ...]:
    """Applied while something is recorded."""
    part = Part("_C._profiler._RecordFunctionFast", replace=_recording_region)
    return (Seam("names of compiled regions", "torch", (part,), is_extra=True),)


def _is_torch_profiling() -> bool:
    return bool(getattr(sys.modules["torch"]._C._autograd, "_profiler_enabled", bool)())


def _recording_region(original: Any) -> Any:
    def region(name: str, *args: Any, **kwargs: Any) -> Any:
        if _is_torch_profiling():
            return original(name, *args, **kwargs)
        return sys.modules["torch"].autograd.profiler.record_function(name)

    return region
