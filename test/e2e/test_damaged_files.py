"""One bad file among many good ones costs only itself: the others are imported, and it is named."""

import csv
import io
import json
import os

import ascend_reader as reader
import pytest

TEXT = "ascend_pt/text/level1/rank0_ascend_pt"
TABLES = "ascend_pt/qwen3_tp1_pp2/rank_0_ascend_pt"
RAW = "ascend_pt/raw/text_level1_rank0_ascend_pt"
DB = "ascend_pt/db/level1/rank0_ascend_pt"
RAW_DB = "ascend_pt/raw/db_level1_rank1_ascend_pt"
MINDSPORE = "mindspore_cpu/profiler/graph_mem"
RUNTIME = "mindspore_cpu/runtime_profiler/graph"
# Folder, the file that is damaged, a table that the other files fill.
FILES = [
    (TEXT, "trace_view.json", "device_task"),
    (TEXT, "kernel_details.csv", "slice"),
    (TEXT, "memory_record.csv", "slice"),
    (TEXT, "operator_memory.csv", "memory_event"),
    (TEXT, "step_trace_time.csv", "slice"),
    (TEXT, "communication.json", "slice"),
    (TEXT, "communication_matrix.json", "slice"),
    (TABLES, "analysis.db", "slice"),
    (TABLES, "communication.json", "slice"),
    (TEXT, "profiler_info_0.json", "slice"),
    (TEXT, "profiler_metadata.json", "slice"),
    (RAW, "msprof_2*.json", "device_task"),
    (RAW, "op_summary_*.csv", "slice"),
    (RAW, "npu_module_mem_*.csv", "slice"),
    (DB, "ascend_pytorch_profiler_0.db", "source_table"),
    (DB, "analysis.db", "device_task"),
    (DB, "profiler_info_0.json", "device_task"),
    (RAW_DB, "msprof_*.db", "framework_op"),
    (RAW_DB, "communication_analyzer.db", "device_task"),
    (MINDSPORE, "trace_view.json", "slice"),
    (MINDSPORE, "cpu_ms_memory_record_0.txt", "slice"),
    (RUNTIME, "RuntimeProfilerJson*.json", "slice"),
]


def empty(path):
    path.write_bytes(b"")


