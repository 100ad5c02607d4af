"""Databases of Ascend's profilers: the store equals an independent reading."""

import os
import shutil
import sqlite3

import ascend_reader as reader
import pytest

# The ranks of a job have the same tables: the first and the last stand for the others.
RANKS = range(8) if os.environ.get("SONDE_THOROUGH") == "1" else (0, 7)
DATABASES = [
    "ascend_pt/db/level0/rank0_ascend_pt",
    "ascend_pt/db/level0/rank1_ascend_pt",
    "ascend_pt/db/level1/rank0_ascend_pt",
    "ascend_pt/db/level1/rank1_ascend_pt",
    *(
        f"ascend_pt/synth8_tp_pp_dp/node{rank // 4}_{1000 + rank}_20250109081616713_ascend_pt"
        for rank in RANKS
    ),
    "ascend_pt/raw/db_level1_rank1_ascend_pt",
    "golden/torch_npu-2.14.0/db_level1_rank1",
]
TRACE_API = 50003
QUEUE_API = 50002


@pytest.fixture(scope="module", name="span", params=DATABASES)
def copy_span(request, shared_data, tmp_path_factory):
    span = reader.copy_of(
        shared_data / request.param, tmp_path_factory.mktemp("db") / "span_ascend_pt"
    )
    # Records beside a database of the device tool would be part of the trace.
    shutil.rmtree(span / "FRAMEWORK", ignore_errors=True)
    return span


@pytest.fixture(name="db")
def open_profile(span):
    (path,) = [
        p for p in span.rglob("*.db") if p.name not in ("analysis.db", "communication_analyzer.db")
    ]
    connection = reader.open_db(path)
    yield connection
    connection.close()


def table_sums(query, where):
    rows = query(
        "SELECT coalesce(s.name, ''), count(*), sum(s.dur)::BIGINT FROM slice s "
        f"JOIN track t USING (track_id) WHERE {where} GROUP BY 1"
    )
    return {name: (int(count), int(dur)) for name, count, dur in rows}


def expected_sums(db, table, name_column, where=lambda row: True, extra=()):
    texts = reader.strings_of(db)
    rows = reader.rows_of(db, table, name_column, "startNs", "endNs", *extra)
    return reader.sums(
        (texts.get(row[0]) or "", int(row[2]) - int(row[1])) for row in rows if where(row)
    )


def test_framework(db, query):
    def is_op(row):
        return row[3] not in (TRACE_API, QUEUE_API)

    expected = expected_sums(db, "PYTORCH_API", "name", is_op, ["type"])
    assert table_sums(query, "s.category IN ('cpu_op', 'user_annotation')") == expected
    expected = expected_sums(db, "PYTORCH_API", "name", lambda row: row[3] == QUEUE_API, ["type"])
    assert table_sums(query, "s.category = 'task_queue'") == expected
    expected = expected_sums(db, "PYTORCH_API", "name", lambda row: row[3] == TRACE_API, ["type"])
    assert table_sums(query, "t.kind IN ('python', 'module')") == expected


def test_host_calls(db, query):
    assert table_sums(query, "t.kind = 'api'") == expected_sums(db, "CANN_API", "name")
    levels = dict(db.execute("SELECT id, name FROM ENUM_API_TYPE"))
    expected = {}
    for (kind,) in reader.rows_of(db, "CANN_API", "type"):
        level = {"hccl": "communication"}.get(levels[kind], levels[kind])
        expected[level] = expected.get(level, 0) + 1
    found = query("SELECT level, count(*) FROM api_call GROUP BY 1")
    assert {level: int(count) for level, count in found} == expected


def test_device_tasks(db, query):
    texts = reader.strings_of(db)
    tasks = reader.rows_of(db, "TASK", "globalTaskId", "startNs", "endNs", "taskType", "streamId",
                           "taskId")  # fmt: skip
    expected = reader.sums((texts[t[3]], t[2] - t[1]) for t in tasks)
    found = query("SELECT task_type, count(*), sum(dur)::BIGINT FROM device_task GROUP BY 1")
    assert {name: (int(count), int(dur)) for name, count, dur in found} == expected
    block = "blockNum" if "blockNum" in reader.columns_of(db, "COMPUTE_TASK_INFO") else "blockDim"
    task_of = {t[0]: t for t in tasks}
    expected = sorted(
        (task_of[k[1]][1], texts[k[0]], texts[k[2]], texts[k[3]], texts[k[4]].strip('"'), k[5],
         task_of[k[1]][4], task_of[k[1]][5])
        for k in reader.rows_of(db, "COMPUTE_TASK_INFO", "name", "globalTaskId", "opType",
                                "taskType", "inputShapes", block)
    )  # fmt: skip
    found = query(
        "SELECT ts, name, op_type, core, coalesce(input_shapes, 'N/A'), block_num, stream_id, "
        "queue_number FROM device_task WHERE core IS NOT NULL"
    )
    found = sorted((int(r[0]), r[1], r[2], r[3], r[4], *map(int, r[5:])) for r in found)
    assert found == expected


