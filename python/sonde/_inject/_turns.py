"""Where a program without an optimizer begins its steps, by the order of its outermost calls.

A model and the criterion behind it are one step, an encoder and the first token, too; each further
token is one. So a call begins a step when its module was called in the step that runs, or has begun
one before; but not where it came behind the same module in an earlier step.
"""

import weakref
from typing import Any, Callable


class Turns:
    """Threads: one at a time. Modules that are gone are forgotten."""

    def __init__(self) -> None:
        self._begun: weakref.WeakSet[Any] = weakref.WeakSet()  # modules that have begun a step
        self._in_step: weakref.WeakSet[Any] = weakref.WeakSet()
        self._behind: weakref.WeakKeyDictionary[Any, weakref.WeakSet[Any]] = (
            weakref.WeakKeyDictionary()
        )
        self._last: Callable[[], Any] = lambda: None

    def begins(self, module: Any) -> bool:
        """Whether this outermost call begins a step."""
        last = self._last()
        self._last = weakref.ref(module)
        is_again = module in self._in_step
        is_known = last is not None and module in self._behind.get(last, ())
        if not is_again and last is not None and (is_known or module not in self._begun):
            self._behind.setdefault(last, weakref.WeakSet()).add(module)
            self._in_step.add(module)
            return False
        self._begun.add(module)
        self._in_step = weakref.WeakSet((module,))
        return True
