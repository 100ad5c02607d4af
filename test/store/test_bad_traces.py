"""Bad input through the real command: data and counted issues, or one clear line; never a crash."""

import gzip
import json
import os
import random
import resource
import sqlite3
import struct
import subprocess
import zlib
from pathlib import Path

import pytest
from conftest import BUILD

SONDE = str(BUILD / "bin" / "sonde")
COUNT = "SELECT count(*) AS n FROM slice"
MEMORY = 4 << 30


@pytest.fixture(autouse=True)
def use_own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def run(path, sql=COUNT, **options):
    words = [SONDE, "query", str(path), sql, "--format", "json"]
    return subprocess.run(
        words, capture_output=True, text=True, timeout=300, check=False, **options
    )


def rows(path, sql=COUNT):
    done = run(path, sql)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def count(path):
    return rows(path)[0]["n"]


def issues(path):
    found = rows(path, "SELECT code, sum(count)::BIGINT AS n FROM import_issue GROUP BY 1")
    return {row["code"]: row["n"] for row in found}


def refused(path, *parts):
    """One clear line, status 1; before it at most the notice that reading begins."""
    done = run(path)
    lines = done.stderr.splitlines()
    if lines[0].startswith("sonde: reading "):
        del lines[0]
    assert (done.returncode, len(lines)) == (1, 1), (done.returncode, done.stderr)
    assert lines[0].startswith("sonde: error: ")
    for part in parts:
        assert part in lines[0], lines[0]


def answered(path):
    """Either data or one clear line; returns whether data."""
    done = run(path)
    assert done.returncode in (0, 1), (done.returncode, done.stderr)
    errors = [line for line in done.stderr.splitlines() if line.startswith("sonde: error: ")]
    assert len(errors) == (0 if done.returncode == 0 else 1), done.stderr
    return done.returncode == 0


def event(**more):
    return {"ph": "X", "name": "f", "pid": 1, "tid": 1, "ts": 1, "dur": 1} | more


def write(path, events):
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def test_numbers_that_do_not_fit(tmp_path):
    path = write(
        tmp_path / "a.json",
        [event(ts=12345678901234567890), event(ts="99999999999999999999"), event(dur=10**20),
         event(ts="1e400"), event(ts="noon"), event(ts=True), event(ts=[1]), event(ts={}),
         event(dur="long"), {"ph": "X", "name": "no time", "pid": 1, "tid": 1}, event()],
    )  # fmt: skip
    assert count(path) == 1
    assert issues(path) == {"trace_bad_time": 10}


def test_every_opening_says_how_much_is_wrong(tmp_path):
    """One line, from the store itself too; information alone gives none."""
    path = write(tmp_path / "a.json", [event(dur=-5), event(ts="noon"), event(ph="B")])
    line = (
        "sonde: the data has faults: trace_bad_time (1), trace_negative_duration (1); "
        "the table import_issue explains them"
    )
    first = run(path).stderr.splitlines()
    assert first[0].startswith("sonde: reading ") and first[1:] == [line]
    (store,) = (tmp_path / "cache").rglob("*.duckdb")
    for again in (path, path, store):
        assert run(again).stderr.splitlines() == [line]
    many = tmp_path / "many"
    for rank in range(2):
        (many / f"{rank}").mkdir(parents=True)
        write(many / f"{rank}" / "a.json", [event(dur=-5, name=f"rank {rank}")])
    assert run(many).returncode == 0
    printed = run(many).stderr
    assert (
        printed.count("trace_negative_duration (2)") == 1
        and printed.count("the data has faults") == 1
    )


def test_negative_durations(tmp_path):
    path = write(tmp_path / "a.json", [event(dur=-5), event(ts=9, dur="-0.5"), event(ts=20)])
    assert [r["dur"] for r in rows(path, "SELECT dur FROM slice ORDER BY ts")] == [0, 0, 1000]
    assert issues(path) == {"trace_negative_duration": 2}


def test_wrong_types(tmp_path):
    path = write(
        tmp_path / "a.json",
        [event(name=[1, 2]), event(name={"a": 1}, ts=5), event(args=[1], ts=9),
         event(args="x", ts=12), event(pid=None, tid=None, ts=15),
         event(pid=1.5, tid="t", ts=18), event(ph=1), event(ph=""),
         {"ph": "C", "name": "c", "pid": 1, "ts": 1, "args": {"a": "x", "b": [1], "c": 2}},
         {"ph": "C", "name": "c", "pid": 1, "ts": 1}, 5, "text", None, [event()]],
    )  # fmt: skip
    assert count(path) >= 6
    found = issues(path)
    assert found["trace_event_without_phase"] == 2
    assert found["trace_bad_counter"] >= 2
    assert found["trace_bad_event"] >= 1