def test_hardware_counters(db, query):
    texts = reader.strings_of(db)
    expected = {}
    totals = {"aic_total_time": "aicore_time", "aiv_total_time": "aiv_time"}
    for name, value in reader.rows_of(db, "TASK_PMU_INFO", "name", "value"):
        metric = texts[name]
        if metric.endswith("_time"):  # microseconds in text deliverables and in the store
            metric, value = totals.get(metric, metric) + "(us)", value / 1000
        expected.setdefault(metric, []).append(float(value))
    found = {}
    for name, value in query("SELECT metric, value FROM device_task_pmu"):
        found.setdefault(name, []).append(float(value))
    assert {k: sorted(v) for k, v in found.items()} == {k: sorted(v) for k, v in expected.items()}


def test_communication(db, query):
    texts = reader.strings_of(db)
    expected = sorted(
        (row[0], row[1] - row[0], texts[row[2]], texts[row[3]], row[4])
        for row in reader.rows_of(db, "COMMUNICATION_OP", "startNs", "endNs", "opName", "groupName",
                                  "count")
    )  # fmt: skip
    found = query("SELECT ts, dur, name, group_name, count FROM communication_op")
    assert sorted((int(r[0]), int(r[1]), r[2], r[3], int(r[4])) for r in found) == expected


def test_flows(db, query):
    calls = {row[0] for row in reader.rows_of(db, "CANN_API", "connectionId")}
    ends = [row[0] for row in reader.rows_of(db, "TASK", "connectionId")]
    ends += [row[0] for row in reader.rows_of(db, "COMMUNICATION_OP", "connectionId")]
    expected = sum(1 for connection in ends if connection in calls)
    found = query("SELECT count(*) FROM flow WHERE kind = 'host_to_device'")
    assert int(found[0][0]) == expected
    wrong = query(
        "SELECT count(*) FROM flow f JOIN api_call a ON a.slice_id = f.slice_out "
        "WHERE f.kind = 'host_to_device' AND a.connection_id <> f.key"
    )
    assert int(wrong[0][0]) == 0


def test_launches(db, query):
    """Every task whose connection an operator has is reached from an operator that has it.

    Not those that a kernel or an operation between ranks of the same connection stands for: the
    parts of an operation, and the task of the hardware that is around a kernel or an operation.
    """
    texts = reader.strings_of(db)
    sets = {}
    for number, connection in reader.rows_of(db, "CONNECTION_IDS", "id", "connectionId"):
        sets.setdefault(number, []).append(connection)
    names = {}
    for connection, name, kind in reader.rows_of(db, "PYTORCH_API", "connectionId", "name", "type"):
        if kind in (TRACE_API, QUEUE_API):
            continue
        for number in sets.get(connection, []):
            names.setdefault(number, set()).add(texts[name])
    tasks = reader.rows_of(db, "TASK", "globalTaskId", "connectionId", "startNs", "endNs")
    kernels = {row[0] for row in reader.rows_of(db, "COMPUTE_TASK_INFO", "globalTaskId")}
    parts = {row[0] for row in reader.rows_of(db, "COMMUNICATION_TASK_INFO", "globalTaskId")}
    collectives = [
        row for row in reader.rows_of(db, "COMMUNICATION_OP", "connectionId", "startNs", "endNs")
        if row[0] in names
    ]  # fmt: skip
    whole = {task[1] for task in tasks if task[0] in kernels} | {row[0] for row in collectives}
    launched = [
        task for task in tasks if task[1] in names
        and (task[0] in kernels or (task[0] not in parts and task[1] not in whole))
    ]  # fmt: skip
    expected = len(launched)
    found = query(
        "SELECT connection_id, s.name FROM device_task d "
        "JOIN slice s ON s.slice_id = d.launch_slice_id"
    )
    assert len(found) == expected
    assert all(name in names[int(connection)] for connection, name in found)
    # No time of the device is counted twice.
    busy = sum(end - start for *_, start, end in launched + collectives)
    (total,) = query(
        "SELECT (SELECT coalesce(sum(dur), 0) FROM device_task WHERE launch_slice_id IS NOT NULL) "
        "+ (SELECT coalesce(sum(dur), 0) FROM communication_op WHERE launch_slice_id IS NOT NULL)"
    )
    assert int(total[0]) == busy


