"""``sonde run --dump-config``: dumps a program that knows nothing of it.

Recording begins with the first call of an outermost module and lasts to the end of the step, which
``_steps`` reports; between calls that alone make a step it rests. Calls that evaluate what the
program trains are left out: eval mode, no gradients, and the module was called for training before.
With a control address (``--control``) nothing is recorded until ``POST /dump`` asks for steps.
"""

import atexit
import os
import weakref
from typing import Any, Callable, Optional

from sonde import _report
from sonde._inject import _dump_control
from sonde._inject._steps import StepHooks
from sonde.torch.precision import (
    PrecisionDebugger,
    _config,
    _errors,
    _function_modes,
    _native_probe,
)


class Steps:
    """The steps that orders ask for. Threads: ``order()`` from the control thread."""

    def __init__(self) -> None:
        self.steps = 0  # so far, recorded or not
        self.is_running = False  # a step has begun
        self._orders: list[tuple[int, int]] = []  # first step, step after the last

    def order(self, order: "tuple[int, int]") -> None:
        """So many steps, the first of them this one (as ``from_step``) or the next."""
        count, first = order
        begin = max(first - 1, self.steps + (1 if self.is_running else 0))
        self._orders.append((begin, begin + count))

    def wants(self) -> bool:
        """Whether the step that begins is recorded."""
        self._orders = [order for order in self._orders if order[1] > self.steps]
        return any(begin <= self.steps for begin, _ in self._orders)


def read_order(content: Any) -> "tuple[int, int]":
    """Number of steps, and where they begin, of ``{"next": 2}``. Raises ``ValueError``."""
    if not isinstance(content, dict):
        raise ValueError("an order of a dump must be an object")
    for key in content:
        if key not in ("next", "from_step"):
            raise ValueError(f"{key} is not known; known is next, a number of steps")
    count, first = content.get("next", 1), content.get("from_step", 0)
    if type(count) is not int or count < 1:
        raise ValueError("next must be a number of at least 1")
    if type(first) is not int or first < 0:
        raise ValueError("from_step must be a number of at least 0")
    return count, first


def _ranges(steps: "list[int]") -> str:
    """ "step 3", "steps 0-2, 5"."""
    return ("step " if len(steps) == 1 else "steps ") + _errors.ranges(steps)


def _entries(folder: str) -> int:
    """Calls in a rank's dump: each begins a line."""
    try:
        with open(os.path.join(folder, "dump.json"), "rb") as file:
            return sum(line.startswith(b'  "') for line in file)
    except OSError:
        return 0


def _who(rank: Optional[int]) -> str:
    """Which of several processes speaks, by the name of its folder; empty where there is one."""
    if rank is not None:
        return f" of rank {rank}"
    return "" if _errors.rank_of_launcher() is None else f" of process {os.getpid()}"


