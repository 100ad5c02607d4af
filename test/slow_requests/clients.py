"""Clients of a server that know how long their requests took: streams over a connection each."""

import contextlib
import itertools
import json
import socket
import struct
import threading
import time
from dataclasses import dataclass

_LIMIT_S = 300
_SO_TIMESTAMPNS = 35
_TIME = struct.Struct("qq")  # s, ns
_ROOM_FOR_FACTS = 1024
_LAST = b"0\r\n\r\n"
_PROMPTS = (
    "def main():\n    import os\n    for name in os.listdir():\n        print(name)\n",
    "class Queue:\n    def __init__(self, size):\n        self.size = size\n",
    "for line in open(path):\n    words = line.split()\n    total += len(words)\n",
)
_numbers = itertools.count()


def _arrival(facts):
    """Of the bytes that were read."""
    for level, kind, data in facts:
        if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
            seconds, ns = _TIME.unpack(data)
            return seconds + ns / 1e9
    return time.time()


@dataclass(frozen=True)
class Seen:
    """What the client of a request saw, as `time.time()`: when it asked, when the first piece with
    a token and the last byte were there. The kernel knows the latter: the client itself may wait
    for a processor before it looks."""

    name: str
    begin: float
    first: float
    end: float

    @property
    def seconds(self):
        return self.end - self.begin

    def overlap(self, begin, end):
        return max(0, min(self.end, end) - max(self.begin, begin))


class Request(threading.Thread):
    """One streamed completion; `pause_s` is how long the client stops reading after the first piece
    with a token, with as little room for what comes meanwhile as it can."""

    def __init__(self, port, tokens=24, prompt=None, pause_s=0, **options):
        super().__init__(daemon=True)
        number = next(_numbers)
        self.name = f"client-{number}"
        self._port, self._pause_s = port, pause_s
        self._body = {"model": "tiny", "prompt": prompt or _PROMPTS[number % len(_PROMPTS)],
                      "max_tokens": tokens, "temperature": 0, "ignore_eos": True, "stream": True,
                      **options}  # fmt: skip
        self.begin = self.first = self.end = None
        self.error = None
        self.start()

    def run(self):
        body = json.dumps(self._body).encode()
        head = (f"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nx-request-id: {self.name}\r\n"
                "Content-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n")  # fmt: skip
        connection = socket.socket()
        if self._pause_s:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
        connection.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        connection.settimeout(_LIMIT_S)
        try:
            with connection:
                self.begin = time.time()
                connection.connect(("127.0.0.1", self._port))
                connection.sendall(head.encode() + body)
                self._read(connection)
        except OSError as problem:
            self.error = str(problem)

    def _read(self, connection):
        last, status = b"", b""
        while not last.endswith(_LAST):
            piece, facts, *_ = connection.recvmsg(65536, _ROOM_FOR_FACTS)
            if not piece:
                raise OSError(f"the answer ended early: {status!r}")
            status = status or piece[:12]
            last = (last + piece)[-64:]
            if self.first is None and b"data: {" in piece:
                self.first = _arrival(facts)
                time.sleep(self._pause_s)
        self.end = _arrival(facts)
        if status != b"HTTP/1.1 200":
            raise OSError(status.decode())

    def done(self):
        """Seen, when its answer is whole."""
        self.join(_LIMIT_S)
        if self.end is None or self.error:
            raise RuntimeError(f"{self.name}: {self.error or 'no answer'}")
        return Seen(self.name, self.begin, self.first, self.end)


class Load:
    """Clients that each ask again as soon as they have an answer."""

    def __init__(self, port, clients=2, tokens=24):
        self.seen = []
        self._ends, self._may_ask = threading.Event(), threading.Event()
        self._may_ask.set()
        self._asking = 0
        self._more = threading.Condition()
        self._threads = [
            threading.Thread(target=self._ask, args=(port, tokens), daemon=True)
            for _ in range(clients)
        ]
        for thread in self._threads:
            thread.start()

    def _ask(self, port, tokens):
        while self._may_ask.wait() and not self._ends.is_set():
            with self._more:
                self._asking += 1
            seen = Request(port, tokens).done()
            with self._more:
                self._asking -= 1
                self.seen.append(seen)
                self._more.notify_all()

    @contextlib.contextmanager
    def paused(self):
        """Nobody of it asks."""
        self._may_ask.clear()
        with self._more:
            if not self._more.wait_for(lambda: self._asking == 0, _LIMIT_S):
                raise RuntimeError("the load stands still")
        yield
        self._may_ask.set()

    def await_more(self, count):
        with self._more:
            wanted = len(self.seen) + count
            if not self._more.wait_for(lambda: len(self.seen) >= wanted, _LIMIT_S):
                raise RuntimeError("the load stands still")

    def stop(self):
        self._ends.set()
        for thread in self._threads:
            thread.join(_LIMIT_S)
