"""Puts wrappers in the place of MindSpore's functions while something is recorded.

Only the outermost wrapped call of a thread is recorded. Functions that ``jit`` compiles are parsed
from their source and must see the originals: wrappers are taken away while one compiles and runs.
"""

import functools
import importlib
import os
import threading
from typing import Any, Optional

from sonde.mindspore.precision._collector import Collector
from sonde.torch.precision._names import read_lists

_LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "support_wrap_ops.yaml")

# Category of the list: where the functions are, and what their entries begin with.
_PLACES = {
    "ops": ("mindspore.ops", "Functional"),
    "tensor": ("mindspore.Tensor", "Tensor"),
    "mint.ops": ("mindspore.mint", "Mint"),
    "mint.nn.functional": ("mindspore.mint.nn.functional", "MintFunctional"),
    "communication.comm_func": ("mindspore.communication.comm_func", "Distributed"),
    "mint.distributed": ("mindspore.mint.distributed", "MintDistributed"),
}


class Apis:
    """All wrappers of the process."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._places: list[tuple[Any, str, Any, bool]] = []  # owner, name, original, is its own
        self._customs: list[tuple[Any, str, str]] = []
        self._lock = threading.RLock()
        self.is_installed = False

    def install(self) -> None:
        """Wraps everything on the list that this MindSpore has."""
        with self._lock:
            if self.is_installed:
                return
            self.is_installed = True
            for category, names in read_lists(os.environ.get("SONDE_PROBE_OPS") or _LIST).items():
                if category in _PLACES:
                    path, prefix = _PLACES[category]
                    self._install_of(_find(path), prefix, names)
            for owner, name, prefix in self._customs:
                self._wrap(owner, name, prefix)

    def _install_of(self, owner: Any, prefix: str, names: "list[str]") -> None:
        for name in names if owner is not None else ():
            *steps, last = name.split(".")
            holder = functools.reduce(lambda at, step: getattr(at, step, None), steps, owner)
            if holder is not None:
                self._wrap(holder, last, prefix)

    def _wrap(self, owner: Any, name: str, prefix: str) -> None:
        original = getattr(owner, name, None)
        if not callable(original) or hasattr(original, "_sonde_probe"):
            return
        is_own = name in vars(owner)
        setattr(owner, name, self._wrapper(original, f"{prefix}.{name}"))
        self._places.append((owner, name, vars(owner)[name] and original, is_own))

    def _wrapper(self, original: Any, name: str) -> Any:
        collector = self._collector
        nesting = collector.nesting

        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not collector.running or nesting.is_inside:
                return original(*args, **kwargs)
            return collector.call(name, original, args, kwargs)

        call._sonde_probe = True  # type: ignore[attr-defined]
        return call

    def remove(self) -> None:
        """Puts every original back."""
        with self._lock:
            for owner, name, original, is_own in reversed(self._places):
                if is_own:
                    setattr(owner, name, original)
                else:
                    delattr(owner, name)
            self._places.clear()
            self.is_installed = False

    def add_custom(self, owner: Any, name: str, prefix: str) -> None:
        """One function more."""
        self._customs.append((owner, name, prefix))
        if self.is_installed:
            self._wrap(owner, name, prefix)

    def remove_custom(self, owner: Any, name: str) -> bool:
        """Ends that; False where it was none."""
        kept = [custom for custom in self._customs if custom[:2] != (owner, name)]
        is_known, self._customs = len(kept) < len(self._customs), kept
        if is_known and self.is_installed:
            self.remove()
            self.install()
        return is_known


def _find(path: str) -> Optional[Any]:
    module, _, name = path.rpartition(".")
    try:
        return importlib.import_module(path)
    except ImportError:
        try:
            return getattr(importlib.import_module(module), name, None)
        except ImportError:
            return None
