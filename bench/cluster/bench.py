"""Modes over 2 to 256 ranks: processor time of all processes, the peer's beside ours, alternating.

Ranks are copies of a set of eight whose databases have the copy's number in their names. Ours is
measured with an empty cache folder (first) and with what that run left there (again).
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

RUNS = [
    ("all", 2), ("all", 8), ("all", 64), ("all", 256), ("module_statistic", 256),
    ("hccl_sum", 256), ("cluster_time_summary", 256),
]  # fmt: skip
GOAL = 20


def rank_of(path):
    return int(path.stem.rsplit("_", 1)[1])


def make_ranks(source, folder, count, copy=shutil.copy2):
    """Folders whose names and database names have the number of the rank."""
    sources = sorted(source.glob("*_ascend_pt"), key=lambda one: rank_of(
        next(one.rglob("ascend_pytorch_profiler_*.db"))))  # fmt: skip
    for rank in range(count):
        origin = sources[rank % len(sources)]
        target = folder / f"node_{1000 + rank}_20250109081616713_ascend_pt"
        shutil.copytree(origin, target, copy_function=copy)
        for path in [*target.rglob("ascend_pytorch_profiler_*"), *target.glob("profiler_info_*")]:
            stem = path.stem.rsplit("_", 1)[0]
            path.rename(path.with_name(f"{stem}_{rank}{path.suffix}"))


def seconds_of(command, environment):
    """Processor seconds of a command and all that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr[-500:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(arguments, mode, ranks, work):
    folder = work / f"ranks{ranks}"
    if not folder.exists():
        make_ranks(arguments.set, folder, ranks)
    times = {"peer": [], "first": [], "again": []}
    for _ in range(arguments.repeats):
        cache = Path(tempfile.mkdtemp(dir=work))
        environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
        for name, tool in (
            ("peer", arguments.peer), ("first", arguments.binary), ("again", arguments.binary)
        ):  # fmt: skip
            out = Path(tempfile.mkdtemp(dir=work))
            command = [tool, "cluster", "-m", mode, "-d", str(folder), "-o", str(out)]
            times[name].append(seconds_of(command, environment))
            if not list(out.rglob("cluster_analysis.db")):
                raise SystemExit(f"{name} wrote no result for {mode}")
            shutil.rmtree(out)
        shutil.rmtree(cache)
    middle = {name: statistics.median(values) for name, values in times.items()}
    ratio = middle["peer"] / middle["first"]
    print(
        f"{mode:<21}{ranks:>5} ranks  peer {middle['peer']:7.2f} s  ours {middle['first']:6.2f} s "
        f"again {middle['again']:6.2f} s ({1000 * middle['again'] / ranks:5.1f} ms a rank)  "
        f"x{ratio:6.1f} {'' if ratio >= GOAL else f'below x{GOAL}'}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--peer", required=True)
    parser.add_argument("--set", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--most-ranks", type=int, default=256)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for mode, ranks in RUNS:
            if ranks <= arguments.most_ranks:
                measure(arguments, mode, ranks, Path(name))


if __name__ == "__main__":
    main()
