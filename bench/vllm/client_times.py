"""What recording costs the clients of a vLLM server: tokens a second, and P50 and P99 of the times
of requests.

One server under Sonde takes the same load again and again, recorded and not, in pairs whose order
alternates, so that what else the machine does meets both. The load is CLIENTS clients that ask one
after the other. Reported are the medians of the pairs' ratios (recorded to not), P99 of all
requests of a side, processor time of the server a token, and the share of the processors that
other programs used meanwhile: a machine of which others use a part cannot show one per cent.
"""

import argparse
import statistics
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from processor_use import TICKS_PER_S, processor_use, share_of_others
from vllm_server import Server

ROOT = Path(__file__).resolve().parent.parent.parent
CLIENTS = 2
PROMPT = "def main():\n    import os\n"


@dataclass
class Side:
    """One load: requests' times in seconds, and what they took."""

    times: list = field(default_factory=list)
    tokens_s: float = 0
    processor_ms: float = 0  # of the server a token
    others: float = 0

    @property
    def p50(self):
        return statistics.median(self.times)


def quantile(values, share):
    """The smallest value that so many are not above."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def load(server, requests, tokens):
    """The clients ask `requests` times together."""
    side, lock, left = Side(), threading.Lock(), [requests]

    def client():
        while True:
            with lock:
                if left[0] == 0:
                    return
                left[0] -= 1
            begin = time.monotonic()
            server.ask(PROMPT, tokens)
            side.times.append(time.monotonic() - begin)

    clients = [threading.Thread(target=client) for _ in range(CLIENTS)]
    before = processor_use(server.process.pid)
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    after = processor_use(server.process.pid)
    if len(side.times) != requests:
        raise RuntimeError(f"requests failed\n{server.last_lines()}")
    side.tokens_s = requests * tokens / (after.moment - before.moment)
    ticks = after.session - before.session
    side.processor_ms = 1e3 * ticks / TICKS_PER_S / (requests * tokens)
    side.others = share_of_others(before, after)
    return side


def recorded(server, requests, tokens):
    """The same in a session."""
    if server.profile("start")[0] != 200:
        raise RuntimeError(f"no session\n{server.last_lines()}")
    side = load(server, requests, tokens)
    if server.profile("stop")[0] != 200:
        raise RuntimeError(f"the session did not end\n{server.last_lines()}")
    return side


def measure(server, arguments):
    """Pairs of (not recorded, recorded)."""
    pairs = []
    for number in range(arguments.pairs):
        sides = [load, recorded] if number % 2 == 0 else [recorded, load]
        both = {way: way(server, arguments.requests, arguments.tokens) for way in sides}
        pairs.append((both[load], both[recorded]))
    return pairs


def show(pairs, shape):
    """One table."""
    print(f"{len(pairs)} pairs of {len(pairs[0][0].times)} requests, model {shape}; ratios are "
          "recorded / not recorded, medians of the pairs")  # fmt: skip
    rows = {"tokens/s": lambda side: side.tokens_s, "E2E P50": lambda side: side.p50,
            "processor time a token": lambda side: side.processor_ms}  # fmt: skip
    for name, value in rows.items():
        ratios = sorted(value(after) / value(before) for before, after in pairs)
        print(f"{name:24} {statistics.median(ratios):.3f}  (pairs {ratios[0]:.3f} to "
              f"{ratios[-1]:.3f}; {statistics.median(value(one) for one, _ in pairs):.4g} and "
              f"{statistics.median(value(one) for _, one in pairs):.4g})")  # fmt: skip
    before, after = (quantile([t for pair in pairs for t in pair[i].times], 0.99) for i in (0, 1))
    print(f"{'E2E P99 of all':24} {after / before:.3f}  ({before * 1e3:.1f} and "
          f"{after * 1e3:.1f} ms)")  # fmt: skip
    others = [side.others for pair in pairs for side in pair]
    print(f"other programs used {statistics.median(others):.0%} of the processors "
          f"({min(others):.0%} to {max(others):.0%})")  # fmt: skip


def main():
    """Starts the server and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sonde", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--shape", default="tiny")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--requests", type=int, default=24)
    parser.add_argument("--tokens", type=int, default=64)
    arguments = parser.parse_args()
    model = arguments.work / "model"
    subprocess.run([arguments.python, ROOT / "examples" / "vllm" / "make_model.py", model,
                    "--shape", arguments.shape], check=True, capture_output=True)  # fmt: skip
    launcher = [arguments.sonde, "run", "--profile-level", "level0", "--no-analyse",
                "--profile-save-path", arguments.work / "profile", "--"]  # fmt: skip
    with Server(arguments.python, model, arguments.work / "log", launcher) as server:
        load(server, arguments.requests, arguments.tokens)
        recorded(server, arguments.requests, arguments.tokens)
        show(measure(server, arguments), arguments.shape)


if __name__ == "__main__":
    main()
