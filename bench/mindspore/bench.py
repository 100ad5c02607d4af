"""What recording costs a MindSpore program on a CPU: Sonde beside MindSpore's CPU profiler.

PyNative `add` of 4 elements, and the launch of a kernel in a compiled graph of 100 of them;
processor time of the process, which has several threads. Every variant in
turn in one process; the table has the best and the median of the rounds, what a variant costs more
than the idle round before it (the median of these differences), and its ratio to that round. Idle:
attached, nothing recorded; "before attaching" are MindSpore's own functions, all rounds first, and
so have no round before them. Only differences and ratios carry over to other machines; the load is
printed, since other processes on the processors lengthen all of them.

Usage: bench.py [ROUNDS]
"""

import contextlib
import os
import shutil
import statistics
import sys
import tempfile
import time

import mindspore as ms
import numpy as np
from mindspore import Tensor, ops

PYNATIVE_CALLS, GRAPH_CALLS, KERNELS = 300, 60, 100
FOLDER = tempfile.mkdtemp(prefix="sonde_bench_")
one = Tensor(np.ones(4), ms.float32)


def sync():
    try:
        from mindspore.graph.api import _pynative_executor
    except ImportError:
        from mindspore.common.api import _pynative_executor
    _pynative_executor.sync()


def pynative():
    y = one
    for _ in range(PYNATIVE_CALLS):
        y = ops.add(y, one)
    sync()
    return PYNATIVE_CALLS


def chain(x):
    for _ in range(KERNELS):
        x = x + one
    return x


compiled = ms.jit(chain)


def graph():
    for _ in range(GRAPH_CALLS):
        compiled(one)
    sync()
    return GRAPH_CALLS * KERNELS


class Sonde:
    """A recording of operators alone."""

    def __init__(self):
        from sonde import _native
        from sonde.mindspore import _adapter

        _adapter.attach()
        self.native = _native
        self.records = 0

    @contextlib.contextmanager
    def recording(self):
        features = self.native.FEATURE_RECORDING | self.native.FEATURE_OPS
        config = self.native.SessionConfig(features=features, directory=FOLDER)
        recorder = self.native.recorder()
        span = recorder.start(config)
        yield
        recorder.stop()
        status = recorder.status()
        assert status.dropped == 0, "a round in which records were lost does not count"
        self.records = status.records
        shutil.rmtree(span)


@contextlib.contextmanager
def theirs():
    """MindSpore's CPU profiler, with operators alone."""
    profiler = ms._c_expression.Profiler.get_instance("CPU")
    folder = tempfile.mkdtemp(dir=FOLDER)
    profiler.init(folder)
    profiler.step_profiling_enable(True)
    profiler.enable_op_time()
    yield
    profiler.stop()


def measure(work, variants, rounds):
    """{variant: microseconds of CPU per call, a round each}."""
    found = {name: [] for name in variants}
    for _ in range(rounds):
        for name, variant in variants.items():
            with variant():
                work()  # buffers are there
                began = time.process_time()
                calls = work()
                found[name].append((time.process_time() - began) / calls * 1e6)
    return found


def main(rounds):
    works = {"PyNative add": pynative, "kernel of a graph": graph}
    for work in works.values():
        work()
    plain = {name: measure(work, {"plain": contextlib.nullcontext}, rounds)["plain"]
             for name, work in works.items()}  # fmt: skip
    sonde = Sonde()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors, {rounds} rounds")
    print(f"{'':20}{'variant':22}{'best us':>9}{'median us':>11}{'more us':>10}{'ratio':>8}")
    for name, work in works.items():
        variants = {
            "idle": contextlib.nullcontext,
            "Sonde": sonde.recording,
            "MindSpore's profiler": theirs,
        }
        found = {"before attaching": plain[name], **measure(work, variants, rounds)}
        for variant, times in found.items():
            pairs = list(zip(times, found["idle"]))
            more = statistics.median(each - idle for each, idle in pairs)
            ratio = statistics.median(each / idle for each, idle in pairs)
            middle = statistics.median(times)
            print(f"{name:20}{variant:22}{min(times):9.3f}{middle:11.3f}{more:+10.3f}{ratio:8.3f}")
        with sonde.recording():
            calls = work()
        print(f"{'':20}{sonde.records / calls:.1f} records a call")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 25)
    shutil.rmtree(FOLDER)
