"""Comparison and advice beside msprof-analyze, alternating: processor time of all processes.

Ours is measured with an empty cache folder (first) and with what that run left there (again).
What the peer cannot do, or takes minutes for, is measured of ours alone.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from make_input import repeat_step, write_trace

GOAL = 20
AS_TABLES = ("--export_type", "db")


def run(command, cache):
    """Processor seconds, seconds and MB of a command."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    began = time.monotonic()
    with tempfile.TemporaryFile() as printed:
        # The peer leaves files where it is started.
        process = subprocess.Popen(
            command, env=environment, cwd=cache, stdout=printed, stderr=printed
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            printed.seek(0)
            raise SystemExit(f"{' '.join(command)}: {printed.read()[-800:].decode()}")
    return used.ru_utime + used.ru_stime, time.monotonic() - began, used.ru_maxrss / 1024


def measure(title, words, arguments, work, with_peer=True):
    """A line: the median of each side."""
    samples = {"peer": [], "first": [], "again": []}
    tools = [("peer", arguments.peer)] if with_peer else []
    tools += [("first", arguments.binary), ("again", arguments.binary)]
    for _ in range(arguments.repeats):
        cache = Path(tempfile.mkdtemp(dir=work))
        for name, tool in tools:
            out = Path(tempfile.mkdtemp(dir=work))
            samples[name].append(run([tool, *map(str, words), "-o", str(out)], cache))
            if not any(path.is_file() for path in out.rglob("*")):
                raise SystemExit(f"{name} wrote no result: {title}")
            shutil.rmtree(out)
        shutil.rmtree(cache)

    def text(name):
        if not samples[name]:
            return f"{name} -".ljust(39)
        cpu, wall, mb = (statistics.median(column) for column in zip(*samples[name], strict=True))
        return f"{name} {cpu:7.2f} s cpu {wall:7.2f} s {mb:6.0f} MB"

    ratio = ""
    if samples["peer"]:
        ours, theirs = (statistics.median(s[0] for s in samples[n]) for n in ("first", "peer"))
        ratio = f"x{theirs / ours:6.1f}{'' if theirs / ours >= GOAL else f' below x{GOAL}'}"
    print(f"{title:<32} {text('peer')}  {text('first')}  {text('again')}  {ratio}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--peer", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--operators", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=200, help="steps of the long database")
    parser.add_argument(
        "--peer-on-long", action="store_true", help="it takes minutes and gigabytes"
    )
    arguments = parser.parse_args()
    data = arguments.data.resolve()
    text, db = (data / "ascend_pt" / form / "level1" for form in ("text", "db"))
    ranks = ("rank0_ascend_pt", "rank1_ascend_pt")
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for form, folder in (("text", text), ("db", db)):
            words = ["compare", "-d", folder / ranks[1], "-bp", folder / ranks[0]]
            measure(f"compare level1 {form}", words, arguments, work)
            words = ["advisor", "all", "-d", folder / ranks[1], "-l", "en"]
            measure(f"advisor level1 {form}", words, arguments, work)
        long = work / "long_ascend_pt"
        size = repeat_step(db / ranks[1], long, arguments.turns)
        words = ["compare", "-d", long, "-bp", long]
        title = f"db of {size / 1e6:.0f} MB, itself"
        measure(title, words, arguments, work, arguments.peer_on_long)
        # Without the workbook, of which most is the libraries that format and compress it.
        measure(title + ", as db", [*words, *AS_TABLES], arguments, work, with_peer=False)
        shutil.rmtree(long)
        traces = [work / "new.json", work / "old.json"]
        for path, slower in zip(traces, (1.1, 1.0), strict=True):
            write_trace(path, arguments.operators, slower)
        words = ["compare", "-d", traces[0], "-bp", traces[1]]
        title = f"2 x {arguments.operators} operators"
        measure(title, words, arguments, work, with_peer=False)
        measure(title + ", as db", [*words, *AS_TABLES], arguments, work, with_peer=False)


if __name__ == "__main__":
    main()
