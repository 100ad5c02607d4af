"""Tasks on an engine, until each has ended once.

A task whose worker is lost is submitted again. One whose machine has no space goes to another
machine. One that lags is given to a second worker, too: a stopped worker never ends.
"""

import os
import time
from collections.abc import Collection, Generator, Iterator
from typing import Any, Callable, NamedTuple, Protocol

RETRIES = 5
_PATIENCE_S = 30.0
Function = Callable[..., Any]
Tasks = list[tuple[Any, ...]]


class Failed(Exception):
    """The work cannot go on; the text is one line for people."""


class Lost(Exception):
    """The engine is lost, and the work may go on with another; the text is one line for people."""


class End(NamedTuple):
    """What a task gave, or why its worker was lost or had no space. ``place``: its worker."""

    value: Any = None
    place: str = ""
    full: str = ""
    lost: str = ""


def first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


class Engine(Protocol):
    """What runs tasks on its workers. Errors: Failed (of a task, not to be tried again), Lost."""

    def places(self) -> list[str]:
        """All workers, or machines where the engine chooses the worker."""

    def place_of(self, ref: Any) -> str:
        """That of a task; "" where it is not known or does not matter."""

    def submit(self, function: Function, task: tuple[Any, ...], places: list[str]) -> Any:
        """To one of these places; to any where there are none. Returns a reference."""

    def wait(self, running: Collection[Any], seconds: float) -> Iterator[tuple[Any, End]]:
        """At least one of these references and its end; none where none has ended by then."""

    def drop(self, ref: Any) -> None:
        """Nobody wants it any more."""

    def close(self) -> None:
        """Of this process; the cluster stays, unless it is of this process alone."""


class _Job:
    """Tasks on an engine, until each has ended once."""

    def __init__(
        self, engine: Engine, function: Function, tasks: Tasks, check: Callable[[], None]
    ) -> None:
        self._engine, self._function, self._tasks = engine, function, tasks
        self._check = check
        self._left = set(range(len(tasks)))
        self._tries = [0] * len(tasks)
        self._avoid: set[str] = set()  # places without space
        self._running: dict[Any, int] = {}

    def ends(self) -> Iterator[tuple[int, Any]]:
        for number in sorted(self._left):
            self._submit(number, set())
        last, longest = time.monotonic(), 0.0
        patience = float(os.environ.get("SONDE_ENGINE_PATIENCE") or _PATIENCE_S)
        while self._left:
            self._check()
            for ref, end in self._engine.wait(self._running, 1.0):
                number = self._running.pop(ref)
                if number in self._left and self._is_done(number, end):
                    yield number, end.value
                now = time.monotonic()
                longest, last = max(longest, now - last), now
            if time.monotonic() - last > max(patience, 4 * longest):
                self._give_again()
                last = time.monotonic()

    def drop(self) -> None:
        for ref in list(self._running):
            self._engine.drop(ref)

    def _is_done(self, number: int, end: End) -> bool:
        if end.full or end.lost:
            if end.full:
                self._avoid.add(end.place)
            if number not in self._running.values():
                why = end.full or f"its workers ended ({end.lost})"
                if self._tries[number] > RETRIES:
                    raise Failed(f"a part failed {RETRIES + 1} times: {why}")
                self._submit(number, self._avoid, why)
            return False
        self._left.remove(number)
        for ref in [ref for ref, other in self._running.items() if other == number]:
            self._engine.drop(ref)  # of the one that lags
            del self._running[ref]
        return True

    def _give_again(self) -> None:
        """What has not ended, once more, elsewhere."""
        for ref, number in list(self._running.items()):
            if list(self._running.values()).count(number) == 1:
                self._submit(number, {*self._avoid, self._engine.place_of(ref)} - {""})

    def _submit(self, number: int, avoid: Collection[str], why: str = "") -> None:
        places: list[str] = []
        if avoid:
            places = [place for place in self._engine.places() if place not in avoid]
            if not places and why:
                raise Failed(why)
        self._tries[number] += 1
        ref = self._engine.submit(self._function, self._tasks[number], places)
        self._running[ref] = number


def run(
    engine: Engine, function: Function, tasks: Tasks, check: Callable[[], None]
) -> Generator[tuple[int, Any], None, None]:
    """Number and value of each task, as they end. ``check`` is called at least once a second, and
    raises where the work shall stop."""
    job = _Job(engine, function, tasks, check)
    is_lost = False
    try:
        yield from job.ends()
    except Lost:
        is_lost = True
        raise
    finally:
        if not is_lost:
            job.drop()
