"""`sonde compare`: forms of its results, pairings of profilers, and its messages on bad input."""

import csv
import re
import shutil
import sqlite3
from decimal import Decimal

import pytest
from workbook import sheets_of

TEXT = "ascend_pt/text/level1/rank0_ascend_pt"
DB = "ascend_pt/db/level1/rank0_ascend_pt"
GPU = "kineto/ns_resolution_trace"
HOST = "vllm_cpu/kineto/tp1_stack_on/rank0.pt.trace.json.gz"


def only(folder, pattern):
    (path,) = folder.glob(pattern)
    return path


@pytest.fixture(name="compare")
def make_compare(run_sonde, shared_data, tmp_path):
    """compare(new, old, ...): the finished process; results lie in tmp_path / "out"."""

    def run(new, old, *words):
        paths = [shared_data / side if isinstance(side, str) else side for side in (new, old)]
        return run_sonde(
            "compare", "-d", paths[0], "-bp", paths[1], "-o", tmp_path / "out", *words, timeout=300
        )

    return run


def test_workbook_csv_and_database_hold_the_same(compare, tmp_path):
    for form in ("excel", "csv", "db"):
        assert compare(DB, DB, "--export_type", form).returncode == 0
    book = sheets_of(only(tmp_path / "out", "*.xlsx"))
    database = sqlite3.connect(only(tmp_path / "out", "*.db"))
    folder = next(path for path in (tmp_path / "out").iterdir() if path.is_dir())
    assert len(book) >= 4
    for name, cells in book.items():
        headings, *rows = cells[2:]
        assert database.execute(f"SELECT count(*) FROM {name}").fetchone() == (len(rows),)
        with (folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            texts = list(csv.reader(file))
        assert len(texts) == len(rows) + 1
        assert len(texts[0]) == len(headings) == len(set(texts[0]))


def peak_of(folder):
    """Bytes and blocks that are alive at the peak, by the profiler's own list of blocks; it is when
    its own curve is highest."""
    changes = []
    with (folder / "operator_memory.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            size = round(float(row["Size(KB)"]) * 1024)
            changes.append((Decimal(row["Allocation Time(us)"].strip()), size, 1))
            if row["Release Time(us)"].strip():
                changes.append((Decimal(row["Release Time(us)"].strip()), -size, -1))
    now, count, most = 0, 0, (0, 0, None)
    for moment, size, block in sorted(changes):
        now, count = now + size, count + block
        most = max(most, (now, count, moment), key=lambda found: found[0])
    with (folder / "memory_record.csv").open(newline="", encoding="utf-8") as file:
        curve = [row for row in csv.DictReader(file) if row["Component"] == "PTA+GE"]
    highest = max(curve, key=lambda row: float(row["Total Allocated(MB)"]))
    assert most[2] == Decimal(highest["Timestamp(us)"].strip())
    return most[:2]


def test_what_was_alive_at_the_peak_of_memory(compare, shared_data, tmp_path):
    other = TEXT.replace("rank0", "rank1")
    assert compare(other, TEXT, "--export_type", "db").returncode == 0
    database = sqlite3.connect(only(tmp_path / "out", "*.db"))
    rows = database.execute(
        "SELECT owner, base_bytes, base_blocks, comparison_bytes, comparison_blocks, diff_bytes"
        " FROM MemoryAtPeak"
    ).fetchall()
    whole, *owners = rows
    assert whole[0] == "all"
    for at in range(1, 6):
        assert sum(row[at] for row in owners) == whole[at]
    assert whole[1:3] == peak_of(shared_data / TEXT / "ASCEND_PROFILER_OUTPUT")
    assert whole[3:5] == peak_of(shared_data / other / "ASCEND_PROFILER_OUTPUT")
    differences = [abs(row[5]) for row in owners]
    assert differences == sorted(differences, reverse=True)


def test_the_same_trace_twice_differs_nowhere(compare, tmp_path):
    assert compare(TEXT, TEXT, "--export_type", "db").returncode == 0
    database = sqlite3.connect(only(tmp_path / "out", "*.db"))
    for (name,) in database.execute("SELECT name FROM sqlite_master").fetchall():
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({name})")]
        for column in columns:
            if column.startswith("base_") and "call_stack" not in column:
                other = column.replace("base_", "comparison_")
                differ = f"SELECT count(*) FROM {name} WHERE {column} IS NOT {other}"
                assert database.execute(differ).fetchone() == (0,), (name, column)
            if column.endswith("ratio") and not column.startswith("base_duration"):
                values = {row[0] for row in database.execute(f"SELECT {column} FROM {name}")}
                assert values <= {1, None} or "duration_ratio" in column, (name, column, values)


@pytest.mark.parametrize(
    ("new", "old", "devices"),
    [
        (TEXT, GPU, "GPU +NPU"),
        (GPU, DB, "NPU +GPU"),
        (HOST, TEXT, "NPU +CPU"),
        (GPU, GPU, "GPU +GPU"),
    ],
)
def test_any_pairing(new, old, devices, compare, tmp_path):
    done = compare(new, old)
    assert done.returncode == 0, done.stderr
    assert re.search(devices, done.stdout), done.stdout
    sheets = sheets_of(only(tmp_path / "out", "*.xlsx"))
    assert {"OverallMetrics", "ApiCompare", "KernelCompare"} <= set(sheets)


def test_two_runs_of_mindspore(compare, shared_data, tmp_path):
    """One executes operators one by one, the other compiled them to a graph: operators that only
    one has are named, and shapes show which are called more."""
    folder = shared_data / "mindspore_cpu" / "profiler"
    (eager,) = (folder / "pynative_mem").glob("*_ascend_ms")
    (graph,) = (folder / "graph_mem").glob("*_ascend_ms")
    assert compare(eager, graph, "--export_type", "csv").returncode == 0
    result = next(path for path in (tmp_path / "out").iterdir() if path.is_dir())
    with (result / "Causes.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    causes = {(row["cause"], row["subject"].split(" ")[0]) for row in rows}
    assert ("appeared", "AddExt") in causes and ("other kernels", "MatMul") in causes


def test_an_amd_trace_beside_an_nvidia_one(compare, shared_data, tmp_path):
    """Kernels and copies of the one, launched by no operator, beside those of the other."""
    amd = shared_data / "field" / "16-rocm-copies"
    done = compare(amd, GPU)
    assert done.returncode == 0, done.stderr
    assert re.search("GPU +GPU", done.stdout)
    assert "no sheet ApiCompare: the comparison side lacks operators" in done.stderr
    sheets = sheets_of(only(tmp_path / "out", "*.xlsx"))
    assert {"OverallMetrics", "KernelCompare"} <= set(sheets)


PROGRAM = """
import torch

model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
for step in range(3):
    model(torch.ones(4, 8)).sum().backward()
"""


def test_captures_are_compared_by_module(run_sonde, prepared, tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    assert run_sonde("run", "--quiet", "--", prepared.python, "train.py").returncode == 0
    done = run_sonde("compare", "-d", "profile", "-bp", "profile", "-o", "out")
    assert done.returncode == 0, done.stderr
    sheets = sheets_of(only(tmp_path / "out", "*.xlsx"))
    rows = sheets["ModuleCompareStatistic"][3:]
    names = {row[3] for row in rows if row[4] == "[ TOTAL ]"}
    assert {"/Sequential", "/Sequential/0", "/Sequential/2"} <= names
    linear = next(row for row in rows if row[3] == "/Sequential/0" and "linear" in row[4])
    assert linear[7] == linear[11] >= 3


def test_only_the_sheets_that_are_asked_for(compare, tmp_path):
    assert compare(TEXT, TEXT, "--enable_api_compare").returncode == 0
    assert set(sheets_of(only(tmp_path / "out", "*.xlsx"))) == {"ApiCompare"}


def test_what_is_missing_is_named(compare):
    done = compare(HOST, GPU, "--enable_communication_compare")
    assert done.returncode == 1
    assert "no sheet CommunicationCompare: both sides lack communication" in done.stderr


def test_doubts_are_reported(compare):
    same = compare(DB, DB)
    assert "both sides are the same trace" in same.stderr
    assert "other models" not in same.stderr
    other = compare(HOST, DB)
    assert "may be runs of other models" in other.stderr
    assert "the comparison side has no steps" in other.stderr


def test_a_step_that_is_not_there(compare, one_error_line):
    done = compare(TEXT, DB, "--comparison_step", "7", "--base_step", "50")
    one_error_line(done, 1, "has no step 7", "it has: 50")


def test_a_folder_of_several_traces(compare, one_error_line):
    done = compare("ascend_pt/text/level1", DB)
    one_error_line(done, 1, "holds 2 traces", "rank0_ascend_pt")


@pytest.mark.parametrize("kind", ["missing", "empty", "cut", "other"])
def test_a_side_that_cannot_be_read(kind, compare, shared_data, tmp_path):
    path = tmp_path / "trace.json"
    if kind == "empty":
        path.write_text("")
    if kind == "other":
        path.write_text("[1, 2")
    if kind == "cut":
        whole = (shared_data / TEXT / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_bytes()
        path.write_bytes(whole[:20])
    done = compare(path, DB)
    *before, last = done.stderr.splitlines()
    assert done.returncode == 1 and last.startswith("sonde: error: ") and "trace.json" in last
    assert all("error" not in line for line in before)
    assert not list((tmp_path / "out").glob("*"))


def test_results_that_cannot_be_written(run_sonde, shared_data, tmp_path, one_error_line):
    (tmp_path / "file").write_text("")
    done = run_sonde(
        "compare", "-d", shared_data / DB, "-bp", shared_data / DB, "-o", tmp_path / "file" / "out"
    )
    one_error_line(done, 1, "name another folder with -o")


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["--max_kernel_num", "3"], "has to be greater than 3"),
        (["--base_step", "50"], "go together"),
        (["--op_name_map", "{a:b}"], "--op_name_map must be a dictionary"),
    ],
)
def test_wrong_usage(words, printed, compare):
    done = compare(DB, DB, *words)
    assert done.returncode == 2
    assert printed in done.stderr


def test_inputs_stay_as_they_are(compare, shared_data, tmp_path):
    copy = shutil.copytree(shared_data / TEXT, tmp_path / "rank0_ascend_pt")
    before = {path: path.stat().st_mtime_ns for path in copy.rglob("*")}
    assert compare(copy, copy).returncode == 0
    assert {path: path.stat().st_mtime_ns for path in copy.rglob("*")} == before


def test_tasks_of_a_plane_that_overlap_are_of_one_plane(compare, shared_data, tmp_path):
    """The plane that waited least shows how long a group waited; what of it is drawn on a track
    beside its own is no plane that waited less."""
    new = shutil.copytree(shared_data / DB, tmp_path / "new_ascend_pt")
    for path in new.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    database = sqlite3.connect(next(new.rglob("ascend_pytorch_profiler_*.db")))
    task = "SELECT globalTaskId FROM COMMUNICATION_TASK_INFO"
    # Some microseconds longer: into the next task of the plane.
    database.execute(
        f"UPDATE TASK SET endNs = endNs + 3000 WHERE rowid % 3 = 1 AND globalTaskId IN ({task})"
    )
    database.commit()
    database.close()
    assert compare(new, DB).returncode == 0
    (wait,) = [
        row
        for row in sheets_of(only(tmp_path / "out", "*.xlsx"))["OverallMetrics"]
        if str(row[0]).strip() == "Wait"
    ]
    base_ms, new_ms = float(wait[1]), float(wait[4])
    assert base_ms > 2
    assert abs(new_ms - base_ms) < 0.1
