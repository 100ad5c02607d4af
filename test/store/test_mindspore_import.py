"""Files of MindSpore's recorders: the store against an independent reading of every shared set."""

import csv
import io
import json
import os
import re
import shutil
import struct
import subprocess
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path

import pytest
from conftest import BUILD

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SONDE_SHARED_DATA", ROOT.parent / "shared" / "data")) / "mindspore_cpu"
NO_FLOW = 2**64 - 1
# As the runtime profiler has it, and as op_range has it.
LAUNCH = re.compile("::(KernelLaunch|LaunchTask|PyNativeLaunchTask)::")

if not DATA.is_dir():
    pytest.skip(f"needs data: no files of MindSpore in {DATA}", allow_module_level=True)


@pytest.fixture(autouse=True)
def use_own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def sums(found):
    """{name: (count, sum of durations)}"""
    result = defaultdict(lambda: (0, 0))
    for name, dur in found:
        count, total = result[name]
        result[name] = (count + 1, total + dur)
    return dict(result)


def slices(query, path):
    rows = query(path, "SELECT coalesce(name, '') AS name, dur FROM slice")
    return sums((row["name"], row["dur"]) for row in rows)


def profiles():
    return sorted(DATA.glob("profiler/*/*_ascend_ms"))


def copy_without_analysis(source, tmp_path):
    """As a killed process leaves it: FRAMEWORK alone."""
    span = tmp_path / source.name
    shutil.copytree(source / "FRAMEWORK", span / "FRAMEWORK")
    return span


def read_launches(span):
    """(name, begin, duration in ns) of every launch; milliseconds are decimals."""
    launches = []
    text = (span / "FRAMEWORK" / "cpu_op_execute_timestamp_0.txt").read_text()
    for line in text.splitlines():
        name, _, triples = line.split(";")
        for triple in triples.split():
            begin, ms, _ = triple.split(",")
            launches.append((name, int(begin), int(Decimal(ms) * 1000000)))
    return launches


@pytest.mark.parametrize("source", profiles(), ids=lambda path: path.parent.name)
def test_operators_without_analysis(source, tmp_path, query):
    span = copy_without_analysis(source, tmp_path)
    expected = sorted(read_launches(span))
    rows = query(span, "SELECT name, ts, dur FROM slice")
    assert sorted((r["name"], r["ts"], r["dur"]) for r in rows) == expected
    rows = query(span, "SELECT name, op_type, core FROM device_task")
    assert Counter(r["name"] for r in rows) == Counter(name for name, _, _ in expected)
    # The profiler's own table of operators agrees.
    with open(span / "FRAMEWORK" / "cpu_op_detail_info_0.csv", encoding="utf-8") as file:
        table = {row["full_op_name"]: row for row in csv.DictReader(file)}
    found = sums((name, dur) for name, _, dur in expected)
    assert set(found) == set(table)
    for row in query(span, "SELECT name, op_type, count(*) AS n, sum(dur)::BIGINT AS dur "
                           "FROM device_task GROUP BY ALL"):  # fmt: skip
        line = table[row["name"]]
        assert (row["op_type"], row["n"]) == (line["op_type"], int(line["op_occurrences"]))
        # Six significant digits.
        assert row["dur"] / 1e6 == pytest.approx(float(line["op_total_time(ms)"]), rel=1e-5)
    (rank,) = query(span, "SELECT pid, rank FROM process")
    assert (rank["pid"], rank["rank"]) == (int(source.name.split("_")[1]), 0)


@pytest.mark.parametrize("source", profiles(), ids=lambda path: path.parent.name)
def test_deliverables_of_what_nobody_analysed(source, tmp_path):
    span = copy_without_analysis(source, tmp_path)
    subprocess.run([BUILD / "bin" / "sonde", "analyse", span, "-o", tmp_path / "out"],
                   check=True, capture_output=True, timeout=120)  # fmt: skip
    written = tmp_path / "out" / span.name / "ASCEND_PROFILER_OUTPUT"
    with open(written / "op_statistic.csv", encoding="utf-8") as file:
        found = {row["OP Type"]: int(row["Count"]) for row in csv.DictReader(file)}
    with open(span / "FRAMEWORK" / "cpu_op_type_info_0.csv", encoding="utf-8") as file:
        assert found == {
            row["op_type"]: int(row["type_occurrences"]) for row in csv.DictReader(file)
        }
    events = json.loads((written / "trace_view.json").read_text())
    names = Counter(name for name, _, _ in read_launches(span))
    assert names <= Counter(event["name"] for event in events)
    with open(written / "kernel_details.csv", encoding="utf-8") as file:
        assert Counter(row["Name"] for row in csv.DictReader(file)) == names


