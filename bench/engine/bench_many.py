"""Modes of `sonde cluster` on many small ranks (hard links of a real set), in one process.

Processor seconds, and the most memory that it held. `--worker`: `map` of a large rank, as a worker
has it.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cluster"))

from bench import make_ranks  # noqa: E402


def spent(command, environment):
    """Processor and wall seconds and the most memory of a command, in words."""
    begin = time.monotonic()
    process = subprocess.Popen(
        [str(word) for word in command], env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    error = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command}: {error.decode(errors='replace')[-500:]}")
    processor, wall = usage.ru_utime + usage.ru_stime, time.monotonic() - begin
    return f"processor {processor:6.1f} s, wall {wall:6.1f} s, {usage.ru_maxrss / 1024:5.0f} MiB"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--set", type=Path, required=True)
    parser.add_argument("--ranks", type=int, default=10000)
    parser.add_argument("--modes", default="slow_rank,all,hccl_sum")
    parser.add_argument("--worker", type=Path, help="a large rank: its map by itself")
    parser.add_argument(
        "--work", type=Path, help="below it the ranks; a set that is there is taken"
    )
    arguments = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="sonde_many_bench", dir=arguments.work))
    environment = {**os.environ, "XDG_CACHE_HOME": str(work / "cache")}
    try:
        if arguments.worker:
            command = [arguments.binary, "cluster", "map", "-m", "slow_rank", arguments.worker]
            print("map of a large rank:", spent([*command, "-o", work / "parts"], environment))
            return
        ranks = (arguments.work or work) / f"ranks{arguments.ranks}"
        if not ranks.exists():
            ranks.mkdir()
            make_ranks(arguments.set, ranks, arguments.ranks, copy=os.link)
        for mode in arguments.modes.split(","):
            for attempt in ("first", "again"):
                out = work / f"{mode}-{attempt}"
                command = [arguments.binary, "cluster", "-m", mode, "-d", ranks, "-o", out]
                print(f"{mode:<10} {attempt:<6}", spent(command, environment), flush=True)
                shutil.rmtree(out)
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
