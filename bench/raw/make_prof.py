"""Writes a PROF_* folder of any size: a training loop on one device of a chip.

Of each operator: its call, two calls below it and the launch, basic description, tensors, the task
with its log and its hardware counters; every fiftieth is an operation of communication with twelve
transfers. Times go on, numbers of tasks restart as on the device.

    python3 bench/raw/make_prof.py FOLDER --megabytes 500
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/e2e"))

import prof_runs  # noqa: E402
import prof_writer as prof  # noqa: E402
from prof_writer import ACL, COMMUNICATION, NODE, RUNTIME, Call, Counters, Task  # noqa: E402

OPERATORS = 40  # of different names
SHAPES = [(4096, 4096), (32, 128, 4096), (8, 32, 1024, 128), (151936, 4096)]
PERIOD_NS = 30_000  # from operator to operator
NUMBERS = 65535  # of tasks until they restart
RUNTIME_CALLS = ("rtKernelLaunch", "rtGetDevice")


def operator(index, at, number, begin):
    """A kernel of the cores with what its call holds."""
    kind = index % OPERATORS
    name = f"Operator{kind}"
    shape = SHAPES[kind % len(SHAPES)]
    pmu = Counters(begin + 9_000, 39_600, [792, 792, 3960, 7920, 19_800, 396, 1000, 25])
    task = Task(at + 6_000, 7, number, "KERNEL_AICORE", (begin, begin + 10_000), pmu=[pmu])
    below = [Call(at + 4_000 + 500 * k, at + 4_300 + 500 * k, RUNTIME, name)
             for k, name in enumerate(RUNTIME_CALLS)]  # fmt: skip
    launch = Call(at + 3_000, at + 9_000, NODE, "launch", f"{name}_{kind}", calls=below,
                  tasks=[task], basic=(name, 0, name, 24, 0, 0),
                  inputs=[(2, 27, shape), (2, 27, shape)], outputs=[(2, 27, shape)])  # fmt: skip
    return Call(at, at + 10_000, ACL, f"aclnnOperator{kind}", calls=[launch])


def all_reduce(at, number, begin):
    """An operation of twelve transfers."""
    parts = [
        Call(at + 1_000 + 700 * k, at + 1_500 + 700 * k, COMMUNICATION, "master",
             transfer=prof_runs.transfer("Memcpy", 1 << 20),
             tasks=[Task(at + 1_200 + 700 * k, 11, number + k, "MEMCPY_ASYNC",
                         (begin + 800 * k, begin + 800 * k + 700), 11)])
        for k in range(12)
    ]  # fmt: skip
    return Call(at, at + 20_000, NODE, "hcom_allReduce", "hcom_allReduce_", calls=parts,
                basic=("hcom_allReduce_", 9, "hcom_allReduce_", 0, 0, 0),
                operation=(4, "MESH-RING", 1 << 20, "group_name_586"))  # fmt: skip


class Cyclic:
    """Tasks of a stream by number, with a flip on both sides where numbers restart."""

    def __init__(self, writer, stream, numbers):
        self.writer, self.stream, self.numbers = writer, stream, numbers
        self.number = self.flip = 0

    def take(self, count, at, begin):
        if self.number + count >= self.numbers:
            self.number = 0
            self.flip += 1
            self.writer.task(Task(at, self.stream, 0, "FLIP_TASK", flip=self.flip))
            self.writer.run.flips.append((begin, self.stream, self.flip, 0))
        self.number += count
        return self.number - count


def write(folder, megabytes, chip=5, numbers=NUMBERS):
    """Fills the folder, and returns (bytes of records, kernels and transfers)."""
    prof.OTHER_TYPES.setdefault((ACL, "aclnnOperator0"), 0x50100)
    for kind in range(1, OPERATORS):
        prof.OTHER_TYPES.setdefault((ACL, f"aclnnOperator{kind}"), 0x50100 + kind)
    run = prof.Run([], chip=chip, slice_bytes=20 << 20, sample=prof_runs.PIPES)
    writer = prof.Writer(run)
    compute = Cyclic(writer, 7, numbers)
    communication = compute if chip == 15 else Cyclic(writer, 11, numbers)  # unique there
    size = index = tasks = 0
    while size < megabytes * 1e6:
        at = 10_000 + index * PERIOD_NS
        begin = at + 12_000
        if index % 50 == 49:
            writer.call(all_reduce(at, communication.take(12, at - 10, begin - 10), begin))
            tasks += 12
        else:
            writer.call(operator(index, at, compute.take(1, at - 10, begin - 10), begin))
            tasks += 1
        index += 1
        if index % 1000 == 0:
            size = sum(map(len, writer.streams.values()))
    prof.write_streams(run, writer.finish(), folder)
    return sum(map(len, writer.streams.values())), tasks


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--megabytes", type=float, default=500)
    parser.add_argument("--chip", type=int, default=5)
    options = parser.parse_args()
    size, tasks = write(options.folder, options.megabytes, options.chip)
    print(f"{size / 1e6:.1f} MB, {tasks} tasks in {options.folder}")


if __name__ == "__main__":
    main()
