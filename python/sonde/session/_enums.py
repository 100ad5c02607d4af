"""Constants of the profiler API, with the names and values that torch_npu programs use."""

from collections.abc import Iterable
from enum import Enum
from typing import Any, Optional


class ProfilerActivity(Enum):
    """What to collect: the host side of operators, or the device.

    Where no accelerator is present the CPU is the device.
    """

    CPU = 0
    NPU = 1


class ProfilerAction(Enum):
    """What a schedule wants for one step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerLevel(Enum):
    """How deep the device side is collected, and which files are written."""

    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"
    Level_none = "Level_none"


class AiCMetrics(Enum):
    """Groups of accelerator counters."""

    PipeUtilization = "ACL_AICORE_PIPE_UTILIZATION"
    ArithmeticUtilization = "ACL_AICORE_ARITHMETIC_UTILIZATION"
    Memory = "ACL_AICORE_MEMORY_BANDWIDTH"
    MemoryL0 = "ACL_AICORE_L0B_AND_WIDTH"
    MemoryUB = "ACL_AICORE_MEMORY_UB"
    ResourceConflictRatio = "ACL_AICORE_RESOURCE_CONFLICT_RATIO"
    L2Cache = "ACL_AICORE_L2_CACHE"
    MemoryAccess = "ACL_AICORE_MEMORY_ACCESS"
    AiCoreNone = "ACL_AICORE_NONE"


class ExportType(Enum):
    """Form of the deliverables."""

    Text = "text"
    Db = "db"


class HostSystem(Enum):
    """Host counters."""

    CPU = "cpu"
    MEM = "mem"
    DISK = "disk"
    NETWORK = "network"
    OSRT = "osrt"
    NUMA = "numa"


def supported_activities() -> set[ProfilerActivity]:
    """Every activity that ``profile(activities=...)`` takes."""
    return set(ProfilerActivity)


def supported_profiler_level() -> set[ProfilerLevel]:
    """Every level that ``_ExperimentalConfig(profiler_level=...)`` takes."""
    return set(ProfilerLevel)


def supported_ai_core_metrics() -> set[AiCMetrics]:
    """Every value that ``_ExperimentalConfig(aic_metrics=...)`` takes."""
    return set(AiCMetrics)


def supported_export_type() -> set[ExportType]:
    """Every value that ``_ExperimentalConfig(export_type=...)`` takes."""
    return set(ExportType)


def as_activity(value: Any) -> Optional[ProfilerActivity]:
    """Our activity for ours or for one of ``torch.profiler`` (any device is the device)."""
    if isinstance(value, ProfilerActivity):
        return value
    name = getattr(value, "name", None)
    if type(value).__name__ != "ProfilerActivity" or name is None:
        return None
    return ProfilerActivity.CPU if name == "CPU" else ProfilerActivity.NPU


def as_activities(values: Iterable[Any]) -> Optional[set[ProfilerActivity]]:
    """Our activities for a collection, None where one of them is none."""
    activities = set()
    for value in values:
        activity = as_activity(value)
        if activity is None:
            return None
        activities.add(activity)
    return activities


def as_action(value: Any) -> ProfilerAction:
    """Our action for ours or for one of ``torch.profiler``, which has the same names.

    Raises ``ValueError`` for anything else.
    """
    if isinstance(value, ProfilerAction):
        return value
    try:
        return ProfilerAction[value.name]
    except (AttributeError, KeyError):
        raise ValueError(f"the schedule returned {value!r}, not a ProfilerAction") from None
