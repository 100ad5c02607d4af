"""``MINDSPORE_DUMP_CONFIG``: MindSpore's own dump of the kernels of compiled graphs, made of the
probe's configuration before MindSpore is imported.

What the user set goes on as it is, and is checked before the run starts (``_dump_config``).
Errors: ``ProbeError`` with one line.
"""

import json
import os
from typing import Any, Optional

from sonde._new_file import create_new
from sonde.mindspore._dump_config import PATH, VARIABLE, check
from sonde.torch.precision import _config, _errors
from sonde.torch.precision._config import Config

FILE = "kernel_kbyk_dump.json"
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
    if not PATH.fullmatch(folder):
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
