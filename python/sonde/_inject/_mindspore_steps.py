"""Finds out where the steps of a MindSpore program are, without its help.

``sonde.mindspore._cells`` reports what a program calls from outside all cells: a cell, or a
function that ``jit`` compiled. A step of training ends when each optimizer of the program has
stepped (``_rounds``): an optimizer is a cell, which the program calls itself or another cell calls.
Where optimizers run inside compiled code, and where there is none, outermost calls make the steps
(``_turns`` decides which of them begin one). Cells that were switched to evaluation after training
began are part of no step. Users read docs/reference/steps.md.

From the first ``sonde.mindspore.step()`` on none of this ends or begins a step. With ``mark``
(``--profile-step-mark``) steps are the ranges (``mstx``) of that name, and nothing else.
Threads: callbacks run on the thread that does the work, under a lock of this object.
"""

import sys
import threading
from typing import Any, Callable, Optional

from sonde import _step_mark
from sonde._inject import _rounds
from sonde._inject._turns import Turns
from sonde._seams import Around, Part, Seam
from sonde.mindspore import _cells, _marks

_OPTIMIZERS = ("mindspore.nn.optim.optimizer", "mindspore.experimental.optim.optimizer")


class StepHooks:
    """Calls ``begin()`` when a step begins, ``end()`` when one ends, ``rest()`` when a call has
    ended that may be its last; ``begin()`` then means that the step goes on."""

    def __init__(
        self,
        begin: Callable[[], None],
        end: Callable[[], None],
        rest: Callable[[], None] = lambda: None,
        mark: str = "",
    ) -> None:
        self._mark = mark
        self._stepped = Seam("steps of the program", _OPTIMIZERS[0], self._parts())
        self._stepped_newer = Seam(
            "steps of optimizers of torch's kind", _OPTIMIZERS[1], self._parts(), is_extra=True
        )
        self._begin = self._stepped.guarded(begin)
        self._end = self._stepped.guarded(end)
        self._rest = self._stepped.guarded(rest)
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.RLock()
        self._rounds = _rounds.Rounds()
        self._turns = Turns()
        self._is_marked = False
        self._has_optimizer = False
        self._steps_outside = False  # an optimizer has stepped outside compiled code
        self._is_open = False
        self._ends_here = False  # an optimizer ended the step inside the call that runs
        self._has_trained = False

    def install(self) -> None:
        """Puts the hooks in place."""
        _cells.install()
        if self._mark:
            begins, ends = self._stepped.guarded(self._open), self._stepped.guarded(self._end_step)
            _marks.follow(self._mark, begins, ends)
            return
        for seam in self.seams():
            seam.install()
        _step_mark.listen(self._stepped.guarded(self._marked))
        _cells.listen(
            self._stepped.guarded(self._call_begins), self._stepped.guarded(self._call_ended)
        )

    def seams(self) -> "tuple[Seam, ...]":
        """What is changed."""
        return (self._stepped, self._stepped_newer)

    def _parts(self) -> "tuple[Part, ...]":
        return (
            Part("Optimizer.__init__", self._optimizer_made),
            Part("Optimizer.__call__", self._optimizer_called),
        )

    def renew(self) -> None:
        """In the child of a fork, whose steps are its own; a thread may have held the lock."""
        self._forget()

    # Reports of the seams

    def _optimizer_made(self, optimizer: Any, *_: Any, **__: Any) -> Around:
        yield
        with self._lock:
            self._has_optimizer = True
            self._rounds.made(optimizer)

    def _optimizer_called(self, cell: Any, *_: Any, **__: Any) -> Around:
        yield
        with self._lock:
            self._steps_outside = True
            if self._rounds.stepped(cell) == _rounds.GOES_ON or self._is_marked:
                return
            if _cells.is_inside():
                self._ends_here = True
            else:
                self._end_step()

    def _call_begins(self, called: Any) -> None:
        with self._lock:
            if self._is_marked:
                self._open()
                return
            if _is_optimizer(called):
                if self._is_open:
                    self._begin()
                return
            if self._is_evaluation(called):
                return
            is_turn = self._turns.begins(called)
            if self._is_open and is_turn and not self._waits_for_optimizer(called):
                self._end_step()
            self._open()

    def _call_ended(self, called: Any) -> None:
        with self._lock:
            if self._ends_here and not self._is_marked:
                self._ends_here = False
                self._end_step()
            elif self._is_open and not self._is_marked:
                self._rest()

    def _marked(self) -> None:
        with self._lock:
            self._is_marked = True
            self._end_step()
            self._open()

    # Decisions

    def _waits_for_optimizer(self, called: Any) -> bool:
        """Whether the step that runs ends with an optimizer, not with this call."""
        if not self._has_optimizer:
            return False
        return self._steps_outside or not _is_compiled(called)

    def _is_evaluation(self, called: Any) -> bool:
        if not self._has_optimizer or not _is_cell(called):
            return False
        trains = bool(getattr(called, "training", False))
        self._has_trained = self._has_trained or trains
        return self._has_trained and not trains and not _holds_optimizer(called)

    def _open(self) -> None:
        with self._lock:
            self._is_open = True
            self._begin()

    def _end_step(self) -> None:
        with self._lock:
            if self._is_open:
                self._is_open = False
                self._end()


def _classes() -> "tuple[type, ...]":
    modules = [sys.modules.get(name) for name in _OPTIMIZERS]
    found = [getattr(module, "Optimizer", None) for module in modules]
    return tuple(kind for kind in found if isinstance(kind, type))


_kinds: "dict[type, bool]" = {}


def _is_optimizer(called: Any) -> bool:
    kind = type(called)
    known = _kinds.get(kind)
    if known is None:
        known = _kinds[kind] = issubclass(kind, _classes() or ())
    return known


def _is_cell(called: Any) -> bool:
    cell: Optional[type] = getattr(sys.modules.get("mindspore.nn.cell"), "Cell", None)
    return cell is not None and isinstance(called, cell)


def _holds_optimizer(cell: Any) -> bool:
    try:
        return any(_is_optimizer(below) for below in cell.cells())
    except Exception:  # noqa: BLE001: a class of the program's may have its own
        return False


def _is_compiled(called: Any) -> bool:
    """Whether a call runs as one graph, in which no cell is called."""
    if not _is_cell(called):
        return True  # a function that jit compiled
    mode = sys.modules.get("mindspore.context")
    if mode is None:
        return False
    return bool(mode._get_mode() == mode.GRAPH_MODE)
