"""Added time per PyTorch operator while recording: Sonde beside torch.profiler, same switches.

torch.add on 4 elements in inference mode, one thread; every variant in turn, chunks of 300
operators, thread CPU time, lower quartile over the rounds. Before a chunk the same recording has
already seen some thousand operators, so that neither side pays for memory touched the first time.
A chunk in which we dropped records does not count. Only the differences and their ratio carry
over to other machines.

Usage: bench.py [ROUNDS]    (default 100; needs build/release, see `make build PRESET=release`)
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test" / "torch"))
os.environ.setdefault("PRESET", "release")

import harness  # noqa: E402
import torch  # noqa: E402
from torch.profiler import ProfilerActivity, profile  # noqa: E402

CHUNK = 300
RING_SLOTS = 1 << 12
WARM_UP = 5000
GOAL = 0.35


def add(x, count):
    for _ in range(count):
        torch.add(x, x)


def settle(x):
    """Lets our drain thread catch up with the burst, without letting the processor cool down."""
    end = time.monotonic() + 0.02
    while time.monotonic() < end:
        pass
    add(x, 100)


def timed(x):
    begin = time.clock_gettime_ns(time.CLOCK_THREAD_CPUTIME_ID)
    add(x, CHUNK)
    end = time.clock_gettime_ns(time.CLOCK_THREAD_CPUTIME_ID)
    return (end - begin) / CHUNK


def ours(features, folder):
    def run(x):
        harness.start(harness.OPS | features, folder, ring_slots=RING_SLOTS)
        try:
            add(x, WARM_UP)
            settle(x)
            before = harness.dropped()
            result = timed(x)
            return result if harness.dropped() == before else None
        finally:
            harness.recorder.sonde_session_discard()

    return run


def theirs(**options):
    def run(x):
        profiler = profile(activities=[ProfilerActivity.CPU], **options)
        profiler.start()
        try:
            add(x, WARM_UP)
            settle(x)
            return timed(x)
        finally:
            profiler.stop()

    return run


SWITCHES = {
    "plain": (0, {}),
    "shapes": (harness.SHAPES, {"record_shapes": True}),
    "stacks": (harness.STACKS, {"with_stack": True}),
    "memory": (harness.MEMORY, {"profile_memory": True}),
    "all": (
        harness.SHAPES | harness.STACKS | harness.MEMORY,
        {"record_shapes": True, "with_stack": True, "profile_memory": True},
    ),
}


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    torch.set_num_threads(1)
    harness.attach()
    x = torch.ones(4)
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        variants = {"alone": timed, "attached": timed}
        for name, (features, options) in SWITCHES.items():
            variants[f"sonde {name}"] = ours(features, folder)
            variants[f"torch {name}"] = theirs(**options)
        times = {name: [] for name in variants}
        for _ in range(rounds):
            for name, run in variants.items():
                result = run(x)
                if result is not None:
                    times[name].append(result)
    low = {name: statistics.quantiles(values, n=4)[0] for name, values in times.items()}
    base = min(low["alone"], low["attached"])
    print(f"torch {torch.__version__}, {rounds} rounds; an operator alone: {base:.0f} ns")
    print(f"{'switches':10} {'sonde':>8} {'torch':>8} {'ratio':>7}   goal {GOAL}; added ns")
    for name in SWITCHES:
        mine, other = low[f"sonde {name}"] - base, low[f"torch {name}"] - base
        print(f"{name:10} {mine:+8.0f} {other:+8.0f} {mine / other:7.2f}")


if __name__ == "__main__":
    main()
