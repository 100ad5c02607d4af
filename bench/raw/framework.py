"""The framework's layer of raw records (FRAMEWORK/torch.*): Sonde beside torch_npu's own analysis.

Both make the text deliverables of one folder, alternating, each from the start of its process to
its end. torch_npu is the folder of an unpacked wheel of PyPI: its analysis is Python and needs
neither CANN nor the wheel's libraries. The records are those of a folder, some times in a row.

    python3 -m pip download --no-deps torch_npu==2.14.0 && unzip torch_npu-*.whl -d unpacked
    python3 bench/raw/framework.py --torch-npu unpacked --span SPAN_ascend_pt --times 20
"""

import argparse
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Packages of torch_npu by their paths alone: their own beginnings load libraries.
THEIRS = """
import os, sys, types
root, path = sys.argv[1:]
for name in ("torch_npu", "torch_npu.profiler", "torch_npu.utils"):
    package = types.ModuleType(name)
    package.__path__ = [os.path.join(root, *name.split("."))]
    sys.modules[name] = package
native = types.ModuleType("torch_npu._C._profiler")
native._get_host_uid = lambda: 0
sys.modules["torch_npu._C"] = types.ModuleType("torch_npu._C")
sys.modules["torch_npu._C._profiler"] = native
from torch_npu.profiler.analysis._npu_profiler import NpuProfiler
NpuProfiler.analyse(path)
"""

# Of fixed records: how long they are, where their times stand, where numbers that must not repeat.
FIXED = {"torch.python_tracer_func": (33, (0,), ())}
FRAMED = {"torch.op_range": ((0, 8), (16,)), "torch.op_mark": ((0,), (16,)),
          "torch.memory_usage": ((8,), ())}  # fmt: skip


def moved(record, head, places, ns, numbers, turn):
    """The record `ns` later; `head`: bytes before its fields."""
    record = bytearray(record)
    for place in places:
        (time,) = struct.unpack_from("<q", record, head + place)
        struct.pack_into("<q", record, head + place, time + ns)
    for place in numbers:
        (number,) = struct.unpack_from("<q", record, head + place)
        if number > 0:
            struct.pack_into("<q", record, head + place, number + turn * 10**6)
    return bytes(record)


def framed(content):
    while content:
        size = 6 + int.from_bytes(content[2:6], "little")
        yield content[:size]
        content = content[size:]


def repeat(source, target, times, ns):
    """The framework's records `times` times, each time `ns` later; their size."""
    target.mkdir(parents=True)
    size = 0
    for path in sorted(source.glob("torch.*")):
        content = path.read_bytes()
        pieces = [content]
        if path.name in FRAMED:
            places, numbers = FRAMED[path.name]
            records = list(framed(content))
            pieces = [
                moved(r, 6, places, ns * k, numbers, k) for k in range(times) for r in records
            ]
        elif path.name in FIXED:
            length, places, numbers = FIXED[path.name]
            records = [content[i : i + length] for i in range(0, len(content), length)]
            pieces = [
                moved(r, 0, places, ns * k, numbers, k) for k in range(times) for r in records
            ]
        (target / path.name).write_bytes(b"".join(pieces))
        size += sum(map(len, pieces))
    return size


def spent(command, folder):
    """Seconds of the clock and of processors that a command took."""
    before, began = os.times(), os.times().elapsed
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    after = os.times()
    shutil.rmtree(folder / "cache", ignore_errors=True)
    busy = after.children_user + after.children_system
    return after.elapsed - began, busy - before.children_user - before.children_system


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch-npu", required=True, help="folder of an unpacked wheel")
    parser.add_argument("--span", type=Path, required=True, help="*_ascend_pt with FRAMEWORK")
    parser.add_argument("--binary", default=str(ROOT / "build/release/bin/sonde"))
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        span = folder / "span_ascend_pt"
        span.mkdir()
        for path in options.span.glob("profiler_*.json"):
            shutil.copy(path, span)
        size = repeat(options.span / "FRAMEWORK", span / "FRAMEWORK", options.times, 10**9)
        print(
            f"{size / 1e6:.1f} MB of records, {options.times} times those of the folder", flush=True
        )
        commands = {
            "Sonde": [options.binary, "analyse", span, "-o", folder / "out"],
            "torch_npu": [sys.executable, "-c", THEIRS, options.torch_npu, span],
        }
        results = {title: [] for title in commands}
        for _ in range(options.runs):
            for title, command in commands.items():
                results[title].append(spent(list(map(str, command)), folder))
                for made in (folder / "out", span / "ASCEND_PROFILER_OUTPUT", span / "logs"):
                    shutil.rmtree(made, ignore_errors=True)
        medians = {}
        for title, runs in results.items():
            medians[title] = [statistics.median(run[i] for run in runs) for i in (0, 1)]
            clock, busy = medians[title]
            print(f"{title}: {clock:.2f} s, {busy:.2f} s of processors; load "
                  f"{os.getloadavg()[0]:.1f}")  # fmt: skip
        ratios = [a / b for a, b in zip(medians["torch_npu"], medians["Sonde"])]
        print(f"ratio: {ratios[0]:.1f} (clock), {ratios[1]:.1f} (processors)")


if __name__ == "__main__":
    main()
