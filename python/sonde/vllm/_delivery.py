"""When a client has taken what the server wrote for it.

The last write of an answer is not its end: what a slow client, or the network to it, does not take
waits in the server, in the buffer of the connection and in the kernel's. ``Delivery`` looks after
that until nothing is left. Not seen is what lies in the network and in the client's own kernel, nor
what of an answer over something else than TCP. Threads: that of the loop.
"""

import asyncio
import struct
from typing import Any, Callable, Optional

try:
    import fcntl
except ImportError:  # no Unix
    fcntl = None  # type: ignore[assignment]

_UNSENT = 0x894B  # SIOCOUTQNSD: bytes that the client's kernel has no room for yet
_COUNT = struct.Struct("=i")
_FIRST_S = 0.005
_LONGEST_S = 0.5
_SHARE = 0.02  # of the time so far, between two looks
_LIMIT_S = 600.0


def transport_of(receive: Any) -> Any:
    """The connection of a request, by the ``receive`` that the server gave the application."""
    return getattr(getattr(receive, "__self__", None), "transport", None)


def left_bytes(transport: Any) -> Optional[int]:
    """What waits in the server for the client; None where that is unknown."""
    if fcntl is None or transport is None:
        return None
    try:
        if transport.is_closing():
            return None
        number = transport.get_extra_info("socket").fileno()
        unsent = _COUNT.unpack(fcntl.ioctl(number, _UNSENT, bytes(_COUNT.size)))[0]
        return int(unsent) + int(transport.get_write_buffer_size())
    except (AttributeError, OSError, TypeError, ValueError):
        return None  # no TCP


class Delivery:
    """Of one answer. ``on_end`` is called once, when nothing of it is left in the server; never
    where nothing was left at its last write, or where its connection ended before."""

    def __init__(self, transport: Any, on_end: Callable[[], None]) -> None:
        self._transport = transport
        self._on_end = on_end
        if left_bytes(transport):
            self._loop = asyncio.get_running_loop()
            self._begin_s = self._loop.time()
            self._loop.call_later(_FIRST_S, self._look)

    def _look(self) -> None:
        left = left_bytes(self._transport)
        if left is None:
            return
        if left == 0:
            self._on_end()
            return
        so_far_s = self._loop.time() - self._begin_s
        if so_far_s < _LIMIT_S:
            next_s = min(max(_FIRST_S, so_far_s * _SHARE), _LONGEST_S)
            self._loop.call_later(next_s, self._look)
