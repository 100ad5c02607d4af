"""How late the front-end's event loop is: the time before the application sees a request, in which
its client waits already.

A loop that is busy neither reads its sockets nor keeps its appointments: one of ours each 20 ms
records how late it was, as the counter ``event loop lag`` (ms). Only while the front-end records.
Threads: that of the loop.
"""

import asyncio
import time

from sonde.vllm import _marks

_PERIOD_S = 0.02
_LEAST_REPORTED_MS = 1.0


class LoopLag:
    """Of one loop."""

    def __init__(self) -> None:
        self._due_ns = 0
        self._recorded_ms = 0.0
        self._runs = False

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on; nothing where it runs."""
        if self._runs:
            return
        self._runs = True
        self._await(loop)

    def stop(self) -> None:
        """It ends with its next appointment."""
        self._runs = False

    def now_ns(self) -> int:
        """How late the loop is at least, by the appointment that is due."""
        return max(0, time.monotonic_ns() - self._due_ns) if self._runs else 0

    def _await(self, loop: asyncio.AbstractEventLoop) -> None:
        self._due_ns = time.monotonic_ns() + int(_PERIOD_S * 1e9)
        loop.call_later(_PERIOD_S, self._beat, loop)

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._runs:
            return
        late_ms = self.now_ns() / 1e6
        native = _marks.recorder()
        late_ms = late_ms if late_ms >= _LEAST_REPORTED_MS else 0.0
        if native is not None and late_ms != self._recorded_ms:
            _marks.count(native, "event loop lag ms", late_ms)
            self._recorded_ms = late_ms
        self._await(loop)