def test_unbalanced_ranges(tmp_path):
    events = [event(ph="E", ts=0), event(ph="B", ts=1), event(ph="B", name="g", ts=2),
              event(ph="E", ts=9), event(ph="E", name="h", ts=10),
              event(ph="B", ts=11)]  # fmt: skip
    path = write(tmp_path / "a.json", events)
    found = {(r["name"], r["dur"]) for r in rows(path, "SELECT name, dur FROM slice")}
    assert found == {("f", 8000), ("g", 7000), ("f", -1)}
    assert issues(path) == {"trace_unbalanced_range": 3, "trace_unfinished_range": 1}


def test_many_unbalanced_ranges(tmp_path):
    """Time does not grow with the square of their number."""
    events = [event(ph="B", ts=i) for i in range(100000)]
    events += [event(ph="E", name="other", ts=100000 + i) for i in range(100000)]
    events += [event(ph="b", cat="c", id=1, name=f"n{i}", ts=i) for i in range(20000)]
    events += [event(ph="e", cat="c", id=1, name=f"n{i}", ts=30000 + i) for i in range(20000)]
    path = write(tmp_path / "a.json", events)
    assert count(path) == 120000
    found = issues(path)
    assert found["trace_unbalanced_range"] == 100000
    assert found["trace_unfinished_range"] == 100000


def test_duplicate_ids(tmp_path):
    flows = [{"ph": p, "cat": "c", "name": "n", "id": 1, "pid": 1, "tid": 1, "ts": 1}
             for p in "sssfff"]  # fmt: skip
    path = write(tmp_path / "a.json", [event(), event(), event(id=1), *flows])
    assert count(path) == 3
    assert rows(path, "SELECT count(*) AS n FROM flow")[0]["n"] == 3
    assert issues(path) == {"trace_flow_repeated": 2}


def test_an_unknown_phase(tmp_path):
    """Only the whole text of it counts."""
    path = write(tmp_path / "a.json", [event(ph="XX"), event(ph="X "), event(ph="Bé"), event()])
    text = json.dumps(event(name="escaped")).replace('"X"', '"\\u0058"')
    path.write_text(path.read_text().replace("]}", f", {text}]}}"))
    assert [r["name"] for r in rows(path, "SELECT name FROM slice ORDER BY 1")] == ["escaped", "f"]
    assert issues(path)["trace_phase_not_imported"] == 3


def test_names_of_other_types(tmp_path):
    """What is no text is a name all the same; what is none is counted."""
    meta = [("process_name", {"name": 7.50}), ("process_labels", {"labels": 3}),
            ("thread_name", {"name": 5}), ("thread_name", {"name": None}), ("thread_name", {}),
            ("thread_name", 5), ("thread_name", None), ("thread_sort_index", {"sort_index": "x"}),
            ("thread_sort_index", {"sort_index": "4"})]  # fmt: skip
    events = [{"ph": "M", "name": n, "pid": 1, "tid": 1, "args": a} for n, a in meta]
    path = write(tmp_path / "a.json", [event(), *events])
    assert rows(path, "SELECT name FROM process") == [{"name": "7.5"}]
    assert rows(path, "SELECT name FROM thread") == [{"name": "5"}]
    assert issues(path) == {"trace_bad_metadata": 5}


def test_a_quarter_of_a_million_threads(tmp_path):
    path = tmp_path / "a.json"
    with open(path, "w", encoding="utf-8") as file:
        file.write("[")
        for i in range(250000):
            file.write(f'{{"ph":"X","name":"f","pid":1,"tid":{i},"ts":{i},"dur":1}},\n')
        file.write('{"ph":"X","name":"last","pid":1,"tid":0,"ts":2000000,"dur":1}]')
    assert count(path) == 250001
    found = rows(path, "SELECT count(*) AS n FROM thread")
    assert found[0]["n"] == 250000


