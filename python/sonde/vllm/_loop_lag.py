"""How late the front-end's event loop is: the time before the application sees a request, in which
its client waits already.

A loop that is busy neither reads its sockets nor keeps its appointments: one of ours each 20 ms
records how late it was, as the counter ``event loop lag`` (ms): a pause lasted from its moment less
its value to its moment. Beside it are what the loop's thread did in that time (it ran, or waited
for a processor, in ms) and the pages that its process waited for (major faults). What a client
waited before that is known exactly where its connection is TCP: the kernel knows when its last
bytes came. Elsewhere a request that comes right after a pause may have waited since its begin. Only
while the front-end records. Threads: that of the loop.
"""

import asyncio
import resource
import socket
import struct
import time
from typing import Any, NamedTuple, Optional

from sonde.vllm import _marks
from sonde.vllm._delivery import transport_of

_PERIOD_S = 0.02
_LEAST_REPORTED_MS = 1.0
# Turns of the loop until it has read what came during a pause: a new connection is accepted, begun,
# read and handled in one turn each.
_BACKLOG_TURNS = 6

_TCP_INFO = getattr(socket, "TCP_INFO", None)
_LAST_DATA_RECV = struct.Struct("=52xI")  # tcpi_last_data_recv of struct tcp_info, ms
_CLOCK_MS = 4  # the kernel counts in ticks, of 4 ms at most


def socket_wait_ns(receive: Any) -> Optional[int]:
    """How long the last bytes of a request had lain in its socket, by the ``receive`` that the
    server gave the application; None where that is unknown."""
    transport = transport_of(receive)
    if _TCP_INFO is None or transport is None:
        return None
    try:
        connection = transport.get_extra_info("socket")
        info = connection.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _LAST_DATA_RECV.size)
        (age_ms,) = _LAST_DATA_RECV.unpack(info)
    except (AttributeError, OSError, TypeError, struct.error):
        return None  # no TCP
    return age_ms * 1_000_000 if age_ms > _CLOCK_MS else 0


class ThreadUse(NamedTuple):
    """What the calling thread has used of the processors so far, and the pages that its process
    waited for; None: the kernel does not count it."""

    ran_ms: Optional[float]
    waited_ms: Optional[float]
    major_faults: int


def _use_of_thread() -> ThreadUse:
    """Of the calling one. Costs 12 us: a file that stayed open might be closed by the program."""
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
    try:
        with open("/proc/thread-self/schedstat", "rb", buffering=0) as file:
            ran_ns, waited_ns = file.read(80).split()[:2]
        return ThreadUse(int(ran_ns) / 1e6, int(waited_ns) / 1e6, faults)
    except (OSError, ValueError):
        return ThreadUse(None, None, faults)


class LoopLag:
    """Of one loop."""

    def __init__(self) -> None:
        self._used: Optional[ThreadUse] = None  # at the last appointment
        self._due_ns = 0
        self._recorded_ms = 0.0
        self._appointment: Optional[asyncio.Handle] = None
        self._pause_begin_ns: Optional[int] = None  # while its backlog is being read

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on; nothing where it runs."""
        if self._appointment is None:
            self._used = _use_of_thread()
            self._await(loop)

    def stop(self) -> None:
        """No appointment is left."""
        if self._appointment is not None:
            self._appointment.cancel()
        self._appointment = None
        self._pause_begin_ns = None
        self._used = None

    def now_ns(self) -> int:
        """How long something that the loop sees now may have waited for it: since the begin of the
        pause that it just ended, or since the appointment that is due."""
        if self._pause_begin_ns is not None:
            return time.monotonic_ns() - self._pause_begin_ns
        return self._late_ns()

    def waited_ns(self, receive: Any = None) -> int:
        """How long the request that is seen now waited for the loop; without TCP at most."""
        exact = socket_wait_ns(receive)
        return self.now_ns() if exact is None else exact

    def _late_ns(self) -> int:
        return max(0, time.monotonic_ns() - self._due_ns) if self._appointment is not None else 0

    def _await(self, loop: asyncio.AbstractEventLoop) -> None:
        self._due_ns = time.monotonic_ns() + int(_PERIOD_S * 1e9)
        self._appointment = loop.call_later(_PERIOD_S, self._beat, loop)

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        late_ms = self._late_ns() / 1e6
        native = _marks.recorder()
        late_ms = late_ms if late_ms >= _LEAST_REPORTED_MS else 0.0
        before, self._used = self._used, _use_of_thread() if native is not None else None
        if native is not None and late_ms != self._recorded_ms:
            _marks.count(native, "event loop lag ms", late_ms)
            self._recorded_ms = late_ms
            if before is not None and self._used is not None:
                _count_use(native, before, self._used, late_ms)
        if late_ms > 0:
            self._pause_begin_ns = self._due_ns
            loop.call_soon(self._read_backlog, loop, _BACKLOG_TURNS)
        self._await(loop)

    def _read_backlog(self, loop: asyncio.AbstractEventLoop, turns: int) -> None:
        if turns > 0 and self._pause_begin_ns is not None:
            loop.call_soon(self._read_backlog, loop, turns - 1)
        else:
            self._pause_begin_ns = None


def _count_use(native: Any, before: ThreadUse, now: ThreadUse, late_ms: float) -> None:
    """Of the pause that ends here; 0 again where there was none. Between the appointment and the
    one before it the loop may have run: what is longer than the pause was not in it."""

    def within(value: Optional[float], earlier: Optional[float]) -> Optional[float]:
        return None if value is None or earlier is None else min(value - earlier, late_ms)

    ran_ms = within(now.ran_ms, before.ran_ms)
    waited_ms = within(now.waited_ms, before.waited_ms)
    if ran_ms is not None and waited_ms is not None:
        _marks.count(native, "event loop processor ms", ran_ms)
        _marks.count(native, "event loop processor wait ms", waited_ms)
    faults = now.major_faults - before.major_faults if late_ms > 0 else 0
    _marks.count(native, "event loop major faults", faults)