def test_they_are_made_in_place(tmp_path):
    """Where nobody has analysed; nothing that is there changes, and a second time only reports."""
    span = copy_without_analysis(next(DATA.glob("profiler/graph_mem/*")), tmp_path)
    before = {path: path.read_bytes() for path in span.rglob("*") if path.is_file()}
    for _ in range(2):
        done = subprocess.run([BUILD / "bin" / "sonde", "analyse", span], check=True, text=True,
                              capture_output=True, timeout=120)  # fmt: skip
        assert "  rank 0  " in done.stdout  # which the names below FRAMEWORK alone have
        assert (span / "ASCEND_PROFILER_OUTPUT" / "op_statistic.csv").is_file()
    assert all(path.read_bytes() == content for path, content in before.items())
    assert {path.name for path in span.iterdir()} == {"FRAMEWORK", "ASCEND_PROFILER_OUTPUT"}


def test_an_analysis_of_mindspore_stays(tmp_path):
    source = next(DATA.glob("profiler/graph_mem/*"))
    span = tmp_path / source.name
    shutil.copytree(source, span)
    done = subprocess.run([BUILD / "bin" / "sonde", "analyse", span], capture_output=True,
                          text=True, timeout=120, check=False)  # fmt: skip
    assert done.returncode != 0 and "name a folder for the result with -o" in done.stderr
    assert [path.name for path in (span / "ASCEND_PROFILER_OUTPUT").iterdir()] == [
        "trace_view.json"
    ]


def test_shapes_of_a_graph(tmp_path, query):
    span = copy_without_analysis(next(DATA.glob("profiler/graph_mem/*")), tmp_path)
    lines = (span / "FRAMEWORK" / "cpu_framework_0.txt").read_text().split("\n")[:-1]
    expected = []
    for line in lines:
        shapes = [part.split(":")[1] for part in line.split(";")[3:] if part]
        expected.append(
            (line.split(";")[0],
             ";".join(s.strip("[]").replace(" ", "") if s[0] == "[" else "" for s in shapes))
        )  # fmt: skip
    rows = query(
        span,
        "SELECT d.op_type AS type, coalesce(o.input_shapes, '') AS shapes FROM device_task d "
        "JOIN framework_op o USING (slice_id) ORDER BY d.ts",
    )
    found = [(r["type"], r["shapes"]) for r in rows]
    issues = query(span, "SELECT code FROM import_issue WHERE code LIKE '%shapes%'")
    assert found == expected or (issues and len(found) != len(expected))


@pytest.mark.parametrize("with_analysis", [False, True])
def test_memory(with_analysis, tmp_path, query):
    source = next(DATA.glob("profiler/pynative_mem/*"))
    span = source if with_analysis else copy_without_analysis(source, tmp_path)
    with open(source / "FRAMEWORK" / "cpu_ms_memory_record_0.txt", encoding="utf-8") as file:
        expected = [[int(cell) for cell in row] for row in list(csv.reader(file))[1:]]
    rows = query(
        span,
        "SELECT ts, total_allocated AS a, total_reserved AS r, total_active AS c, size_bytes AS s "
        "FROM memory_event",
    )
    assert [[r["ts"], r["a"], r["r"], r["c"]] for r in rows] == expected
    assert sum(r["s"] for r in rows) == expected[-1][1]


