"""Import of raw records of a device (PROF_*) into the store: speed and memory.

Timed with one processor and with two, from the start of the process to the end of a first query.
Folders are made by make_prof.py in TMPDIR and removed again. Where sonde_raw_bench lies beside the
command, it reports the shares of reading the records and of writing the store.

    python3 bench/raw/bench.py --megabytes 100 500 --runs 3
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/import"))

from bench import measure  # noqa: E402

MAKE_PROF = Path(__file__).with_name("make_prof.py")
SPAN = "PROF_000001_20250109081616713_0004200ABCDEFGHA"


def run_once(binary, path, folder, processors):
    """(seconds, peak memory in MB, processor seconds)"""
    cache = folder / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    before = os.times()
    command = ["taskset", "-c", processors, binary, "query", path, "SELECT count(*) FROM slice"]
    seconds, memory = measure(command, {"XDG_CACHE_HOME": str(cache)})
    after = os.times()
    shutil.rmtree(cache, ignore_errors=True)
    spent = after.children_user + after.children_system
    return seconds, memory, spent - before.children_user - before.children_system


def run_size(megabytes, options, folder):
    path = folder / SPAN
    # By a process of its own: what this one held would count as memory of those that it starts.
    made = subprocess.run(
        [sys.executable, MAKE_PROF, path, "--megabytes", str(megabytes)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    size = sum(file.stat().st_size for file in path.glob("*/data/*"))
    for processors in ("0", "0,1"):
        results = [run_once(options.binary, path, folder, processors) for _ in range(options.runs)]
        seconds = statistics.median(result[0] for result in results)
        spent = statistics.median(result[2] for result in results)
        print(
            f"{made.stdout.split(' in ')[0]}, processors {processors}: {seconds:.2f} s, "
            f"{size / 1e6 / seconds:.0f} MB/s; {spent:.2f} s of processor; "
            f"{max(result[1] for result in results):.0f} MB of memory; "
            f"load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
    stages = Path(options.binary).with_name("sonde_raw_bench")
    if stages.is_file():
        print("one processor, by stages:", flush=True)
        store = folder / "store"
        store.mkdir()
        subprocess.run(["taskset", "-c", "0", stages, path, store], check=True)
        shutil.rmtree(store)
    shutil.rmtree(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, nargs="+", default=[100, 500])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--binary", default=ROOT / "build" / "release" / "bin" / "sonde")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sonde_bench_") as folder:
        for megabytes in options.megabytes:
            run_size(megabytes, options, Path(folder))


if __name__ == "__main__":
    main()
