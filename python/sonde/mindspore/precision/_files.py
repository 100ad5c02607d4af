"""The files of one step: ``dump.json``, ``stack.json``, ``construct.json`` and tensors."""

import json
import os
from typing import Any, Optional

import numpy

from sonde._new_file import create_new


class StepFiles:
    """Entries by name in their order, stacks by their frames, parents by name. Written by
    ``write()``; tensors at once."""

    def __init__(
        self, folder: str, head: "dict[str, Any]", saves: bool, alone: Optional[str] = None
    ) -> None:
        """``alone``: the one file that is written instead of the three."""
        self.folder = folder
        self._tensors = os.path.join(folder, "dump_tensor_data") if saves else None
        os.makedirs(self._tensors or folder, exist_ok=True)
        where = None if self._tensors is None else os.path.realpath(self._tensors)
        self._head = {**head, "dump_data_dir": where}
        self.entries: dict[str, Any] = {}
        self.parents: dict[str, Optional[str]] = {}
        self._stacks: dict[tuple[str, ...], list[str]] = {}
        self._is_changed = True
        self._alone = alone

    def add_stack(self, name: str, frames: "list[str]") -> None:
        """Where a forward call was made."""
        self._stacks.setdefault(tuple(frames), []).append(name)

    def touch(self, name: str, is_last: bool = False) -> "dict[str, Any]":
        """The entry of that name, made at its first value; ``is_last``: it moves to the end."""
        self._is_changed = True
        if is_last and name in self.entries:
            self.entries[name] = self.entries.pop(name)
        return self.entries.setdefault(name, {})

    def save(self, array: Any, name: str) -> str:
        """Writes one tensor; the file's name."""
        assert self._tensors is not None
        file = f"{name}.npy"
        with open(os.path.join(self._tensors, file), "wb", opener=create_new) as stream:
            numpy.save(stream, array)
        return file

    def write(self) -> None:
        """Writes what was collected; again, where more has come since."""
        if not self._is_changed:
            return
        self._is_changed = False
        if self._alone is not None:
            self._write(self._alone, {**self._head, "data": self.entries})
            return
        self._write("dump.json", {**self._head, "data": self.entries})
        self._write("construct.json", self.parents)
        groups = enumerate(self._stacks.items())
        self._write("stack.json", {str(i): [names, list(stack)] for i, (stack, names) in groups})

    def _write(self, name: str, content: Any) -> None:
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8", opener=create_new) as file:
            file.write(json.dumps(content, indent=1))
