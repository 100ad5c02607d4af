"""Finds out where the steps of a training or inference program are, without its help.

A step of training ends when each of its optimizers has stepped (``_rounds``); a step that a
gradient scaler leaves out counts. Step 0 begins with the first batch or call of a module in
training after an optimizer was made; the step in which the model is switched to evaluation begins
again when it is switched back. In a program without an optimizer outermost calls of modules make
the steps (``_calls`` sees them, ``_turns`` decides which of them begin one); where gradients are
computed behind such calls, a step lasts to the next of them. Calls that overlap, on several
threads, are steps in parallel. Users read docs/reference/steps.md; a profile and a
dump both take their steps from here.

From the first ``sonde.torch.step()`` on, and where a name of steps was given, none of this ends or
begins a step.

All hooks are installed right after ``import torch``. Code that Dynamo traces sees them as nothing:
they ask ``is_compiling`` first. Cost: some microseconds a step, nothing for inner modules but
those that were compiled in place, whose calls pass through one function of ours.
"""

import functools
import threading
import weakref
from typing import Any, Callable, Optional

from sonde import _report, _step_mark
from sonde._inject import _dynamo, _rounds
from sonde._inject._calls import OutermostCalls
from sonde._inject._turns import Turns
from sonde._seams import Around, Part, Seam, when_imported

_DOUBT = (
    "where steps are is a guess: {why}; sonde.torch.step() at the end of an iteration or "
    "--profile-step-mark marks them"
)
_RATES = "optimizers step at different rates, a step ends when each has"