def blocks_of_graph_engine(db):
    """(name, size, begin, end) as the framework's layer would make them of NPU_OP_MEM."""
    texts = reader.strings_of(db)
    columns = ("timestampNs", "operatorName", "addr", "type", "size")
    begun = {}
    for ts, name, address, kind, size in sorted(reader.rows_of(db, "NPU_OP_MEM", *columns)):
        if texts[kind] == "allocate":
            begun[address] = ts
        else:
            yield name, size, begun.pop(address), ts


def test_memory(db, query):
    texts = reader.strings_of(db)
    blocks = reader.rows_of(db, "OP_MEMORY", "name", "size", "allocationTime", "releaseTime")
    curve = reader.rows_of(db, "MEMORY_RECORD", "component", "timestamp", "totalAllocated")
    if not curve:
        blocks = list(blocks_of_graph_engine(db))
        curve = reader.rows_of(db, "NPU_OP_MEM", "component", "timestampNs", "totalAllocate")
    assert blocks and curve
    expected = sorted((row[2], texts[row[0]], row[1], row[3] or -1) for row in blocks)
    found = query("SELECT alloc_ts, name, size_bytes, coalesce(free_ts, -1) FROM memory_block")
    assert sorted((int(r[0]), r[1], int(r[2]), int(r[3])) for r in found) == expected
    expected = sorted(
        (row[1], texts[row[0]], row[2] or 0) for row in curve if texts[row[0]] != "PTA+GE"
    )
    found = query("SELECT ts, component, coalesce(total_allocated, 0) FROM memory_event")
    assert sorted((int(r[0]), r[1], int(r[2])) for r in found) == expected


def test_counters(db, query):
    tables = {"HBM": ["bandwidth"], "LLC": ["hitRate", "throughput"], "NPU_MEM": ["ddr", "hbm"],
              "ACC_PMU": ["readBwLevel", "writeBwLevel", "readOstLevel", "writeOstLevel"],
              "SOC_BANDWIDTH_LEVEL": ["l2BufferBwLevel", "mataBwLevel"], "AICORE_FREQ": ["freq"],
              "NPU_MODULE_MEM": ["totalReserved"]}  # fmt: skip
    expected = sorted(
        (int(row[0]), float(value))
        for table, columns in tables.items()
        for row in reader.rows_of(db, table, "timestampNs", *columns)
        for value in row[1:]
        if value is not None
    )
    found = sorted((int(ts), float(value)) for ts, value in query("SELECT ts, value FROM counter"))
    assert found == expected


def test_marks_and_steps(db, query):
    texts = reader.strings_of(db)
    expected = sorted(
        (row[0], texts[row[2]], texts.get(row[3], "default"))
        for row in reader.rows_of(db, "MSTX_EVENTS", "startNs", "endNs", "message", "domainId")
    )
    found = query("SELECT ts, message, domain FROM mark")
    assert sorted((int(r[0]), r[1], r[2]) for r in found) == expected
    expected = reader.rows_of(db, "STEP_TIME", "id", "startNs", "endNs")
    found = query("SELECT step_id, ts, ts + dur FROM step ORDER BY ts")
    assert [tuple(map(int, row)) for row in found] == expected


def all_tables(path):
    with reader.open_db(path) as connection:
        objects = list(connection.execute("SELECT type, name, sql FROM sqlite_master"))
        return {
            (kind, name): (
                sql,
                [
                    [(type(cell).__name__, cell) for cell in row]
                    for row in connection.execute(f'SELECT * FROM "{name}"')
                ]
                if kind == "table"
                else None,
            )
            for kind, name, sql in objects
        }


