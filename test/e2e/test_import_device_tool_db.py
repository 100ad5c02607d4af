"""Databases of the device tool alone, with tables that no framework's layer has made others of."""

import sqlite3

import pytest

TEXTS = ["KERNEL_AICPU", "allreduceAicpuKernel", "hcom_allReduce_", "MEMCPY_ASYNC", "ccu wait",
         '{"Die Id": 1}', "AIC", "AIV", "dpu send", "plain", "Conv2D", "allocate", "release",
         "GE"]  # fmt: skip
TEXT_ID = {text: 100 + i for i, text in enumerate(TEXTS)}
PID = 77 << 32
LINKS = ("txPost", "txNonpost", "txCpl", "txNonpostLatency", "rxPost", "rxNonpost", "rxCpl")
LINK_COLUMNS = [f"{link}{which}" for link in LINKS for which in ("Min", "Max", "Avg")]
NETWORK_COLUMNS = """macTxPfcPkt macRxPfcPkt macTxByte macTxBandwidth macRxByte macRxBandwidth
    macTxBadByte macRxBadByte roceTxPkt roceRxPkt roceTxErrPkt roceRxErrPkt roceTxCnpPkt
    roceRxCnpPkt roceNewPktRty nicTxByte nicTxBandwidth nicRxByte nicRxBandwidth""".split()

TABLES = {
    "STRING_IDS": ("id, value", [(number, text) for text, number in TEXT_ID.items()]),
    "ENUM_MEMCPY_OPERATION": ("id, name", [(1, "host to device")]),
    "CANN_API": ("startNs, endNs, type, globalTid, connectionId, name", []),
    "TASK": (
        "startNs, endNs, deviceId, connectionId, globalTaskId, globalPid, taskType, streamId, "
        "taskId, contextId, modelId",
        [
            (1000, 1500, 3, -1, 1, 77, TEXT_ID["KERNEL_AICPU"], 5, 8, 4294967295, 4294967295),
            (2000, 2250, 3, -1, 2, 77, TEXT_ID["MEMCPY_ASYNC"], 5, 9, 0, 4294967295),
        ],
    ),
    "COMMUNICATION_SCHEDULE_TASK_INFO": (
        "name, globalTaskId, taskType, opType",
        [
            (TEXT_ID["allreduceAicpuKernel"], task, TEXT_ID["KERNEL_AICPU"],
             TEXT_ID["hcom_allReduce_"])
            for task in (1, 9)
        ],
    ),  # fmt: skip
    "MEMCPY_INFO": ("globalTaskId, size, memcpyOperation", [(2, 2**53 + 1, 1), (9, 4, 1)]),
    "CCU": (
        "deviceId, globalTaskId, name, startNs, endNs, args",
        [
            (3, 1, TEXT_ID["ccu wait"], 1100, 1400, TEXT_ID['{"Die Id": 1}']),
            (3, 1, TEXT_ID["ccu wait"], "late", 1400, None),
        ],
    ),
    "DPU_TASK": (
        "dpuDeviceId, globalTid, startNs, endNs, globalTaskId, streamId, taskId, opName, args",
        [(2, PID | 5, 3000, 3007, 4, 6, 1, TEXT_ID["dpu send"], TEXT_ID["plain"])],
    ),
    "PCIE": (
        ", ".join(["deviceId", "timestampNs", *LINK_COLUMNS]),
        [(3, 10, *range(100, 100 + len(LINK_COLUMNS)))],
    ),
    "NETDEV_STATS": (
        ", ".join(["deviceId", "timestampNs", *NETWORK_COLUMNS]),
        [(3, 11, *range(200, 200 + len(NETWORK_COLUMNS)))],
    ),
    "SAMPLE_PMU_TIMELINE": (
        "deviceId, timestampNs, totalCycle, usage, freq, coreId, coreType",
        [(3, 12, 301, 5.5, 1800, 0, TEXT_ID["AIC"]), (3, 12, 302, 6.5, 1850, 0, TEXT_ID["AIV"])],
    ),
    "NPU_OP_MEM": (
        "operatorName, addr, type, size, timestampNs, globalTid, totalAllocate, totalReserve, "
        "component, deviceId",
        [
            (TEXT_ID["Conv2D"], addr, TEXT_ID.get(kind, 5), size, ts, PID | 5, total, 4096,
             TEXT_ID["GE"], 3)
            for addr, kind, size, ts, total in (
                (64, "release", 8, 900, 0),
                (64, "allocate", 16, 1000, 16),
                (128, "allocate", 32, 1001, 48),
                (64, "release", 16, 1002, 32),
                (64, "allocate", 7, 1003, 39),
                (64, "?", 7, 1004, 39),
            )
        ],
    ),
}  # fmt: skip


