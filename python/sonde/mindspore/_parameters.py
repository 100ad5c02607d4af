"""What a profiler of MindSpore was asked for, as settings of a recording and as facts of a capture.

Read from ``ProfilerContext``, in which every profiler of MindSpore leaves its parameters after it
has checked them.
"""

import os
import sys
from typing import Any, Optional

from sonde.mindspore._recording import Settings
from sonde.session._enums import HostSystem

_CONTEXT = "mindspore.profiler.common.profiler_context"
_LEVELS = {"LevelNone": "Level_none"}
_METRICS = {
    "PipeUtilization": "ACL_AICORE_PIPE_UTILIZATION",
    "ArithmeticUtilization": "ACL_AICORE_ARITHMETIC_UTILIZATION",
    "Memory": "ACL_AICORE_MEMORY_BANDWIDTH",
    "MemoryL0": "ACL_AICORE_L0B_AND_WIDTH",
    "MemoryUB": "ACL_AICORE_MEMORY_UB",
    "ResourceConflictRatio": "ACL_AICORE_RESOURCE_CONFLICT_RATIO",
    "L2Cache": "ACL_AICORE_L2_CACHE",
    "MemoryAccess": "ACL_AICORE_MEMORY_ACCESS",
    "None": "ACL_AICORE_NONE",
}


def context() -> Any:
    """MindSpore's one ``ProfilerContext``."""
    return sys.modules[_CONTEXT].ProfilerContext()


def settings(given: Any, worker_name: Optional[str]) -> Settings:
    """Of the recording that the parameters ask for."""
    asked = _values(given)
    mstx = bool(asked.get("mstx", False))
    level = asked.get("profiler_level", "Level0")
    known = {system.value for system in HostSystem}
    systems = [HostSystem(name) for name in asked.get("host_sys", []) if name in known]
    return Settings(
        record_shapes=bool(asked.get("record_shapes", False)),
        profile_memory=bool(asked.get("profile_memory", False)),
        with_stack=bool(asked.get("with_stack", False)),
        with_modules=level != "LevelNone",
        operators=level != "LevelNone",
        markers=mstx,
        host_systems=systems,
        domain_include=list(asked.get("mstx_domain_include", [])),
        domain_exclude=list(asked.get("mstx_domain_exclude", [])),
        directory=os.path.abspath(str(given.output_path)),
        worker_name=worker_name,
        config=config(asked),
    )


def config(asked: "dict[str, Any]") -> "dict[str, Any]":
    """Object ``config`` of a capture: which files `sonde analyse` makes of it."""
    level = str(asked.get("profiler_level", "Level0"))
    schedule = asked.get("schedule") if asked.get("is_set_schedule") else {}
    return {
        "common_config": {
            "activities": [f"ProfilerActivity.{name}" for name in asked.get("activities", [])],
            "schedule": schedule or {},
            "record_shapes": bool(asked.get("record_shapes", False)),
            "profile_memory": bool(asked.get("profile_memory", False)),
            "with_stack": bool(asked.get("with_stack", False)),
            "with_flops": False,
            "with_modules": True,
        },
        "experimental_config": {
            "_profiler_level": _LEVELS.get(level, level),
            "_aic_metrics": _METRICS.get(str(asked.get("aic_metrics")), "ACL_AICORE_NONE"),
            "_l2_cache": bool(asked.get("l2_cache", False)),
            "_mstx": bool(asked.get("mstx", False)),
            "_data_simplification": bool(asked.get("data_simplification", True)),
            "_export_type": list(asked.get("export_type", ["text"])),
            "_host_sys": list(asked.get("host_sys", [])),
            "_mstx_domain_include": list(asked.get("mstx_domain_include", [])),
            "_mstx_domain_exclude": list(asked.get("mstx_domain_exclude", [])),
            "_sys_io": bool(asked.get("sys_io", False)),
            "_sys_interconnection": bool(asked.get("sys_interconnection", False)),
        },
    }


def facts() -> "dict[str, Any]":
    """Further metadata of a capture: what the program added, and ``profiler_info`` as MindSpore
    writes it."""
    module = sys.modules.get("mindspore.profiler.common.profiler_meta_data")
    added = {} if module is None else dict(module.ProfilerMetaData.get_metadata())
    return {"user_metadata": added, "mindspore_profiler_info": profiler_info(context())}


def profiler_info(given: Any) -> "dict[str, Any]":
    """Object of ``profiler_info_<rank>.json`` in the form of MindSpore."""
    mindspore = sys.modules.get("mindspore")
    parameters = _values(given)
    parameters.update({
        "output_path": str(getattr(given, "output_path", "")),
        "device_id": str(getattr(given, "device_id", "0")),
        "rank_id": str(getattr(given, "rank_id", "0")),
        "device_target": str(getattr(given, "device_target", "CPU")),
    })  # fmt: skip
    return {
        "profiler_parameters": parameters,
        "ms_profiler_info": {},
        "cann_profiler_info": {},
        "analysis_cost_time": {},
        "ms_version": str(getattr(mindspore, "__version__", "")),
        "cann_version": "",
        "jit_level": str(getattr(given, "jit_level", "") or ""),
    }


def _values(given: Any) -> "dict[str, Any]":
    """The parameters by name, as texts and numbers."""
    manager = getattr(given, "_profiler_params_mgr", None)
    values = getattr(manager, "original_params", None)
    if callable(values):
        values = values()
    found = {str(name): value for name, value in dict(values or {}).items()}
    found.setdefault("is_set_schedule", bool(getattr(manager, "is_set_schedule", False)))
    return found
