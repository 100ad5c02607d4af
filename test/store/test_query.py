"""`sonde query` through the real command: its forms, its prompt, bad input; it changes nothing."""

import csv
import hashlib
import io
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import BUILD

PROGRAM = Path(__file__).with_name("record_program.py")
COUNTS = "SELECT name, count(*) AS n FROM slice GROUP BY name ORDER BY name"
SONDE = str(BUILD / "bin" / "sonde")


def digests(folder):
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def run(*words, **options):
    """The finished `sonde query`, its output as text."""
    words = [SONDE, "query", *map(str, words)]
    return subprocess.run(
        words, capture_output=True, text=True, timeout=120, check=False, **options
    )


def rows(*words, **options):
    done = run(*words, "--format", "json", **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refused(done, status, *parts):
    lines = done.stderr.splitlines()
    assert (done.returncode, len(lines)) == (status, 1), done.stderr
    assert lines[0].startswith("sonde: error: ") and len(lines[0]) < 700
    assert all(part in lines[0] for part in parts), lines[0]


@pytest.fixture(name="span", scope="module")
def record_span(recorder, tmp_path_factory):
    """A capture with a name outside ASCII in it."""
    folder = tmp_path_factory.mktemp("query")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SONDE_")}
    words = [sys.executable, str(PROGRAM), str(recorder), str(folder)]
    subprocess.run(words, env=environment, check=True, timeout=120)
    return folder / "small_ascend_pt"


def test_all_forms_say_the_same(span, tmp_path):
    expected = rows(span, COUNTS)
    assert {"name": "in\u00e4ner", "n": 900} in expected
    text = run(span, COUNTS, "--format", "csv").stdout
    found = [{"name": row["name"], "n": int(row["n"])} for row in csv.DictReader(io.StringIO(text))]
    assert found == expected
    table = run(span, COUNTS).stdout
    assert all(row["name"] in table and str(row["n"]) in table for row in expected)
    for form in ("csv", "json", "parquet"):
        file = tmp_path / f"result.{form}"
        done = run(span, COUNTS, "--format", form, "-o", file)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        assert sorted(path.name for path in tmp_path.glob("*.tmp*")) == []
    assert json.loads((tmp_path / "result.json").read_text()) == expected
    assert (tmp_path / "result.csv").read_text() == text
    # The database itself is the reader that shares no code with our writers of csv and json.
    read = f"SELECT name, n FROM read_parquet('{tmp_path / 'result.parquet'}') ORDER BY name"
    assert rows(span, read, "--read-files") == expected
    refused(run(span, read), 1, "--read-files")


def test_quoting_nulls_and_large_numbers(span):
    sql = (
        "SELECT 'a,\"b\"\nc' AS t, NULL AS nothing, 170141183460469231731687303715884105727 AS h, "
        "-9223372036854775808 AS small, 0.1 AS d, true AS yes"
    )
    done = run(span, sql, "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(done.stdout))
    assert row["t"] == 'a,"b"\nc'
    assert row["nothing"] == ""
    assert row["h"] == "170141183460469231731687303715884105727"
    (row,) = rows(span, sql)
    assert (row["t"], row["nothing"], row["yes"]) == ('a,"b"\nc', None, True)
    assert (row["small"], row["d"]) == (-9223372036854775808, 0.1)


def test_statements_from_standard_input(span):
    done = run(span, "--format", "csv", input="SELECT 1 AS a;\nSELECT\n 2 AS b\n;\n.tables\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("a\n1\nb\n2\n")
    assert "slice\n" in done.stdout
    refused(run(span, input="SELECT nothing FROM slice;\nSELECT 1;\n"), 1, "nothing")


def test_prompt_goes_on_after_an_error(span):
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [SONDE, "query", str(span)], stdin=follower, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        os.close(follower)
        os.write(leader, b"SELECT x;\nSELECT 41 + 1 AS answer;\n.quit\n")
        out, err = process.communicate(timeout=120)
        os.close(leader)
    assert process.returncode == 0
    assert b"42" in out
    assert b"sonde>" in err and b"sonde: error: " in err


def test_lines_are_edited_at_a_terminal(span):
    """Backspace, arrows, lines before, Ctrl+C within a statement, Ctrl+D."""
    leader, follower = pty.openpty()
    environment = os.environ | {"TERM": "xterm"}
    with subprocess.Popen(
        [SONDE, "query", str(span), "--format", "csv"], stdin=follower, stdout=subprocess.PIPE,
        stderr=follower, env=environment,
    ) as process:  # fmt: skip
        os.close(follower)
        shown = b""
        for prompt, keys in [
            (b"sonde> ", b"SELECT 4x\x7f1 + 1 AS a;\x1b[D\x7fb\x1b[F\r"),
            (b"sonde> ", b"\x1b[A\x01\x1b[3~s\r"),
            (b"sonde> ", b"SELECT\r"),
            (b"   ... ", b"\x03"),
            (b"sonde> ", b"SELECT 7 AS c;\r"),
            (b"sonde> ", b"\x04"),
        ]:
            shown = b""
            while not shown.endswith(b"\r" + prompt + b"\x1b[K\r\x1b[7C"):  # of an empty line
                shown += os.read(leader, 65536)
            os.write(leader, keys)
        out = process.stdout.read()
        assert process.wait(timeout=120) == 0
    os.close(leader)
    assert out.split() == [b"b", b"42", b"b", b"42", b"c", b"7"]


def test_output_into_what_is_no_regular_file(span, tmp_path):
    """A pipe and a device are written into, a link is followed; nothing takes their place."""
    expected = run(span, COUNTS, "--format", "csv").stdout
    pipe, target, link = (tmp_path / name for name in ("pipe", "target.csv", "link.csv"))
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
        done = run(span, COUNTS, "--format", "csv", "-o", pipe)
        assert done.returncode == 0, done.stderr
        assert reader.communicate(timeout=60)[0] == expected
    assert pipe.is_fifo()
    refused(run(span, COUNTS, "--format", "parquet", "-o", pipe), 1, "not a regular file")
    assert pipe.is_fifo()
    link.symlink_to("target.csv")
    for _ in range(2):  # it leads to nothing, then to a file
        assert run(span, COUNTS, "--format", "csv", "-o", link).returncode == 0
        assert link.is_symlink() and target.read_text() == expected
    assert run(span, COUNTS, "--format", "csv", "-o", "/dev/stdout").stdout == expected


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_no_temporary_file(span, tmp_path, number):
    sql = "SELECT * FROM range(1000000000000)"
    words = [SONDE, "query", str(span), sql, "--format", "csv", "-o", str(tmp_path / "out.csv")]
    with subprocess.Popen(words) as process:
        try:
            end = time.monotonic() + 60
            while not list(tmp_path.iterdir()) and time.monotonic() < end:
                time.sleep(0.01)
            assert list(tmp_path.iterdir())
            process.send_signal(number)
            assert process.wait(timeout=60) == -number
        finally:
            process.kill()  # else it would fill the disk
    assert list(tmp_path.iterdir()) == []


def test_schema_needs_no_trace():
    done = run("--schema")
    assert done.returncode == 0
    for name in ("slice", "device_task", "communication_op", "memory_event", "import_issue"):
        assert name in done.stdout


@pytest.fixture(name="two", scope="module")
def copy_as_two(span, tmp_path_factory):
    """The capture as two ranks."""
    folder = tmp_path_factory.mktemp("two")
    for rank in ("rank0_ascend_pt", "rank1_ascend_pt"):
        shutil.copytree(span, folder / rank, ignore=shutil.ignore_patterns("*.duckdb", "*.zoom"))
    assert rows(folder, COUNTS)
    return folder


@pytest.mark.parametrize("trace", ["span", "two"])
def test_nothing_can_be_changed(trace, tmp_path, request):
    folder = request.getfixturevalue(trace)
    rows(folder, COUNTS)
    before = digests(folder)
    store = next(folder.rglob("*.duckdb"))
    victim = tmp_path / "victim.json"
    victim.write_text("[]")
    for sql in (
        "DELETE FROM name_",
        "DROP VIEW slice",
        "CREATE TABLE mine AS SELECT 1",
        "UPDATE step SET ts = 0",
        "DETACH r1",
        f"ATTACH '{store}' AS w",
        f"ATTACH '{tmp_path}/x.db' AS n",
        f"COPY (SELECT 1 AS a) TO '{victim}'",
        f"EXPLAIN ANALYZE COPY (SELECT 1 AS a) TO '{victim}'",
        f"COPY (SELECT 1) TO '{store}' (FORMAT csv, USE_TMP_FILE false)",
        f"EXPORT DATABASE '{tmp_path}/all'",
        f"CALL enable_logging(storage_path = '{tmp_path}/log')",
        f"FROM enable_logging(storage_path = '{tmp_path}/log')",
    ):
        for done in (run(folder, sql), run(folder, input=f"{sql};\nSELECT 1;\n")):
            *_, line = done.stderr.splitlines()
            assert (done.returncode, done.stdout) == (1, ""), sql
            assert line.startswith("sonde: error: statements here only read: "), line
    assert digests(folder) == before
    assert [path.name for path in tmp_path.iterdir()] == ["victim.json"]
    assert victim.read_text() == "[]"


@pytest.mark.parametrize("end", [";\r\n", "; -- comment", ";\t", " -- comment", ";;", "/* ; */;"])
def test_what_follows_the_statement_counts_for_nothing(span, tmp_path, end):
    sql = "SELECT name, n * 0.5 AS half FROM (" + COUNTS + ") PIVOTED" + end
    assert len(rows(span, sql)) == len(rows(span, COUNTS))
    if ";" in end:
        assert run(span, input=f"{sql}\n.quit\n").returncode == 0
    done = run(span, sql, "--format", "parquet", "-o", tmp_path / "out.parquet")
    assert done.returncode == 0, done.stderr


def test_pivot_finds_its_values(span, tmp_path):
    sql = "PIVOT (SELECT name, 1 AS one FROM slice) ON name USING sum(one)"
    (row,) = rows(span, sql)
    assert row == {line["name"]: line["n"] for line in rows(span, COUNTS)}
    file = tmp_path / "pivot.parquet"
    assert run(span, sql, "--format", "parquet", "-o", file).returncode == 0
    assert rows(span, f"FROM '{file}'", "--read-files") == [row]


@pytest.mark.parametrize(
    ("words", "status", "part"),
    [
        ((), 2, "PATH is missing"),
        (("SPAN", "SELECT * FROM nowhere"), 1, "nowhere"),
        (("SPAN", "SELEC 1"), 1, "SELEC"),
        (("SPAN", "SELECT repeat('ab', 5000)::INTEGER"), 1, "abab' to INT32"),
        (("SPAN", "SELECT 1", "--format", "xml"), 2, "xml"),
        (("SPAN", "SELECT 1", "--format", "parquet"), 2, "--output"),
        (("SPAN", "SELECT 1", "-o", "/nowhere/at/all"), 1, "/nowhere/at/all"),
        (("/nowhere/at/all", "SELECT 1"), 1, "/nowhere/at/all"),
    ],
)
def test_bad_input(span, words, status, part):
    refused(run(*(span if word == "SPAN" else word for word in words)), status, part)


def test_file_that_is_no_store(tmp_path):
    file = tmp_path / "trace.duckdb"
    for content in (b"", b"no database", b"\0" * 20000):
        file.write_bytes(content)
        refused(run(file, "SELECT 1"), 1, "trace.duckdb")


def test_damaged_store_is_refused_or_read(span, tmp_path):
    rows(span, COUNTS)
    store = next(span.rglob("*.duckdb"))
    content = store.read_bytes()
    for cut in (4096, len(content) // 2, len(content) - 1):
        file = tmp_path / f"cut{cut}.duckdb"
        file.write_bytes(content[:cut])
        done = run(file, COUNTS)
        assert done.returncode in (0, 1) and len(done.stderr.splitlines()) <= 1, done.stderr


def test_one_of_several_cannot_be_read(span, tmp_path):
    """The others are asked, but the status reports that this is not all."""
    both = tmp_path / "both"
    shutil.copytree(span, both / "rank0_ascend_pt", ignore=shutil.ignore_patterns("*.duckdb"))
    other = both / "rank1_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    other.mkdir(parents=True)
    (other / "ascend_pytorch_profiler_1.db").write_bytes(b"no database" * 1000)
    done = run(both, "SELECT count(*) FROM slice", "--format", "csv")
    expected = run(span, "SELECT count(*) FROM slice", "--format", "csv")
    assert (done.returncode, done.stdout) == (1, expected.stdout), done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("sonde: error: ")]
    assert len(errors) == 1
    assert "ascend_pytorch_profiler_1.db" in errors[0]
    shutil.rmtree(both / "rank0_ascend_pt")
    done = run(both, "SELECT 1")
    assert (done.returncode, done.stdout) == (1, "")
    assert "ascend_pytorch_profiler_1.db" in done.stderr.splitlines()[-1]
