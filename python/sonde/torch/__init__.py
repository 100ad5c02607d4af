"""Profiler API for PyTorch programs; names and parameters as in ``torch_npu.profiler``.

::

    from sonde.torch import profile, schedule, tensorboard_trace_handler

    with profile(
        schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
        on_trace_ready=tensorboard_trace_handler("./result"),
    ) as prof:
        for batch in loader:
            train(batch)
            prof.step()

torch itself is needed when recording starts, not before. ``PrecisionDebugger`` and what belongs to
it come from ``sonde.torch.precision``, which is imported when it is asked for.
"""

from typing import Any

from sonde._step_mark import step
from sonde.session._enums import (
    AiCMetrics,
    ExportType,
    HostSystem,
    ProfilerAction,
    ProfilerActivity,
    ProfilerLevel,
    supported_activities,
    supported_ai_core_metrics,
    supported_export_type,
    supported_profiler_level,
)
from sonde.session._experimental import _ExperimentalConfig
from sonde.session._handler import analyse, tensorboard_trace_handler
from sonde.session._schedule import schedule
from sonde.torch._profiler import _KinetoProfile, profile

_PRECISION = ("PrecisionDebugger", "acl_save", "module_dump", "module_dump_end", "seed_all")


def __getattr__(name: str) -> Any:
    if name in _PRECISION:
        from sonde.torch import precision

        return getattr(precision, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "PrecisionDebugger",
    "AiCMetrics",
    "ExportType",
    "HostSystem",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerLevel",
    "_ExperimentalConfig",
    "_KinetoProfile",
    "acl_save",
    "analyse",
    "module_dump",
    "module_dump_end",
    "profile",
    "schedule",
    "seed_all",
    "step",
    "supported_activities",
    "supported_ai_core_metrics",
    "supported_export_type",
    "supported_profiler_level",
    "tensorboard_trace_handler",
]
