"""The task ``diff_check``: checksums of each call beside those of an earlier dump (``bench_path``).

A call differs when it got what it got then and gave something else: all top-level tensors among its
inputs have the shapes and checksums of the earlier dump, and an output of equal shape has another.
"""

import json
import os
import zlib
from typing import Any, Optional

from sonde.torch.precision import _errors

_CHANGING = ("__i", "__setitem__")


class Difference:
    """The earlier dump of the step that is open."""

    def __init__(self, torch: Any, bench: str) -> None:
        self._torch = torch
        self._bench = bench
        self._entries: dict[str, Any] = {}
        self._calls: dict[str, tuple] = {}  # open calls: inputs, and whether they are as then

    def open(self, folder: str) -> None:
        """A step begins that is dumped to ``folder``; without a counterpart nothing differs."""
        self._entries = {}
        self._calls.clear()
        head, rank = os.path.split(folder)
        step = os.path.join(self._bench, os.path.basename(head))
        place = os.path.join(step, rank)
        if not os.path.isdir(place):
            names = sorted(os.listdir(step)) if os.path.isdir(step) else []
            processes = [name for name in names if name.startswith("proc")]
            place = os.path.join(step, processes[0]) if len(processes) == 1 else place
        path = os.path.join(place, "dump.json")
        try:
            with open(path, encoding="utf-8") as file:
                self._entries = json.load(file)["data"]
        except (OSError, ValueError, RecursionError, KeyError, TypeError) as problem:
            _errors.warning(f"nothing to compare this step with: {path}: {problem}")

    def inputs(self, name: str, args: tuple, kwargs: "dict[str, Any]") -> None:
        """A call begins."""
        expected = _tensors(self._entries.get(name), "input_args")
        if expected is None:
            return
        short = name.split(".")[-3]
        if short.startswith(_CHANGING) or (short.endswith("_") and not short.endswith("__")):
            args = tuple(self._copy(value) for value in args)
        found = [self._checksum(value) for value in args if self._is_tensor(value)]
        self._calls[name] = (args, kwargs, found == expected)

    def differs(self, name: str, outputs: tuple) -> "Optional[tuple[tuple, dict]]":
        """A call ends: its inputs if its results are not those of the earlier dump."""
        call = self._calls.pop(name, None)
        if call is None or not call[2]:
            return None
        expected = _tensors(self._entries[name], "output") or []
        found = [self._checksum(value) for value in outputs if self._is_tensor(value)]
        for ours, theirs in zip(found, expected):
            if ours[0] == theirs[0] and ours[1] != theirs[1]:
                return call[0], call[1]
        return None

    def _is_tensor(self, value: Any) -> bool:
        return isinstance(value, self._torch.Tensor)

    def _copy(self, value: Any) -> Any:
        return value.detach().clone() if self._is_tensor(value) else value

    def _checksum(self, tensor: Any) -> "tuple[list, str]":
        with self._torch.no_grad():
            flat = tensor.detach().cpu().contiguous().reshape(-1).view(self._torch.uint8)
            return list(tensor.shape), f"{zlib.crc32(flat.numpy()):08x}"


def _tensors(entry: Any, key: str) -> "Optional[list[tuple[Any, Any]]]":
    """Shapes and checksums of the top-level tensors of an entry; None without the key."""
    values = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(values, list):
        return None
    return [
        (value.get("shape"), value.get("md5"))
        for value in values
        if isinstance(value, dict) and value.get("type") == "torch.Tensor"
    ]
