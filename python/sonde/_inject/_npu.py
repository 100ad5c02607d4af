"""``torch_npu.profiler`` by Sonde: the names that its programs import, and what answers to them.

The program decides when to record, by its own profiler, as with ``torch.profiler`` (`_stand_in`):
from its first recording on only its windows are recorded.
"""

import functools
from typing import Any

from sonde import mstx
from sonde._inject._run import current_run
from sonde._seams import Part, Seam
from sonde.session._handler import analyse
from sonde.torch import (
    AiCMetrics,
    ExportType,
    HostSystem,
    ProfilerAction,
    ProfilerActivity,
    ProfilerLevel,
    _ExperimentalConfig,
    _KinetoProfile,
    profile,
    schedule,
    supported_activities,
    supported_ai_core_metrics,
    supported_export_type,
    supported_profiler_level,
    tensorboard_trace_handler,
)


def _takes_over(profile_class: Any) -> Any:
    """The class, with the recording of ``sonde run`` ended when one of its own begins."""

    class Taking(profile_class):  # type: ignore[misc]
        __doc__ = profile_class.__doc__

        def start(self) -> None:
            """Starts recording, on the ranks that the command line chose."""
            run = current_run()
            if run is not None and not run.wants_this_rank():
                self._disabled = "this rank is not in the list of ranks"
            if run is not None and not run.leaves_it_to_the_program:
                self._disabled = "the command line decides when to record"
            super().start()

        def _init(self) -> None:
            run = current_run()
            if run is not None:
                run.yield_to_program()
            super()._init()

    Taking.__name__ = Taking.__qualname__ = profile_class.__name__
    return Taking


@functools.cache
def names() -> "dict[str, Any]":
    """Everything that ``torch_npu.profiler`` exports."""
    return {
        "AiCMetrics": AiCMetrics,
        "ExportType": ExportType,
        "HostSystem": HostSystem,
        "ProfilerAction": ProfilerAction,
        "ProfilerActivity": ProfilerActivity,
        "ProfilerLevel": ProfilerLevel,
        "_ExperimentalConfig": _ExperimentalConfig,
        "_KinetoProfile": _takes_over(_KinetoProfile),
        "profile": _takes_over(profile),
        "schedule": schedule,
        "supported_activities": supported_activities,
        "supported_ai_core_metrics": supported_ai_core_metrics,
        "supported_export_type": supported_export_type,
        "supported_profiler_level": supported_profiler_level,
        "tensorboard_trace_handler": tensorboard_trace_handler,
    }


def _part(name: str, ours: Any) -> Part:
    return Part(name, replace=lambda original: ours, optional=True)


def seams() -> "tuple[Seam, ...]":
    """The names of an installed ``torch_npu``, for where Sonde records what its device does."""
    parts = [_part(name, ours) for name, ours in names().items()]
    profiler = ("torch_npu.profiler.profiler", "torch_npu.profiler")
    marks = ("torch_npu.npu.mstx", "torch_npu.npu")
    return (
        Seam("profilers of the program (torch_npu)", profiler, parts),
        Seam("torch_npu's offline parsing", profiler[:1], [_part("analyse", analyse)]),
        Seam("marks of torch_npu", marks, [_part("mstx", mstx)]),
    )


def watch() -> None:
    """Has them changed when the program imports them."""
    for seam in seams():
        seam.install()
