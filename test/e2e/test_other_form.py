"""Deliverables of Ascend's profilers asked for in the form that they do not have.

The other form has the contents of the files, too, and a set that goes to the other form and back
holds what it held.
"""

import json
import resource
import sqlite3

import ascend_reader as reader
import pytest

TEXTS = ["ascend_pt/text/level0/rank0_ascend_pt", "ascend_pt/text/level1/rank0_ascend_pt"]
DATABASES = [
    f"ascend_pt/db/level{level}/rank{rank}_ascend_pt" for level in (0, 1) for rank in (0, 1)
]


def export(run_sonde, span, form, folder):
    """ASCEND_PROFILER_OUTPUT of a set in a form."""
    done = run_sonde("analyse", span, "--export-type", form, "-o", folder)
    assert done.returncode == 0, done.stderr
    return folder / span.name / "ASCEND_PROFILER_OUTPUT"


def exports(shared_data, run_sonde, folder, name, forms):
    """The set and its deliverables in one form after another, each made of those before."""
    span = reader.copy_of(shared_data / name, folder / "given" / "span_ascend_pt")
    outputs = [span / "ASCEND_PROFILER_OUTPUT"]
    for i, form in enumerate(forms):
        output = export(run_sonde, outputs[-1].parent, form, folder / f"{i}_{form}")
        outputs.append(output)
    return outputs


def profile_of(output):
    """The profiler's database, open."""
    (path,) = output.glob("ascend_pytorch_profiler_*.db")
    return reader.open_db(path)


def memory_of(output):
    """Rows of both tables of memory, texts in place of their numbers."""
    db = profile_of(output)
    texts = reader.strings_of(db)
    curve = reader.rows_of(db, "MEMORY_RECORD", "component", "timestamp", "totalAllocated",
                           "totalReserved", "totalActive", "streamPtr", "deviceId")  # fmt: skip
    blocks = reader.rows_of(
        db, "OP_MEMORY", "name", "size", "allocationTime", "releaseTime", "activeReleaseTime",
        "duration", "activeDuration", "allocationTotalAllocated", "allocationTotalReserved",
        "allocationTotalActive", "releaseTotalAllocated", "releaseTotalReserved",
        "releaseTotalActive", "streamPtr", "deviceId",
    )  # fmt: skip
    assert len(curve) > 500 and len(blocks) > 100
    return [[(texts[row[0]], *row[1:]) for row in table] for table in (curve, blocks)]


@pytest.mark.parametrize("name", TEXTS)
def test_memory_of_texts(shared_data, tmp_path, run_sonde, name):
    """Text to database and back gives the same files."""
    given, _, again = exports(shared_data, run_sonde, tmp_path, name, ["db", "text"])
    for file in ("memory_record.csv", "operator_memory.csv"):
        assert (again / file).read_bytes() == (given / file).read_bytes(), file
    file = "npu_module_mem.csv"
    columns = ("Component", "Timestamp(us)", "Total Reserved(MB)", "Device")
    before, after = (
        sorted(tuple(row[column] for column in columns) for row in reader.read_csv(output / file))
        for output in (given, again)
    )  # a timeline has modules by name
    assert len(before) > 500
    assert after == before


@pytest.mark.parametrize("name", DATABASES)
def test_memory_of_databases(shared_data, tmp_path, run_sonde, name):
    """Database to text and back gives the same rows."""
    given, text, again = exports(shared_data, run_sonde, tmp_path, name, ["text", "db"])
    assert memory_of(again) == memory_of(given)
    names = {row["Name"] for row in reader.read_csv(text / "operator_memory.csv")}
    assert {"aten::_convolution", "cann::Conv2D1"} <= names


