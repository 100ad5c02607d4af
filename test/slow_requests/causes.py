"""The kinds of cause that are planted: each a function that makes it happen once in a running
server and gives what it did. While it does, a Load asks for small answers.

`CAUSES` has of each the part of `request_time` that is the reason, and the parts that are true of
other requests meanwhile: who sends long prompts to provoke a preemption makes others wait for them.
"""

import contextlib
import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

LIMIT_S = 300
LONG = 6000  # tokens of a prompt
BLOCK, BLOCKS = 128, 65  # of the KV cache, of which vLLM keeps one for itself
ROOM = BLOCK * (BLOCKS - 1)  # tokens
WITH_SCORES = {"logprobs": 20}  # long answers
AT_ONCE = 4  # requests that the server computes at once


@dataclass
class Planted:
    """What was planted: when, as `time.time()`, and which requests it hit. Without `hit`
    those which were there for half of it or more, or for which it was there most of their time, and
    which took twice as long as the others of their session."""

    begin: float
    end: float
    hit: list = field(default_factory=list)
    own: list = field(default_factory=list)  # requests besides those of the load


@dataclass
class Site:
    """A running server and the folder of orders to the plug-in in it."""

    port: int
    process: int
    folder: Path
    call: object  # path of a GET
    ask: object  # starts a Request
    load: object = None  # that is there while something is planted
    number: int = 0

    def processes(self, title):
        """Of the server, by their title."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if path.read_bytes().decode(errors="replace").startswith(title):
                    if os.getsid(int(path.parent.name)) == os.getsid(self.process):
                        found.append(int(path.parent.name))
        return sorted(found)

    def order(self, name, **what):
        """Has the plug-in do something, and waits until that is over."""
        begun, done = self.folder / f"{name}.begun", self.folder / f"{name}.done"
        begun.unlink(missing_ok=True)
        done.unlink(missing_ok=True)
        limit = time.monotonic() + LIMIT_S
        (self.folder / f"{name}.new").write_text(json.dumps(what))
        (self.folder / f"{name}.new").rename(self.folder / name)
        while not done.exists():
            if time.monotonic() > limit:
                raise RuntimeError(f"nothing obeyed {name}")
            time.sleep(0.005)
        return Planted(begun.stat().st_mtime, done.stat().st_mtime)


def queue(site):
    """More requests at once than the server computes at once."""
    begin = time.time()
    requests = [site.ask(tokens=64) for _ in range(3 * AT_ONCE)]
    requests = [one.done() for one in requests]
    requests.sort(key=lambda one: one.first - one.begin)
    return Planted(begin, time.time(), requests[2 * AT_ONCE :], requests)


def long_prefill(site):
    begin = time.time()
    request = site.ask(tokens=2, prompt=_tokens(LONG)).done()
    return Planted(begin, request.first, own=[request])


def preemption(site):
    """Two requests that fill the KV cache until one needs another block. Nobody else is there: vLLM
    would put small ones back, which the client does not see."""
    with site.load.paused():
        begin = time.time()
        requests = [site.ask(tokens=120, prompt=_tokens(ROOM // 2 - 40)) for _ in range(2)]
        requests = [one.done() for one in requests]
    return Planted(begin, time.time(), [max(requests, key=lambda one: one.end)], requests)


def tokenizer(site):
    return site.order("tokenizer", do="sleep", amount=0.8, times=1)


def event_loop(site):
    return _called(site, "/planted/hold?1")


def garbage_collection(site):
    return _called(site, "/planted/collect?0.8")


def stopped_engine(site):
    return _stopped(site, "VLLM::EngineCore")


def stopped_worker(site):
    return _stopped(site, "VLLM::Worker")


def slow_rank(site):
    return site.order("worker1", do="work", amount=0.1, times=10)


def pages(site):
    """The worker waits for pages that went to a disk."""
    return site.order("worker0", do="pages", amount=0.8, times=1)


def front_end_pages(site):
    return _called(site, "/planted/pages?0.8")


def busy_processor(site):
    """Others on the processor of the worker."""
    worker = site.processes("VLLM::Worker")[0]
    with _others_on(os.sched_getaffinity(worker), 8):
        begin = time.time()
        time.sleep(3)
    return Planted(begin, time.time())


def busy_front_end(site):
    """Others on the processor of the event loop."""
    processor = min(os.sched_getaffinity(0))
    site.call(f"/planted/bind?{processor}")
    begin = time.time()
    with _others_on({processor}, 24):
        time.sleep(3)
    end = time.time()
    site.call("/planted/bind?-1")
    return Planted(begin, end)


@contextlib.contextmanager
def _others_on(processors, count):
    words = ["sh", "-c", "while :; do :; done"]
    # Sessions of their own: the kernel shares processors between these first.
    others = [subprocess.Popen(words, start_new_session=True) for _ in range(count)]
    try:
        for one in others:
            os.sched_setaffinity(one.pid, processors)
        yield
    finally:
        for one in others:
            one.kill()
            one.wait()


def compiling(site):
    site.number += 1
    return site.order("worker0", do="compile", amount=time.time() % 1000 + site.number, times=1)


def slow_client(site):
    """It stops reading until the server has no room left for what it computed."""
    begin = time.time()
    request = site.ask(tokens=300, pause_s=10, **WITH_SCORES).done()
    return Planted(begin, time.time(), [request], [request])


def _tokens(count):
    return [100 + (7 * place) % 1500 for place in range(count)]


def _called(site, path):
    begin = time.time()
    site.call(path)
    return Planted(begin, time.time())


def _stopped(site, title):
    process = site.processes(title)[0]
    begin = time.time()
    os.kill(process, signal.SIGSTOP)
    try:
        time.sleep(1)
    finally:
        os.kill(process, signal.SIGCONT)
    return Planted(begin, time.time())


@dataclass
class Cause:
    plant: object
    part: str  # of request_time
    beside: tuple = ()  # parts that are true of other requests
    ranks: int = 1
    rank: int = -1  # which one is slow


CAUSES = {
    "queue": Cause(queue, "queue"),
    "long prefill": Cause(long_prefill, "other_prefill"),
    "preemption": Cause(preemption, "preemption", ("other_prefill", "queue")),
    "tokenizer": Cause(tokenizer, "tokenizing"),
    "event loop": Cause(event_loop, "event_loop"),
    "garbage": Cause(garbage_collection, "garbage_collection"),
    "stopped engine": Cause(stopped_engine, "engine"),
    "stopped worker": Cause(stopped_worker, "computing"),
    "slow rank": Cause(slow_rank, "rank_wait", ranks=2, rank=1),
    "busy processor": Cause(busy_processor, "processor"),
    "busy front-end": Cause(busy_front_end, "processor"),
    "pages": Cause(pages, "major_faults"),
    "front-end pages": Cause(front_end_pages, "major_faults"),
    "compiling": Cause(compiling, "compiling"),
    "slow client": Cause(slow_client, "delivery"),
}
PAIRS = (
    ("queue", "event loop"), ("long prefill", "stopped worker"), ("preemption", "tokenizer"),
    ("tokenizer", "stopped engine"), ("event loop", "garbage"), ("garbage", "compiling"),
    ("stopped engine", "stopped worker"), ("busy processor", "slow client"),
    ("slow rank", "event loop"), ("slow rank", "long prefill"), ("compiling", "queue"),
    ("slow client", "stopped worker"),
)  # fmt: skip
