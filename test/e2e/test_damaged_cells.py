"""Cells that make no sense: each is counted, with its file, and the others are exact."""

import csv
import io
import json
import sqlite3
from decimal import Decimal

import ascend_reader as reader
import pytest

SET = "ascend_pt/qwen3_tp1_pp2/rank_0_ascend_pt"
KERNELS = "kernel_details.csv"
BLOCKS = "operator_memory.csv"
CURVE = "memory_record.csv"
MODULES = "npu_module_mem.csv"
ROW = 3
# File, column, cell of the row ROW, issue.
CELLS = [
    *[(KERNELS, "Duration(us)", cell, "csv_bad_cell") for cell in ("abc", "nan", "1e30", "0x10")],
    (KERNELS, "Duration(us)", "-5", "negative_duration"),
    *[(KERNELS, "Start Time(us)", cell, "csv_bad_cell") for cell in ("'1'", "-5", "", "inf")],
    *[(BLOCKS, "Size(KB)", cell, "csv_bad_value") for cell in ("abc", "nan", "9" * 30, "-4")],
    (BLOCKS, "Allocation Total Reserved(MB)", "-0.5", "csv_bad_value"),
    *[(BLOCKS, "Allocation Time(us)", cell, "csv_bad_cell") for cell in ("abc", "-5", "")],
    *[(BLOCKS, "Release Time(us)", cell, "csv_bad_value") for cell in ("abc", "-5", "1e30")],
    *[(CURVE, "Total Allocated(MB)", cell, "csv_bad_value") for cell in ("abc", "-1", "1e30")],
    *[(CURVE, "Timestamp(us)", cell, "csv_bad_cell") for cell in ("abc", "-5", "")],
    *[(MODULES, "Total Reserved(MB)", cell, "csv_bad_cell") for cell in ("abc", "nan", "", "-2")],
]
CODES = {code for *_, code in CELLS}
COLUMNS = [
    (KERNELS, "Duration(us)", "csv_missing_column"),
    (KERNELS, "Accelerator Core", "csv_less_columns"),
    (BLOCKS, "Size(KB)", "csv_missing_column"),
    (CURVE, "Component", "csv_missing_column"),
    (CURVE, "Total Allocated(MB)", "csv_less_columns"),
    (CURVE, "Total Reserved(MB)", "csv_less_columns"),
    (MODULES, "Timestamp(us)", "csv_missing_column"),
]


@pytest.fixture(name="ask")
def make_ask(run_sonde):
    def ask(path, sql):
        done = run_sonde("query", path, sql, "--format", "csv")
        assert done.returncode == 0, done.stderr
        return [tuple(row) for row in csv.reader(io.StringIO(done.stdout, newline=""))][1:]

    return ask


@pytest.fixture(name="span")
def copy_span(shared_data, tmp_path):
    return reader.copy_of(shared_data / SET, tmp_path / "span_ascend_pt")


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def issues(ask, span):
    found = ask(span, "SELECT code, sum(count), min(source) FROM import_issue GROUP BY code")
    return {code: (int(count), source) for code, count, source in found}


def rounds_of(faults):
    """Lists of faults, each of another file: one import reports all in a list."""
    rounds = []
    for fault in faults:
        free = (one for one in rounds if fault[0] not in {name for name, *_ in one})
        found = next(free, None)
        if found is None:
            rounds.append([fault])
        else:
            found.append(fault)
    return rounds


def issues_of_each(ask, span):
    """{(code, source): count}."""
    found = ask(span, "SELECT code, source, sum(count) FROM import_issue GROUP BY code, source")
    return {(code, source): int(count) for code, source, count in found}


@pytest.mark.parametrize("faults", rounds_of(CELLS))
def test_cells(ask, span, faults):
    expected = {}
    for name, column, cell, code in faults:
        path = next(span.rglob(name))
        rows = rows_of(path)
        rows[ROW][rows[0].index(column)] = cell
        write(path, rows)
        expected[code, str(path.relative_to(span))] = 1
    found = issues_of_each(ask, span)
    sources = {source for _, source in expected}
    bad = {key: n for key, n in found.items() if key[1] in sources and key[0] in CODES}
    assert bad == expected


@pytest.mark.parametrize(
    "name,column",
    [(KERNELS, "Duration(us)"), (CURVE, "Component"), ("op_statistic.csv", "OP Type")],
)
def test_a_column_twice(ask, span, name, column):
    """The first is read, both are kept."""
    path = next(span.rglob(name))
    rows = rows_of(path)
    totals = "SELECT count(*), sum(dur)::BIGINT FROM slice"
    before = ask(span, totals)
    write(path, [row + [rows[0][0] if i == 0 else "7"] for i, row in enumerate(rows)])
    found = issues(ask, span)["csv_repeated_column"]
    assert found == (1, f"{path.relative_to(span)}: {rows[0][0]}")
    write(path, [row + [column if i == 0 else "7"] for i, row in enumerate(rows)])
    assert issues(ask, span)["csv_repeated_column"][0] == 1
    assert ask(span, totals) == before
    ((definition,),) = ask(span, f"SELECT definition FROM source_table WHERE name = '{path.stem}'")
    assert json.loads(definition)["header"] == [*rows[0], column]


