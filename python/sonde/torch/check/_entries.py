"""The calls of functions in a ``dump.json``; modules are left out.

A name is ``Functional.linear.3``: kind, function (perhaps with a path: ``linalg.norm``), number.
Everything that cannot be used raises ``ValueError`` with a line for the user.
"""

import json
import os
from typing import Any, Optional

TENSOR_FOLDER = "dump_tensor_data"
DIRECTIONS = ("forward", "backward")


class Dump:
    """Forward and backward records by call, in the order of the file."""

    def __init__(self, path: str) -> None:
        self.path = path
        content = _read(path)
        data = content.get("data")
        if not isinstance(data, dict):
            raise ValueError(
                f"{path} has no calls: 'data' is missing; give the dump.json of a dump"
            )
        self.forward: dict[str, dict] = {}
        self.backward: dict[str, dict] = {}
        self.modules: dict[str, dict] = {}
        for name, record in data.items():
            call, _, direction = name.rpartition(".")
            if name.startswith(("Module.", "Cell.")):
                self.modules[name] = record
            elif direction in DIRECTIONS:
                (self.forward if direction == "forward" else self.backward)[call] = record
            else:
                raise ValueError(
                    f"{path}: '{name}' ends neither in .forward nor in .backward; "
                    "give a dump of the levels L1 or mix"
                )
        self.tensors: Optional[str] = None
        if content.get("dump_data_dir"):
            self.tensors = os.path.join(os.path.dirname(os.path.abspath(path)), TENSOR_FOLDER)


def _read(path: str) -> "dict[str, Any]":
    if not path.endswith(".json"):
        raise ValueError(f"{path} is no .json file; give the dump.json of a dump")
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except OSError as problem:
        raise ValueError(f"cannot read {path}: {problem.strerror}") from problem
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"{path} is not valid JSON: {problem}") from problem
    if not isinstance(content, dict):
        raise ValueError(f"{path} is no dump: it must be an object with 'data'")
    return content


def kind_and_function(call: str) -> "tuple[str, str]":
    """("Functional", "linear"); the function is empty where the name has another form."""
    parts = call.split(".")
    if len(parts) == 3:
        return parts[0], parts[1]
    if len(parts) == 4:
        return parts[0], f"{parts[1]}.{parts[2]}"
    return parts[0], ""


def without_repeats(forward: "dict[str, dict]") -> "dict[str, dict]":
    """Of calls of one function whose arguments agree in all but Max and Min, the first."""
    kept: dict[str, dict] = {}
    seen: dict[str, list] = {}
    for call, record in forward.items():
        arguments = [
            {key: value for key, value in argument.items() if key not in ("Max", "Min")}
            for argument in record.get("input_args", [])
            if isinstance(argument, dict)
        ]
        key = (arguments, record.get("input_kwargs"))
        known = seen.setdefault(call.rpartition(".")[0], [])
        if key not in known:
            known.append(key)
            kept[call] = record
    return kept
