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

torch itself is needed when recording starts, not before.
"""

from sonde.torch._enums import (
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
from sonde.torch._experimental import _ExperimentalConfig
from sonde.torch._handler import analyse, tensorboard_trace_handler
from sonde.torch._profiler import _KinetoProfile, profile
from sonde.torch._schedule import schedule

__all__ = [
    "AiCMetrics",
    "ExportType",
    "HostSystem",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerLevel",
    "_ExperimentalConfig",
    "_KinetoProfile",
    "analyse",
    "profile",
    "schedule",
    "supported_activities",
    "supported_ai_core_metrics",
    "supported_export_type",
    "supported_profiler_level",
    "tensorboard_trace_handler",
]