def test_exported_again_is_equal_table_by_table(span, run_sonde, tmp_path):
    before = {path: path.read_bytes() for path in span.rglob("*.db*") if "duckdb" not in path.name}
    done = run_sonde("analyse", span, "--export-type", "db", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    for path, content in before.items():
        assert path.read_bytes() == content, "the user's file was touched"
        if path.suffix != ".db":
            continue
        again = tmp_path / "out" / span.name / path.relative_to(span)
        found = all_tables(again)
        expected = all_tables(path)
        assert set(found) == set(expected)
        for key, value in expected.items():
            assert found[key] == value, key
    assert sorted(span.rglob("*-journal")) == []


def test_triggers_are_kept_and_do_not_act(shared_data, run_sonde, tmp_path):
    span = reader.copy_of(shared_data / DATABASES[3], tmp_path / "span")
    path = span / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_1.db"
    with sqlite3.connect(path) as writer:
        writer.execute("CREATE TABLE FIRST (a INTEGER)")
        writer.execute("CREATE TRIGGER noted AFTER INSERT ON FIRST "
                       "BEGIN INSERT INTO SECOND VALUES (new.a); END")  # fmt: skip
        writer.execute("CREATE TABLE SECOND (a INTEGER)")
        writer.execute("INSERT INTO FIRST VALUES (7)")
    writer.close()
    done = run_sonde("analyse", span, "--export-type", "db", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert all_tables(tmp_path / "out" / span.name / path.relative_to(span)) == all_tables(path)


def test_write_ahead_log_is_read(shared_data, tmp_path, run_sonde):
    """What another viewer has not folded into the database yet is seen all the same."""
    span = reader.copy_of(shared_data / DATABASES[3], tmp_path / "span")
    path = span / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_1.db"
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("PRAGMA wal_autocheckpoint = 0")
    writer.execute("CREATE TABLE ADDED_BY_VIEWER (a INTEGER)")
    writer.execute("INSERT INTO ADDED_BY_VIEWER VALUES (77)")
    writer.commit()
    log = path.with_name(path.name + "-wal")
    database, content = path.read_bytes(), log.read_bytes()
    assert content
    done = run_sonde("query", span, "SELECT a FROM source.ADDED_BY_VIEWER", "--format", "csv")
    assert done.stdout.split() == ["a", "77"], done.stderr
    assert (path.read_bytes(), log.read_bytes()) == (database, content)
    writer.close()


def test_altered_and_damaged_databases(shared_data, tmp_path, run_sonde):
    """Missing tables and columns, wrong types, garbled bytes: data and counted issues."""
    span = reader.copy_of(shared_data / DATABASES[3], tmp_path / "span")
    path = span / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_1.db"
    with sqlite3.connect(path) as writer:
        writer.execute("DROP TABLE STRING_IDS")
        writer.execute("ALTER TABLE CANN_API DROP COLUMN globalTid")
        writer.execute("UPDATE TASK SET startNs = 'noon' WHERE globalTaskId < 5")
        writer.execute("UPDATE PYTORCH_API SET endNs = '99999999999999999999' WHERE rowid = 3")
        writer.execute("UPDATE MEMORY_RECORD SET timestamp = x'00ff' WHERE rowid = 2")
        writer.execute("UPDATE TASK SET endNs = startNs - 7 WHERE globalTaskId = 9")
    writer.close()
    issues = "SELECT code, sum(count) FROM import_issue GROUP BY 1 ORDER BY 1"
    done = run_sonde("query", span, issues, "--format", "csv")
    assert done.returncode == 0, done.stderr
    found = {line.split(",")[0]: int(line.split(",")[1]) for line in done.stdout.split()[1:]}
    assert {"db_missing_table", "db_missing_column", "db_wrong_type", "db_unknown_id",
            "negative_duration"} <= set(found)  # fmt: skip
    assert found["db_wrong_type"] >= 5
    content = path.read_bytes()
    middle = len(content) // 2
    path.write_bytes(content[:middle] + b"\xff" * 4096 + content[middle + 4096 :])
    done = run_sonde("query", span, issues, "--format", "csv")
    assert done.returncode == 0 and done.stdout, done.stderr
    path.write_bytes(content[:5000])
    done = run_sonde("query", span, issues)
    assert done.returncode in (0, 1)
    assert done.stdout or done.stderr.startswith("sonde: ")
    path.write_bytes(b"")
    unreadable = "SELECT source FROM import_issue WHERE code = 'file_unreadable'"
    done = run_sonde("query", span, unreadable, "--format", "csv")
    assert done.returncode == 0 and path.name in done.stdout, "the other database is read"
    path.with_name("analysis.db").unlink()
    done = run_sonde("query", span, issues)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(f"{path.name}' is empty")


def test_files_and_folders_of_the_device_tool(shared_data, tmp_path, run_sonde):
    """A PROF folder, its database alone, a timeline alone, a folder of many ranks."""
    count = "SELECT count(*) FROM slice"
    raw = reader.copy_of(shared_data / "ascend_pt/raw/db_level1_rank1_ascend_pt", tmp_path / "raw")
    (prof,) = raw.glob("PROF_*")
    (database,) = prof.glob("msprof_*.db")
    found = {run_sonde("query", path, count, "--format", "csv").stdout for path in (prof, database)}
    assert len(found) == 1 and int(found.pop().split()[1]) > 1000
    text = reader.copy_of(
        shared_data / "ascend_pt/raw/text_level1_rank0_ascend_pt", tmp_path / "text"
    )
    (timeline,) = text.rglob("msprof_*.json")
    found = {
        run_sonde("query", path, count, "--format", "csv").stdout
        for path in (timeline.parent.parent, timeline)
    }
    assert len(found) == 1 and int(found.pop().split()[1]) > 1000
    many = tmp_path / "many"
    many.mkdir()
    for rank in (0, 1):
        reader.copy_of(
            shared_data / f"ascend_pt/db/level0/rank{rank}_ascend_pt", many / f"rank{rank}"
        )
    done = run_sonde("query", many, "SELECT DISTINCT rank FROM device_task ORDER BY 1",
                     "--format", "csv")  # fmt: skip
    assert done.stdout.split() == ["rank", "0", "1"], done.stderr


def test_text_form_of_a_database(shared_data, tmp_path, run_sonde):
    """A database asked for as text: tables and timeline are made from the same rows."""
    span = reader.copy_of(shared_data / DATABASES[3], tmp_path / "span")
    done = run_sonde("analyse", span, "--export-type", "text", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    output = tmp_path / "out" / "span" / "ASCEND_PROFILER_OUTPUT"
    db = reader.open_db(span / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_1.db")
    texts = reader.strings_of(db)
    tasks = {t[0]: t for t in reader.rows_of(db, "TASK", "globalTaskId", "startNs", "endNs",
                                             "streamId", "taskId")}  # fmt: skip
    expected = [
        (tasks[k[1]][1], texts[k[0]], tasks[k[1]][2] - tasks[k[1]][1], str(tasks[k[1]][3]),
         str(tasks[k[1]][4]), "50" if texts[k[0]] else "")
        for k in reader.rows_of(db, "COMPUTE_TASK_INFO", "name", "globalTaskId")
    ]  # fmt: skip
    kernels = reader.read_csv(output / "kernel_details.csv")
    found = [
        (reader.ns(r["Start Time(us)"]), r["Name"], reader.ns(r["Duration(us)"]), r["Stream ID"],
         r["Task ID"], r["Step Id"])
        for r in kernels if r["Accelerator Core"] != "COMMUNICATION"
    ]  # fmt: skip
    assert sorted(found) == sorted(expected)
    values = {}
    for task, metric, value in reader.rows_of(db, "TASK_PMU_INFO", "globalTaskId", "name", "value"):
        values.setdefault(texts[metric], {})[tasks[task][1]] = value
    for metric, column, unit in (("aic_total_time", "aicore_time(us)", 1000),
                                 ("aiv_vec_ratio", "aiv_vec_ratio", 1),
                                 ("aiv_total_cycles", "aiv_total_cycles", 1)):  # fmt: skip
        found = {reader.ns(r["Start Time(us)"]): float(r[column])
                 for r in kernels if r[column] != "N/A"}  # fmt: skip
        assert found == {ts: value / unit for ts, value in values[metric].items()}
    analysis = reader.open_db(span / "ASCEND_PROFILER_OUTPUT" / "analysis.db")
    (expected,) = reader.rows_of(analysis, "StepTraceTime", "computing", "communication", "free",
                                 "stage", "preparing")  # fmt: skip
    (step,) = reader.read_csv(output / "step_trace_time.csv")
    found = [float(step[c]) for c in ("Computing", "Communication", "Free", "Stage", "Preparing")]
    assert found == pytest.approx(list(expected), abs=0.26)
    events = reader.read_json(output / "trace_view.json")
    operators = [e for e in events if e.get("cat") == "cpu_op"]
    count = sum(1 for (kind,) in reader.rows_of(db, "PYTORCH_API", "type")
                if kind not in (TRACE_API, QUEUE_API))  # fmt: skip
    assert len(operators) == count
