"""Applies a schedule to the recorder, step by step.

One state machine for the profiler API and for ``sonde run``. Which operations belong to which
change of action is the recorder's table (``sonde_schedule_transition``); this file only carries
them out, in order.

Threads: one machine is driven from one thread at a time (the owner's care).
Errors: whatever an operation raises reaches the caller; the action has changed all the same, so
that the next step continues with the schedule.
"""

from typing import Callable

from sonde import _native

NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)
EXIT = -1

OP_INIT, OP_WARMUP, OP_START, OP_STOP, OP_FINALIZE, OP_TRACE_READY, OP_DELETE = range(1, 8)

WARNINGS = {
    1: "Incorrect schedule: WARMUP followed by NONE",
    2: "Incorrect schedule: RECORD followed by NONE",
    3: "Incorrect schedule: RECORD followed by WARMUP",
    4: "Incorrect schedule: Stop profiler while current state is WARMUP "
    "which will result in empty parsed data.",
    5: "Incorrect schedule: Stop profiler while current state is RECORD "
    "which may result in incomplete parsed data.",
    6: "Stop profiler while current state is RECORD_AND_SAVE, "
    "perhaps the scheduling cycle has not yet completed.",
}


class Machine:
    """The current action and what to do when it changes.

    ``operations`` maps ``OP_...`` to functions without arguments; ``warn`` takes a text.
    """

    def __init__(
        self, operations: dict[int, Callable[[], None]], warn: Callable[[str], None]
    ) -> None:
        self._operations = operations
        self._warn = warn
        self.action = NONE

    def change(self, action: int) -> None:
        """Goes over to the action of the next step, or ``EXIT``."""
        previous, self.action = self.action, NONE if action == EXIT else action
        operations, warning = _native.recorder().schedule_transition(previous, action)
        if warning:
            self._warn(WARNINGS[warning])
        for operation in operations:
            self._operations[operation]()
