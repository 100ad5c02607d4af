"""When the optimizers of a program have finished a step together.

A step is over when each optimizer that takes part has stepped since it began: one optimizer, one
for the generator and one for the discriminator that steps twice as often, or one a parameter that
steps in a backward hook. Who takes part: all that were made, until one turns out to be idle, i.e.
others step on without it: ``_PATIENCE`` times (or twice as often as in any round before), or at all
where at least nine in ten have stepped.

Threads: under the lock of its owner.
"""

import weakref
from typing import Any

_PATIENCE = 5

#: What a step of an optimizer means.
GOES_ON, ENDS, ENDED_BEFORE = 0, 1, 2


class Rounds:
    """Of one process."""

    def __init__(self) -> None:
        self._taking_part: weakref.WeakSet[Any] = weakref.WeakSet()
        self._waiting: weakref.WeakSet[Any] = weakref.WeakSet()
        self._counts: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._totals: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._most = 0  # steps of one optimizer in a whole round
        #: Whether a person may draw other steps: optimizers step at different rates, or one is
        #: idle.
        self.is_doubtful = False

    def made(self, optimizer: Any) -> None:
        """An optimizer came into being."""
        if optimizer not in self._totals:
            self._totals[optimizer] = 0
            self._taking_part.add(optimizer)
            self._waiting.add(optimizer)

    def total(self, optimizer: Any) -> int:
        """How often it has stepped."""
        return self._totals.get(optimizer, 0)

    @property
    def is_under_way(self) -> bool:
        """Whether some have stepped, and others are waited for."""
        return bool(self._counts)

    def stepped(self, optimizer: Any) -> int:
        """One step: whether the round goes on, ends with it, or had ended before it."""
        self._totals[optimizer] = self.total(optimizer) + 1
        if len(self._taking_part) == 1 and optimizer in self._taking_part:
            return ENDS  # most programs
        self._taking_part.add(optimizer)
        self._waiting.discard(optimizer)
        count = self._counts[optimizer] = self._counts.get(optimizer, 0) + 1
        if not self._waiting:
            most = max(self._counts.values())
            self.is_doubtful = self.is_doubtful or (most > 1 and len(self._counts) > 1)
            self._most = max(self._most, most)
            self._begin()
            return ENDS
        is_few = 10 * len(self._waiting) <= len(self._taking_part)
        if count == 1 or not (is_few or count > max(_PATIENCE, 2 * self._most)):
            return GOES_ON
        self.is_doubtful = self.is_doubtful or not is_few
        for idle in list(self._waiting):
            self._taking_part.discard(idle)
        self._begin()
        self._counts[optimizer] = 1
        self._waiting.discard(optimizer)
        if self._waiting:
            return ENDED_BEFORE
        self._begin()
        return ENDS

    def _begin(self) -> None:
        self._counts.clear()
        self._waiting = weakref.WeakSet(self._taking_part)
