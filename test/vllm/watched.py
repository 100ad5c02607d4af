"""What tests of a server wait for, and sessions of one that serves several tests.

A server of several tests has `profiles`: the folder that its captures and sessions go to.
"""

import contextlib
import json
import os
import threading
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

IS_THOROUGH = os.environ.get("SONDE_THOROUGH") == "1" or os.environ.get("SONDE_VLLM_WAYS") == "all"


def until(happened, server):
    """Waits for something that must happen."""
    end = time.monotonic() + 120
    while not happened():
        assert time.monotonic() < end, server.last_lines()
        time.sleep(0.2)


def printed(server):
    return server.log.read_text(errors="replace")


def await_line(server, text):
    until(lambda: text in printed(server), server)


def metrics(server):
    """Sums of vLLM's own counters; those of finished requests by their reason, too."""
    found = {}
    for line in server.call("/metrics")[1].splitlines():
        if line.startswith("vllm:") and " " in line:
            name, value = line.rsplit(" ", 1)
            reason = name.partition('finished_reason="')[2].partition('"')[0]
            key = name.split("{")[0] + (f"/{reason}" if reason else "")
            found[key] = found.get(key, 0) + float(value)
    return found


@dataclass
class Session:
    """What one session left: `folder` of the server, `spans` of its ranks."""

    folder: Path = None
    spans: list = field(default_factory=list)
    result: Any = None  # what the profiled work returned
    counters: dict = field(default_factory=dict)  # how much vLLM's own grew

    @property
    def span(self):
        (span,) = self.spans
        return span


@contextlib.contextmanager
def one_more_session(server):
    """A Session, whose folders are known when what runs inside is over."""
    before = set(server.profiles.glob("*server_*")), set(server.profiles.glob("*rank*_ascend_pt"))
    session = Session()
    yield session
    (session.folder,) = set(server.profiles.glob("*server_*")) - before[0]
    session.spans = sorted(set(server.profiles.glob("*rank*_ascend_pt")) - before[1])


def profiled(server, work, body=None):
    """A Session of the work, summed up and parsed."""
    before = metrics(server)
    with one_more_session(server) as session:
        assert server.profile("start", body)[0] == 200, server.last_lines()
        session.result = work()
        assert server.profile("stop")[0] == 200, server.last_lines()
    session.counters = {name: n - before.get(name, 0) for name, n in metrics(server).items()}
    await_line(server, f"served: {session.folder}")
    for span in session.spans:
        until((span / "ASCEND_PROFILER_OUTPUT" / "analyse.done").exists, server)
    return session


class Stream(threading.Thread):
    """A streamed completion; `moments` are those of its pieces with a token, on arrival."""

    def __init__(self, server, tokens, prompt="import "):
        super().__init__(daemon=True)
        body = {"model": "tiny", "prompt": prompt, "max_tokens": tokens, "temperature": 0,
                "ignore_eos": True, "stream": True}  # fmt: skip
        self._request = urllib.request.Request(
            f"http://127.0.0.1:{server.port}/v1/completions", data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )  # fmt: skip
        self.moments = []
        self._is_left = False
        self.start()

    def run(self):
        with contextlib.suppress(OSError), urllib.request.urlopen(self._request, timeout=120) as f:
            for line in f:
                if self._is_left:
                    return
                if line.startswith(b'data: {"') and b'"choices":[{' in line:
                    self.moments.append(time.monotonic())

    def await_pieces(self, count):
        end = time.monotonic() + 120
        while len(self.moments) < count:
            assert time.monotonic() < end and self.is_alive(), "no stream"
            time.sleep(0.002)

    def leave(self):
        """Goes away before the answer is whole."""
        self._is_left = True
        self.join(60)