@pytest.mark.parametrize("faults", rounds_of(COLUMNS))
def test_columns(ask, span, faults):
    expected = {}
    for name, column, code in faults:
        path = next(span.rglob(name))
        rows = rows_of(path)
        gone = rows[0].index(column)
        write(path, [row[:gone] + row[gone + 1 :] for row in rows])
        expected[code, f"{path.relative_to(span)}: {column}"] = 1
    found = issues_of_each(ask, span)
    assert {key: found.get(key) for key in expected} == expected


def test_the_others_are_exact(ask, span):
    path = next(span.rglob(KERNELS))
    rows = rows_of(path)
    duration = rows[0].index("Duration(us)")
    core = rows[0].index("Accelerator Core")
    rows[ROW][duration] = "abc"
    rows[ROW + 1][duration] = "0.0005"  # half a nanosecond, to even
    rows[ROW + 2][duration] = "12345678901.2345678"
    write(path, rows)
    kernels = [r for i, r in enumerate(rows) if i not in (0, ROW) and r[core] != "COMMUNICATION"]
    expected = [reader.ns(Decimal(row[duration].strip())) for row in kernels]
    ((count, total),) = ask(span, "SELECT count(*), sum(dur)::BIGINT FROM device_task")
    assert (int(count), int(total)) == (len(expected), sum(expected))


@pytest.mark.parametrize(
    "name,encoding",
    [(KERNELS, "utf-16"), (CURVE, "utf-16-le"), (CURVE, "utf-32-be"),
     ("communication.json", "utf-32-be"), ("communication.json", "utf-16")],
)  # fmt: skip
def test_wide_text(ask, span, name, encoding):
    """It costs that file only, and the message advises what to do."""
    path = next(span.rglob(name))
    path.write_bytes(path.read_text(encoding="utf-8").encode(encoding))
    ((source, advice),) = ask(
        span, "SELECT source, advice FROM import_issue WHERE code = 'file_unreadable'"
    )
    assert source == str(path.relative_to(span))
    assert "convert it to UTF-8" in advice
    assert int(ask(span, "SELECT count(*) FROM memory_block")[0][0]) > 0


def test_a_header_with_a_byte_of_zero(ask, span):
    path = next(span.rglob(CURVE))
    path.write_bytes(path.read_bytes().replace(b"Stream", b"Str\0eam", 1))
    assert ask(span, "SELECT count(*) > 0 FROM memory_event") == [("true",)]


@pytest.mark.parametrize(
    "rank,expected,count", [("99999999999999999999", "", 1), ("-7", "", 1), ("true", "", 1),
                            ("-1", "", 0), ('"5"', "5", 0), ("6", "6", 0)]
)  # fmt: skip
def test_rank(ask, span, rank, expected, count):
    next(span.rglob("profiler_info_0.json")).write_text(f'{{"rank_id": {rank}}}')
    assert issues(ask, span).get("rank_garbled", (0, ""))[0] == count
    assert ask(span, "SELECT coalesce(min(rank)::VARCHAR, '') FROM process") == [(expected,)]


def test_an_operation_without_a_time(ask, span):
    path = next(span.rglob("communication.json"))
    content = json.loads(path.read_text())
    before = ask(span, "SELECT count(*), min(ts) FROM communication_op")
    step = next(iter(content.values()))
    operations = next(iter(step.values()))
    name = next(key for key in operations if "@" in key)
    operations["hcom_made_up__1_2_3@17"] = json.loads(json.dumps(operations[name]))
    operations["hcom_made_up__1_2_3@17"]["Communication Time Info"]["Start Timestamp(us)"] = "x"
    path.write_text(json.dumps(content))
    assert ask(span, "SELECT count(*), min(ts) FROM communication_op") == before
    assert issues(ask, span)["communication_without_time"] == (1, str(path.relative_to(span)))


def test_lines_and_quotes_of_csv(ask, span, run_sonde, tmp_path):
    """What is not given back byte by byte is counted."""
    path = next(span.rglob("op_statistic.csv"))
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\r\n".join([lines[0], b"", b'"plain",2', lines[1], b'a"b,1', b""]))
    found = issues(ask, span)
    name = str(path.relative_to(span))
    assert found["csv_empty_line"] == (1, name)
    assert found["csv_form"] == (2, name)
    out = tmp_path / "out"
    done = run_sonde("analyse", span, "--export-type", "text", "-o", out)
    assert done.returncode == 0, done.stderr
    expected = b"\r\n".join([lines[0], b"plain,2", lines[1], b'"a""b",1', b""])
    assert next(out.rglob("op_statistic.csv")).read_bytes() == expected