class DumpRun:
    """One process; make it right after ``import torch``."""

    def __init__(self, torch: Any, config: str) -> None:
        self._torch = torch
        self._config = config
        self._debugger: Optional[PrecisionDebugger] = None
        self._steps = Steps()
        self._is_waiting = bool(os.environ.get("SONDE_CONTROL"))
        if self._is_waiting:
            _config.read(config)  # refused before anything runs
        else:
            self._debugger = self._make()
        # Files are of one step at a time: calls that overlap on several threads share one.
        self._hooks = StepHooks(torch, lambda: None, self._finish_step, rest=self._rest, joins=True)
        self._is_recording = False
        self._rests = False  # the step may go on with another module's call
        self._is_wanted = False  # the step that runs, where steps are ordered
        # Outermost modules: those that were started, those that were called for training.
        self._roots: weakref.WeakSet[Any] = weakref.WeakSet()
        self._trained: weakref.WeakSet[Any] = weakref.WeakSet()
        self._is_evaluating = False
        self._evaluated = 0  # calls that were left out
        self._is_over = False  # it failed, or this is a fork
        os.register_at_fork(after_in_child=self._in_child)
        atexit.register(self._say_what_was_dumped)

    def install(self) -> None:
        """Puts the hooks in place."""
        self._hooks.install(sees_calls=False)
        module_class = self._torch.nn.Module
        module_class.__call__ = _native_probe.outermost(module_class.__call__, self._begin)
        if self._is_waiting:
            rank, size = (int(os.environ.get(name, "") or 0) for name in ("RANK", "WORLD_SIZE"))
            address = os.environ["SONDE_CONTROL"]
            _dump_control.listen(address, rank, size, self._steps, read_order)

    def _begin(self, module: Any) -> "Optional[Callable[[], None]]":
        """An outermost call begins: its modules are hooked, recording is on. What is returned is to
        be called at its end."""
        if self._is_over or self._leaves_out(module):
            return None
        is_traced = self._torch._C._get_tracing_state() is not None  # torch.jit.trace's own calls
        if is_traced or isinstance(module, self._torch.jit.ScriptModule):
            return None
        if self._debugger is not None:
            # The one before may be gone but for this: then nothing can come behind it.
            self._debugger.service.collector.model = module
        has_entered = self._hooks.calls.enter(module)
        self._record(module)
        return self._hooks.calls.leave if has_entered else None

    def _record(self, module: Any) -> None:
        if self._is_over or (self._is_recording and module in self._roots):
            return
        if self._is_waiting and not self._is_recording:
            if not self._steps.is_running:
                self._steps.is_running = True
                self._is_wanted = self._steps.wants()
            if not self._is_wanted:
                return
        try:
            _function_modes.run(self._torch, self._start, module)
            self._roots.add(module)
            self._is_recording = True
        except Exception as problem:  # noqa: BLE001: the boundary to the user's program
            self._fail(problem)

    def _leaves_out(self, module: Any) -> bool:
        """Whether the call evaluates what the program trains: such calls belong to no update."""
        learns = self._torch.is_grad_enabled()
        if learns and module.training:
            self._trained.add(module)
        is_evaluation = not learns and (
            (not module.training and module in self._trained)
            # A criterion behind it, which nobody switches.
            or (self._is_evaluating and next(module.parameters(), None) is None)
        )
        if is_evaluation:
            self._evaluated += 1
        if is_evaluation != self._is_evaluating:
            self._is_evaluating = is_evaluation
            if self._is_recording and self._debugger is not None:
                if is_evaluation:
                    self._debugger.stop()
                else:
                    self._roots.discard(module)  # started again, in the same step
        return is_evaluation

    def _make(self) -> PrecisionDebugger:
        debugger = PrecisionDebugger(config_path=self._config)
        debugger.service.is_driven = True
        return debugger

    def _start(self, module: Any) -> None:
        if self._debugger is None:
            self._debugger = self._make()
        if self._is_waiting and not self._is_recording:
            self._debugger.set_init_step(self._steps.steps)
        self._debugger.service.modules.separates_models = True
        self._debugger.start(model=module)

    def _rest(self) -> None:
        """A call has ended that may be the step's last."""
        if self._is_over or not self._is_recording or self._debugger is None:
            return
        self._rests = True
        self._is_recording = False
        try:
            self._debugger.stop()
        except Exception as problem:  # noqa: BLE001: the boundary to the user's program
            self._fail(problem)

    def _finish_step(self) -> None:
        if self._is_over:
            return
        was_recording = self._is_recording or self._rests
        self._is_recording = self._rests = False
        if was_recording or self._steps.is_running:
            self._steps.steps += 1
            self._steps.is_running = False
        if not was_recording or self._debugger is None:
            return
        try:
            self._debugger.stop()
            self._debugger.step()
            if self._is_waiting and not self._steps.wants():
                self._debugger.rest()
            if self._debugger.service.rests:
                self._roots.clear()  # none is hooked any more
        except Exception as problem:  # noqa: BLE001: the boundary to the user's program
            self._fail(problem)

    def _say_what_was_dumped(self) -> None:
        """One line at the end: which steps, how many entries, where."""
        if self._debugger is None or (self._is_over and not self._debugger.service.recorded):
            return
        service = self._debugger.service
        who = _who(service.rank)
        if service.watched:
            count, where = service.collector.finds.count, service.config.dump_path
            found = f"found it in {count} call{'s'[: count > 1]}, see {where}" if count else "none"
            _report.log(f"watched {_ranges(sorted(service.watched))}{who} for NaN: {found}")
            return
        if not service.recorded:
            _report.log(
                f"no step{who} was dumped: no call of a module was seen in a step to be recorded"
            )
            return
        service.stop()
        entries = sum(map(_entries, service.recorded.values()))
        _report.log(
            f"dumped {_ranges(sorted(service.recorded))}{who}: {entries} entries in "
            f"{service.config.dump_path}"
            + (f"; {self._evaluated} calls of evaluation left out" if self._evaluated else "")
        )

    def _in_child(self) -> None:
        self._is_over = True

    def _fail(self, problem: BaseException) -> None:
        self._is_over = True
        if self._debugger is not None:
            self._debugger.rest()
        _report.log(f"the dump of this process ends here: {problem}", error=True)
