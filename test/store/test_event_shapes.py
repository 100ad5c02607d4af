"""Traces in the shapes of many producers: the store against an independent reading of each."""

import gzip
import json
import subprocess
from collections import Counter, defaultdict
from decimal import Decimal

import pytest
from conftest import BUILD
from event_shapes import SHAPES
from read_events import to_ns

SONDE = BUILD / "bin" / "sonde"


class Reading:
    """Slices, flows, counters and instants of a text, by the format's own rules."""

    def __init__(self, text):
        text = text.lstrip("\ufeff").strip()
        if text.startswith("[") and not text.endswith("]"):
            text = text.rstrip(",") + "]"
        document = json.loads(text, parse_float=Decimal)
        self.events = document if isinstance(document, list) else document["traceEvents"]
        self.base = 0 if isinstance(document, list) else document.get("baseTimeNanoseconds", 0)
        self.slices = []  # (name, ts, dur), dur -1: has no end
        self.pair_threads()
        self.pair_spans()

    def time(self, event):
        return self.base + to_ns(event["ts"])

    def of(self, phases):
        return [e for e in self.events if e.get("ph", "-") in phases]

    def pair_threads(self):
        stacks = defaultdict(list)
        for event in self.of("XBE"):
            thread = (str(event.get("pid")), str(event.get("tid")))
            if event["ph"] == "X":
                dur = event.get("dur")
                dur = to_ns(dur) if dur is not None else 0
                self.slices.append((event["name"], self.time(event), dur))
            elif event["ph"] == "B":
                stacks[thread].append(event)
            elif stacks[thread]:
                begin = stacks[thread].pop()
                begin_ns = self.time(begin)
                self.slices.append((begin["name"], begin_ns, self.time(event) - begin_ns))
        for stack in stacks.values():
            self.slices += [(begin["name"], self.time(begin), -1) for begin in stack]

    def pair_spans(self):
        open_spans = defaultdict(list)
        for event in self.of("beSF"):
            number = str(event.get("id", event.get("id2")))
            pid = "everywhere" if "global" in event.get("id2", {}) else event["pid"]
            key = (event["cat"], number, event.get("scope"), event["name"], pid)
            if event["ph"] in "bS":
                open_spans[key].append(event)
            elif open_spans[key]:
                begin = self.time(open_spans[key].pop())
                self.slices.append((event["name"], begin, self.time(event) - begin))
        for spans in open_spans.values():
            self.slices += [(begin["name"], self.time(begin), -1) for begin in spans]

    def flows(self):
        """(begin, end) of each arrow: a chain goes on at its steps, and again at each begin."""
        chains = defaultdict(list)
        for event in self.events:
            if event.get("ph") in ("s", "t", "f"):
                chains[event["cat"], event["name"], str(event["id"])].append(
                    (self.time(event), event["ph"])
                )
            elif "bind_id" in event:
                ways = (event.get("flow_out", False), event.get("flow_in", False))
                phase = {(True, False): "s", (True, True): "t", (False, True): "f"}[ways]
                chains[event["bind_id"]].append((self.time(event), phase))
        arrows = []
        for chain in chains.values():
            at = None
            for ts, phase in sorted(chain):
                if phase != "s" and at is not None:
                    arrows.append((at, ts))
                at = ts if phase != "f" else None
        return sorted(arrows)

    def counters(self):
        series = defaultdict(list)
        for event in self.of("C"):
            suffix = f"[{event['id']}]" if "id" in event else ""
            for key, value in event["args"].items():
                series[f"{event['name']}{suffix} {key}"].append((self.time(event), float(value)))
        return dict(series)


@pytest.fixture(name="shape", params=sorted(SHAPES))
def write_shape(request, tmp_path, monkeypatch):
    """(reading, path)"""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    name, text = SHAPES[request.param]
    data = text.encode()
    packed = name.endswith(".gz") or name.endswith(".bin")
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if packed else data)
    return Reading(text), path