@pytest.mark.parametrize("opening", ['{"a":', "["])
def test_deeply_nested_arguments(tmp_path, opening):
    closing = "}" if opening[0] == "{" else "]"
    path = tmp_path / "a.json"
    deep = opening * 300000 + "1" + closing * 300000
    one = json.dumps(event())
    path.write_text(
        f'{{"traceEvents": [{one}, {one[:-1]}, "args": {{"x": {deep}}}}}, {one}],"y":{deep}}}'
    )
    assert count(path) == 3
    path.write_text(f'{{"traceEvents": [{one}, {one[:-1]}, "args": {{"x": {opening * 300000}')
    assert count(path) == 1
    path.write_text(opening * 300000)
    assert not answered(path) or count(path) == 0


def write_bomb(path, before, block, times, after=b""):
    """A file of gzip whose block is packed once, and written so often. Without a text behind it
    the file is cut off there."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    texts = [packer.compress(one) + packer.flush(zlib.Z_FULL_FLUSH) for one in (before, block)]
    with open(path, "wb") as file:
        file.write(b"\x1f\x8b\x08" + bytes(6) + b"\xff" + texts[0])
        for _ in range(times):
            file.write(texts[1])
        if after:
            check = zlib.crc32(before)
            for _ in range(times):
                check = zlib.crc32(block, check)
            size = len(before) + times * len(block) + len(after)
            end = (zlib.crc32(after, check), size % (1 << 32))
            file.write(packer.compress(after) + packer.flush() + struct.pack("<2I", *end))


def test_what_is_written_so_is_gzip(tmp_path):
    write_bomb(tmp_path / "a.gz", b"begin", b"abc", 5, b"end")
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"begin" + b"abc" * 5 + b"end"


def test_a_gzip_bomb(tmp_path):
    path = tmp_path / "bomb.json.gz"
    one = json.dumps(event()).encode()
    write_bomb(path, b'{"traceEvents": [' + one + b",", b" " * (1 << 20), 3000, one + b"]}")
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))  # noqa: E731
    done = run(path, preexec_fn=limit)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["n"] == 1
    assert "gzip_expands_too_much" in issues(path)


def test_a_bomb_in_one_value(tmp_path):
    """A text that never ends, packed."""
    path = tmp_path / "bomb.json.gz"
    before = b'{"traceEvents": [' + json.dumps(event()).encode() + b',{"ph":"X","name":"'
    write_bomb(path, before, b"a" * (1 << 20), 900)
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))  # noqa: E731
    done = run(path, preexec_fn=limit)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["n"] == 1


def test_damaged_gzip(tmp_path):
    text = json.dumps({"traceEvents": [event(ts=i, name=f"{i}") for i in range(20000)]}).encode()
    packed = gzip.compress(text)
    path = tmp_path / "a.json.gz"
    for data in (packed[: len(packed) // 2], packed[:-1], packed[:-9],
                 packed[:5000] + b"\0" * 50 + packed[5050:]):  # fmt: skip
        path.write_bytes(data)
        assert count(path) > 0
    path.write_bytes(packed[:12])
    assert not answered(path) or count(path) == 0
    path.write_bytes(gzip.compress(text[:100]) + gzip.compress(text[100:]))
    assert count(path) == 20000 and issues(path) == {}


def test_nothing_there(tmp_path):
    for name in ("empty.json", "empty.json.gz", "trace_view.json", "kernel_details.csv",
                 "ascend_pytorch_profiler_0.db", "mindspore.op_range"):  # fmt: skip
        folder = tmp_path / name.replace(".", "_")
        folder.mkdir()
        (folder / name).write_bytes(b"")
        if answered(folder / name):
            assert count(folder / name) == 0
    refused(tmp_path / "not there", "not there")
    (tmp_path / "hollow").mkdir()
    refused(tmp_path / "hollow", "hollow", "empty")
    refused(tmp_path / "empty_json" / "empty.json", "empty: there is nothing to read")
    refused("/dev/null", "neither a file nor a folder")
    (tmp_path / "notes.txt").write_text("hello")
    refused(tmp_path / "notes.txt", "found nothing to read", "trace events")


def test_a_folder_instead_of_a_file(tmp_path):
    for name in ("a.json", "trace_view.json", "ascend_pytorch_profiler_0.db", "kernel_details.csv",
                 "RuntimeProfilerDetail1.csv", "mindspore.op_range",
                 "a.pt.trace.json.gz"):  # fmt: skip
        (tmp_path / "d" / name).mkdir(parents=True)
        refused(tmp_path / "d" / name, name)
    refused(tmp_path / "d", "d")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
@pytest.mark.parametrize("name", ["a.json", "trace_view.json", "ascend_pytorch_profiler_0.db"])
def test_no_permission(tmp_path, name):
    path = write(tmp_path / name, [event()])
    path.chmod(0)
    refused(path, name, "ermission")
    (tmp_path / "d").mkdir()
    (tmp_path / "d").chmod(0)
    refused(tmp_path / "d", "ermission")
    (tmp_path / "d").chmod(0o700)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_folder_without_permission_hides_no_other(tmp_path, query):
    write(tmp_path / "d" / "a.json", [event()])
    closed = tmp_path / "d" / "closed"
    closed.mkdir(mode=0)
    try:
        assert query(tmp_path / "d", "SELECT count(*) FROM slice") == [{"count_star()": 1}]
    finally:
        closed.chmod(0o700)


SMALL = [
    {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "p"}},
    event(args={"a": 1, "b": [1, {"c": 'x"y'}], "d": 1.5e-3, "e": None, "f": True}),
    event(ph="s", cat="c", id=1),
    event(ph="f", cat="c", id=1, bp="e"),
    {"ph": "C", "name": "c", "pid": 1, "ts": "1.5", "args": {"v": 1}},
    {"ph": "i", "name": "\u00fc\u0001", "pid": 1, "tid": 1, "ts": 2, "s": "t"},
]


def test_small_files_cut_and_garbled(tmp_path):
    """Some cuts and changes through the command; all of them through the C++ tests and fuzzing."""
    text = json.dumps({"schemaVersion": 1, "traceEvents": SMALL, "baseTimeNanoseconds": 5}).encode()
    path = tmp_path / "a.json"
    generator = random.Random(7)
    for size in range(0, len(text), 53):
        path.write_bytes(text[:size])
        answered(path)
    for _ in range(12):
        data = bytearray(text)
        for _ in range(generator.randint(1, 5)):
            data[generator.randrange(len(data))] = generator.randrange(256)
        path.write_bytes(data)
        answered(path)


def make_db(path, *statements):
    with sqlite3.connect(path) as db:
        for statement in statements:
            db.execute(statement)
    db.close()


def test_databases(tmp_path):
    """Without tables, with other columns, with values of other types, no database at all."""
    strings = ("CREATE TABLE STRING_IDS (id, value)", "INSERT INTO STRING_IDS VALUES (1, 'f')")
    api = "CREATE TABLE PYTORCH_API (startNs, endNs, globalTid, connectionId, name, type)"
    for number, statements in enumerate(
        [
            ["CREATE TABLE OTHER (a)"],
            [*strings, "CREATE TABLE PYTORCH_API (startNs, name)",
             "INSERT INTO PYTORCH_API VALUES (1, 1)"],
            [*strings, api, "INSERT INTO PYTORCH_API VALUES ('x', x'00ff', NULL, 1.5, 'f', 'g')",
             "INSERT INTO PYTORCH_API VALUES (9223372036854775807, -1, 1, 1, 77, 50001)"],
            ["CREATE TABLE TASK (startNs, endNs, deviceId, connectionId, globalTaskId, globalPid, "
             "taskType, contextId, streamId, taskId, modelId)",
             "INSERT INTO TASK VALUES ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k')",
             "INSERT INTO TASK VALUES (5, 1, -9, 1e300, 1, 1, 1, 1, 99999999999, 1, 1)"],
        ]
    ):  # fmt: skip
        path = tmp_path / f"ascend_pytorch_profiler_{number}.db"
        make_db(path, *statements)
        before = path.read_bytes()
        assert answered(path), number
        assert issues(path), number
        assert path.read_bytes() == before
    path = tmp_path / "ascend_pytorch_profiler_9.db"
    path.write_bytes(b"SQLite format 3\0" + bytes(200))
    answered(path)
    path.write_text("no database")
    refused(path, "ascend_pytorch_profiler_9.db")


def test_tables(tmp_path):
    """CR LF, commas, quotes and line ends in cells; cells too many and too few."""
    folder = tmp_path / "ASCEND_PROFILER_OUTPUT"
    folder.mkdir()
    head = "Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us)"
    lines = [
        head,
        '0,"a,b""c",MatMul,AI_CORE,"1736413971558972.912\t",1.185,0',
        '0,"two\r\nlines",Add,AI_CORE,1736413971558982.912\t,2,0',
        "0,short",
        "0,long,Add,AI_CORE,1736413971558992.912,2,0,1,2,3",
        "0,bad,Add,AI_CORE,noon,2,0",
        '0,"open',
    ]
    path = folder / "kernel_details.csv"
    path.write_bytes("\r\n".join(lines).encode())
    found = rows(tmp_path, "SELECT name, ts, dur FROM device_task ORDER BY ts")
    assert [(r["name"], r["ts"], r["dur"]) for r in found] == [
        ('a,b"c', 1736413971558972912, 1185),
        ("two\r\nlines", 1736413971558982912, 2000),
        ("long", 1736413971558992912, 2000),
    ]
    assert {"csv_ragged_row", "csv_bad_cell", "csv_truncated"} <= set(issues(tmp_path))
    path.write_bytes("\n".join(lines[:3]).encode())
    assert len(rows(tmp_path, "SELECT name FROM device_task")) == 2


class TestCache:
    """Where the stores of foreign traces lie."""

    def trace(self, tmp_path, name="a.json", number=1):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        return write(tmp_path / name, [event(name=f"f{number}", ts=i) for i in range(50)])

    def stores(self, tmp_path):
        return sorted((tmp_path / "cache" / "sonde" / "stores").glob("*.duckdb"))

    def test_content_counts_not_the_name(self, tmp_path):
        first = self.trace(tmp_path, "x/a.json")
        assert "reading" in run(first).stderr
        assert run(first).stderr == ""
        moved = first.rename(tmp_path / "x" / "b.json")
        assert run(moved).stderr == ""
        os.utime(moved, (1, 1))
        assert run(moved).stderr == ""
        self.trace(tmp_path, "x/b.json", number=2)
        done = run(moved, "SELECT DISTINCT name FROM slice")
        assert "reading" in done.stderr and json.loads(done.stdout) == [{"name": "f2"}]
        assert len(self.stores(tmp_path)) == 2
        assert sorted(p.name for p in (tmp_path / "x").iterdir()) == ["b.json"]

    def test_a_damaged_store_is_made_again(self, tmp_path):
        path = self.trace(tmp_path)
        assert count(path) == 50
        (store,) = self.stores(tmp_path)
        store.write_bytes(store.read_bytes()[:5000])
        assert count(path) == 50
        store.write_bytes(b"")
        assert count(path) == 50

    def test_a_folder_that_cannot_be_written(self, tmp_path, monkeypatch):
        path = self.trace(tmp_path)
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
        done = run(path)
        assert done.returncode == 1
        assert "XDG_CACHE_HOME" in done.stderr and "file" in done.stderr

    def test_homes(self, tmp_path, monkeypatch):
        path = self.trace(tmp_path)
        monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        assert run(path, cwd=tmp_path).returncode == 0
        assert len(list((tmp_path / "home/.cache/sonde/stores").glob("*.duckdb"))) == 1
        assert not (tmp_path / "not").exists()
        assert (tmp_path / "home/.cache/sonde/stores").stat().st_mode & 0o077 == 0

    def test_size(self, tmp_path, monkeypatch):
        monkeypatch.setenv("SONDE_CACHE_BYTES", "1")
        for number in range(3):
            path = self.trace(tmp_path, number=number)
            assert count(path) == 50
            for store in self.stores(tmp_path):
                os.utime(store, (1, 1))
                os.utime(store.with_suffix(".zoom"), (1, 1))
        path = self.trace(tmp_path, number=9)
        assert count(path) == 50
        (store,) = self.stores(tmp_path)
        assert sorted(store.parent.iterdir()) == [store, store.with_suffix(".zoom")]

    def test_the_same_trace_twice(self, tmp_path):
        for name in ("two/a.json", "two/b.json"):
            self.trace(tmp_path, name)
        done = run(tmp_path / "two")
        assert json.loads(done.stdout)[0]["n"] == 50
        assert "the same trace" in done.stderr


def test_a_folder_of_many(tmp_path):
    """Ranks of several kinds at once; what is no trace is named."""
    for rank in range(6):
        text = json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": rank},
                           "traceEvents": [event(ts=i) for i in range(rank + 1)]})  # fmt: skip
        Path(tmp_path / f"w{rank}.pt.trace.json").write_text(text)
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "run.log").write_text("hello")
    done = run(tmp_path, "SELECT rank, count(*) AS n FROM slice GROUP BY 1 ORDER BY 1")
    assert json.loads(done.stdout) == [{"rank": r, "n": r + 1} for r in range(6)]
    assert "6 traces of the PyTorch profiler" in done.stderr
    assert "notes.txt" in done.stderr and "run.log" in done.stderr
