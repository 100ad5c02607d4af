"""Garbage collections of a server's front-end and engine, whose loops stand still meanwhile.

Only those of the oldest generation, which look at every object: a range "GC" each. Younger ones are
many and short. Only while the process records. Threads: any; Python calls back under its lock.
"""

import gc
from typing import Any

from sonde.vllm import _marks

_OLDEST = 2


class Collections:
    """Of one process."""

    def __init__(self) -> None:
        self._range = 0

    def start(self) -> None:
        """From now on; nothing where it runs."""
        if self._record not in gc.callbacks:
            gc.callbacks.append(self._record)

    def stop(self) -> None:
        """No more."""
        if self._record in gc.callbacks:
            gc.callbacks.remove(self._record)

    def _record(self, phase: str, info: "dict[str, Any]") -> None:
        native = _marks.recorder()
        if native is None or info.get("generation", 0) < _OLDEST:
            return
        if phase == "start":
            self._range = _marks.start(native, "GC")
        elif self._range:
            _marks.end(native, self._range)
            self._range = 0