def test_slices(shape, query):
    reading, path = shape
    rows = query(path, "SELECT coalesce(name, '') AS name, ts, dur FROM slice")
    assert sorted((r["name"], r["ts"], r["dur"]) for r in rows) == sorted(reading.slices)


def test_flows(shape, query):
    reading, path = shape
    rows = query(
        path,
        "SELECT o.ts AS b, o.dur AS bd, i.ts AS e, i.dur AS ed FROM flow f "
        "JOIN slice o ON o.slice_id = f.slice_out JOIN slice i ON i.slice_id = f.slice_in "
        "ORDER BY o.ts, i.ts",
    )
    expected = reading.flows()
    assert len(rows) == len(expected)
    for row, (begin, end) in zip(rows, expected):
        assert row["b"] <= begin <= row["b"] + row["bd"]
        assert row["e"] + row["ed"] >= end


def test_counters_and_instants(shape, query):
    reading, path = shape
    rows = query(
        path,
        "SELECT name, ts, value FROM counter JOIN track USING (track_id) ORDER BY track_id, ts",
    )
    found = defaultdict(list)
    for row in rows:
        found[row["name"]].append((row["ts"], row["value"]))
    assert dict(found) == reading.counters()
    marks = query(path, "SELECT message AS m, count(*) AS n FROM mark GROUP BY 1")
    expected = Counter(e["name"] for e in reading.of("iInTpR"))
    assert {row["m"]: row["n"] for row in marks} == dict(expected)


def test_what_is_left_out_is_counted(shape, query):
    reading, path = shape
    issues = {
        row["code"]: row["count"] for row in query(path, "SELECT code, count FROM import_issue")
    }
    empty = sum(1 for e in reading.events if not e)
    assert issues.get("trace_event_without_phase", 0) == empty
    assert issues.get("trace_phase_not_imported", 0) == len(reading.of("NODvVP()c="))
    begun = sum(1 for _, _, dur in reading.slices if dur == -1)
    assert issues.get("trace_unfinished_range", 0) == begun
    assert "trace_keys_not_imported" not in issues


def test_arguments_of_begin_and_end_are_one_set(tmp_path, query, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    name, text = SHAPES["chrome_array"]
    (tmp_path / name).write_text(text)
    rows = query(
        tmp_path / name,
        "SELECT name, key, value FROM slice JOIN args USING (args_id) ORDER BY ALL",
    )
    assert [(r["name"], r["key"], r["value"]) for r in rows] == [
        ("Draw", "tdur", "20"), ("Draw", "tts", "110"),
        ("Paint", "end_tts", "99"), ("Paint", "tiles", "4"), ("Paint", "tts", "95"),
        ("Run", "end_tts", "100"), ("Run", "src", "a.cc"), ("Run", "tts", "90"),
    ]  # fmt: skip


def test_devices_of_kineto(tmp_path, query, monkeypatch):
    """Each kind of device gives tasks, launched by its operator."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    name, text = SHAPES["kineto_devices"]
    (tmp_path / name).write_text(text)
    rows = query(
        tmp_path / name,
        "SELECT t.name AS name, t.device_id AS device, t.stream_id AS stream, o.name AS op "
        "FROM device_task t LEFT JOIN slice o ON o.slice_id = t.launch_slice_id "
        "WHERE t.name LIKE 'gemm%' ORDER BY device",
    )
    assert [(r["name"], r["device"], r["stream"], r["op"]) for r in rows] == [
        (f"gemm on {label} 0", i, 7, "aten::mm")
        for i, label in enumerate(("GPU", "XPU", "HPU", "MTIA", "NPU"))
    ]


@pytest.mark.parametrize("category", ["ac2g", "async_cpu_to_gpu", "async"])
def test_arrows_of_synchronizations(category, tmp_path, query, monkeypatch):
    """Kineto records waits of a stream on its thread, beside the kernels that run meanwhile."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    events = [
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": 9, "tid": 9,
         "ts": 100, "dur": 50, "args": {"correlation": 5}},
        {"ph": "s", "id": 5, "pid": 9, "tid": 9, "ts": 100, "cat": category, "name": "a"},
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 90, "dur": 55,
         "args": {"correlation": 4, "device": 0, "stream": 7}},
        {"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 0, "tid": 7, "ts": 101,
         "dur": 45, "args": {"correlation": 5, "device": 0, "stream": 7}},
        {"ph": "f", "id": 5, "pid": 0, "tid": 7, "ts": 101, "cat": category, "name": "a",
         "bp": "e"},
    ]  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    rows = query(
        tmp_path / "a.json",
        "SELECT flow.kind AS k, o.name AS o, i.name AS i FROM flow "
        "JOIN slice o ON o.slice_id = slice_out JOIN slice i ON i.slice_id = slice_in",
    )
    assert [(r["k"], r["o"], r["i"]) for r in rows] == [
        ("host_to_device", "cudaStreamSynchronize", "Stream Sync")
    ]


