"""Who uses the processors of this machine: a server with its processes, and everybody else.

Figures of a shared machine are reported beside the share that others used meanwhile.
"""

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class ProcessorUse:
    """Ticks of the whole machine, of the session that a leader began, and of this process, with the
    moment in seconds."""

    machine: int
    session: int
    own: float
    moment: float


def processor_use(leader):
    """Until now; `leader` is the process that began the session."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    user, nice, system, _, _, irq, soft_irq, steal = map(int, fields)
    session = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            words = path.read_text().rpartition(")")[2].split()
            if int(words[3]) == leader:
                session += int(words[11]) + int(words[12])
    own = sum(os.times()[:2]) * TICKS_PER_S
    return ProcessorUse(user + nice + system + irq + soft_irq + steal, session, own,
                        time.monotonic())  # fmt: skip


def share_of_others(before, after):
    """Of all processors, what neither the session nor this process used."""
    ticks = (after.moment - before.moment) * TICKS_PER_S * os.cpu_count()
    ours = after.session - before.session + after.own - before.own
    return max(0.0, (after.machine - before.machine - ours) / ticks)
