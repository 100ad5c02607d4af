"""Finds out where the steps of a training or inference program are, without its help.

A step of training ends when each of its optimizers has stepped (``_rounds``); a step that a
gradient scaler leaves out counts. Step 0 begins with the first batch or call of a module in
training after an optimizer was made; the step in which the model is switched to evaluation begins
again when it is switched back. A program that makes no optimizer: each outermost call of its root
module, which is the first module that it calls, is a step of inference; where gradients are
computed behind such calls, a step lasts to the next of them. Calls that overlap, on several
threads, are steps beside each other. docs/reference/steps.md says it to users.

From the first ``sonde.torch.step()`` on, and where a name of steps was given, none of this ends or
begins a step.

All hooks are installed right after ``import torch``. Code that Dynamo traces sees them as nothing:
they ask ``is_compiling`` first. Cost: about a microsecond a step, nothing for other modules but
those that were compiled in place, whose calls pass through one function of ours.
"""

import functools
import threading
import weakref
from typing import Any, Callable, Optional

from sonde import _report, _step_mark
from sonde._inject import _dynamo, _rounds
from sonde._seams import Around, Part, Seam, when_imported

_DOUBT = (
    "where steps are is a guess: {why}; sonde.torch.step() at the end of an iteration or "
    "--profile-step-mark marks them"
)
_RATES = "optimizers step at different rates, a step ends when each has"


