"""``torch_npu.profiler`` by Sonde: the names that its programs import, and what answers to them.

The program decides when to record, by its own profiler, as with ``torch.profiler`` (`_stand_in`):
from its first recording on only its windows are recorded.

On an NPU its profiler stays the vendor's, which records more than ``libmspti.so`` gives (NPU
memory, hardware counters, shapes of kernels), and Sonde parses what it leaves. Where the user asks
for ``--profile-with-device``, Sonde records in its place, by that library.
"""

import functools
import os
from typing import Any

from sonde import _native, _report, mstx
from sonde._inject._run import current_run
from sonde._seams import Part, Seam
from sonde.session import _metadata
from sonde.session._handler import analyse, parse_recorded
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


#: What `sonde run` says where `libmspti.so` records the NPU, once.
_LIGHT = (
    "libmspti.so records the NPU: its memory, hardware counters and shapes of kernels are left "
    "out; torch_npu.profiler in the program records them by its level, and Sonde parses them"
)
_is_reported: "list[bool]" = []  # or there is nothing to report: a profiler of theirs records
_DELIVERABLES = "tensorboard_trace_handler"  # what their parser is asked for; else one file


def _begins(*_: Any, **__: Any) -> None:
    """A profiler of theirs begins: one at a time may use the device."""
    _is_reported.append(True)
    run = current_run()
    if run is not None:
        run.yield_to_program()


def _parses(original: Any) -> Any:
    """Their parser's entry, for the recordings of their profiler and for folders."""

    @functools.wraps(original)
    def parse(
        cls: Any, input_path: str, kind: str = _DELIVERABLES, output: Any = None, **options: Any
    ) -> Any:
        if kind != _DELIVERABLES:
            return original(cls, input_path, kind, output, **options)
        path = os.path.realpath(input_path)
        if "async_mode" in options:
            parse_recorded(path, bool(options["async_mode"]))
        else:
            analyse(path, options.get("max_process_number"), options.get("export_type"))
        return None

    return parse


def parsing() -> "tuple[Seam, ...]":
    """Of an installed ``torch_npu`` that records by itself."""
    names = ("profile.start", "_KinetoProfile.start")
    return (
        Seam(
            "profilers of the program (torch_npu's own)",
            "torch_npu.profiler.profiler",
            [Part(name, around=_begins, optional=True) for name in names],
            is_extra=True,
        ),
        Seam(
            "torch_npu's parsing",
            "torch_npu.profiler.analysis._npu_profiler",
            [Part("NpuProfiler.analyse", replace=_parses)],
            is_extra=True,
        ),
    )


def _report_light() -> None:
    if not _is_reported and _metadata.local_rank() <= 0:
        _report.log(_LIGHT)
    _is_reported.append(True)


def _watch_library(event: int) -> None:
    """Reports what the library leaves out at the first ``event`` of a session."""

    def follow(happened: int, options: str) -> None:
        if happened == event:
            _report_light()

    _native.recorder().add_listener(follow)
    if event == _native.EVENT_START and _native.recorder().features() != 0:
        _report_light()


def watch(records_device: bool) -> None:
    """Has the names changed when the program imports them. ``records_device``: ``libmspti.so`` is
    loaded."""
    run = current_run()
    is_left = run is not None and run.leaves_it_to_the_program and not run.serves
    is_theirs = os.environ.get("SONDE_NPU_COLLECTOR") != "mspti" and is_left
    if records_device:
        # A profiler of theirs ends the recording of the whole program: only one that ends without
        # it is what the program gets.
        _watch_library(_native.EVENT_STOP if is_theirs else _native.EVENT_START)
    for seam in seams() if records_device and not is_theirs else parsing():
        seam.install()
