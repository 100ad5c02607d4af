"""Text and database deliverables of one capture agree, row by row.

One training run on two ranks is recorded at level 1 with everything on, and analysed into both
forms; the files are read by Python's own csv, json and sqlite3.
"""

import csv
import json
import os
import sqlite3
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytest.importorskip("torch")


@pytest.fixture(scope="module", name="rank_folder")
def record_both_forms(sonde, prepared, tmp_path_factory):
    """ASCEND_PROFILER_OUTPUT of rank 0."""
    folder = tmp_path_factory.mktemp("both")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SONDE_")}
    environment["PYTHON_EXEC"] = prepared.python  # of the ranks
    command = [
        str(sonde), "run", "--profile-step-start", "1", "--profile-step-end", "3",
        "--profile-level", "level1", "--profile-with-memory", "--profile-record-shapes",
        "--profile-with-stack", "--profile-export-type", "text,db",
        "--profile-save-path", str(folder), "--",
        sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2",
        "--standalone", str(ROOT / "examples" / "train_tiny_gpt.py"), "--steps", "4",
    ]  # fmt: skip
    done = subprocess.run(
        command,
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (info,) = folder.glob("*_ascend_pt/profiler_info_0.json")
    return info.parent / "ASCEND_PROFILER_OUTPUT"


@pytest.fixture(scope="module", name="profiler_db")
def open_profiler_db(rank_folder):
    with sqlite3.connect(rank_folder / "ascend_pytorch_profiler_0.db") as connection:
        yield connection


@pytest.fixture(scope="module", name="analysis_db")
def open_analysis_db(rank_folder):
    with sqlite3.connect(rank_folder / "analysis.db") as connection:
        yield connection


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return [{k: v.rstrip("\t") for k, v in row.items()} for row in csv.DictReader(file)]


def ns(microseconds):
    value = Decimal(microseconds) * 1000
    assert value == int(value), microseconds
    return int(value)


def test_operators(rank_folder, profiler_db):
    text = [
        (row["Name"], row["Input Shapes"], row["Call Stack"], ns(row["Host Total Duration(us)"]))
        for row in rows_of(rank_folder / "operator_details.csv")
    ]
    stacks = {}
    for stack_id, frame in profiler_db.execute(
        "SELECT c.id, s.value FROM PYTORCH_CALLCHAINS c JOIN STRING_IDS s ON s.id = c.stack "
        "ORDER BY c.id, c.stackDepth"
    ):
        stacks.setdefault(stack_id, []).append(frame)
    database = [
        (name, shapes or "", ";\r\n".join(stacks.get(stack, [])), int(end) - int(start))
        for name, shapes, stack, start, end in profiler_db.execute(
            "SELECT n.value, s.value, p.callchainId, p.startNs, p.endNs FROM PYTORCH_API p "
            "JOIN STRING_IDS n ON n.id = p.name LEFT JOIN STRING_IDS s ON s.id = p.inputShapes "
            "WHERE p.type = 50001 AND n.value NOT LIKE 'ProfilerStep#%' ORDER BY p.rowid"
        )
    ]
    assert len(text) > 1000
    assert text == database
    assert any(stack for _, _, stack, _ in text)


def test_kernels(rank_folder, profiler_db):
    text = [
        (ns(row["Start Time(us)"]), ns(row["Duration(us)"]), row["Name"], row["Type"],
         row["Accelerator Core"], row["Stream ID"], row["Input Shapes"].strip('"'))
        for row in rows_of(rank_folder / "kernel_details.csv")
        if row["Accelerator Core"] != "COMMUNICATION"
    ]  # fmt: skip
    database = list(
        profiler_db.execute(
            "SELECT t.startNs, t.endNs - t.startNs, n.value, o.value, c.value, "
            "CAST(t.streamId AS TEXT), i.value FROM TASK t "
            "JOIN COMPUTE_TASK_INFO k USING (globalTaskId) JOIN STRING_IDS n ON n.id = k.name "
            "JOIN STRING_IDS o ON o.id = k.opType JOIN STRING_IDS c ON c.id = k.taskType "
            "JOIN STRING_IDS i ON i.id = k.inputShapes"
        )
    )
    assert len(text) > 500
    assert sorted(text) == sorted(database)


def test_every_task_is_reached_from_its_operator(profiler_db):
    (orphans,) = profiler_db.execute(
        "SELECT count(*) FROM TASK t WHERE NOT EXISTS (SELECT 1 FROM CONNECTION_IDS c "
        "JOIN PYTORCH_API p ON p.connectionId = c.id WHERE c.connectionId = t.connectionId) "
        "AND t.globalTaskId IN (SELECT globalTaskId FROM COMPUTE_TASK_INFO)"
    ).fetchone()
    assert orphans == 0


def test_memory(rank_folder, profiler_db):
    text = [
        (row["Component"], ns(row["Timestamp(us)"]), float(row["Total Allocated(MB)"]) * 1024**2)
        for row in rows_of(rank_folder / "memory_record.csv")
    ]
    database = list(
        profiler_db.execute(
            "SELECT s.value, timestamp, CAST(totalAllocated AS REAL) FROM MEMORY_RECORD m "
            "JOIN STRING_IDS s ON s.id = m.component ORDER BY m.rowid"
        )
    )
    assert len(text) > 100
    assert text == database
    text = [
        (row["Name"], round(float(row["Size(KB)"]) * 1024), ns(row["Allocation Time(us)"]),
         ns(row["Duration(us)"]) if row["Duration(us)"] else None)
        for row in rows_of(rank_folder / "operator_memory.csv")
    ]  # fmt: skip
    assert text == list(
        profiler_db.execute(
            "SELECT s.value, size, allocationTime, duration FROM OP_MEMORY m "
            "JOIN STRING_IDS s ON s.id = m.name ORDER BY m.rowid"
        )
    )


def test_steps(rank_folder, analysis_db):
    text = [
        [row["Device_id"], row["Step"]] + [float(v) for v in list(row.values())[2:]]
        for row in rows_of(rank_folder / "step_trace_time.csv")
    ]
    database = [
        [str(device), step, *values]
        for device, step, *values in analysis_db.execute("SELECT * FROM StepTraceTime")
    ]
    assert [row[1] for row in text] == ["1", "2"]
    assert text == database


def entries_of(path):
    """(step, kind, operation) and the file's values for it, without the sums."""
    with open(path, encoding="utf-8") as file:
        for step, kinds in json.load(file).items():
            for kind, operations in kinds.items():
                for name, parts in operations.items():
                    if name != "Total Op Info":
                        yield (step, kind, name), parts


def test_communication(rank_folder, analysis_db):
    text = set()
    for key, parts in entries_of(rank_folder / "communication.json"):
        times = parts["Communication Time Info"]
        text.add((*key, times["Elapse Time(ms)"], times["Transit Time(ms)"],
                  times["Wait Time(ms)"]))  # fmt: skip
    database = set(
        analysis_db.execute(
            "SELECT step, type, hccl_op_name || '@' || group_name, elapse_time, transit_time, "
            "wait_time FROM CommAnalyzerTime"
        )
    )
    assert len(text) >= 2
    assert text == database


def test_matrix(rank_folder, analysis_db):
    """No transfer of a CPU is measured, so there is no link."""
    text = set()
    for key, links in entries_of(rank_folder / "communication_matrix.json"):
        for link, cell in links.items():
            text.add((*key, link, cell["Transport Type"], cell["Transit Size(MB)"],
                      cell.get("Op Name")))  # fmt: skip
    database = set(
        analysis_db.execute(
            "SELECT step, type, hccl_op_name || '@' || group_name, src_rank || '-' || dst_rank, "
            "transport_type, transit_size, op_name FROM CommAnalyzerMatrix"
        )
    )
    assert text == database == set()


def test_tables_have_the_columns_of_the_format(profiler_db, shared_data):
    """Columns of tables that a real database has too: the same first, as documented."""
    folder = shared_data / "golden/torch_npu-2.14.0/db_level1_rank1"
    real_path = folder / "ascend_pytorch_profiler_1.db"
    compared = 0
    with sqlite3.connect(f"file:{real_path}?immutable=1", uri=True) as real:
        for (table,) in profiler_db.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            expected = [row[1] for row in real.execute(f"PRAGMA table_info({table})")]
            ours = [row[1] for row in profiler_db.execute(f"PRAGMA table_info({table})")]
            if expected and table != "COMPUTE_TASK_INFO":
                assert ours[: len(expected)] == expected, table
                compared += 1
    assert compared > 10
