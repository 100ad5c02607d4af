"""Finds out where the steps of a training or inference program are, without its help.

A step of training ends when an optimizer has stepped more often than any before (several
optimizers thus make one step a round); a step that a gradient scaler leaves out counts. Step 0
begins with the first batch or module call after an optimizer was made. A program that makes no
optimizer is inference: each outermost call of its root module, which is the first module that it
calls, is a step.

All hooks are installed right after ``import torch``. Code that Dynamo traces sees them as nothing:
they ask ``is_compiling`` first. Cost: about a microsecond a step, nothing for other modules but
those that were compiled in place, whose calls pass through one function of ours.
"""

import functools
import threading
import weakref
from typing import Any, Callable, Optional

from sonde._seams import Around, Part, Seam, when_imported

_DYNAMO = "torch._dynamo.eval_frame"


class StepHooks:
    """Calls ``begin()`` when a step begins after a pause, ``end()`` when one ends.

    ``loads_data()`` is called where this process turns out to be a worker of a data loader.
    ``begin`` may be called for a step that has begun already. Callbacks run on the thread that
    does the work, under a lock of this object.
    """

    def __init__(
        self,
        torch: Any,
        begin: Callable[[], None],
        end: Callable[[], None],
        loads_data: Callable[[], None] = lambda: None,
    ) -> None:
        self._torch = torch
        # Whatever fails in there ends the steps, and not the program.
        self._steps = Seam(
            "steps of the program",
            "torch.optim.optimizer",
            (Part("Optimizer.profile_hook_step", replace=self._wrapped_step),),
        )
        self._seams = self.seams()
        self._begin = self._steps.guarded(begin)
        self._end = self._steps.guarded(end)
        self._loads_data = loads_data
        self._take = self._steps.guarded(self._take_first)
        self._lock = threading.RLock()
        self._optimizer_steps: weakref.WeakKeyDictionary[Any, list[int]] = (
            weakref.WeakKeyDictionary()
        )
        self._rounds = 0
        self._has_optimizer = False
        self._has_batches = False
        self._first_call: Optional[Any] = None  # the hook that waits for a module call
        self._root: Callable[[], Any] = lambda: None
        self._inside = threading.local()  # a step of the root on this thread
        self._is_compiling = _compiling_test(torch)

    def install(self) -> None:
        """Puts the hooks in place."""
        for seam in self._seams:
            seam.install()
        compiler = Seam("optimizers that are compiled", _DYNAMO, (), is_extra=True)
        when_imported(_DYNAMO, compiler.guarded(self._hide_from_dynamo))
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
            Seam(
                "workers of data loaders",
                "torch.utils.data._utils.worker",
                (Part("_worker_loop", self._worker_begins),),
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
            # Of a torch that warns of hooks.
            Seam(
                "calls of compiled modules",
                _DYNAMO,
                (Part("OptimizedModule.__call__", replace=self._compiled_wrapper, optional=True),),
            ),
        )

    def renew(self) -> None:
        """In the child of a fork, whose steps are its own; a thread may have held the lock."""
        self._lock = threading.RLock()
        self._optimizer_steps.clear()
        self._rounds = 0
        self._root = lambda: None
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
            before = list(self._optimizer_steps.get(optimizer, [0]))
            result = original(scaler, optimizer, *args, **kwargs)
            if self._optimizer_steps.get(optimizer, [0]) == before and not self._is_compiling():
                self._optimizer_stepped(optimizer)
            return result

        return step

    def _counted(self, inner: Any) -> Any:
        """A ``step`` after which the step is over."""
        set_eval_frame = _frame_evaluation(self._torch)

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

    def _optimizer_stepped(self, optimizer: Any) -> None:
        with self._lock:
            count = self._optimizer_steps.get(optimizer)
            if count is None:
                count = self._optimizer_steps[optimizer] = [0]
            count[0] += 1
            if count[0] > self._rounds:
                self._rounds = count[0]
                self._end()
                self._begin()

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
                    self._first_call = hooks.register_module_forward_hook(after_first_call)

        def after_first_call(module: Any, args: Any, output: Any) -> None:
            if self._is_compiling() or module is not self._root():
                return
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
            self._first_call.remove()
            self._first_call = None
            self._begin()
            if self._has_optimizer:
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
        self._root = weakref.ref(root)
        for name in ("__call__", "_call_impl"):
            self._hook_method(type(root), name)

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
            self._begin()

    def _forward_ended(self) -> None:
        with self._lock:
            self._end()


def _compiling_test(torch: Any) -> Callable[[], bool]:
    """``torch.compiler.is_compiling``, which Dynamo takes for a constant."""
    compiler = getattr(torch, "compiler", None)
    return getattr(compiler, "is_compiling", None) or (lambda: False)


def _frame_evaluation(torch: Any) -> Callable[[Any], Any]:
    """Sets the compiler of this thread and returns the last one; nothing where torch has none."""
    found = torch._C
    for name in ("_dynamo", "eval_frame", "set_eval_frame"):
        found = getattr(found, name, None)
    return found if found is not None else lambda compiler: None
