"""Where a program without an optimizer begins its steps, by the order of its outermost calls.

A model and the criterion behind it are one step, an encoder and the first token, too; each further
token is one. So a call begins a step when its module was called in the step that runs, or has begun
one before; but not where it came behind the same module in an earlier step.
"""

import itertools
import weakref
from typing import Any


class Turns:
    """Threads: one at a time. Modules that are gone are forgotten."""

    def __init__(self) -> None:
        # Modules by numbers of ours: not all of them have a hash.
        self._numbers: dict[int, tuple[Any, int]] = {}  # by id
        self._next = itertools.count(1)
        self._begun: set[int] = set()  # have begun a step
        self._in_step: set[int] = set()
        self._behind: dict[int, set[int]] = {}
        self._last = 0  # 0: none, or gone

    def begins(self, module: Any) -> bool:
        """Whether this outermost call begins a step."""
        number = self._number_of(module)
        last, self._last = self._last, number
        is_again = number in self._in_step
        is_known = number in self._behind.get(last, ())
        if not is_again and last and (is_known or number not in self._begun):
            self._behind.setdefault(last, set()).add(number)
            self._in_step.add(number)
            return False
        self._begun.add(number)
        self._in_step = {number}
        return True

    def _number_of(self, module: Any) -> int:
        found = self._numbers.get(id(module))
        if found is not None and found[0]() is module:
            return found[1]
        key, number = id(module), next(self._next)

        def forget(_: Any) -> None:
            if self._numbers.get(key, (None, 0))[1] == number:
                del self._numbers[key]
            self._forget(number)

        self._numbers[key] = weakref.ref(module, forget), number
        return number

    def _forget(self, number: int) -> None:
        self._begun.discard(number)
        self._in_step.discard(number)
        self._behind.pop(number, None)
        for behind in list(self._behind.values()):
            behind.discard(number)
        if self._last == number:
            self._last = 0