def half(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def nothing(path):
    path.unlink()
    path.symlink_to("not there")


def loop(path):
    path.unlink()
    path.symlink_to(path.name)


def folder(path):
    path.unlink()
    path.mkdir()


def unreadable(path):
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    path.chmod(0)


@pytest.fixture(name="ask")
def make_ask(run_sonde):
    def ask(path, sql):
        done = run_sonde("query", path, sql, "--format", "csv")
        assert done.returncode == 0, done.stderr
        return [tuple(row) for row in csv.reader(io.StringIO(done.stdout, newline=""))][1:]

    return ask


# An empty and a cut file each reader meets; one in turn of what is no file, or cannot be read.
NO_FILES = (nothing, loop, folder, unreadable)


def damages(number):
    if os.environ.get("SONDE_THOROUGH") == "1":
        return (empty, half, *NO_FILES)
    given = NO_FILES if os.geteuid() != 0 else NO_FILES[:-1]
    return (empty, half, given[number % len(given)], *(() if number else (unreadable,)))


DAMAGES = [(*file, damage) for number, file in enumerate(FILES) for damage in damages(number)]


@pytest.mark.parametrize("name,pattern,table,damage", DAMAGES)
def test_one_bad_file(shared_data, tmp_path, ask, name, pattern, table, damage):
    span = reader.copy_of(shared_data / name, tmp_path / "span_ascend_pt")
    victim = next(p for p in sorted(span.rglob(pattern)) if p.is_file())
    others = "SELECT file, name, row_count FROM source_table WHERE NOT ends_with(file, '{}')"
    before = ask(span, others.format(victim.name))
    damage(victim)
    # The rows of the other files are there, maybe more that stands in for it; the bad one is named.
    assert set(ask(span, others.format(victim.name))) >= set(before)
    assert int(ask(span, f"SELECT count(*) FROM {table}")[0][0]) > 0
    issues = ask(span, "SELECT severity, code, source, advice FROM import_issue")
    names = (victim.name, f"{victim.parent.name}/") if damage is folder else (victim.name,)
    named = [row for row in issues if any(name in row[2] or name in row[3] for name in names)]
    assert named, issues
    if damage not in (folder, half):  # a folder is no file of that name
        assert any(row[0] in ("warning", "error") for row in named), named


def test_text_beside_a_bad_database(shared_data, tmp_path, ask):
    """A database that is cut off does not hide the text deliverables beside it."""
    span = reader.copy_of(shared_data / TEXT, tmp_path / "span_ascend_pt")
    slices = ask(span, "SELECT count(*), sum(dur)::BIGINT FROM slice")
    database = next((shared_data / DB).rglob("ascend_pytorch_profiler_0.db"))
    beside = next(span.rglob("trace_view.json")).with_name(database.name)
    beside.write_bytes(database.read_bytes()[:100_000])
    assert ask(span, "SELECT count(*), sum(dur)::BIGINT FROM slice") == slices
    (issue,) = ask(span, "SELECT source, advice FROM import_issue WHERE code = 'file_unreadable'")
    assert issue[0].endswith(database.name)
    assert "cut off" in issue[1]


def test_text_beside_a_database_with_a_damaged_list_of_tables(shared_data, tmp_path, ask):
    """Its first page is whole: only SQLite notices."""
    span = reader.copy_of(shared_data / TEXT, tmp_path / "span_ascend_pt")
    slices = ask(span, "SELECT count(*), sum(dur)::BIGINT FROM slice")
    database = next((shared_data / DB).rglob("ascend_pytorch_profiler_0.db"))
    beside = next(span.rglob("trace_view.json")).with_name(database.name)
    beside.write_bytes(database.read_bytes())
    assert ask(span, "SELECT code FROM import_issue WHERE code IN ('text_beside_db', 'x')")
    content = bytearray(database.read_bytes())
    page = int.from_bytes(content[16:18], "big")
    assert content[100] == 5  # the list has pages of its own below the first
    first = int.from_bytes(content[112:114], "big")
    inner = int.from_bytes(content[first : first + 4], "big")
    content[(inner - 1) * page : inner * page] = b"\xff" * page
    beside.write_bytes(content)
    assert ask(span, "SELECT count(*), sum(dur)::BIGINT FROM slice") == slices
    (issue,) = ask(span, "SELECT source, advice FROM import_issue WHERE code = 'file_unreadable'")
    assert issue[0].endswith(database.name)
    assert "is damaged: " in issue[1]
    # Alone it is one clear error.
    beside.rename(tmp_path / database.name)
    with pytest.raises(AssertionError, match="error: .*malformed"):
        ask(tmp_path / database.name, "SELECT 1")


@pytest.mark.parametrize(
    "name,content,code,count",
    [
        ("communication.json", {}, None, 0),
        ("communication.json", {"step1": {"p2p": {}, "collective": {}}}, None, 0),
        ("communication.json", [], "json_garbled", 1),
        ("communication.json", {"a": 1, "b": [], "c": {"d": 5, "e": None}}, "json_other_shape", 4),
        ("communication.json", {"s": {"p2p": {"op": {}, "op@1": 7}}}, "json_other_shape", 2),
        ("communication.json", {"s": {"p2p": {"op@1": {}}}}, "communication_without_time", 1),
        ("communication_matrix.json", {}, None, 0),
        ("communication_matrix.json", {"step1": {"p2p": {}, "collective": {}}}, None, 0),
        ("communication_matrix.json", {"op@1": {"0-1": {"Transport Type": "HCCS"}}}, None, 0),
        ("communication_matrix.json", [1], "json_garbled", 1),
        ("communication_matrix.json", {"a": 1, "b": {"c": []}}, "json_other_shape", 2),
        (
            "communication_matrix.json",
            {"s": {"p2p": {"op@1": {"0-1": {"Bandwidth": 1}, "0-2": 1}}}},
            "json_other_shape",
            2,
        ),
    ],
)
def test_json_of_another_shape(shared_data, tmp_path, ask, name, content, code, count):
    span = reader.copy_of(shared_data / TEXT, tmp_path / "span_ascend_pt")
    path = next(span.rglob(name))
    path.write_text(json.dumps(content))
    found = ask(span, f"SELECT code, count FROM import_issue WHERE ends_with(source, '{name}')")
    assert found == ([(code, str(count))] if code else [])
    assert int(ask(span, "SELECT count(*) FROM slice")[0][0]) > 0


def test_communication_of_the_devices_own_tool(shared_data, tmp_path, ask):
    """Its operations lie under no step and no kind."""
    span = reader.copy_of(shared_data / RAW, tmp_path / "span_ascend_pt")
    path = next(span.rglob("communication.json"))
    expected = [
        (
            key.rpartition("@")[0],
            reader.ns(1000 * parts["Communication Time Info"]["Wait Time(ms)"]),
        )
        for key, parts in json.loads(path.read_text()).items()
        if "@" in key
    ]
    assert expected
    found = ask(span, "SELECT name, wait_ns FROM communication_op WHERE wait_ns >= 0 ORDER BY ts")
    assert [(name, int(wait)) for name, wait in found] == expected


def test_database_that_is_cut_off(shared_data, tmp_path, ask):
    """Its tables are read up to where the file ends, and those that are not whole are counted."""
    span = reader.copy_of(shared_data / DB, tmp_path / "span_ascend_pt")
    tasks = "SELECT count(*) FROM device_task"
    whole = ask(span, tasks)
    database = next(span.rglob("ascend_pytorch_profiler_0.db"))
    os.truncate(database, database.stat().st_size - 4096)
    assert ask(span, tasks) == whole
    assert ask(span, "SELECT count(*) > 0 FROM import_issue WHERE code = 'db_damaged'") == [
        ("true",)
    ]


@pytest.mark.parametrize("name", ["trace_view.json", "msprof_20250109081616.json"])
def test_alone_it_is_one_clear_error(tmp_path, run_sonde, name):
    path = tmp_path / "span_ascend_pt" / "ASCEND_PROFILER_OUTPUT" / name
    path.parent.mkdir(parents=True)
    path.write_text("")
    for named in (path, tmp_path / "span_ascend_pt"):
        done = run_sonde("query", named, "SELECT 1")
        assert done.returncode == 1
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        assert len(errors) == 1
        assert errors[0].startswith("sonde: error: ")
        assert f"{name}' is empty" in errors[0]


def test_a_timeline_that_begins_like_none(tmp_path, ask):
    span = tmp_path / "span_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    span.mkdir(parents=True)
    (span / "trace_view.json").write_text("<html>not found</html>")
    (span / "memory_record.csv").write_text(
        "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),"
        "Stream Ptr,Device Type\r\nPTA,1000000.5,1,2,1,0,NPU:0\r\n"
    )
    (span.parent / "profiler_info_3.json").write_text(json.dumps({"rank_id": 3}))
    assert ask(span.parent, "SELECT ts, total_reserved FROM memory_event") == [
        ("1000000500", "2097152")
    ]
    ((source, advice),) = ask(
        span.parent, "SELECT source, advice FROM import_issue WHERE code = 'file_unreadable'"
    )
    assert source.endswith("trace_view.json")
    assert "neither '[' nor '{'" in advice


def test_metadata_keeps_its_digits(tmp_path, ask):
    """Whole numbers beyond 64 bits and long fractions are metadata as the file has them."""
    span = tmp_path / "span_ascend_pt"
    span.mkdir()
    (span / "op_statistic.csv").write_text("Device_id,OP Type\r\n0,MatMul\r\n")
    (span / "profiler_metadata.json").write_text(
        '\ufeff{"huge": 123456789012345678901234567890,\n "text": " a \\" b ",\n'
        ' "more": {"f": [0.12345678901234567890, 18446744073709551615],  "s": "x  y"}}\n'
    )
    assert ask(span, "SELECT key, value FROM metadata WHERE key IN ('huge', 'text', 'more')") == [
        ("huge", "123456789012345678901234567890"),
        ("text", '" a \\" b "'),
        ("more", '{"f":[0.12345678901234567890,18446744073709551615],"s":"x  y"}'),
    ]
