"""What MindSpore refuses of the configuration of its dump (``MINDSPORE_DUMP_CONFIG``), a line each.

MindSpore reads the file at the first compilation and raises there, in C++. The rules are those for
which 2.10 has a message; what it takes with a warning is no fault here. Errors: ``ProbeError``.
"""

import glob
import json
import os
import re
from typing import Any, Callable, NamedTuple, Optional

from sonde.torch.precision import _errors

VARIABLE = "MINDSPORE_DUMP_CONFIG"
COMMON, E2E = "common_dump_settings", "e2e_dump_settings"
PATH = re.compile(r"[A-Za-z0-9_/-]+")
_NET = re.compile(r"[A-Za-z0-9_-]+")
_REQUIRED = ("dump_mode", "net_name", "iteration", "input_output", "kernels", "support_device")
_CATEGORIES = (
    "max", "min", "avg", "count", "negative zero count", "positive zero count", "nan count",
    "negative inf count", "positive inf count", "zero count", "md5", "l2norm", "hash", "hash:sha1",
    "hash:md5",
)  # fmt: skip


class _Rule(NamedTuple):
    part: str
    key: str  # checked where it is there
    is_right: "Callable[[Any], bool]"
    words: str  # what the value must be


def _one_of(*known: Any) -> "Callable[[Any], bool]":
    return lambda value: not isinstance(value, bool) and value in known


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _are_iterations(value: Any) -> bool:
    """An item that is none matches nothing, in silence."""
    items = value.split("|") if isinstance(value, str) else [""]
    return value == "all" or all(re.fullmatch(r"\d+(-\d+)?", item.strip()) for item in items)


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and (not value or PATH.fullmatch(value) is not None)


def _is_place(value: Any) -> bool:
    return bool(value or os.environ.get("MS_DIAGNOSTIC_DATA_PATH"))


def _is_net(value: Any) -> bool:
    return isinstance(value, str) and _NET.fullmatch(value) is not None


_RULES = tuple(
    _Rule(*rule)
    for rule in (
        (COMMON, "op_debug_mode", _one_of(0, 1, 2, 3, 4), "must be one of 0, 3, 4"),
        (COMMON, "dump_mode", _one_of(0, 1, 2), "must be one of 0, 1, 2"),
        (COMMON, "input_output", _one_of(0, 1, 2), "must be one of 0, 1, 2"),
        (COMMON, "path", _is_path, "must be of letters, digits, '-', '_' and '/' only"),
        (COMMON, "path", _is_place, "is empty, and MS_DIAGNOSTIC_DATA_PATH is not set"),
        (COMMON, "path", lambda path: not path or os.path.isabs(path), "must be absolute"),
        (COMMON, "net_name", _is_net, "must be of letters, digits, '-' and '_'"),
        (COMMON, "iteration", _are_iterations, "must be 'all' or numbers and ranges like '0|3-5'"),
        (COMMON, "saved_data", _one_of("tensor", "statistic", "full"),
         "must be one of tensor, statistic, full"),
        (COMMON, "kernels", _is_list, "must be a list"),
        (COMMON, "support_device", _is_list, "must be a list"),
        (COMMON, "statistic_category", _is_list, "must be a list"),
        (COMMON, "file_format", _one_of("bin", "npy"), "must be one of bin, npy"),
        (E2E, "enable", _is_bool, "must be true or false"),
        (E2E, "stat_calc_mode", _one_of("host", "device"), "must be one of host, device"),
        (E2E, "device_stat_precision_mode", _one_of("high", "low"), "must be one of high, low"),
        (E2E, "sample_mode", _one_of(0, 1), "must be one of 0, 1"),
        (E2E, "sample_num", lambda number: number != 0, "must be above 0"),
    )
)  # fmt: skip


def check(path: str) -> None:
    """Of a configuration that the user wrote: what MindSpore would refuse later."""
    if not os.path.isabs(path):
        raise _errors.refuse(f"{VARIABLE}={path} must be an absolute path")
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except (OSError, ValueError) as error:
        raise _errors.refuse(f"{VARIABLE}={path} cannot be read: {error}") from None
    problem = _problem_of(content)
    if problem is not None:
        raise _errors.refuse(f"{path}: {problem}")


def _problem_of(content: Any) -> Optional[str]:
    if not isinstance(content, dict) or not isinstance(content.get(COMMON), dict):
        return f"has no object {COMMON}"
    common, e2e = content[COMMON], content.get(E2E)
    if e2e is not None and not isinstance(e2e, dict):
        return f"{E2E} must be an object"
    required = _REQUIRED if e2e is not None else ("op_debug_mode", *_REQUIRED)
    lacks = [key for key in required if key not in common]
    if lacks:
        return f"{COMMON} has no {', '.join(lacks)}"
    for rule in _RULES:
        values = content.get(rule.part) or {}
        if rule.key in values and not rule.is_right(values[rule.key]):
            return f"{rule.key} {json.dumps(values[rule.key])} {rule.words}"
    return _problem_between(common)


def _problem_between(common: "dict[str, Any]") -> Optional[str]:
    """Of values that are right by themselves."""
    unknown = [
        str(name) for name in common.get("statistic_category", ()) if name not in _CATEGORIES
    ]
    if unknown:
        return f"statistic_category has no {', '.join(unknown)}; known are {', '.join(_CATEGORIES)}"
    if common.get("overflow_number", 0) and common.get("op_debug_mode", 0) != 3:
        return "overflow_number only needs to be set when op_debug_mode is 3"
    if _has_device():
        return None
    if common["dump_mode"] == 2:
        return "dump_mode 2 (set_dump) is supported on Ascend only; set dump_mode to 0 or 1"
    if common.get("saved_data", "tensor") != "tensor":
        return (
            f"saved_data {common['saved_data']} is supported on GPU and Ascend only; set it to "
            "tensor (`sonde probe compare` and `sonde probe graph` make statistics of it)"
        )
    return None


def _has_device() -> bool:
    """Whether this machine has an NPU or a GPU, so that the program may choose it."""
    return bool(glob.glob("/dev/davinci[0-9]*") or glob.glob("/dev/nvidia[0-9]*"))
