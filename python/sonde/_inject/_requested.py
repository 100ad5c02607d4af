"""The facts in ``profiler_info.json`` on a recording under ``sonde run``, and what a request (a
body of ``POST /start_profile``, the watched file of dynamic profiling) changes of it.
"""

import json
from typing import Any, Optional

from sonde import _native
from sonde._inject._options import LEVELS, Options
from sonde.session._enums import AiCMetrics

_METRICS = {
    "Level_none": "ACL_AICORE_NONE",
    "Level0": "ACL_AICORE_NONE",
    "Level1": "ACL_AICORE_PIPE_UTILIZATION",
    "Level2": "ACL_AICORE_PIPE_UTILIZATION",
}
_OF_DEVICES = ("l2_cache", "record_op_args", "op_attr", "sys_io", "sys_interconnection")


def standard(
    options: Options, schedule: Optional[_native.Schedule], serves: bool = False
) -> dict[str, Any]:
    """Object ``config`` of ``profiler_info.json``."""
    steps = {}
    if schedule is not None:
        names = ("wait", "active", "warmup", "repeat", "skip_first", "skip_first_wait")
        steps = {name: getattr(schedule, name) for name in names}
    activities = ["ProfilerActivity.CPU"] if options.with_cpu else []
    level = LEVELS[options.level_of(serves)]
    return {
        "common_config": {
            "activities": [*activities, "ProfilerActivity.NPU"],
            "schedule": steps,
            "record_shapes": options.record_shapes,
            "profile_memory": options.with_memory,
            "with_stack": options.with_stack,
            "with_flops": False,
            "with_modules": options.with_modules,
        },
        "experimental_config": {
            "_profiler_level": level,
            "_aic_metrics": _METRICS[level],
            "_l2_cache": False,
            "_msprof_tx": False,
            "_mstx": options.mstx,
            "_data_simplification": options.data_simplification,
            "record_op_args": False,
            "_export_type": options.export_type,
            "_host_sys": [],
            "_op_attr": False,
            "_gc_detect_threshold": options.gc_threshold_ms,
            "_mstx_domain_include": [],
            "_mstx_domain_exclude": [],
            "_sys_io": False,
            "_sys_interconnection": False,
        },
    }


def read(options: str) -> dict[str, Any]:
    """A request as an object; empty where it is none."""
    try:
        asked = json.loads(options or "{}")
    except (ValueError, RecursionError):
        return {}
    return asked if isinstance(asked, dict) else {}


def config(usual: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """``usual`` with the settings of a request in their place, under the names of either file."""
    switches = _switches(asked)
    common, experimental = dict(usual["common_config"]), dict(usual["experimental_config"])
    for name in ("record_shapes", "profile_memory", "with_stack", "with_modules"):
        if isinstance(asked.get(name), bool):
            common[name] = asked[name]
    activities = _activities(asked.get("activities"))
    if activities:
        common["activities"] = activities
    for key in experimental:
        value = switches.get(key, switches.get(key.lstrip("_")))
        if _is_like(experimental[key], value):
            experimental[key] = value
    if experimental["_profiler_level"] not in _METRICS:
        experimental["_profiler_level"] = usual["experimental_config"]["_profiler_level"]
    experimental["_aic_metrics"] = _metrics(switches, experimental["_profiler_level"])
    return {"common_config": common, "experimental_config": experimental}


def metadata(asked: dict[str, Any]) -> dict[str, Any]:
    """What the request adds to the capture's metadata."""
    found = asked.get("metadata")
    return {str(key): value for key, value in found.items()} if isinstance(found, dict) else {}


def without_effect(asked: dict[str, Any]) -> list[str]:
    """A line for each setting of a request that has no effect."""
    switches = _switches(asked)
    names = [name for name in _OF_DEVICES if switches.get(name)]
    if _metrics(switches, "Level1") not in _METRICS.values():
        names.append("aic_metrics")
    lines = [f"Parameter {name} has no effect: no device here can serve it." for name in names]
    if switches.get("host_sys"):
        lines.append("Parameter host_sys has no effect on a recording that is requested.")
    if asked.get("with_flops"):
        lines.append("Parameter with_flops has no effect on a recording that is requested.")
    return lines


def _switches(asked: dict[str, Any]) -> dict[str, Any]:
    found = asked.get("experimental_config")
    return found if isinstance(found, dict) else {}


def _activities(listed: Any) -> list[str]:
    """As the info file names them; whatever is no CPU stands for the device."""
    names = listed if isinstance(listed, list) else []
    kinds = {"CPU" if name == "CPU" else "NPU" for name in names}
    return [f"ProfilerActivity.{kind}" for kind in sorted(kinds)]


def _is_like(usual: Any, value: Any) -> bool:
    if usual is None or isinstance(usual, float):  # a time
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, type(usual))


def _metrics(switches: dict[str, Any], level: str) -> str:
    """The files have names of members, the info file their values."""
    given = switches.get("_aic_metrics", switches.get("aic_metrics"))
    if isinstance(given, str) and given in AiCMetrics.__members__:
        given = AiCMetrics[given].value
    known = {member.value for member in AiCMetrics}
    if isinstance(given, str) and given in known and level not in ("Level0", "Level_none"):
        return given
    return _METRICS[level]
