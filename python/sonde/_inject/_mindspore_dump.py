"""``sonde run --dump-config`` for a MindSpore program: the probe follows the outermost cells of
the program that are not compiled; compiled graphs are dumped by MindSpore itself
(``_kernel_dump``).

Threads: those of the steps, see ``_mindspore_steps``.
"""

import atexit
import os
import sys
from typing import Any, Optional

from sonde import _report
from sonde._inject._mindspore_steps import StepHooks
from sonde.mindspore import _cells
from sonde.mindspore.precision import PrecisionDebugger


class DumpRun:
    """One process; make it right after ``import mindspore``."""

    def __init__(self, config: str) -> None:
        self._debugger = PrecisionDebugger(config_path=config)
        self._hooks = StepHooks(self._begin, self._end)
        self._called: Optional[Any] = None
        self._is_over = False
        self._steps = 0
        os.register_at_fork(after_in_child=self._in_child)
        atexit.register(self._finish)

    def install(self) -> None:
        """Puts the hooks in place."""
        _cells.listen(self._remember, lambda called: None)  # before the steps ask for it
        self._hooks.install()

    def _remember(self, called: Any) -> None:
        self._called = called

    def _begin(self) -> None:
        cell = sys.modules["mindspore.nn.cell"].Cell
        is_cell = isinstance(self._called, cell)
        if self._is_over or not is_cell or _is_graph_mode():
            return
        try:
            self._debugger.start(model=self._called)
        except Exception as problem:  # noqa: BLE001: the boundary to the user's program
            self._is_over = True
            _report.log(f"this process is not dumped: {problem}", error=True)
            _report.note("failed", str(problem))

    def _end(self) -> None:
        if not self._is_over:
            self._debugger.stop()
            self._debugger.step()
            self._steps += 1

    def _finish(self) -> None:
        if self._is_over:
            return
        self._debugger.stop()
        folder = os.path.abspath(str(self._debugger.config.dump_path))
        if os.path.isdir(folder) and os.listdir(folder):
            _report.note("dump", folder)
            _report.log(f"dumped: {folder}")
        else:
            _report.log("nothing was dumped: no cell was called in a step that was asked for")

    def _in_child(self) -> None:
        self._is_over = True  # the files are the parent's


def _is_graph_mode() -> bool:
    context = sys.modules["mindspore.context"]
    return bool(context._get_mode() == context.GRAPH_MODE)
