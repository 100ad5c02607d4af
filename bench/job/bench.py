"""Statements over all traces of a job, the first time and again, each by a process of its own.

Many small ranks: 315 slices each. Large ranks: eight, of the size that is asked for. Printed for
each statement: seconds, most memory, most open files; the cache beside the input.
"""

import argparse
import os
import random
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path

SLICES = 315
TYPES = ("mm", "add", "gelu", "softmax", "layer_norm", "copy_")
COUNT = "SELECT rank, count(*) FROM slice GROUP BY rank"
OP_STATISTIC = "SELECT rank, op_type, sum(total_ns) FROM op_statistic GROUP BY ALL"


def write_rank(path, rank, slices):
    """Operators, each with a kernel half as long, as PyTorch's profiler writes them."""
    rng = random.Random(rank)
    with path.open("w") as out:
        out.write(f'{{"distributedInfo":{{"rank":{rank}}},"traceEvents":[\n')
        ts = 1_700_000_000_000_000 + rank
        for number in range(slices):
            kind = rng.choice(TYPES)
            dur = rng.randrange(4, 40)
            if number % 3:
                event = f'"cat":"cpu_op","name":"aten::{kind}","pid":{rank},"tid":1'
            else:
                event = f'"cat":"kernel","name":"{kind}_kernel","pid":0,"tid":7'
            comma = "" if number == 0 else ","
            out.write(f'{comma}{{"ph":"X",{event},"ts":{ts},"dur":{dur}}}\n')
            ts += dur + rng.randrange(1, 5)
        out.write("]}\n")


def write_job(folder, ranks, slices):
    folder.mkdir()
    for rank in range(ranks):
        write_rank(folder / f"rank{rank}.json", rank, slices)
    return size_of(folder)


def size_of(folder):
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def run(binary, folder, sql, cache):
    """Seconds, most memory in MB, most open files, and the output."""
    begin = time.monotonic()
    process = subprocess.Popen(
        [binary, "query", str(folder), sql, "--format", "csv"],
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    most = [0]

    def watch():
        while process.returncode is None:
            try:
                most[0] = max(most[0], len(os.listdir(f"/proc/{process.pid}/fd")))
            except OSError:
                return
            time.sleep(0.01)

    watcher = threading.Thread(target=watch)
    watcher.start()
    reader = threading.Thread(target=process.stderr.read)
    reader.start()
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - begin
    watcher.join()
    reader.join()
    if process.returncode != 0:
        raise SystemExit(f"{sql}: status {process.returncode}")
    return seconds, usage.ru_maxrss / 1024, most[0], output


def measure(binary, folder, title, input_bytes):
    print(f"{title}, {input_bytes / 1e6:.0f} MB")
    outputs = {}
    for sql in (COUNT, OP_STATISTIC):
        cache = Path(tempfile.mkdtemp())
        try:
            for time_ in ("first", "again"):
                seconds, memory, files, output = run(binary, folder, sql, cache)
                if outputs.setdefault(sql, output) != output:
                    raise SystemExit(f"{sql}: another answer the second time")
                table = sql.split(" FROM ")[1].split()[0]
                rows = output.count(b"\n") - 1
                print(
                    f"  {table:<13}{time_:<6}{seconds:8.2f} s {memory:7.0f} MB  "
                    f"{files:5} files  {rows} rows"
                )
            cached = size_of(cache)
            print(f"  cache {cached / 1e6:.0f} MB, {cached / input_bytes:.1f} times the input")
        finally:
            shutil.rmtree(cache)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--ranks", type=int, default=1000)
    parser.add_argument("--megabytes", type=int, default=100)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        small = Path(name) / "small"
        size = write_job(small, arguments.ranks, SLICES)
        measure(arguments.binary, small, f"{arguments.ranks} ranks of {SLICES} slices", size)
        if arguments.megabytes > 0:
            large = Path(name) / "large"
            size = write_job(large, 8, arguments.megabytes * 12_500)
            measure(arguments.binary, large, "8 large ranks", size)


if __name__ == "__main__":
    main()
