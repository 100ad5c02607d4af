"""Captures of MindSpore programs: see ``sonde.session._recording``."""

import sys
from dataclasses import dataclass
from typing import Any, Callable, Optional

from sonde import _native
from sonde.mindspore import _adapter, _cells, _kernel_shapes, _marks
from sonde.session import _recording

SPAN_SUFFIX = "_ascend_ms"


@dataclass
class Settings(_recording.Settings):
    """What to record and where to put it."""

    span_suffix: Optional[str] = SPAN_SUFFIX


class Recording(_recording.Recording):
    """One capture after another with the same settings. Raises ``OSError``."""

    def __init__(self, settings: Settings, facts: "Callable[[], dict[str, Any]]") -> None:
        super().__init__(settings, facts)
        self._graphs: Optional[_kernel_shapes.Watcher] = None
        if settings.record_shapes:
            _kernel_shapes.ask()  # also for graphs that are compiled before the first capture

    def attach(self) -> None:
        """Makes MindSpore recordable."""
        _adapter.attach()
        _cells.install()
        _marks.install()
        if self.settings.record_shapes:
            _kernel_shapes.ask()

    def write_facts(self) -> None:
        """Also what the kernels of compiled graphs take, where shapes are recorded."""
        super().write_facts()
        if not self.settings.record_shapes:
            return
        for key, table in _kernel_shapes.tables().items():
            _write_table(key, table)

    def _begin_helpers(self) -> None:
        super()._begin_helpers()
        if self.settings.record_shapes:
            self._graphs = _kernel_shapes.Watcher(_write_table)
            self._graphs.start()

    def _end_helpers(self) -> None:
        super()._end_helpers()
        if self._graphs is not None:
            self._graphs.stop()
            self._graphs = None

    def stop(self) -> str:
        """Stops recording; returns the span folder, which is complete. What the program has called
        runs on other threads: it is waited for."""
        wait_for_operators()
        return super().stop()


def _write_table(key: str, table: Any) -> None:
    _native.recorder().metadata(key, _native.json_text(table))


def wait_for_operators() -> None:
    """Until every operator that was called has run."""
    for name in ("mindspore.graph.api", "mindspore.common.api"):
        executor = getattr(sys.modules.get(name), "_pynative_executor", None)
        if executor is not None:
            executor.sync()
            return
