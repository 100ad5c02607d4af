"""Where the CPU is the device, its work is the own time of every operator.

The operators come from torch's own database; what is right, from torch's table and from the slices.
"""

import collections
import csv
import io
import json
import subprocess
import sys

import pytest
from conftest import ROOT

PROGRAM = ROOT / "test" / "python" / "programs" / "operator_database.py"
STRIDE = "12"

# Operators whose own ranges are on the tracks of their threads.
OPERATORS = (
    "SELECT slice_id, parent_id, thread_id, scope, s.ts, s.dur FROM slice s JOIN track USING "
    "(track_id) LEFT JOIN framework_op USING (slice_id) WHERE kind = 'thread' ORDER BY slice_id"
)
TASKS = (
    "SELECT slice_id, t.thread_id, d.ts, d.dur FROM device_task d JOIN track t USING (track_id) "
    "ORDER BY t.thread_id, d.ts, d.dur"
)


def rows_of(run_sonde, path, sql):
    done = run_sonde("query", path, sql, "--format", "csv")
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout, newline="")))


def own_times(slices):
    """ns of each operator without those that it calls, by slice; of each thread in operators."""
    by_id = {row["slice_id"]: row for row in slices}
    own = {}
    threads = collections.Counter()
    for row in slices:
        if row["scope"] != "0" or int(row["dur"]) < 0:
            continue
        own[row["slice_id"]] = own.get(row["slice_id"], 0) + int(row["dur"])
        outer = by_id.get(row["parent_id"])
        while outer is not None and (outer["scope"] != "0" or int(outer["dur"]) < 0):
            outer = by_id.get(outer["parent_id"])
        if outer is None:
            threads[row["thread_id"]] += int(row["dur"])
        else:
            own[outer["slice_id"]] = own.get(outer["slice_id"], 0) - int(row["dur"])
    return own, threads


def check_conservation(run_sonde, path):
    own, threads = own_times(rows_of(run_sonde, path, OPERATORS))
    tasks = rows_of(run_sonde, path, TASKS)
    assert {row["slice_id"]: int(row["dur"]) for row in tasks} == own
    assert len(tasks) == len(own) > 100
    sums = collections.Counter()
    ends = {}
    for row in tasks:
        begin, thread = int(row["ts"]), row["thread_id"]
        assert begin >= ends.get(thread, begin), "tasks of a stream overlap"
        ends[thread] = begin + int(row["dur"])
        sums[thread] += int(row["dur"])
    assert sums == threads


def test_tasks_of_a_capture_are_the_own_times(run_sonde, tmp_path):
    done = run_sonde(
        "run", "--profile-save-path", tmp_path / "out", "--", sys.executable, PROGRAM, STRIDE
    )
    assert done.returncode == 0, done.stderr
    check_conservation(run_sonde, next((tmp_path / "out").glob("*_ascend_pt")))


def test_tasks_of_a_kineto_trace_are_torchs_own_times(run_sonde, tmp_path):
    subprocess.run(
        [sys.executable, PROGRAM, STRIDE, tmp_path], check=True, capture_output=True, timeout=120
    )
    trace = tmp_path / "trace.json"
    check_conservation(run_sonde, trace)
    table = json.loads((tmp_path / "table.json").read_text())
    sql = "SELECT name, count(*) AS count, sum(dur) AS ns FROM device_task GROUP BY 1"
    tasks = {row["name"]: row for row in rows_of(run_sonde, trace, sql)}
    operators = {name for name in table if "::" in name and not name.startswith("autograd::")}
    assert operators <= set(tasks)
    for name in operators:
        count, own_us = table[name]
        # aten::detach calls "detach", which is no operator of a library: its time is the caller's.
        own_us += table.get(name[6:], (0, 0))[1] if name.startswith("aten::") else 0
        # The table counts an operator that calls itself once.
        assert int(tasks[name]["count"]) >= count
        assert int(tasks[name]["ns"]) == pytest.approx(own_us * 1000, abs=2 * count + 1), name
