"""Schedules: which step is recorded. The arithmetic is the recorder's (``sonde_schedule``)."""

from typing import Any

from sonde import _native
from sonde.session import _console
from sonde.session._enums import ProfilerAction

_MOST_STEPS = 2**31 - 1  # the recorder's numbers have 32 bits


class Schedule:
    """A schedule with checked numbers; call it with a step number to get the action.

    Attributes are the parameters of ``schedule`` in steps.
    """

    def __init__(
        self,
        wait: int,
        active: int,
        warmup: int = 0,
        repeat: int = 0,
        skip_first: int = 0,
        skip_first_wait: int = 0,
    ) -> None:
        self.wait = _at_least_zero("wait", wait)
        self.active = active
        self.warmup = _at_least_zero("warmup", warmup)
        self.repeat = _at_least_zero("repeat", repeat)
        self.skip_first = _at_least_zero("skip_first", skip_first)
        self.skip_first_wait = skip_first_wait
        if not _is_int(active) or active <= 0:
            _console.warning("Invalid parameter active, reset it to 1.")
            self.active = 1
        if not _is_int(skip_first_wait):
            _console.warning("Invalid parameter skip_first_wait, reset it to 0.")
            self.skip_first_wait = 0
        if self.warmup == 0:
            _console.warning("Profiler won't be using warmup, this can skew profiler results")

    def native(self) -> _native.Schedule:
        """The numbers as the recorder takes them; a larger one means its largest, which no program
        reaches (``active=sys.maxsize``: until the program stops)."""
        return _native.Schedule(
            *(
                min(max(number, -_MOST_STEPS), _MOST_STEPS)
                for number in (
                    self.wait,
                    self.warmup,
                    self.active,
                    self.repeat,
                    self.skip_first,
                    self.skip_first_wait,
                )
            )
        )

    def __call__(self, step: int) -> ProfilerAction:
        """Action of a step. Raises ``ValueError`` for a negative step."""
        if step < 0:
            raise ValueError("Invalid parameter step, which must be not less than 0.")
        return ProfilerAction(_native.recorder().schedule_action(self.native(), step))

    def config(self) -> "dict[str, int]":
        """The numbers as ``profiler_info.json`` has them."""
        return {
            "wait": self.wait,
            "active": self.active,
            "warmup": self.warmup,
            "repeat": self.repeat,
            "skip_first": self.skip_first,
            "skip_first_wait": self.skip_first_wait,
        }


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _at_least_zero(name: str, value: Any) -> int:
    if _is_int(value) and value >= 0:
        return value
    _console.warning(f"Invalid parameter {name}, reset it to 0.")
    return 0


def schedule(
    *,
    wait: int,
    active: int,
    warmup: int = 0,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Schedule:
    """Cycles of ``wait`` idle, ``warmup`` and ``active`` recorded steps.

    ``repeat`` cycles (0: without end) follow ``skip_first`` idle steps; with ``skip_first_wait``
    other than 0 the first cycle does without its idle steps. An impossible number gives a warning
    and its default.
    """
    return Schedule(wait, active, warmup, repeat, skip_first, skip_first_wait)