def test_every_exporter_takes_it(shape, tmp_path, query):
    """Text, database, Kineto and Parquet of any trace; what is written as Kineto reads the same."""
    reading, path = shape
    words = [
        "analyse",
        str(path),
        "--export-type",
        "text,db,kineto,parquet",
        "-o",
        tmp_path / "out",
    ]
    done = subprocess.run([SONDE, *map(str, words)], capture_output=True, text=True, timeout=120,
                          check=False)  # fmt: skip
    if not reading.slices and not reading.counters():
        assert done.returncode == 1 and "holds no records" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    written = {p.name for p in (tmp_path / "out").rglob("*") if p.is_file()}
    assert "trace_view.json" in written and "slice.parquet" in written
    assert any(name.startswith("ascend_pytorch_profiler") for name in written)


def test_marks_and_facts_of_processes(tmp_path, query, monkeypatch):
    """A mark of a thread without slices names its place and its arguments."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    events = [
        {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "Browser"}},
        {"ph": "M", "name": "num_cpus", "pid": 7, "tid": 0, "args": {"number": 4}},
        {"ph": "i", "name": "alone", "pid": 7, "tid": 9, "ts": 5, "args": {"a": 1, "b": "x"}},
        {"ph": "X", "name": "f", "pid": 7, "tid": 8, "ts": 1, "dur": 9},
        {"ph": "i", "name": "inside", "pid": 7, "tid": 8, "ts": 5, "s": "t"},
        {"ph": "i", "name": "of none", "pid": "", "tid": "", "ts": 6, "s": "g"},
    ]
    (tmp_path / "a.json").write_text(json.dumps({"traceEvents": events, "otherData": {"v": 1}}))
    marks = query(
        tmp_path / "a.json",
        "SELECT message AS m, p.pid AS pid, h.tid AS tid, "
        "(SELECT string_agg(key || '=' || value ORDER BY key) FROM args a "
        "WHERE a.args_id = mark.args_id) AS args FROM mark LEFT JOIN track t USING (track_id) "
        "LEFT JOIN process p ON p.process_id = t.process_id "
        "LEFT JOIN thread h ON h.thread_id = t.thread_id ORDER BY m",
    )
    assert [(r["m"], r["pid"], r["tid"], r["args"]) for r in marks] == [
        ("alone", 7, 9, "a=1,b=x"), ("inside", 7, 8, None), ("of none", None, None, None),
    ]  # fmt: skip
    facts = query(
        tmp_path / "a.json",
        "SELECT key, value, p.name AS process FROM metadata LEFT JOIN process p USING (process_id)",
    )
    found = {r["key"]: (json.loads(r["value"]), r["process"]) for r in facts}
    assert found == {"num_cpus": ({"number": 4}, "Browser"), "otherData": ({"v": 1}, None)}
