"""Databases whose columns are missing or hold something else than numbers: never silence."""

import csv
import io
import sqlite3

import pytest
from test_import_device_tool_db import PID, TEXT_ID, write_tables
from test_import_device_tool_db import TABLES as DAMAGED

# Without the rows that are wrong themselves.
TABLES = DAMAGED | {
    "CCU": (DAMAGED["CCU"][0], DAMAGED["CCU"][1][:1]),
    "NPU_OP_MEM": (DAMAGED["NPU_OP_MEM"][0], DAMAGED["NPU_OP_MEM"][1][:-1]),
}

FRAMEWORK = {
    "STRING_IDS": DAMAGED["STRING_IDS"],
    "TASK": DAMAGED["TASK"],
    "ENUM_HCCL_DATA_TYPE": ("id, name", [(4, "FP32")]),
    "ENUM_HCCL_TRANSPORT_TYPE": ("id, name", [(0, "SDMA")]),
    "ENUM_HCCL_LINK_TYPE": ("id, name", [(1, "HCCS")]),
    "ENUM_API_TYPE": ("id, name", [(10000, "node")]),
    "CANN_API": (
        "startNs, endNs, type, globalTid, connectionId, name",
        [(900, 950, 10000, PID | 5, 1, TEXT_ID["plain"])],
    ),
    "PYTORCH_API": (
        "startNs, endNs, globalTid, connectionId, name, sequenceNumber, fwdThreadId, inputDtypes, "
        "inputShapes, callchainId, type",
        [("800", "990", PID | 5, 1, TEXT_ID["plain"], 7, 0, TEXT_ID["plain"], TEXT_ID["plain"], 3,
          50001)],
    ),
    "CONNECTION_IDS": ("id, connectionId", [(1, 1)]),
    "PYTORCH_CALLCHAINS": ("id, stack, stackDepth", [(3, TEXT_ID["plain"], 0)]),
    "COMPUTE_TASK_INFO": (
        "name, globalTaskId, blockDim, mixBlockDim, taskType, opType, inputFormats, "
        "inputDataTypes, inputShapes, outputFormats, outputDataTypes, outputShapes, "
        "attrInfo",
        [(TEXT_ID["Conv2D"], 1, 8, 0, *[TEXT_ID["plain"]] * 9)],
    ),
    "COMMUNICATION_OP": (
        "opName, startNs, endNs, connectionId, groupName, opId, dataType, algType, count, opType",
        [(TEXT_ID["plain"], 3000, 3500, 2, TEXT_ID["plain"], 1, 4, TEXT_ID["plain"], 100,
          TEXT_ID["hcom_allReduce_"])],
    ),
    "COMMUNICATION_TASK_INFO": (
        "globalTaskId, opId, taskType, planeId, srcRank, dstRank, transportType, size, linkType, "
        "rdmaType",
        [(2, 1, TEXT_ID["plain"], 0, 0, 1, 0, 64, 1, 65535)],
    ),
    "STEP_TIME": ("id, startNs, endNs", [(3, 700, 4000)]),
    "MEMORY_RECORD": (
        "component, timestamp, totalAllocated, totalReserved, totalActive, streamPtr, deviceId",
        [(TEXT_ID["GE"], 1000, 10, 20, 10, 5, 3)],
    ),
    "OP_MEMORY": (
        "name, size, allocationTime, releaseTime, activeReleaseTime, allocationTotalAllocated, "
        "allocationTotalReserved, allocationTotalActive, releaseTotalAllocated, "
        "releaseTotalReserved, releaseTotalActive, streamPtr, deviceId",
        [(TEXT_ID["plain"], 8, 1000, 1001, 1002, *range(20, 26), 5, 3)],
    ),
    "AICORE_FREQ": ("deviceId, timestampNs, freq", [(3, 1000, 1800)]),
    "TASK_PMU_INFO": ("globalTaskId, name, value", [(1, TEXT_ID["plain"], 2.5)]),
}  # fmt: skip

# Kept cell by cell and not read otherwise; the columns of links of an unread transfer.
LINK = ("srcRank", "dstRank", "transportType", "size", "linkType", "rdmaType", "opId")
NOT_READ = {
    ("CCU", "globalTaskId"),
    ("DPU_TASK", "globalTaskId"),
    ("DPU_TASK", "taskId"),
    *(("COMMUNICATION_TASK_INFO", name) for name in LINK),
}
# Shown as they are.
ANY_TYPE = {("DPU_TASK", "dpuDeviceId"), ("DPU_TASK", "streamId")}


def columns_of(tables):
    for table, (columns, _) in tables.items():
        if table == "STRING_IDS" or table.startswith("ENUM_") or not tables[table][1]:
            continue
        for column in columns.split(", "):
            yield table, column


@pytest.fixture(name="issues_after")
def make_changes(tmp_path, run_sonde):
    """issues_after(tables, statements) -> for each, {(code, part)} of a database changed by it."""

    def issues_after(tables, statements):
        for number, sql in enumerate(statements):
            path = tmp_path / f"{number}" / f"msprof_{number}.db"
            path.parent.mkdir()
            write_tables(path, tables)
            with sqlite3.connect(path) as writer:
                writer.execute(sql)
            writer.close()
        sql = "SELECT code, source FROM import_issue"
        done = run_sonde("query", tmp_path, sql, "--format", "csv")
        assert done.returncode == 0, done.stderr
        found = [set() for _ in statements]
        for code, source in list(csv.reader(io.StringIO(done.stdout)))[1:]:
            file, _, part = source.partition(".db")
            found[int(file.removeprefix("msprof_"))].add((code, part.removeprefix(": ")))
        return found

    return issues_after


def test_whole_databases_have_no_such_issue(issues_after):
    assert issues_after(FRAMEWORK, ["SELECT 1"]) == [set()]


def test_nor_those_of_the_device_tool(issues_after):
    (found,) = issues_after(TABLES, ["SELECT 1"])
    assert {code for code, _ in found} == {"db_orphan"}


@pytest.mark.parametrize("tables", [TABLES, FRAMEWORK], ids=["device tool", "framework"])
def test_columns_that_are_missing(issues_after, tables):
    columns = [name for name in columns_of(tables) if name not in NOT_READ]
    changes = [f"ALTER TABLE {table} RENAME COLUMN {column} TO renamed"
               for table, column in columns]  # fmt: skip
    for (table, column), found in zip(columns, issues_after(tables, changes), strict=True):
        codes = {code for code, part in found if part == f"{table}.{column}"}
        assert codes & {"db_less_columns", "db_missing_column"}, (table, column, found)


@pytest.mark.parametrize("cell", ["x'00ff'", "'many'"])
@pytest.mark.parametrize("tables", [TABLES, FRAMEWORK], ids=["device tool", "framework"])
def test_cells_of_another_type(issues_after, tables, cell):
    columns = [name for name in columns_of(tables) if name not in NOT_READ | ANY_TYPE]
    changes = [f"UPDATE {table} SET {column} = {cell}" for table, column in columns]
    for (table, column), found in zip(columns, issues_after(tables, changes), strict=True):
        named = {("db_wrong_type", table), ("db_bad_value", table), ("db_unknown_id", "")}
        assert found & named, (table, column, found)
