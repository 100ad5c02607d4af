"""Statements on a lake of many ranks: the longest kernels of one rank, and over all.

The ranks are those of a real set: `sonde lake add` makes a lake of them, whose files are then named
again (hard links) under further ranks, with the entries of the catalogue. The numbers of the ranks
are those of the folders, as Sonde reads them.
"""

import argparse
import os
import re
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import duckdb

KERNELS = (
    "SELECT name, count(*) AS calls, sum(dur) AS ns FROM device_task {where} GROUP BY name "
    "ORDER BY ns DESC LIMIT 10"
)


def link_ranks(lake, count):
    """Names the files of the first ranks again until there are `count` ranks."""
    base = duckdb.connect(str(lake / "catalog.ducklake"))
    have = base.sql("SELECT count(*) FROM sonde_trace").fetchone()[0]
    for folder in lake.glob("*/run=0/rank=*"):
        rank = int(folder.name.partition("=")[2])
        for other in range(rank + have, count, have):
            target = folder.with_name(f"rank={other}")
            target.mkdir()
            for file in folder.iterdir():
                os.link(file, target / file.name)
    base.execute(
        "INSERT INTO ducklake_data_file SELECT row_number() OVER () - 1 + (SELECT "
        "max(next_file_id) FROM ducklake_snapshot), table_id, begin_snapshot, NULL, NULL, "
        "regexp_replace(path, 'rank=(\\d+)', 'rank=' || (regexp_extract(path, 'rank=(\\d+)', "
        f"1)::INT + {have} * n)), true, 'parquet', record_count, file_size_bytes, footer_size, "
        "row_id_start, partition_id, NULL, NULL, NULL FROM ducklake_data_file, "
        f"range(1, {count // have}) AS r(n)"
    )
    base.execute(
        f"INSERT INTO sonde_trace SELECT trace + {have} * n, key || '-' || n, run, "
        f"rank + {have} * n, path, is_whole, rows, bytes, faults FROM sonde_trace, "
        f"range(1, {count // have}) AS r(n)"
    )
    base.close()


def measure(command, repeats):
    """Wall and processor seconds, medians."""
    walls, processors = [], []
    for _ in range(repeats):
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        walls.append(time.monotonic() - begin)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        processors.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        if done.returncode != 0 or done.stdout.count("\n") != 11:
            raise SystemExit(f"{command}: {done.stdout}{done.stderr}")
    return statistics.median(walls), statistics.median(processors)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--set", type=Path, required=True)
    parser.add_argument("--ranks", type=int, default=10000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="sonde_lake_bench"))
    lake = work / "lake"
    try:
        add = [arguments.binary, "lake", "add", arguments.set, "--to", lake]
        subprocess.run(add, check=True, stderr=subprocess.DEVNULL)
        link_ranks(lake, arguments.ranks)
        rows = subprocess.run(
            [arguments.binary, "lake", "list", lake], capture_output=True, text=True, check=True
        ).stdout
        print(re.sub(r" +", " ", rows.splitlines()[1]))
        for name, where in (("one rank", f"WHERE rank = {arguments.ranks - 5}"), ("all ranks", "")):
            command = [arguments.binary, "query", lake, KERNELS.format(where=where),
                       "--format", "csv"]  # fmt: skip
            wall, processor = measure(command, arguments.repeats)
            print(f"top ten kernels, {name:<10} wall {wall:6.2f} s  processor {processor:6.2f} s",
                  flush=True)  # fmt: skip
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
