"""What the tasks that look for NaN have of their own.

The task ``nan_watch``: nothing is recorded until a call gives NaN; that call is dumped.

Results are looked at by the native side (``adapt/probe/nan_watch.cc``), which calls here with
what it found. The folder of the dump is made then. ``nan_watch.json`` in it describes each find:
the call, the modules around it, and which of its inputs held NaN already.
"""

import json
import os
import re
import sys
from typing import Any, Callable

from sonde._new_file import create_new

_FILE = "nan_watch.json"
_IN_PLACE = re.compile(r"^([^_].*_|__(i(?!nvert)\w+|setitem)__)$")


class Finds:
    """What was found in one step's folder."""

    def __init__(self, torch: Any, has_nan: Callable[[Any], bool]) -> None:
        self._torch = torch
        self._has_nan = has_nan
        self._folder = ""
        self._finds: list[dict] = []
        self.count = 0  # in all folders

    def add(self, folder: str, name: str, values: "dict[str, Any]", model: Any) -> str:
        """Notes one find and gives a line for people. Raises ``OSError``.

        ``values``: inputs of the call by the names of their files.
        """
        modules = self._open_modules(model)
        # What a call is to write to (out=) proves nothing by its former contents.
        before = [
            key
            for key, value in values.items()
            if not (key + ".").startswith("kwargs.out.") and self._has_nan(value)
        ]
        self.count += 1
        find = {"name": name, "modules": modules, "inputs_with_nan": before}
        if folder != self._folder:
            self._folder, self._finds = folder, []
        self._finds.append(find)
        path = os.path.join(folder, _FILE)
        with open(path + ".part", "w", encoding="utf-8", opener=create_new) as file:
            json.dump(self._finds, file, indent=1)
        os.replace(path + ".part", path)
        place = ""
        if modules:
            place = f" in {modules[0]['name'] or 'the model'} ({modules[0]['class']})"
        cause = "its inputs held none"
        if before:
            cause = f"{', '.join(before)} held it before"
            if not name.endswith("backward"):
                cause += ' (from gradients? "data_mode": ["all"] watches them, too)'
        return f"{name}{place} has NaN in its results; {cause}; see {folder}"

    def _open_modules(self, model: Any) -> "list[dict[str, str]]":
        """The modules whose code runs now, innermost first."""
        found: list = []
        frame: Any = sys._getframe(1)
        while frame is not None:
            owner = frame.f_locals.get("self")
            if isinstance(owner, self._torch.nn.Module) and owner not in found[-1:]:
                found.append(owner)
            frame = frame.f_back
        names: dict[int, str] = {}
        models = model if isinstance(model, (list, tuple)) else [model]
        for item in models:
            if isinstance(item, self._torch.nn.Module):
                names.update((id(module), name) for name, module in item.named_modules())
        return [
            {"name": names.get(id(module), ""), "class": type(module).__name__} for module in found
        ]


def inputs_by_name(args: tuple, kwargs: "dict[str, Any]") -> "dict[str, Any]":
    """Arguments of a call as their files are named."""
    values = {f"input.{index}": value for index, value in enumerate(args)}
    values.update((f"kwargs.{key}", value) for key, value in kwargs.items())
    return values


def is_in_place(function: str) -> bool:
    """Whether a function of this name writes to its first argument."""
    return bool(_IN_PLACE.match(function))


def before_change(torch: Any, name: str, args: tuple, kwargs: "dict[str, Any]") -> tuple:
    """Arguments as they are after the call, but the first one as it is now where the call writes
    to it."""
    first = args[0] if args else None
    is_written = is_in_place(name.rsplit(".", 3)[1]) or kwargs.get("inplace") is True
    if not is_written or type(first) not in (torch.Tensor, torch.nn.Parameter):
        return args
    return (first.detach().clone().requires_grad_(first.requires_grad), *args[1:])
