"""What it costs to hand the ranks out: one process, steps, shares, Ray and Dask, on the same ranks.

Processor time is that of a control group (cgroup), so that no daemon of an engine is left out; the
engines start a cluster of their own each time, whose start is a part of what is measured. Every way
is checked to give the tables of one process.
"""

import argparse
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cluster"))

from bench import make_ranks  # noqa: E402

MODES = ("slow_rank", "all", "collective_skew")


class Group:
    """A control group that counts the processor time of the processes in it."""

    def __init__(self):
        for root, usage in (("/sys/fs/cgroup/cpuacct", "cpuacct.usage"), ("/sys/fs/cgroup", "")):
            if Path(root, usage or "cgroup.controllers").exists():
                self._folder = Path(tempfile.mkdtemp(prefix="sonde_bench_", dir=root))
                self._usage = usage
                return
        raise SystemExit("there are no control groups here, or this user may not make one")

    def seconds(self):
        if self._usage:
            return int((self._folder / self._usage).read_text()) / 1e9
        (line,) = [line for line in (self._folder / "cpu.stat").read_text().splitlines()
                   if line.startswith("usage_usec")]  # fmt: skip
        return int(line.split()[1]) / 1e6

    def run(self, commands, environment):
        """Processor and wall seconds of the commands, which run in parallel."""
        script = f'echo $$ > {self._folder}/cgroup.procs && exec "$@"'
        before, begin = self.seconds(), time.monotonic()
        running = [
            subprocess.Popen(
                ["sh", "-c", script, "sh", *map(str, command)], env=environment,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )
            for command in commands
        ]  # fmt: skip
        for process in running:
            _, err = process.communicate()
            if process.returncode != 0:
                raise SystemExit(f"{process.args}: {err.decode(errors='replace')[-500:]}")
        return self.seconds() - before, time.monotonic() - begin

    def close(self):
        for _ in range(100):
            try:
                self._folder.rmdir()
                return
            except OSError:
                time.sleep(0.1)


def tables(folder):
    (path,) = folder.rglob("cluster_analysis.db")
    with sqlite3.connect(path) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master")]
        return {name: db.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}


def ways(binary, mode, ranks, out):
    """The commands of each way, one list for each time that something is waited for."""
    cluster = [binary, "cluster"]
    whole = [*cluster, "-m", mode, "-d", ranks, "-o", out]
    parts = out / "parts"
    mapped = [*cluster, "map", "-m", mode, ranks, "-o", parts]
    return {
        "one process": [[whole]],
        "map, reduce": [[mapped], [[*cluster, "reduce", "-m", mode, parts, "-o", out]]],
        "2 shares": [[[*whole, "--part", f"{number}/2"] for number in (1, 0)]],
        "ray": [[[*whole, "--engine", "ray"]]],
        "dask": [[[*whole, "--engine", "dask"]]],
    }


def measure(group, arguments, mode, ranks, work):
    cache = Path(tempfile.mkdtemp(dir=work))
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(cache),
        "SONDE_ENGINE_PYTHON": arguments.python,
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    times, truth = {}, None
    for _ in range(arguments.repeats):
        out = Path(tempfile.mkdtemp(dir=work))
        for name, rounds in ways(arguments.binary, mode, ranks, out).items():
            if mode == "all" and name == "map, reduce":
                continue  # its look into the slow rank needs a third step
            spent = [group.run(commands, environment) for commands in rounds]
            times.setdefault(name, []).append([sum(values) for values in zip(*spent)])
            found = tables(out)
            truth = truth or found
            if found != truth:
                raise SystemExit(f"{mode}: {name} gives other tables than one process")
            shutil.rmtree(out)
            out.mkdir()
        shutil.rmtree(out)
    shutil.rmtree(cache)
    for name, values in times.items():
        processor, wall = (statistics.median(column) for column in zip(*values))
        base = statistics.median(value[0] for value in times["one process"])
        print(f"{mode:<16} {name:<12} processor {processor:7.2f} s (x{processor / base:5.2f})  "
              f"wall {wall:7.2f} s", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--python", required=True, help="one with Ray and Dask")
    parser.add_argument("--set", type=Path, required=True)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--modes", default=",".join(MODES))
    arguments = parser.parse_args()
    group = Group()
    work = Path(tempfile.mkdtemp(prefix="sonde_engine_bench"))
    try:
        ranks = work / "ranks"
        ranks.mkdir()
        make_ranks(arguments.set, ranks, arguments.ranks)
        for mode in arguments.modes.split(","):
            measure(group, arguments, mode, ranks, work)
    finally:
        shutil.rmtree(work)
        group.close()


if __name__ == "__main__":
    main()
