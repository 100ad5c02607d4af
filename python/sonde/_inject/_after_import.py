"""Runs a function once a module has been imported, whoever imports it.

A module that is loaded already is handled at once. Whatever fails costs one line, nothing more.
"""

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Callable, Optional

from sonde._inject import _report

Change = Callable[[Any], None]


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the awaited modules as everybody else would, with a loader that tells us."""

    def __init__(self) -> None:
        self.changes: dict[str, list[Change]] = {}

    def find_spec(
        self, name: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if name not in self.changes:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)  # not of every hook of old
            if finder is self or find is None:
                continue
            spec = find(name, path, target)
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    _change_after(spec.loader, name, self.changes.pop(name))
                return spec
        return None


_finder = _Finder()


def when_imported(name: str, change: Change) -> None:
    """Calls ``change(module)`` after the module's own code has run, once however
    often it is asked for."""
    module = sys.modules.get(name)
    if module is not None:
        _apply(name, change, module)
        return
    changes = _finder.changes.setdefault(name, [])
    if change not in changes:
        changes.append(change)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def _change_after(loader: Any, name: str, changes: "list[Change]") -> None:
    original = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        del loader.exec_module  # the class's own again
        original(module)
        for change in changes:
            _apply(name, change, module)

    loader.exec_module = exec_module


def _apply(name: str, change: Change, module: Any) -> None:
    try:
        change(module)
    except Exception as problem:  # the program must go on without us
        _report.say(f"{name} is not as expected and stays as it is: {problem!r}", error=True)
