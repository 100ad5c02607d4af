"""`sonde compare`: forms of its results hold the same, and what was alive at the peak of memory."""

import csv
import sqlite3
from decimal import Decimal

import pytest
from workbook import sheets_of

TEXT = "ascend_pt/text/level1/rank0_ascend_pt"
DB = "ascend_pt/db/level1/rank0_ascend_pt"


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