def write_tables(path, tables):
    """{table: (columns, rows)} as a new database."""
    writer = sqlite3.connect(path)
    for table, (columns, rows) in tables.items():
        writer.execute(f"CREATE TABLE {table} ({columns})")
        marks = ", ".join("?" for _ in columns.split(","))
        writer.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
    writer.commit()
    writer.close()


@pytest.fixture(name="span")
def write_database(tmp_path):
    path = tmp_path / "msprof_20250109081616.db"
    write_tables(path, TABLES)
    return path


def test_kernels_that_work_for_a_communication(query):
    kernels = "SELECT name, op_type, core, task_type, ts, dur FROM device_task WHERE core NOT NULL"
    assert query(kernels) == [
        ("allreduceAicpuKernel", "hcom_allReduce_", "KERNEL_AICPU", "KERNEL_AICPU", "1000", "500")
    ]


def test_units_beside_the_cores(query):
    assert query(
        "SELECT s.name, s.ts, s.dur, s.category, t.name, device_id, p.pid, a.value "
        "FROM slice s JOIN track t USING (track_id) JOIN process p USING (process_id) "
        "LEFT JOIN args a USING (args_id) WHERE t.kind = 'device_layer' ORDER BY s.ts"
    ) == [
        ("ccu wait", "1100", "300", "ccu", "CCU", "3", "77", '{"Die Id": 1}'),
        ("dpu send", "3000", "7", "dpu_task", "DPU 2 Stream 6", "", "77", "plain"),
    ]


def test_copies(query):
    assert query(
        "SELECT s.name, a.key, a.value FROM slice s JOIN args a USING (args_id) "
        "WHERE s.ts = 2000 ORDER BY a.key"
    ) == [
        ("MEMCPY_ASYNC", "operation", "host to device"),
        ("MEMCPY_ASYNC", "size(B)", str(2**53 + 1)),
    ]


def test_memory_of_the_graph_engine(query):
    assert query(
        "SELECT ts, pointer, size_bytes, total_allocated, component FROM memory_event ORDER BY ts"
    ) == [
        ("900", "64", "-8", "0", "GE"),
        ("1000", "64", "16", "16", "GE"),
        ("1001", "128", "32", "48", "GE"),
        ("1002", "64", "-16", "32", "GE"),
        ("1003", "64", "7", "39", "GE"),
        ("1004", "64", "0", "39", "GE"),
    ]
    assert query(
        "SELECT name, pointer, size_bytes, alloc_ts, free_ts, device_index FROM memory_block "
        "ORDER BY coalesce(alloc_ts, 0)"
    ) == [
        ("Conv2D", "64", "8", "", "900", "3"),
        ("Conv2D", "64", "16", "1000", "1002", "3"),
        ("Conv2D", "128", "32", "1001", "", "3"),
        ("Conv2D", "64", "7", "1003", "", "3"),
    ]


def test_counters(query):
    """Each column of a table is a series of its own, and each core, whatever its type."""
    found = query(
        "SELECT t.name, c.ts, c.value::BIGINT FROM counter c JOIN track t USING (track_id)"
    )
    series = {(name, ts): value for name, ts, value in found}
    assert len(series) == len(found) == len(LINK_COLUMNS) + len(NETWORK_COLUMNS) + 2 * 3
    assert series["PCIe Tx nonpost latency max ns", "10"] == "110"
    assert series["PCIe Rx cpl B/s", "10"] == "120"
    assert series["Network device nic rx", "11"] == "218"
    assert series["Network device roce retried packets", "11"] == "214"
    assert series["AI Core 0 AIC total_cycles", "12"] == "301"
    assert series["AI Core 0 AIV total_cycles", "12"] == "302"
    values = {int(value) for (name, _), value in series.items() if not name.startswith("AI Core")}
    assert values == {*range(100, 121), *range(200, 219)}


def test_what_cannot_be_used_is_counted(query, span):
    assert query("SELECT code, source, count FROM import_issue ORDER BY source, code") == [
        ("db_unknown_id", span.name, "1"),
        ("db_wrong_type", f"{span.name}: CCU", "1"),
        ("db_orphan", f"{span.name}: COMMUNICATION_SCHEDULE_TASK_INFO", "1"),
        ("db_orphan", f"{span.name}: MEMCPY_INFO", "1"),
        ("db_bad_value", f"{span.name}: NPU_OP_MEM", "1"),
    ]