@pytest.mark.parametrize("source", profiles(), ids=lambda path: path.parent.name)
def test_timeline(source, query):
    """trace_view.json: every bar, and operators as tasks of the CPU."""
    events = json.loads(
        (source / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text(), parse_float=Decimal
    )
    bars = [e for e in events if e["ph"] == "X"]
    expected = sorted((e["name"], int(Decimal(e["ts"]) * 1000), int(Decimal(e["dur"]) * 1000))
                      for e in bars)  # fmt: skip
    rows = query(source, "SELECT name, ts, dur FROM slice")
    assert sorted((r["name"], r["ts"], r["dur"]) for r in rows) == expected
    launches = [e["name"] for e in bars if e["pid"] == 2]
    rows = query(source, "SELECT name FROM device_task WHERE core = 'CPU'")
    assert Counter(r["name"] for r in rows) == Counter(launches)
    scopes = query(
        source,
        "SELECT count(*) AS n FROM slice JOIN track USING (track_id) WHERE kind = 'module'",
    )
    assert scopes[0]["n"] == len(bars) - len(launches)


LINE = re.compile(
    r"(module|stage):(.*?), event:(.*?), op:(.*), start_time:(\d+), end_time:(\d+), "
    r"dur_time:,(\d+),ns, tid:(\d+), pid:(\d+)"
)


def read_detail(folder):
    (path,) = folder.glob("RuntimeProfilerDetail*.csv")
    records = []
    for line in path.read_text().splitlines():
        found = LINE.fullmatch(line)
        if found:
            kind, module, event, op, begin, end, _, tid, _ = found.groups()
            name = module if kind == "stage" else f"{module}::{event}::{op}"
            records.append((name, int(begin), int(end), int(tid)))
    return records


@pytest.mark.parametrize("mode", ["pynative", "graph"])
@pytest.mark.parametrize("named", ["folder", "file"])
def test_runtime_profiler(mode, named, query):
    folder = DATA / "runtime_profiler" / mode
    path = folder if named == "folder" else next(folder.glob("RuntimeProfilerDetail*.csv"))
    records = read_detail(folder)
    ranges = [(n, b, e, t) for n, b, e, t in records if e >= b]
    rows = query(
        path,
        "SELECT s.name AS name, s.ts AS ts, s.dur AS dur, tid FROM slice s "
        "JOIN track USING (track_id) JOIN thread USING (thread_id)",
    )
    assert sorted((r["name"], r["ts"], r["dur"], r["tid"]) for r in rows) == sorted(
        (n, b, e - b, t) for n, b, e, t in ranges
    )
    # Of graphs, and of operators that are called one by one.
    launches = [n.split("::", 2)[2] for n, *_ in ranges if LAUNCH.search(n)]
    assert len(launches) == {"pynative": 88, "graph": 122}[mode]
    rows = query(path, "SELECT name FROM device_task")
    assert Counter(r["name"] for r in rows) == Counter(launches)
    steps = query(path, "SELECT step_id, dur FROM step ORDER BY step_id")
    (detail,) = folder.glob("RuntimeProfilerDetail*.csv")
    heads = re.findall(r"\[Step:(\d+) step_time:(\d+)ns", detail.read_text())
    assert [(s["step_id"], s["dur"]) for s in steps] == [(int(a), int(b)) for a, b in heads]
    # Tasks that one thread hands to another, numbered in the JSON file of the same records.
    (path_of_json,) = folder.glob("RuntimeProfilerJson*.json")
    numbers = [e["args"]["flow_id"] for e in json.loads(path_of_json.read_text())]
    check_hand_overs(
        path, query, [(n, *record) for n, record in zip(numbers, records) if n != NO_FLOW]
    )


def check_hand_overs(path, query, ends):
    """`ends`: (number, name, begin, end, thread); what is handed over ends before it begins."""
    by_number = defaultdict(list)
    for number, _, begin, end, thread in ends:
        by_number[number].append((begin, end < begin, thread))
    expected = []
    for number, list_ in by_number.items():
        waiting = []
        for begin, is_handed, thread in sorted(list_):
            if is_handed:
                waiting.append((begin, thread))
            elif waiting:
                expected.append((number, *waiting.pop(0), begin, thread))
    rows = query(
        path,
        "SELECT f.key AS number, o.ts AS b, o.dur AS bd, ot.tid AS bt, i.ts AS e, it.tid AS et "
        "FROM flow f JOIN slice i ON i.slice_id = f.slice_in "
        "JOIN track ik ON ik.track_id = i.track_id JOIN thread it ON it.thread_id = ik.thread_id "
        "LEFT JOIN slice o ON o.slice_id = f.slice_out "
        "LEFT JOIN track ok ON ok.track_id = o.track_id "
        "LEFT JOIN thread ot ON ot.thread_id = ok.thread_id ORDER BY number, e",
    )
    expected.sort(key=lambda flow: (flow[0], flow[3]))
    assert len(rows) == len(expected)
    for row, (number, handed, thread, begun, worker) in zip(rows, expected):
        assert (row["number"], row["e"], row["et"]) == (number, begun, worker)
        if row["b"] is not None:
            assert row["bt"] == thread and row["b"] <= handed <= row["b"] + row["bd"]


MODULES = ("Default GraphExecutorPy RuntimeFramework PynativeFramework Kernel Python Capture "
           "Other").split()  # fmt: skip
STAGES = ("Default Python Capture RunGraph RunGrad RunOp Asnumpy CompileGradGraph WaitPipeline "
          "SyncStream").split()  # fmt: skip
EVENTS = {0: "Default", 4: "KernelLaunch", 9: "InputProcess", 10: "OutputProcess",
          11: "WaitTaskFinish", 12: "PreLaunch", 17: "CopyData", 18: "StreamSync",
          27: "BackendGraphRunInner", 28: "RunOp", 29: "PyNativeFrontendTask",
          31: "PyNativeDeviceTask", 32: "PyNativeLaunchTask", 33: "PyNativeBpropTask", 34: "Wait",
          35: "PyNativeGilAcquire", 36: "PyNativeCast", 37: "PyNativeInfer",
          43: "PyBoostInferOutput", 45: "PyBoostCreateOutputTensor", 47: "PyBoostMallocInput",
          48: "PyBoostMallocOutput", 53: "PythonObserved"}  # fmt: skip


def read_op_range(data):
    """(flow, name, begin, end, thread) of every whole record, in ticks."""
    records = []
    place = 0
    while place + 6 <= len(data):
        _, size = struct.unpack_from("<HI", data, place)
        value = data[place + 6 : place + 6 + size]
        place += 6 + size
        if place > len(data):
            break
        thread, flow, _, begin, end, _, module, event, stage, _, is_graph, is_stage, _ = (
            struct.unpack_from("<5Qi3Hb3?", value)
        )
        fields, at = {}, 54
        while at < len(value):
            number, length = struct.unpack_from("<HI", value, at)
            fields[number] = value[at + 6 : at + 6 + length].decode()
            at += 6 + length
        if is_stage:
            name = STAGES[stage]
        elif is_graph:
            name = f"{fields[15]}::{fields[16]}::{fields[13]}"
        elif fields[14].startswith("ProfilerStep#"):
            name = fields[14]
        else:
            name = f"{MODULES[module]}::{EVENTS[event]}::{fields[14]}"
        records.append((flow, name, begin, end, thread))
    return records


@pytest.mark.parametrize("mode", ["pynative", "graph"])
def test_op_range(mode, query):
    path = DATA / "op_range" / mode / "mindspore.op_range"
    records = read_op_range(path.read_bytes())
    assert len(records) == {"pynative": 2642, "graph": 166}[mode]
    expected = [(n, b, e - b, t) for _, n, b, e, t in records if e >= b]
    rows = query(
        path,
        "SELECT s.name AS name, s.ts AS ts, s.dur AS dur, tid FROM slice s "
        "JOIN track USING (track_id) JOIN thread USING (thread_id)",
    )
    assert sorted((r["name"], r["ts"], r["dur"], r["tid"]) for r in rows) == sorted(expected)
    steps = query(path, "SELECT step_id FROM step ORDER BY step_id")
    assert [s["step_id"] for s in steps] == [0, 1]
    check_hand_overs(path, query, [r for r in records if r[0] != NO_FLOW])
    launches = [n.split("::", 2)[2] for _, n, *_ in records if LAUNCH.search(n)]
    rows = query(path, "SELECT name FROM device_task")
    assert Counter(r["name"] for r in rows) == Counter(launches) and launches
    issues = query(path, "SELECT code FROM import_issue WHERE severity = 'warning'")
    assert [i["code"] for i in issues] == ["mindspore_no_clock"]


def test_op_range_with_a_clock(tmp_path, query):
    """Beside a capture of the device tool: ticks become nanoseconds of the wall clock."""
    span = tmp_path / "vm_77_20261121122325403_ascend_ms"
    (span / "FRAMEWORK").mkdir(parents=True)
    data = (DATA / "op_range" / "graph" / "mindspore.op_range").read_bytes()
    (span / "FRAMEWORK" / "mindspore.op_range").write_bytes(data)
    host = span / "PROF_000001_20261121122325403_ABC" / "host"
    host.mkdir(parents=True)
    (host / "host_start.log").write_text(
        "[Host]\nclock_monotonic_raw: 5000000000\ncntvct: 8259796161265\ncntvct_diff: 0\n"
    )
    (host / "start_info").write_text(
        json.dumps({"collectionTimeBegin": "1795263910000000", "clockMonotonicRaw": "4000000000"})
    )
    (host / "info.json").write_text(json.dumps({"CPU": [{"Id": 0, "Frequency": "2596.132"}]}))

    def to_ns(ticks):
        since = (ticks - 8259796161265) * 1000000
        return 1795263911000000000 + (since // 2596132 if since >= 0 else -(-since // 2596132))

    expected = [(n, to_ns(b), to_ns(e) - to_ns(b))
                for _, n, b, e, _ in read_op_range(data) if e >= b]  # fmt: skip
    rows = query(span, "SELECT name, ts, dur FROM slice")
    assert sorted((r["name"], r["ts"], r["dur"]) for r in rows) == sorted(expected)
    issues = query(span, "SELECT code FROM import_issue WHERE severity <> 'info'")
    assert issues == []


@pytest.mark.parametrize("cut", [1, 5, 59, 60, 1000, 20000])
def test_cut_off_op_range(cut, tmp_path, query):
    data = (DATA / "op_range" / "graph" / "mindspore.op_range").read_bytes()[:-cut]
    path = tmp_path / "mindspore.op_range"
    path.write_bytes(data)
    whole = [r for r in read_op_range(data) if r[3] >= r[2]]
    assert query(path, "SELECT count(*) AS n FROM slice")[0]["n"] == len(whole)
    issues = query(path, "SELECT count FROM import_issue WHERE code = 'mindspore_truncated'")
    assert issues == [{"count": 1}]


def test_garbled_text(tmp_path, query):
    """Lines that make no sense are counted; the others are read."""
    folder = tmp_path / "FRAMEWORK"
    folder.mkdir()
    (folder / "cpu_op_execute_timestamp_3.txt").write_bytes(
        b"Default/MatMul-op0;HostCpuOps;1795263805415035025,9.1e-05,0 17,x,0 1,2 \r\n"
        b"nothing\nMul;HostCpuOps;1795263805415036000,12.1763,0"
    )
    begin = 1795263805415035025
    (folder / "cpu_ms_memory_record_3.txt").write_text(
        f"Timestamp(ns),...\n{begin + 1},2\nx,y,z\n{begin + 5},1,7,1\n"
    )
    rows = query(tmp_path, "SELECT s.name, dur, rank FROM slice s, process ORDER BY ts")
    assert [(r["name"], r["dur"], r["rank"]) for r in rows] == [
        ("Default/MatMul-op0", 91, 3),
        ("Mul", 12176300, 3),
    ]
    bad = "SELECT count FROM import_issue WHERE code = 'mindspore_bad_line' ORDER BY source"
    assert [row["count"] for row in query(tmp_path, bad)] == [1, 3]
    rows = query(tmp_path, "SELECT ts, size_bytes FROM memory_event ORDER BY ts")
    assert [(r["ts"] - begin, r["size_bytes"]) for r in rows] == [(1, 2), (5, -1)]


def test_the_source_of_the_data_is_reported(tmp_path):
    """A folder with all three recorders' files: one line each on what is read and what is not."""
    folder = DATA / "runtime_profiler" / "graph"
    done = subprocess.run(
        [BUILD / "bin" / "sonde", "query", str(folder), "SELECT count(*) AS n FROM slice",
         "--format", "csv"],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert "set of records of MindSpore's profilers" in done.stderr
    assert "RuntimeProfilerJson" in done.stderr
    assert int(next(csv.DictReader(io.StringIO(done.stdout)))["n"]) == 162
