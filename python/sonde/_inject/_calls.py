"""Reports the outermost calls of modules in each thread: when one begins and when it has ended.

What a program calls first is hooked in its class, so that calls of it cost a microsecond and its
inner modules nothing. Other modules that the program calls are met by a hook for all modules, which
is there only while none of them runs. Calls that torch's compiler took over pass by neither: their
ways in are wrapped (``compiled_in_place``, ``compiled_wrapper``). Code that Dynamo traces sees all
of this as nothing, calls of ``torch.jit.trace`` are none.

Threads: any.
"""

import functools
import threading
from typing import Any, Callable, Optional

from sonde._inject import _dynamo
from sonde._seams import Around


class OutermostCalls:
    """``begins(module)`` is asked at the begin of a call; where it returns True ``ends()`` follows
    on the same thread, also when the call raised."""

    def __init__(
        self, torch: Any, begins: Callable[[Any], Optional[bool]], ends: Callable[[], None]
    ) -> None:
        self._torch = torch
        self._begins = begins
        self._ends = ends
        self._inside = threading.local()  # a call for which begins() returned True
        self._is_compiling = _dynamo.compiling_test(torch)
        core = getattr(torch, "_C", None)
        self._is_traced = getattr(core, "_get_tracing_state", lambda: None)
        self._lock = threading.Lock()
        self._watch: Optional[Any] = None  # the hook of all modules

    def enter(self, module: Any) -> bool:
        """A call of ``module`` begins on this thread; True: ``leave()`` must follow."""
        inside = self._inside
        if getattr(inside, "value", False) or self._is_traced() is not None:
            return False
        if not self._begins(module):
            return False
        inside.value = True
        return True

    def leave(self) -> None:
        """The call that was entered has ended."""
        self._inside.value = False
        self._ends()

    def watch(self) -> None:
        """Looks for calls of any module from now on."""
        with self._lock:
            if self._watch is None:
                register = self._torch.nn.modules.module.register_module_forward_pre_hook
                self._watch = register(self._meet)

    def unwatch(self) -> None:
        """Until ``watch()`` only hooked classes and compiled modules are seen."""
        with self._lock:
            if self._watch is not None:
                self._watch.remove()
                self._watch = None

    def _meet(self, module: Any, args: Any) -> None:
        if self._is_compiling() or not self.enter(module):
            return
        thread = threading.get_ident()

        def after(*_: Any) -> None:
            if threading.get_ident() == thread:  # others may call the same module beside it
                hook.remove()
                self.leave()

        try:  # also where the call raises
            hook = module.register_forward_hook(after, always_call=True)
        except TypeError:  # an older torch
            hook = module.register_forward_hook(after)

    def renew(self) -> None:
        """In the child of a fork, where no other thread is."""
        self._lock = threading.Lock()
        self._inside = threading.local()

    # Ways into modules

    def hook_class(self, module_class: Any) -> None:
        """Both ways into a module are wrapped: who keeps its bound ``__call__`` over many calls, as
        generation loops do, passes by the class."""
        for name in ("__call__", "_call_impl"):
            self._hook_method(module_class, name)

    def _hook_method(self, module_class: Any, name: str) -> None:
        own = module_class.__dict__.get(name)
        if getattr(own, "_sonde_steps", None) is self:
            return  # a copy of the parent's, whose root was of this class, too

        @functools.wraps(own or getattr(self._torch.nn.Module, name))
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            # Looked up at each call: the adapter replaces the one of nn.Module while it records.
            function = own or getattr(super(module_class, module_class), name)
            return self._call(module, function, (module, *args), kwargs)

        if own is None:
            call._sonde_passes_on = True  # type: ignore[attr-defined]
        call._sonde_steps = self  # type: ignore[attr-defined]
        setattr(module_class, name, call)

    def compiled_in_place(self, module: Any, *_: Any, **__: Any) -> Around:
        """Around ``Module.compile()``: torch's hooks do not see calls of compiled code. Also who
        keeps the module's bound ``__call__`` comes by here."""
        yield
        compiled = module._compiled_call_impl
        if compiled is None:
            return

        @functools.wraps(compiled)
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._call(module, compiled, args, kwargs)

        module._compiled_call_impl = call

    def compiled_wrapper(self, original: Any) -> Any:
        """``torch.compile(module)``: before the call begins, since the wrapper warns its user of
        hooks like ours."""
        if getattr(original, "__qualname__", "") != "OptimizedModule.__call__":
            return original  # inherited: of a torch that does not warn

        @functools.wraps(original)
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            return self._call(module, original, (module, *args), kwargs)

        call._sonde_passes_on = True  # type: ignore[attr-defined]
        call._sonde_steps = self  # type: ignore[attr-defined]
        return call

    def _call(self, module: Any, function: Any, args: Any, kwargs: Any) -> Any:
        if self._is_compiling() or not self.enter(module):
            return function(*args, **kwargs)
        try:
            return function(*args, **kwargs)
        finally:
            self.leave()
