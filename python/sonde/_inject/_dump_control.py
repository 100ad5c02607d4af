"""``POST /dump`` on Sonde's control address: dumps requests of a running server, or the next steps
of another program.

Rank 0 listens on the address itself and hands an order on to the other ranks, which listen on the
next ports (``unix:PATH``: ``PATH.1`` and so on), so that all of them dump the same steps.
"""

import http.client
import json
import os
import socket
from typing import Any, Callable

from sonde import _native, _report

# Ranks are at the same engine step or one apart: while requests run, an order counts from here on.
_AHEAD = 3
_TIMEOUT_S = 5


def listen(
    address: str, rank: int, size: int, selection: Any, read_order: "Callable[[Any], Any]"
) -> None:
    """Answers orders for ``selection``, which has ``steps``, ``is_running`` and ``order()``;
    ``read_order`` checks them. Whatever fails costs one line."""

    def answer(body: str) -> "tuple[int, str]":
        try:
            order = json.loads(body) if body.strip() else {}
            read_order(order)
        except (ValueError, RecursionError) as problem:
            return 400, json.dumps({"error": str(problem)})
        if rank == 0 and size > 1:
            ahead = _AHEAD if selection.is_running else 1
            order["from_step"] = selection.steps + ahead
            missing = _forward(address, size, order)
            if missing:
                return 502, json.dumps({"error": f"not reached: {', '.join(missing)}"})
        selection.order(read_order(order))
        return 200, json.dumps({"status": "waiting", "from_step": selection.steps + 1})

    try:
        recorder = _recorder()
        # Before the address answers: who asks at once is answered, too.
        recorder.control_route("/dump", answer)
        used = recorder.control_listen(address_of(address, rank), _native.SessionConfig())
        _report.log(f"rank {rank} waits for POST /dump on {used}")
    except (OSError, ValueError, _native.NativeError) as problem:
        _report.log(f"no control address: {problem}", error=True)


def _recorder() -> _native.Recorder:
    """The library would listen on the variable's address by itself while it loads."""
    kept = {name: os.environ.pop(name) for name in ("SONDE_CONTROL",) if name in os.environ}
    try:
        return _native.recorder()
    finally:
        os.environ.update(kept)


def address_of(address: str, rank: int) -> str:
    """Where a rank listens. Raises ``ValueError``."""
    if rank == 0:
        return address
    if address.startswith("unix:"):
        return f"{address}.{rank}"
    head, _, port = address.rpartition(":")
    number = int(port)
    return f"{head}:{number + rank if number else 0}"


def _forward(address: str, size: int, order: "dict[str, Any]") -> "list[str]":
    """Gives an order to the other ranks; returns the addresses that did not take it."""
    missing = []
    for rank in range(1, size):
        place = address_of(address, rank)
        try:
            status = _post(place, json.dumps(order))
        except OSError as problem:
            missing.append(f"{place} ({problem})")
            continue
        if status != 200:
            missing.append(f"{place} (status {status})")
    return missing


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(_TIMEOUT_S)
        self.sock.connect(self._path)


def _post(address: str, body: str) -> int:
    if address.startswith("unix:"):
        connection: http.client.HTTPConnection = _UnixConnection(address[len("unix:") :])
    else:
        host = address.removeprefix("http://")
        connection = http.client.HTTPConnection(host, timeout=_TIMEOUT_S)
    try:
        connection.request("POST", "/dump", body)
        return connection.getresponse().status
    finally:
        connection.close()
