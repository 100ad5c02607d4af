"""Import of traces into the store, beside rivals on the same file in the same run.

Ours is timed from the start of the process to the end of a first query, with one processor and with
two. Rivals: Python's json.load, DuckDB's read_json, inserts into SQLite, and Perfetto's trace
processor; those that are not there are left out. Files are made by generate.py and removed again.
Runs of all take turns, each with the file and memory warm (even_out); ratios are of medians,
and those to Perfetto of the best runs too.

    python3 bench/import/bench.py --megabytes 500 70 1 --runs 3
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from generate import generate

ROOT = Path(__file__).resolve().parents[2]
JSON_LOAD = "import json, sys; json.load(open(sys.argv[1]))"
READ_JSON = (
    "import duckdb, sys; "
    "duckdb.sql('set threads=1'); "
    "print(duckdb.sql(f\"select count(*) from read_json('{sys.argv[1]}', "
    'maximum_object_size=2000000000)").fetchall())'
)
PERFETTO = "Perfetto trace processor"
SQLITE = """
import json, sqlite3, sys
events = json.load(open(sys.argv[1]))
events = events if isinstance(events, list) else events["traceEvents"]
database = sqlite3.connect(sys.argv[2])
database.execute("pragma journal_mode=off")
database.execute("create table slice(ts, dur, pid, tid, name, cat, args)")
database.executemany(
    "insert into slice values(?,?,?,?,?,?,?)",
    ((str(e.get("ts")), e.get("dur"), e["pid"], e["tid"], e["name"], e.get("cat"),
      json.dumps(e.get("args"))) for e in events if e["ph"] == "X"))
database.commit()
"""


# Reads a file and touches memory: both are then warm for the next run.
EVEN_OUT = """
import os, sys
with open(sys.argv[1], "rb") as file:
    while file.read(1 << 24):
        pass
free = os.sysconf("SC_AVPHYS_PAGES")
pages = min(free // 2, int(4e9) // os.sysconf("SC_PAGE_SIZE"))
memory = bytearray(pages * os.sysconf("SC_PAGE_SIZE"))
memory[:: os.sysconf("SC_PAGE_SIZE")] = bytes(pages)
"""


def even_out(path):
    """The same conditions for all: a host takes back what nobody used for seconds, and to get it
    again costs a program more than to fill it, so that who ran before would decide."""
    subprocess.run([sys.executable, "-c", EVEN_OUT, path], check=True)


def measure(command, environment=None):
    """(seconds, peak memory in MB) of a process that has to succeed."""
    begin = time.monotonic()
    child = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **(environment or {})},
    )
    errors = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.stderr.close()
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))} failed: {errors.decode()[-500:]}")
    return time.monotonic() - begin, usage.ru_maxrss / 1024


def ours(binary, path, folder, processors):
    cache = folder / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    command = ["taskset", "-c", processors, binary, "query", path, "SELECT count(*) FROM slice"]
    result = measure(command, {"XDG_CACHE_HOME": str(cache)})
    shutil.rmtree(cache, ignore_errors=True)
    return result


def has_module(python, module):
    done = subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False)
    return done.returncode == 0


def rivals(python, shell, path, folder):
    """Name and a function that measures it once."""
    database = folder / "rival.sqlite"

    def sqlite():
        database.unlink(missing_ok=True)
        result = measure([python, "-c", SQLITE, path, database])
        database.unlink(missing_ok=True)
        return result

    yield "Python json.load", lambda: measure([python, "-c", JSON_LOAD, path])
    yield "SQLite insert (slices)", sqlite
    if has_module(python, "duckdb"):
        yield "DuckDB read_json", lambda: measure([python, "-c", READ_JSON, path])
    if shell:
        question = "select count(*) from slice"
        yield PERFETTO, lambda: measure([shell, "query", path, question])


def report(name, results, size):
    seconds = statistics.median(result[0] for result in results)
    best = min(result[0] for result in results)
    memory = max(result[1] for result in results)
    print(
        f"  {name:28} {seconds:7.2f} s {size / seconds:6.0f} MB/s (best {size / best:4.0f}) "
        f"{memory:6.0f} MB",
        flush=True,
    )
    return seconds, best


def run_shape(shape, megabytes, options, folder):
    # The name decides which importer reads it.
    path = folder / ("trace.pt.trace.json" if shape == "kineto" else "trace_view.json")
    generate(shape, megabytes * 1e6, path)
    size = path.stat().st_size / 1e6
    load = os.getloadavg()[0]
    print(f"{shape}, {size:.0f} MB, {options.runs} runs, median; load {load:.1f}", flush=True)
    one, two = "ours, 1 processor", "ours, 2 processors"
    contenders = {
        one: lambda: ours(options.binary, path, folder, "0"),
        two: lambda: ours(options.binary, path, folder, "0,1"),
    }
    if options.rivals:
        contenders.update(rivals(options.python, options.trace_processor, path, folder))
    results = {name: [] for name in contenders}
    for _ in range(options.runs):
        for name, run in contenders.items():
            even_out(path)
            results[name].append(run())
    seconds = {name: report(name, list_, size) for name, list_ in results.items()}
    for name in list(contenders)[2:]:
        print(
            f"  ours : {name:22} {seconds[name][0] / seconds[one][0]:5.1f} with 1, "
            f"{seconds[name][0] / seconds[two][0]:5.1f} with 2; best runs "
            f"{seconds[name][1] / seconds[one][1]:5.1f}, {seconds[name][1] / seconds[two][1]:5.1f}"
        )
    print(
        f"  2 processors : 1           {seconds[one][0] / seconds[two][0]:6.2f}; best runs "
        f"{seconds[one][1] / seconds[two][1]:5.2f}",
        flush=True,
    )
    path.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, nargs="+", default=[500])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--shapes", nargs="+", default=["ascend", "ascend_unique", "kineto"])
    parser.add_argument("--binary", default=ROOT / "build" / "release" / "bin" / "sonde")
    parser.add_argument("--python", default=sys.executable, help="of the rivals in Python")
    parser.add_argument("--trace-processor", help="Perfetto's trace_processor_shell")
    parser.add_argument("--no-rivals", dest="rivals", action="store_false")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sonde_bench_") as folder:
        for megabytes in options.megabytes:
            for shape in options.shapes:
                run_shape(shape, megabytes, options, Path(folder))


if __name__ == "__main__":
    main()
