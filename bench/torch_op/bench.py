"""Added time per PyTorch operator while recording: Sonde beside torch.profiler, same switches.

torch.add on 4 elements in inference mode, one thread; every variant in turn, chunks of 300
operators, thread CPU time. Each chunk is compared with one without recording right before it; the
table has medians of these differences. Two tables: "steady", where the recording has already seen
some thousand operators and neither side touches memory for the first time, and "early", where it
has just begun. A chunk in which we dropped records does not count. Only the differences and their
ratio carry over to other machines.

Usage: bench.py [ROUNDS]    (default 100; needs build/release, see `make build PRESET=release`)
"""

import contextlib
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
GOAL = 0.35
# Name, slots of our ring, operators before the chunk. A small ring is in use all over soon.
SITUATIONS = (("steady", 1 << 12, 5000), ("early", 1 << 16, 1000))


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


def ours(features, folder, ring_slots, warm_up):
    def run(x):
        harness.start(harness.OPS | features, folder, ring_slots=ring_slots)
        try:
            add(x, warm_up)
            settle(x)
            before = harness.dropped()
            result = timed(x)
            return result if harness.dropped() == before else None
        finally:
            harness.recorder.sonde_session_discard()

    return run


@contextlib.contextmanager
def quiet():
    """Without what the other profiler writes to standard error at each start and stop."""
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


def theirs(warm_up, **options):
    def run(x):
        profiler = profile(activities=[ProfilerActivity.CPU], **options)
        with quiet():
            profiler.start()
        try:
            add(x, warm_up)
            settle(x)
            return timed(x)
        finally:
            with quiet():
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


def difference(run, x):
    """Added nanoseconds of one chunk, None where it does not count."""
    settle(x)
    alone = timed(x)
    result = run(x)
    return None if result is None else result - alone


def measure(situation, rounds, folder, x):
    name, ring_slots, warm_up = situation
    variants = {}
    for switches, (features, options) in SWITCHES.items():
        variants[f"sonde {switches}"] = ours(features, folder, ring_slots, warm_up)
        variants[f"torch {switches}"] = theirs(warm_up, **options)
    added = {variant: [] for variant in variants}
    for _ in range(rounds):
        for variant, run in variants.items():
            result = difference(run, x)
            if result is not None:
                added[variant].append(result)
    middle = {variant: statistics.median(values) for variant, values in added.items() if values}
    print(f"{name:10} {'sonde':>8} {'torch':>8} {'ratio':>7}   goal {GOAL}; added ns an operator")
    for switches in SWITCHES:
        mine, other = middle[f"sonde {switches}"], middle[f"torch {switches}"]
        print(f"{switches:10} {mine:+8.0f} {other:+8.0f} {mine / other:7.2f}")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    torch.set_num_threads(1)
    harness.attach()
    x = torch.ones(4)
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        add(x, 10000)
        alone = statistics.median(timed(x) for _ in range(50))
        print(f"torch {torch.__version__}, {rounds} rounds; an operator alone: {alone:.0f} ns")
        for situation in SITUATIONS:
            measure(situation, rounds, folder, x)


if __name__ == "__main__":
    main()