def test_numbers_of_a_database(ask, tmp_path):
    """Counters that a double does not hold, sizes below zero, texts: counted, the others exact."""
    path = tmp_path / "ascend_pytorch_profiler_0.db"
    big = 2**53 + 1
    with sqlite3.connect(path) as writer:
        writer.execute("CREATE TABLE STRING_IDS (id, value)")
        writer.execute("CREATE TABLE NIC (timestampNs, deviceId, funcId, rxBytes)")
        values = [1, 2**53, big, -big, 2**63 - 1, 2**60, str(big), 2.5e300, "many", None]
        rows = [(i, 0, 0, value) for i, value in enumerate(values)]
        writer.executemany("INSERT INTO NIC VALUES (?, ?, ?, ?)", rows)
        writer.execute(
            "CREATE TABLE NPU_MODULE_MEM (timestampNs, deviceId, moduleId, totalReserved)"
        )
        writer.execute("INSERT INTO NPU_MODULE_MEM VALUES (1, 0, 7, -5), (2, 0, 7, 5)")
        writer.execute(
            "CREATE TABLE MEMORY_RECORD (component, timestamp, totalAllocated, totalReserved)"
        )
        totals = [(1, 4, 9, None), (1, 5, -1, "x"), (1, 6, 16, None)]
        writer.executemany("INSERT INTO MEMORY_RECORD VALUES (?, ?, ?, ?)", totals)
        writer.execute("CREATE TABLE OP_MEMORY (name, size, allocationTime, releaseTotalActive)")
        writer.execute("INSERT INTO OP_MEMORY VALUES (1, -8, 5, -2), (1, 8, 6, 2)")
    writer.close()
    assert ask(
        path,
        "SELECT code, source, count FROM import_issue WHERE code IN "
        "('db_bad_value', 'db_counter_rounded') ORDER BY source, code",
    ) == [
        ("db_bad_value", f"{path.name}: MEMORY_RECORD", "2"),
        ("db_bad_value", f"{path.name}: NIC", "1"),
        ("db_counter_rounded", f"{path.name}: NIC", "4"),
        ("db_bad_value", f"{path.name}: NPU_MODULE_MEM", "1"),
        ("db_bad_value", f"{path.name}: OP_MEMORY", "2"),
    ]
    blocks = "SELECT size_bytes, free_total_active FROM memory_block ORDER BY alloc_ts"
    assert ask(path, blocks) == [("-1", ""), ("8", "2")]
    totals = "SELECT total_allocated, total_reserved, size_bytes FROM memory_event ORDER BY ts"
    assert ask(path, totals) == [("9", "", "0"), ("", "", "0"), ("16", "", "7")]
    ports = "SELECT c.value FROM counter c JOIN track t USING (track_id) WHERE t.name LIKE 'NIC%'"
    assert sorted(float(row[0]) for row in ask(path, ports)) == sorted(
        float(value) for value in values if value not in ("many", None)
    )
    modules = ports.replace("NIC", "NPU Module")
    assert [float(row[0]) for row in ask(path, modules)] == [5.0]


def test_an_id_of_an_arrow_that_is_used_again(ask, tmp_path):
    """The operator before a task launched it, in its row and in its arrow."""
    folder = tmp_path / "span_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    folder.mkdir(parents=True)
    name = {"ph": "M", "name": "process_name", "tid": 0}
    events = [
        name | {"pid": 1, "args": {"name": "Python"}},
        name | {"pid": 2, "args": {"name": "Ascend Hardware"}},
        {"ph": "M", "name": "thread_name", "pid": 2, "tid": 5, "args": {"name": "Stream 5"}},
    ]
    arrow = {"name": "async_npu", "cat": "async_npu", "id": "7"}
    for i in range(3):
        op = {"ph": "X", "pid": 1, "tid": 9, "name": f"op{i}", "cat": "cpu_op", "dur": 5}
        task = {"ph": "X", "pid": 2, "tid": 5, "name": f"k{i}", "dur": 5}
        task["args"] = {"Task Type": "AI_CORE", "Stream Id": 5, "Task Id": i}
        events += [op | {"ts": 100 * i + 1}, task | {"ts": 100 * i + 50}]
        events.append(arrow | {"ph": "s", "pid": 1, "tid": 9, "ts": 100 * i + 1})
        if i != 1:  # of this one nothing was launched
            events.append(arrow | {"ph": "f", "bp": "e", "pid": 2, "tid": 5, "ts": 100 * i + 50})
    (folder / "trace_view.json").write_text(json.dumps(events))
    ends = "JOIN slice s USING (slice_id) LEFT JOIN slice o ON o.slice_id = t.launch_slice_id"
    launches = f"SELECT s.name, coalesce(o.name, '') FROM device_task t {ends} ORDER BY 1"
    assert ask(folder.parent, launches) == [("k0", "op0"), ("k1", ""), ("k2", "op2")]
    arrows = "SELECT o.name, i.name FROM flow JOIN slice o ON o.slice_id = slice_out "
    arrows += "JOIN slice i ON i.slice_id = slice_in ORDER BY 1"
    assert ask(folder.parent, arrows) == [("op0", "k0"), ("op2", "k2")]
    assert issues(ask, folder.parent)["trace_flow_repeated"][0] == 1