class StepHooks:
    """Calls ``begin()`` when a step begins after a pause, ``end()`` when one ends, and
    ``begin_beside()`` when one begins on this thread while another thread is in one.

    ``loads_data()`` is called where this process turns out to be a worker of a data loader,
    ``pause()`` where the step that runs is none after all: it begins again later. ``mark``: the
    name of the user scopes (``record_function``) that are the steps. ``begin`` may be called for a
    step that has begun already. Callbacks run on the thread that does the work, under a lock of
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
    ) -> None:
        self._torch = torch
        self._mark = mark
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
        self._seams = self.seams()
        self._begin = self._steps.guarded(begin)
        self._begin_beside = self._steps.guarded(begin_beside or begin)
        self._end = self._steps.guarded(end)
        self._pause = self._steps.guarded(pause)
        self._loads_data = loads_data
        self._take = self._steps.guarded(self._take_first)
        self._lock = threading.RLock()
        self._rounds = _rounds.Rounds()
        self._doubts: set[str] = set()
        self._is_marked = False  # the program says where steps are
        self._has_optimizer = False
        self._trained: Callable[[], Any] = lambda: None  # the module whose calls are training
        self._calls = 0  # of the root, on all threads
        self._awaits_backward = False  # a call that may be training has ended
        self._trains = False  # without an optimizer
        self._knows_kind = False  # what calls of the root are
        self._had_backward = False  # since the step began
        self._has_batches = False
        self._first_call: Optional[Any] = None  # the hook that waits for a module call
        self._first_thread = 0  # that made it
        self._root: Callable[[], Any] = lambda: None
        self._inside = threading.local()  # a step of the root on this thread
        self._is_compiling = _dynamo.compiling_test(torch)
        self._gradients = Seam(
            "gradients without an optimizer",
            "torch.autograd",
            (Part("backward", self._backward), Part("grad", self._backward)),
            is_extra=True,
        )

    def install(self) -> None:
        """Puts the hooks in place."""
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
        self._hook_first_module()

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
                (Part("Module.compile", self._compiled_in_place, optional=True),),
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
                (Part("OptimizedModule.__call__", replace=self._compiled_wrapper, optional=True),),
            ),
        )

    def ends_with_calls(self, module: Any = None) -> bool:
        """Whether steps are known by outermost calls alone, and no other thread is in one but the
        call of ``module``."""
        others = self._calls - (1 if module is not None and module is self._root() else 0)
        return not (self._has_optimizer or self._trains or self._is_marked or others > 0)

    def renew(self) -> None:
        """In the child of a fork, whose steps are its own; a thread may have held the lock."""
        self._lock = threading.RLock()
        self._rounds = _rounds.Rounds()
        self._calls = 0
        self._awaits_backward = self._trains = self._had_backward = self._knows_kind = False
        self._root = self._trained = lambda: None
        if self._first_call is None:
            self._hook_first_module()

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
            if self._root() is not None:  # called before: whatever it was, it is over
                self._trained = self._root
                if self._awaits_backward:
                    self._awaits_backward = False
                    self._end()

    def _optimizer_stepped(self, optimizer: Any) -> None:
        with self._lock:
            if self._is_marked:
                return
            is_over = self._rounds.stepped(optimizer) != _rounds.GOES_ON
            if self._rounds.is_doubtful:
                self._doubt(_RATES)
            if is_over:
                self._end()
                self._begin()

    def _doubt(self, why: str) -> None:
        if why not in self._doubts:
            self._doubts.add(why)
            _report.say(_DOUBT.format(why=why))

    # Steps that the program marks

    def _marked(self) -> None:
        with self._lock:
            self._is_marked = True
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

    # First module call, and steps of inference

    def _hook_first_module(self) -> None:
        hooks = self._torch.nn.modules.module

        def before_first_call(module: Any, args: Any) -> None:
            if self._is_compiling():
                return
            if self._take(module):
                with self._lock:
                    self._calls += 1
                    self._first_thread = threading.get_ident()
                    register = hooks.register_module_forward_hook
                    try:  # also where the call raises
                        self._first_call = register(after_first_call, always_call=True)
                    except TypeError:  # an older torch
                        self._first_call = register(after_first_call)

        def after_first_call(module: Any, args: Any, output: Any) -> None:
            if self._is_compiling() or module is not self._root():
                return
            if threading.get_ident() != self._first_thread:
                return  # called by another thread beside the first call
            with self._lock:
                if self._first_call is not None:
                    self._first_call.remove()
                    self._first_call = None
            if not getattr(self._inside, "value", False):  # the first call ended by an exception
                self._forward_ended()

        self._first_call = hooks.register_module_forward_pre_hook(before_first_call)

    def _take_first(self, module: Any) -> bool:
        """At the call of any module: begins the first step where none has begun yet. Whether the
        module became the root, so that the end of its call ends the step."""
        with self._lock:
            if self._first_call is None or self._root() is not None:
                return False
            if self._has_optimizer and not (module.training or self._torch.is_grad_enabled()):
                self._pause()  # it evaluates before it trains
                return False
            self._first_call.remove()
            self._first_call = None
            self._begin()
            if self._has_optimizer:
                self._trained = weakref.ref(module)
                return False
            self._hook_root(module)
            return True

    def _compiled_in_place(self, module: Any, *_: Any, **__: Any) -> Around:
        """Modules that run compiled code: torch's hooks do not see their calls, or its users are
        warned of hooks."""
        yield
        self._hook_compiled_call(module)

    def _hook_compiled_call(self, module: Any) -> None:
        """``module.compile()``: also who keeps the module's bound ``__call__`` comes by here."""
        compiled = module._compiled_call_impl
        if compiled is None:
            return

        @functools.wraps(compiled)
        def call(*args: Any, **kwargs: Any) -> Any:
            if self._is_compiling():
                return compiled(*args, **kwargs)
            return self._call_as_step(module, compiled, args, kwargs)

        module._compiled_call_impl = call

    def _compiled_wrapper(self, original: Any) -> Any:
        """``torch.compile(module)``: before the call begins, since the wrapper warns its user of
        hooks like ours."""
        if getattr(original, "__qualname__", "") != "OptimizedModule.__call__":
            return original  # inherited: of a torch that does not warn

        @functools.wraps(original)
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            if self._is_compiling():
                return original(module, *args, **kwargs)
            return self._call_as_step(module, original, (module, *args), kwargs)

        call._sonde_passes_on = True  # type: ignore[attr-defined]
        call._sonde_steps = self  # type: ignore[attr-defined]
        return call

    def _call_as_step(self, module: Any, function: Any, args: Any, kwargs: Any) -> Any:
        """Calls ``function``, as a step where the module is the root and no step is inside."""
        self._take(module)
        thread = self._inside
        is_step = not self._has_optimizer and module is self._root()
        if not is_step or getattr(thread, "value", False):
            return function(*args, **kwargs)
        thread.value = True
        try:
            self._forward_begins()
            return function(*args, **kwargs)
        finally:
            thread.value = False
            self._forward_ended()

    def _hook_root(self, root: Any) -> None:
        """Makes a step of each further outermost call of the root module.

        Both ways into a module are wrapped: who keeps its bound ``__call__`` over many calls, as
        generation loops do, passes by the class.
        """
        self._root = weakref.ref(root, self._root_died)
        for name in ("__call__", "_call_impl"):
            self._hook_method(type(root), name)

    def _root_died(self, _: Any) -> None:
        """Nothing of it will be called any more: without a backward, its last call was a step."""
        with self._lock:
            if self._awaits_backward and not self._had_backward:
                self._awaits_backward = False
                self._end()

    def _hook_method(self, root_class: Any, name: str) -> None:
        own = root_class.__dict__.get(name)
        if getattr(own, "_sonde_steps", None) is self:
            return  # a copy of the parent's, whose root was of this class, too

        @functools.wraps(own or getattr(self._torch.nn.Module, name))
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            # Looked up at each call: the adapter replaces the one of nn.Module while it records.
            function = own or getattr(super(root_class, root_class), name)
            if self._is_compiling():
                return function(module, *args, **kwargs)
            return self._call_as_step(module, function, (module, *args), kwargs)

        if own is None:
            call._sonde_passes_on = True  # type: ignore[attr-defined]
        call._sonde_steps = self  # type: ignore[attr-defined]
        setattr(root_class, name, call)

    def _forward_begins(self) -> None:
        with self._lock:
            if not self._is_marked:
                self._calls_begin()

    def _forward_ended(self) -> None:
        with self._lock:
            if not self._is_marked:
                self._calls_end()

    def _calls_begin(self) -> None:
        if self._calls == 0 and self._awaits_backward and (self._had_backward or not self._trains):
            self._awaits_backward = False
            self._end()  # of training, or of a first call that turned out to be none
            if not self._trains:
                self._gradients.undo()
        self._calls += 1
        self._had_backward = False
        if self._calls == 1:
            self._begin()
        else:
            self._begin_beside()

    def _calls_end(self) -> None:
        self._calls = max(0, self._calls - 1)
        if self._calls == 0 and self._may_train():
            self._awaits_backward = True
            return
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
