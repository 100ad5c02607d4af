"""``MINDSPORE_DUMP_CONFIG``: MindSpore's own dump of the kernels of compiled graphs, made of the
probe's configuration before MindSpore is imported.

What the user set goes on as it is, and is checked before the run starts: MindSpore raises at the
first compilation only, and then in C++. Errors: ``ProbeError`` with one line.
"""

import json
import os
import re
from typing import Any, Optional

from sonde._new_file import create_new
from sonde.torch.precision import _config, _errors
from sonde.torch.precision._config import Config

VARIABLE = "MINDSPORE_DUMP_CONFIG"
FILE = "kernel_kbyk_dump.json"
_PATH = re.compile(r"[A-Za-z0-9_/-]+")  # what MindSpore takes
_NET = re.compile(r"[A-Za-z0-9_-]+")
_REQUIRED = ("dump_mode", "net_name", "iteration", "input_output", "kernels", "support_device")
_DEVICES = list(range(8))


def prepare(config_path: str) -> Optional[str]:
    """Sets the variable for this process, unless the user has; the file that it names, None where
    nothing is to be dumped of graphs."""
    given = os.environ.get(VARIABLE)
    if given:
        check(given)
        return given
    config = _config.read(config_path)
    if config.task not in ("statistics", "tensor") or config.level == "debug":
        return None
    folder = os.path.abspath(str(config.dump_path))
    if not _PATH.fullmatch(folder):
        _errors.warning(
            f"{folder}: MindSpore dumps into paths of letters, digits, '-', '_' and '/' only; "
            "nothing of compiled graphs is dumped"
        )
        return None
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, FILE)
    with open(path, "w", encoding="utf-8", opener=create_new) as file:
        json.dump(settings(config, folder), file, indent=4)
    os.environ[VARIABLE] = path
    return path


def settings(config: Config, folder: str) -> "dict[str, Any]":
    """MindSpore's configuration for ours. A CPU has tensors only, from which statistics are made
    when they are compared."""
    modes = set(config.data_mode)
    sides = {"input": 1, "output": 2}
    chosen = [number for side, number in sides.items() if side in modes]
    return {
        "common_dump_settings": {
            "op_debug_mode": 0,
            "dump_mode": 1 if config.parts else 0,
            "path": folder,
            "net_name": "Net",
            "iteration": "|".join(map(str, config.step)) or "all",
            "saved_data": "tensor",
            "input_output": chosen[0] if len(chosen) == 1 else 0,
            "kernels": list(config.parts),
            "support_device": config.rank or _DEVICES,
        },
        "e2e_dump_settings": {"enable": not config.async_dump, "trans_flag": True},
    }


def check(path: str) -> None:
    """Of a configuration that the user wrote: what MindSpore would refuse later."""
    if not os.path.isabs(path):
        raise _errors.refuse(f"{VARIABLE}={path} must be an absolute path")
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except (OSError, ValueError) as problem:
        raise _errors.refuse(f"{VARIABLE}={path} cannot be read: {problem}") from None
    common = content.get("common_dump_settings") if isinstance(content, dict) else None
    if not isinstance(common, dict):
        raise _errors.refuse(f"{path} has no object common_dump_settings")
    lacks = [key for key in _REQUIRED if key not in common]
    if lacks:
        raise _errors.refuse(f"{path}: common_dump_settings has no {', '.join(lacks)}")
    _check_values(path, common)


def _check_values(path: str, common: "dict[str, Any]") -> None:
    folder = common.get("path", "")
    if not isinstance(folder, str) or (folder and not _PATH.fullmatch(folder)):
        raise _errors.refuse(
            f"{path}: path '{folder}' must be of letters, digits, '-', '_' and '/' only"
        )
    if not folder and not os.environ.get("MS_DIAGNOSTIC_DATA_PATH"):
        raise _errors.refuse(f"{path}: path is empty, and MS_DIAGNOSTIC_DATA_PATH is not set")
    if folder and not os.path.isabs(folder):
        raise _errors.refuse(f"{path}: path '{folder}' must be absolute")
    if not isinstance(common["net_name"], str) or not _NET.fullmatch(common["net_name"]):
        raise _errors.refuse(f"{path}: net_name must be of letters, digits, '-' and '_'")
    for key, known in (("dump_mode", (0, 1, 2)), ("input_output", (0, 1, 2))):
        if isinstance(common[key], bool) or common[key] not in known:
            raise _errors.refuse(f"{path}: {key} must be one of 0, 1, 2, not {common[key]!r}")
    if common.get("saved_data", "tensor") not in ("tensor", "statistic", "full"):
        raise _errors.refuse(f"{path}: saved_data must be one of tensor, statistic, full")
    if not isinstance(common["kernels"], list) or not isinstance(common["support_device"], list):
        raise _errors.refuse(f"{path}: kernels and support_device must be lists")
    _check_iterations(path, common["iteration"])


def _check_iterations(path: str, text: Any) -> None:
    """An item that is none matches nothing, in silence."""
    if text == "all":
        return
    items = text.split("|") if isinstance(text, str) else [""]
    for item in items:
        if not re.fullmatch(r"\d+(-\d+)?", item.strip()):
            raise _errors.refuse(
                f"{path}: iteration '{text}' must be 'all' or numbers and ranges like '0|3-5'"
            )