def test_cores_of_a_database_without_tables_of_kernels(shared_data, tmp_path, run_sonde):
    """At level 0 only the runtime's type shows which kernels ran on matrix cores."""
    name = "ascend_pt/db/level0/rank1_ascend_pt"
    given, text, _, again = exports(shared_data, run_sonde, tmp_path, name, ["text", "db", "text"])
    ((expected,),) = profile_of(given).execute(
        "SELECT sum(t.endNs - t.startNs) / 1000.0 FROM TASK t JOIN STRING_IDS s "
        "ON s.id = t.taskType JOIN COMPUTE_TASK_INFO USING (globalTaskId) "
        "WHERE s.value = 'KERNEL_AICORE'"
    )
    assert expected > 1000
    for output in (text, again):
        rows = reader.read_csv(output / "operator_details.csv")
        found = sum(float(row["Device Self Duration With AICore(us)"]) for row in rows)
        assert found == pytest.approx(expected), output


def numbers_of(value, path=()):
    """The leaves of a JSON value by their keys, whole and decimal numbers alike."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from numbers_of(part, (*path, key))
    elif isinstance(value, list):
        for i, part in enumerate(value):
            yield from numbers_of(part, (*path, i))
    else:
        yield path, value if isinstance(value, str) else float(value)


@pytest.mark.parametrize("rank", [0, 1])
def test_communication_of_texts(shared_data, tmp_path, run_sonde, rank):
    """Text to database and back: times, links and sizes of transfers, by the same group."""
    name = f"ascend_pt/text/level1/rank{rank}_ascend_pt"
    given, database, again = exports(shared_data, run_sonde, tmp_path, name, ["db", "text"])
    for file in ("communication.json", "communication_matrix.json"):
        expected = dict(numbers_of(reader.read_json(given / file)))
        found = dict(numbers_of(reader.read_json(again / file)))
        assert set(found) == set(expected), file
        for path, value in expected.items():
            if isinstance(value, str):
                assert found[path] == value, path
            elif path[-1] == "Start Timestamp(us)":
                assert abs(found[path] - value) <= 0.25, path  # doubles since 1970
            elif path[-1] == "Bandwidth(GB/s)":
                # bytes by nanoseconds, of which a short transfer has few hundreds
                assert found[path] == pytest.approx(value, rel=1e-3), path
            else:
                assert found[path] == pytest.approx(value, abs=5e-5), path
    db = profile_of(database)
    links = dict(db.execute("SELECT id, name FROM ENUM_HCCL_LINK_TYPE"))
    texts = reader.strings_of(db)
    found = [
        (texts[kind], links[link], size, sender)
        for kind, link, size, sender in reader.rows_of(
            db, "COMMUNICATION_TASK_INFO", "taskType", "linkType", "size", "srcRank"
        )
    ]
    expected = [
        (event["name"], args["link type"].replace("INVALID_TYPE", links[65535]),
         args["size(Byte)"], args["src rank"])
        for event in reader.read_json(given / "trace_view.json")
        if event["ph"] == "X" and "notify_id" in (args := event.get("args", {}))
    ]  # fmt: skip
    assert len(expected) > 250
    # A task each, which is one of the stream that the timeline names.
    tasks = {row[0] for row in reader.rows_of(db, "TASK", "globalTaskId")}
    joined = [row[0] for row in reader.rows_of(db, "COMMUNICATION_TASK_INFO", "globalTaskId")]
    assert len(set(joined)) == len(joined) == len(expected) and set(joined) <= tasks
    assert sorted(found) == sorted(expected)


def test_small_numbers_of_groups_are_not_mixed(shared_data, tmp_path, run_sonde):
    """Times of analysis.db whose group no operation has go to none that has its own."""
    name = "ascend_pt/db/level1/rank0_ascend_pt"
    span = reader.copy_of(shared_data / name, tmp_path / "span_ascend_pt")
    with sqlite3.connect(span / "ASCEND_PROFILER_OUTPUT" / "analysis.db") as db:
        (expected,) = db.execute("SELECT sum(transit_time) FROM CommAnalyzerTime").fetchone()
        db.execute(
            "INSERT INTO CommAnalyzerTime SELECT hccl_op_name, '7', start_timestamp, 1e6, 1e6, "
            "1e6, 1e6, 1e6, step, type FROM CommAnalyzerTime"
        )
    db.close()
    done = run_sonde("query", span, "SELECT sum(transit_ns) AS n FROM communication_op",
                     "--format", "json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["n"] == pytest.approx(expected * 1e6, abs=10)


def small_database(folder, tasks, kernels, calls):
    """A set of level 1: tasks (id, begin, end), shapes of those that are kernels, host calls."""
    output = folder / "vm_1_20250109081616713_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    (output.parent / "profiler_info_0.json").write_text(
        '{"config": {"experimental_config": {"_profiler_level": "Level1"}}, "rank_id": 0}'
    )
    texts = ["AI_CORE", "Add", "FLOAT", "ND", "N/A", *sorted({shape for _, shape in kernels})]
    texts += sorted({name for name, _, _ in calls})
    number = {text: i for i, text in enumerate(texts)}
    with sqlite3.connect(output / "ascend_pytorch_profiler_0.db") as db:
        db.execute("CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT)")
        db.executemany("INSERT INTO STRING_IDS VALUES (?, ?)", enumerate(texts))
        db.execute(
            "CREATE TABLE TASK (startNs, endNs, deviceId, connectionId, globalTaskId, globalPid, "
            "taskType, contextId, streamId, taskId, modelId)"
        )
        db.executemany(
            "INSERT INTO TASK VALUES (?, ?, 0, ?, ?, 77, 0, 4294967295, 2, ?, 4294967295)",
            [(begin, end, i, i, i) for i, begin, end in tasks],
        )
        db.execute(
            "CREATE TABLE COMPUTE_TASK_INFO (name, globalTaskId, blockDim, mixBlockDim, taskType, "
            "opType, inputFormats, inputDataTypes, inputShapes, outputFormats, outputDataTypes, "
            "outputShapes, attrInfo)"
        )
        db.executemany(
            "INSERT INTO COMPUTE_TASK_INFO VALUES (1, ?, 1, 0, 0, 1, 3, 2, ?, 3, 2, ?, 4)",
            [(i, number[shape], number[shape]) for i, shape in kernels],
        )
        db.execute("CREATE TABLE ENUM_API_TYPE (id INTEGER PRIMARY KEY, name TEXT)")
        db.execute("INSERT INTO ENUM_API_TYPE VALUES (20000, 'acl')")
        db.execute("CREATE TABLE CANN_API (startNs, endNs, type, globalTid, connectionId, name)")
        db.executemany(
            "INSERT INTO CANN_API VALUES (?, ?, 20000, ?, ?, ?)",
            [(b, e, 77 << 32 | 77, 100 + i, number[name]) for i, (name, b, e) in enumerate(calls)],
        )
    db.close()
    return output.parent


def test_shapes_of_scalars(tmp_path, run_sonde):
    """The shape of a scalar is empty and known, in every form."""
    begin = 1736413971558972000
    shapes = ['""', "N/A", '"32,8;4"', '";"']
    span = small_database(
        tmp_path, [(i, begin + 100 * i, begin + 100 * i + 50) for i in range(4)],
        list(enumerate(shapes)), [],
    )  # fmt: skip
    text = export(run_sonde, span, "text", tmp_path / "text")
    rows = reader.read_csv(text / "kernel_details.csv")
    assert [row["Input Shapes"] for row in rows] == shapes
    assert [row["Output Shapes"] for row in rows] == shapes
    again = profile_of(export(run_sonde, text.parent, "db", tmp_path / "again"))
    texts = reader.strings_of(again)
    found = reader.rows_of(again, "COMPUTE_TASK_INFO", "inputShapes", "outputShapes")
    assert [(texts[a], texts[b]) for a, b in found] == [(shape, shape) for shape in shapes]


def test_variance_of_long_calls(tmp_path, run_sonde):
    """A call of minutes beside one of a microsecond: 4e16 square microseconds."""
    begin = 1736413971558972000
    calls = [("wait", begin, begin + 1000), ("wait", begin + 2000, begin + 2000 + 400 * 10**9)]
    span = small_database(tmp_path, [(0, begin, begin + 50)], [(0, '"1"')], calls)
    text = export(run_sonde, span, "text", tmp_path / "text")
    (row,) = reader.read_csv(text / "api_statistic.csv")
    assert float(row["Variance"]) == pytest.approx(((400e6 - 1) / 2) ** 2, rel=1e-9)


def timeline_of_planes(folder, operations, transfers):
    """A timeline of one group: operations (begin, end) and transfers (begin, bytes) in us."""
    output = folder / "vm_1_20250109081616713_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    pid = 77 << 10 | 9 << 5
    base = 1736413971558972
    events = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0,
         "args": {"name": "Communication"}},
        {"ph": "M", "name": "process_labels", "pid": pid, "tid": 0, "args": {"labels": "NPU"}},
        *(
            {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}
            for tid, name in enumerate(["Group g Communication", "Plane 0"])
        ),
    ]  # fmt: skip
    for i, (begin, end) in enumerate(operations):
        events.append(
            {"name": f"hcom_send__586_{i}_1", "pid": pid, "tid": 0, "ts": f"{base + begin}.0",
             "dur": end - begin, "args": {"connection_id": i}, "ph": "X"}
        )  # fmt: skip
    for kind, begin, size in transfers:
        events.append(
            {"name": kind, "pid": pid, "tid": 1, "ts": f"{base + begin}.0", "dur": 1, "ph": "X",
             "args": {"task type": kind, "src rank": 0, "dst rank": 1, "transport type": "SDMA",
                      "size(Byte)": size, "link type": "HCCS"}}
        )  # fmt: skip
    (output / "trace_view.json").write_text(json.dumps(events))
    return output.parent


def test_transfers_of_operations_that_overlap(tmp_path, run_sonde):
    """Each belongs to the first operation around its begin, none to what ended or comes later."""
    operations = [(0, 100), (10, 20), (50, 60), (200, 300), (250, 280), (290, 400), (500, 500)]
    begins = [
        0,
        15,
        20,
        55,
        99,
        100,
        101,
        199,
        200,
        255,
        285,
        295,
        300,
        301,
        400,
        401,
        499,
        500,
        501,
    ]
    transfers = [("Memcpy", begin, 1000 + i) for i, begin in enumerate(begins)]
    span = timeline_of_planes(tmp_path, operations, transfers)
    done = run_sonde(
        "query", span, "SELECT c.name, t.size_bytes FROM communication_transit t JOIN "
        "communication_op c USING (communication_id)", "--format", "csv",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = sorted(tuple(line.split(",")) for line in done.stdout.split()[1:])
    expected = []
    for _, begin, size in transfers:
        around = [i for i, (first, last) in enumerate(operations) if first <= begin <= last]
        if around:
            expected.append((f"hcom_send__586_{around[0]}_1", str(size)))
    assert found == sorted(expected)


def processor_seconds():
    """Of all programs that this one has run: other programs on the machine do not count."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def test_many_transfers_are_read_in_time(tmp_path, run_sonde):
    """Finding the operations of transfers costs little beside reading them."""
    count = 20_000
    operations = [(10 * i, 10 * i + 8) for i in range(count)]
    seconds = {}
    for kind in ("Notify_Wait", "Memcpy"):  # the first belongs to no operation
        transfers = [(kind, 10 * (i % count) + 1, 1024) for i in range(8 * count)]
        span = timeline_of_planes(tmp_path / kind, operations, transfers)
        begin = processor_seconds()
        done = run_sonde("query", span, "SELECT sum(packet_count) AS n FROM communication_transit",
                         "--format", "json")  # fmt: skip
        seconds[kind] = processor_seconds() - begin
        assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [{"n": 8 * count}]
    assert seconds["Memcpy"] < 3 * seconds["Notify_Wait"] + 0.5, seconds
