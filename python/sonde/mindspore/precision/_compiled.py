"""Calls of functions that ``jit`` compiled, while something is recorded.

MindSpore parses what it compiles from its source, and runs none of it in Python: everything of the
probe is taken away meanwhile, and the call itself is one entry, ``Jit.name.0.forward``.
"""

import functools
import importlib
from typing import Any, Callable, Optional

from sonde.mindspore.precision._collector import Collector

_MODULES = ("mindspore.graph.api", "mindspore.common.api")  # of 2.9 on, and before


class CompiledCalls:
    """Of one process. ``remove`` takes the probe away, ``install`` puts it back."""

    def __init__(
        self, collector: Collector, remove: Callable[[], None], install: Callable[[], None]
    ) -> None:
        self._collector = collector
        self._take_away, self._put_back = remove, install
        self._executor: Optional[Any] = None
        self._original: Optional[Any] = None
        self._is_recorded = collector.config.level in ("L1", "mix")

    def install(self) -> None:
        """From now on calls are seen."""
        if self._original is not None:
            return
        self._executor = _executor_class()
        if self._executor is not None:
            self._original = self._executor.__call__
            self._executor.__call__ = self._wrapper(self._original)

    def remove(self) -> None:
        """Puts everything back."""
        if self._executor is not None and self._original is not None:
            self._executor.__call__ = self._original
        self._original = None

    def _wrapper(self, original: Any) -> Any:
        collector = self._collector

        @functools.wraps(original)
        def call(executor: Any, *args: Any, **kwargs: Any) -> Any:
            if not collector.running or collector.nesting.is_inside:
                return original(executor, *args, **kwargs)
            self._take_away()
            try:
                if not self._is_recorded:
                    return original(executor, *args, **kwargs)
                name = getattr(executor.fn, "__name__", "function")
                run = functools.partial(original, executor)
                return collector.call(f"Jit.{name}", run, args, kwargs, with_gradients=False)
            finally:
                self._put_back()

        return call


def _executor_class() -> Optional[Any]:
    for name in _MODULES:
        try:
            found = getattr(importlib.import_module(name), "_JitExecutor", None)
        except ImportError:
            continue
        if found is not None:
            return found
    return None