class StepHooks:
    """Calls ``begin()`` when a step begins after a pause, ``end()`` when one ends, and
    ``begin_beside()`` when one begins on this thread while another thread is in one. ``rest()``: a
    call has ended that may be the step's last; ``begin()`` then means that the step goes on,
    ``end()`` that it was the last.

    ``loads_data()`` is called where this process turns out to be a worker of a data loader,
    ``pause()`` where the step that runs is none after all: it begins again later. ``mark``: the
    name of the user scopes (``record_function``) that are the steps. ``joins``: calls that overlap
    are one step, which ends with the last of them. ``begin`` may be called for a step that has
    begun already. Callbacks run on the thread that does the work, under a lock of
    this object.
    """

    def __init__(
        self,
        torch: Any,
        begin: Callable[[], None],
        end: Callable[[], None],
        loads_data: Callable[[], None] = lambda: None,
        pause: Callable[[], None] = lambda: None,
        begin_beside: Optional[Callable[[], None]] = None,
        mark: str = "",
        rest: Callable[[], None] = lambda: None,
        joins: bool = False,
    ) -> None:
        self._torch, self._mark, self._joins = torch, mark, joins
        # Whatever fails in there ends the steps, and not the program.
        self._steps = Seam(
            "steps of the program",
            "torch.optim.optimizer",
            (Part("Optimizer.profile_hook_step", replace=self._wrapped_step),),
        )
        self._workers = Seam(
            "workers of data loaders",
            "torch.utils.data._utils.worker",
            (Part("_worker_loop", self._worker_begins),),
        )
        self.calls = OutermostCalls(
            torch, self._steps.guarded(self._call_begins), self._steps.guarded(self._call_ended)
        )
        self._seams = self.seams()
        self._begin = self._steps.guarded(begin)
        self._begin_beside = self._steps.guarded(begin_beside or begin)
        self._end = self._steps.guarded(end)
        self._pause = self._steps.guarded(pause)
        self._rest = self._steps.guarded(rest)
        self._loads_data = loads_data
        self._doubts: set[str] = set()
        self._is_marked = False  # the program marks its steps
        self._has_optimizer = False
        self._updated = False  # an optimizer has ended a step
        self._has_batches = False
        self._hooks_classes = True
        self._is_compiling = _dynamo.compiling_test(torch)
        self._gradients = Seam(
            "gradients without an optimizer",
            "torch.autograd",
            (Part("backward", self._backward), Part("grad", self._backward)),
            is_extra=True,
        )
        self._forget_steps()

    def _forget_steps(self) -> None:
        """No step has begun in this process."""
        self._lock = threading.RLock()
        self._rounds = _rounds.Rounds()
        self._turns = Turns()
        self._trained: Callable[[], Any] = lambda: None  # the module whose calls are training
        self._root: Callable[[], Any] = lambda: None  # what the program calls first
        self._awaits_training = True  # its first call, after an optimizer was made
        self._running = 0  # outermost calls, on all threads
        self._overlap = False  # a call began while another ran
        self._rests = False  # the last call has ended, and the step may go on
        self._rest_thread = 0  # that made it
        self._awaits_backward = False  # a call that may be training has ended
        self._trains = False  # without an optimizer
        self._knows_kind = False  # what calls of the root are
        self._had_backward = False  # since the step began

    def install(self, sees_calls: bool = True) -> None:
        """Puts the hooks in place. ``sees_calls`` false: the owner reports to ``calls`` the
        outermost calls."""
        self._hooks_classes = sees_calls
        if self._mark:
            self._is_marked = True
            self._scopes().install()
            self._workers.install()
            return
        _step_mark.listen(self._steps.guarded(self._marked))
        for seam in self._seams:
            seam.install()
        compiler = Seam("optimizers that are compiled", _dynamo.EVAL_FRAME, (), is_extra=True)
        when_imported(_dynamo.EVAL_FRAME, compiler.guarded(self._hide_from_dynamo))
        if sees_calls:
            self.calls.watch()

    def seams(self) -> tuple[Seam, ...]:
        """What is changed: a step needs the first; the others are of some programs."""
        return (
            self._steps,
            Seam(
                "first batches",
                "torch.utils.data.dataloader",
                (Part("DataLoader.__iter__", self._first_batch),),
            ),
            self._workers,
            Seam(
                "optimizers that have not stepped",
                "torch.optim.optimizer",
                (Part("Optimizer._patch_step_function", self._optimizer_made, optional=True),),
                is_extra=True,
            ),
            Seam(
                "calls of modules that were compiled in place",
                "torch.nn.modules.module",
                (Part("Module.compile", self.calls.compiled_in_place, optional=True),),
            ),
            Seam(
                "steps that a gradient scaler leaves out",
                "torch.amp.grad_scaler",
                (Part("GradScaler.step", replace=self._wrapped_scaler, optional=True),),
            ),
            Seam(
                "evaluation between steps",
                "torch.nn.modules.module",
                (Part("Module.train", replace=self._wrapped_mode),),
            ),
            # Of a torch that warns of hooks.
            Seam(
                "calls of compiled modules",
                _dynamo.EVAL_FRAME,
                (
                    Part(
                        "OptimizedModule.__call__",
                        replace=self.calls.compiled_wrapper,
                        optional=True,
                    ),
                ),
            ),
        )

    def renew(self) -> None:
        """In the child of a fork, whose steps are its own; a thread may have held the lock."""
        self._forget_steps()
        self.calls.renew()
        if self._hooks_classes and not self._mark:
            self.calls.watch()

    # Optimizers

    def _wrapped_step(self, original: Any) -> Any:
        """Every optimizer class has its ``step`` wrapped by this static method when first used."""

        @functools.wraps(original)
        def profile_hook_step(step_function: Any) -> Any:
            self._has_optimizer = True
            return self._counted(original(step_function))

        return profile_hook_step

    def _wrapped_scaler(self, original: Any) -> Any:
        """A scaler leaves the optimizer's step out where gradients overflowed: the iteration is a
        step all the same, and those behind it keep their numbers."""

        @functools.wraps(original)
        def step(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            before = self._rounds.total(optimizer)
            result = original(scaler, optimizer, *args, **kwargs)
            if self._rounds.total(optimizer) == before and not self._is_compiling():
                self._optimizer_stepped(optimizer)
            return result

        return step

    def _counted(self, inner: Any) -> Any:
        """A ``step`` after which the step is over."""
        set_eval_frame = _dynamo.frame_evaluation(self._torch)

        @functools.wraps(inner)
        def step(*args: Any, **kwargs: Any) -> Any:
            result = inner(*args, **kwargs)
            if not self._is_compiling():
                compiler = set_eval_frame(None)  # which would compile what follows
                try:
                    self._optimizer_stepped(args[0])
                finally:
                    set_eval_frame(compiler)
            return result

        return step

    def _hide_from_dynamo(self, eval_frame: Any) -> None:
        """``torch.compile(optimizer.step)`` compiles what it would without us: our frame is run
        as it is, not broken into pieces of its own."""
        skip_code = getattr(eval_frame, "skip_code", None)
        if skip_code is None:
            skip_code = self._torch._C._dynamo.eval_frame.skip_code
        skip_code(self._counted(lambda: None).__code__)

    def _optimizer_made(self, optimizer: Any, *_: Any, **__: Any) -> None:
        with self._lock:
            self._rounds.made(optimizer)
            was_first, self._has_optimizer = not self._has_optimizer, True
            if not was_first or self._root() is None:
                return
            self._trained = self._root
            if self._awaits_backward and self._had_backward:  # made late: the step is of training
                self._awaits_backward = self._awaits_training = False
                return
            self._end_calls()  # called before: whatever it was, it is over
            if self._hooks_classes:
                self.calls.watch()

    def _optimizer_stepped(self, optimizer: Any) -> None:
        with self._lock:
            if self._is_marked:
                return
            is_over = self._rounds.stepped(optimizer) != _rounds.GOES_ON
            if self._rounds.is_doubtful:
                self._doubt(_RATES)
            if is_over:
                self._updated = True
                self._end()
                self._begin()

    def _doubt(self, why: str) -> None:
        if why not in self._doubts:
            self._doubts.add(why)
            _report.log(_DOUBT.format(why=why))

    # Steps that the program marks

    def _marked(self) -> None:
        with self._lock:
            is_same = self._updated and not (self._is_marked or self._rounds.is_under_way)
            self._is_marked = True
            if is_same:  # as the end by an optimizer's step, right before
                return
            self._rests = self._awaits_backward = False
            self._end()
            self._begin()

    def _scopes(self) -> Seam:
        return Seam(
            f"scopes named {self._mark}",
            "torch.autograd.profiler",
            (
                Part("record_function.__enter__", self._scope_begins),
                Part("record_function.__exit__", self._scope_ends),
            ),
        )

    def _scope_begins(self, scope: Any, *_: Any, **__: Any) -> None:
        if scope.name == self._mark:
            with self._lock:
                self._calls_begin()

    def _scope_ends(self, scope: Any, *_: Any, **__: Any) -> Around:
        yield
        if scope.name == self._mark:
            with self._lock:
                self._calls_end()

    # Evaluation

    def _wrapped_mode(self, original: Any) -> Any:
        """``Module.train(mode)``, by which ``eval()`` comes, too, for each module inside."""
        changed = self._steps.guarded(self._mode_changed)

        @functools.wraps(original)
        def train(module: Any, mode: bool = True) -> Any:
            if self._is_compiling() or module is not self._trained():
                return original(module, mode)
            before = module.training
            result = original(module, mode)
            if before != mode:
                changed(mode)
            return result

        return train

    def _mode_changed(self, trains: bool) -> None:
        with self._lock:
            if self._is_marked or not self._has_optimizer:
                return
            if trains:
                self._begin()
            else:
                self._pause()

    # First batch

    def _first_batch(self, *_: Any, **__: Any) -> None:
        if self._has_optimizer and not self._has_batches:
            self._has_batches = True
            with self._lock:
                self._begin()

    def _worker_begins(self, *_: Any, **__: Any) -> None:
        """What runs in a worker, found there by its name if the worker is not forked."""
        self._loads_data()

    # Outermost calls of modules

    def _call_begins(self, module: Any) -> bool:
        """Whether the end of the call means something, too."""
        if self._has_optimizer and not self._awaits_training:
            return False  # most calls
        with self._lock:
            if self._is_marked:
                self.calls.unwatch()
                return False
            if self._has_optimizer:
                self._training_call(module)
                return False
            if self._root() is None:
                self._root = weakref.ref(module, self._root_died)
                if self._hooks_classes:
                    self.calls.hook_class(type(module))
            self.calls.unwatch()
            self._calls_begin(module)
            return True

    def _training_call(self, module: Any) -> None:
        if not self._awaits_training:
            return
        if not (module.training or self._torch.is_grad_enabled()):
            self._pause()  # it evaluates before it trains
            return
        self._awaits_training = False
        self._trained = weakref.ref(module)
        self.calls.unwatch()
        self._begin()

    def _call_ended(self) -> None:
        with self._lock:
            if self._is_marked:
                self._running = max(0, self._running - 1)
                return
            self._calls_end()
            if self._running == 0 and self._hooks_classes:
                self.calls.watch()

    def _root_died(self, _: Any) -> None:
        """Nothing of it will be called any more: without a backward, its last call was a step."""
        with self._lock:
            if self._awaits_backward and not self._had_backward:
                self._end_calls()

    def _calls_begin(self, module: Any = None) -> None:
        if self._running == 0:
            self._overlap = False
            self._settle(module)
        self._running += 1
        self._had_backward = False
        if self._running == 1:
            self._begin()
        else:
            self._overlap = True
            self._begin_beside()

    def _settle(self, module: Any) -> None:
        """A call begins while no other runs: whether the step that rests is over."""
        begins = module is None or self._turns.begins(module)
        begins = begins or threading.get_ident() != self._rest_thread
        if self._awaits_backward:
            if self._had_backward or (begins and not self._trains):
                self._end_calls()  # of training, or of calls that turned out to be none
                if not self._trains:
                    self._gradients.undo()
        elif begins:
            self._end_calls()
        self._rests = False

    def _end_calls(self) -> None:
        """The step that waits for what comes is over."""
        if self._rests or self._awaits_backward:
            self._rests = self._awaits_backward = False
            self._end()

    def _calls_end(self) -> None:
        self._running = max(0, self._running - 1)
        is_last = self._running == 0
        if self._joins and not is_last:
            return
        self._rest_thread = threading.get_ident()
        if is_last and (self._awaits_backward or self._may_train()):
            self._awaits_backward = True
        elif is_last and not (self._overlap or self._mark):
            self._rests = True
            self._rest()
        else:
            self._end()

    # Training without an optimizer

    def _may_train(self) -> bool:
        """Whether what follows a call may be its backward: nobody knows that of the first."""
        if self._trains or self._mark:
            return self._trains
        root = self._root()
        is_main = threading.current_thread() is threading.main_thread()
        if self._knows_kind or not is_main or not self._torch.is_grad_enabled():
            return False
        if root is None or not root.training:
            return False
        self._knows_kind = True
        self._gradients.install()
        return True

    def _backward(self, *_: Any, **__: Any) -> None:
        with self._lock:
            self._trains = self._trains or self._awaits_backward
            self._had_backward = True
