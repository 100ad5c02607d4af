"""Where the CPU is the device, its work is the own time of every operator.

The operators come from torch's own database; what is right, from torch's table and from the slices.
"""

import csv
import io
import json
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from own_time import check_conservation  # noqa: E402

PROGRAMS = ROOT / "test" / "python" / "programs"
PROGRAM = PROGRAMS / "operator_database.py"
STRIDE = "12"


def rows_of(run_sonde, path, sql):
    done = run_sonde("query", path, sql, "--format", "csv")
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout, newline="")))


def check(run_sonde, path):
    check_conservation(lambda sql: rows_of(run_sonde, path, sql))


def test_tasks_of_a_capture_are_the_own_times(run_sonde, prepared, tmp_path):
    done = run_sonde(
        "run", "--profile-save-path", tmp_path / "out", "--", prepared.python, PROGRAM, STRIDE
    )
    assert done.returncode == 0, done.stderr
    check(run_sonde, next((tmp_path / "out").glob("*_ascend_pt")))


def test_tasks_of_a_kineto_trace_are_torchs_own_times(run_sonde, prepared, tmp_path):
    subprocess.run(
        [prepared.python, PROGRAM, STRIDE, tmp_path], check=True, capture_output=True, timeout=120
    )
    trace = tmp_path / "trace.json"
    check(run_sonde, trace)
    check_table(run_sonde, trace, json.loads((tmp_path / "table.json").read_text()))


def check_table(run_sonde, trace, table):
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


@pytest.fixture(scope="module", name="small")
def profile_small_programs(prepared, tmp_path_factory):
    """Traces and tables of torch's profiler."""
    folder = tmp_path_factory.mktemp("small")
    subprocess.run([prepared.python, PROGRAMS / "small_programs.py", folder], check=True,
                   capture_output=True, timeout=120)  # fmt: skip
    return folder


@pytest.mark.parametrize("name", [
    "perceptron", "convolution", "recurrent", "transformer", "embedding_bag", "linear_algebra",
    "sorting", "second_order", "checkpointed", "spectrum",
])  # fmt: skip
def test_tasks_of_small_programs_are_torchs_own_times(run_sonde, small, name):
    check(run_sonde, small / f"{name}.json")
    table = json.loads((small / f"{name}.table.json").read_text())
    check_table(run_sonde, small / f"{name}.json", table)


def test_tasks_of_captures_of_small_programs_are_the_own_times(run_sonde, prepared, tmp_path):
    done = run_sonde("run", "--profile-save-path", tmp_path / "out", "--", prepared.python,
                     PROGRAMS / "small_programs.py")  # fmt: skip
    assert done.returncode == 0, done.stderr
    check(run_sonde, next((tmp_path / "out").glob("*_ascend_pt")))
