"""What the parameters of the profile classes are turned into; a wrong value gives a warning and the
default."""

import os
from collections.abc import Iterable
from typing import Any, Optional

from sonde.session import _console
from sonde.session._enums import ProfilerActivity, as_activities, supported_activities
from sonde.session._experimental import _ExperimentalConfig


def activities(values: Optional[Iterable[Any]]) -> set[ProfilerActivity]:
    """Ours for ours or torch's; None: all."""
    if values is None:
        return supported_activities()
    try:
        chosen = as_activities(values)
    except TypeError:
        chosen = None
    if not chosen:
        _console.warning("Invalid activities, only CPU and NPU are supported, reset it to default.")
        return supported_activities()
    return chosen


def experimental(value: Any, chosen: set[ProfilerActivity]) -> _ExperimentalConfig:
    """The switches for the device, as far as the chosen activities need them."""
    if value is None:
        value = _ExperimentalConfig()
    elif not isinstance(value, _ExperimentalConfig):
        _console.warning(
            "Parameter experimental_config is an instance of _ExperimentalConfig, "
            "reset it to default."
        )
        value = _ExperimentalConfig()
    if ProfilerActivity.NPU not in chosen:
        _console.warning(
            "Experimental config will not be used while ProfilerActivity.NPU is not set."
        )
    if ProfilerActivity.CPU not in chosen and value.gc_detect_threshold is not None:
        _console.warning("GC detect will not take effect while ProfilerActivity.CPU is not set.")
        value.gc_detect_threshold = None
    return value


def no_op_reason() -> str:
    """Why this process is not recorded at all, empty where it is."""
    if os.environ.get("PROFILER_SAMPLECONFIG"):
        return (
            "If performance data is collected using the 'msprof' tool. "
            "torch_npu profiler api is not effective."
        )
    if os.environ.get("PROFILING_MODE"):
        return (
            "Environment variable 'PROFILING_MODE' is set. torch_npu profiler api is not "
            "effective. Please execute 'unset PROFILING_MODE'."
        )
    return ""
