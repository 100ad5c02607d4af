"""`sonde lake`: it shows what `sonde query` shows of the recordings themselves, to Sonde and to
programs that know nothing of it. `make test` takes a part, `make test-engine` all."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.parse
import urllib.request

import pytest
from conftest import SONDE

EIGHT = "ascend_pt/synth8_tp_pp_dp"
KERNELS = (
    "SELECT rank, name, count(*) AS calls, sum(dur)::BIGINT AS ns FROM device_task {where} "
    "GROUP BY ALL ORDER BY ALL"
)
# Steps join with others by trace and number.
STEPS = (
    "SELECT t.rank, s.step_id, count(*) AS tasks FROM step s JOIN device_task t USING (trace, "
    "step_id) GROUP BY ALL ORDER BY ALL"
)
# The one result that a lake has.
STEP_TIMES = "SELECT * EXCLUDE (trace, run) FROM step_trace ORDER BY ALL"
THOROUGH = os.environ.get("SONDE_THOROUGH") == "1"
ISSUES = "SELECT rank, code FROM import_issue ORDER BY ALL"
thorough = pytest.mark.skipif(not THOROUGH, reason="with SONDE_THOROUGH=1: make test-engine")
THOROUGH_STATEMENTS = [STEPS, ISSUES] if THOROUGH else []


def run(environment, *words, **options):
    command = [str(word) for word in (SONDE, *words)]
    return subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False, timeout=300, **options,
    )  # fmt: skip


def csv(environment, place, statement):
    done = run(environment, "query", place, statement, "--format", "csv")
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(done):
    """The one line of an error."""
    assert done.returncode == 1, done.stdout
    errors = [line for line in done.stderr.splitlines() if line.startswith("sonde: error: ")]
    assert len(errors) == 1 and done.stdout == "", done.stderr
    return errors[0]


@pytest.fixture(scope="module", name="own")
def make_own(tmp_path_factory):
    """An environment that needs no engine."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith("SONDE_")}
    return {**variables, "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture(scope="module", name="lake")
def make_lake(own, shared_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake") / "lake"
    done = run(own, "lake", "add", shared_data / EIGHT, "--to", folder, "--run", "first")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{folder}: 8 traces added\n"
    return folder


@pytest.fixture(name="copied")
def make_copied(lake, tmp_path):
    return shutil.copytree(lake, tmp_path / "copied")


@pytest.mark.parametrize("statement", [KERNELS.format(where=""), STEP_TIMES, *THOROUGH_STATEMENTS])
def test_statements_answer_as_on_the_recordings(statement, lake, own, shared_data):
    assert csv(own, lake, statement) == csv(own, shared_data / EIGHT, statement)


def test_tables_have_the_columns_of_a_session(lake, own, shared_data):
    of_tables = (
        "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE database_name = "
        "'memory' AND schema_name = 'main' AND table_name NOT IN ('args_shared', 'name_', "
        "'packed_', 'step_trace') ORDER BY table_name, column_index"
    )
    ours = csv(own, lake, of_tables)
    assert ours.count("device_task,") > 20
    assert ours == csv(own, shared_data / EIGHT, of_tables)


def test_a_second_call_changes_nothing(copied, own, shared_data):
    before = {path: path.stat().st_mtime_ns for path in copied.rglob("*") if path.is_file()}
    done = run(own, "lake", "add", shared_data / EIGHT, "--to", copied, "--run", "first")
    assert done.stdout == f"{copied}: 0 traces added, 8 there already\n", done.stderr
    assert before == {path: path.stat().st_mtime_ns for path in copied.rglob("*") if path.is_file()}


@thorough
def test_list_names_runs(lake, own):
    listed = run(own, "lake", "list", lake).stdout.splitlines()
    assert re.fullmatch(r"run +name +ranks +traces +rows +size", listed[0])
    assert re.match(r"0 +first +8 +8 +[0-9]+ +", listed[1]) and len(listed) == 2


def test_only_the_files_of_the_rank_are_read(copied, own, lake):
    """The first file of a table shows its columns; others are read for their rows."""
    for file in copied.glob("device_task/run=0/rank=[124567]/*.parquet"):
        file.write_bytes(b"not looked at")
    statement = KERNELS.format(where="WHERE rank = 3")
    assert csv(own, copied, statement) == csv(own, lake, statement)
    plan = csv(own, copied, "EXPLAIN ANALYZE " + statement)
    assert "Scanning Files: 1/8" in " ".join(re.sub("[│─]", " ", plan).split())


@thorough
def test_rows_are_in_the_order_of_time(lake, python):
    script = (
        "import sys, pyarrow.parquet as pq\n"
        "ts = pq.read_table(sys.argv[1], partitioning=None)['ts'].to_pylist()\n"
        "stats = pq.ParquetFile(sys.argv[1]).metadata.row_group(0)\n"
        "names = [stats.column(i).path_in_schema for i in range(stats.num_columns)]\n"
        "own = stats.column(names.index('ts')).statistics\n"
        "assert (own.min, own.max) == (ts[0], ts[-1]) and len(ts) > 100, own\n"
        "assert ts == sorted(ts)\n"
    )
    for file in lake.glob("device_task/run=0/rank=*/*.parquet"):
        subprocess.run([python, "-c", script, file], check=True, timeout=60)


READERS = {
    "duckdb": """
import duckdb
print(sorted(duckdb.sql(f"SELECT rank, count(*), sum(dur)::BIGINT FROM read_parquet("
                        f"'{lake}/device_task/*/*/*.parquet') GROUP BY ALL").fetchall()))
""",
    "ducklake": """
import importlib.resources, duckdb
there = importlib.resources.files("duckdb_extension_ducklake")
(extension,) = there.glob("extensions/*/ducklake.duckdb_extension")
base = duckdb.connect()
base.execute(f"LOAD '{extension}'")
base.execute(f"ATTACH 'ducklake:{lake}/catalog.ducklake' AS lake (READ_ONLY)")
print(sorted(base.sql("SELECT rank, count(*), sum(dur)::BIGINT FROM lake.device_task "
                      "GROUP BY ALL").fetchall()))
""",
    "pyarrow": """
import pyarrow.dataset as ds, pyarrow as pa
hive = ds.partitioning(pa.schema([("run", pa.int32()), ("rank", pa.int32())]), flavor="hive")
table = ds.dataset(f"{lake}/device_task", partitioning=hive).to_table(columns=["rank", "dur"])
sums = table.group_by("rank").aggregate([("dur", "count"), ("dur", "sum")]).to_pylist()
print(sorted((row["rank"], row["dur_count"], row["dur_sum"]) for row in sums))
""",
}


@pytest.mark.parametrize("reader", READERS if THOROUGH else ["ducklake"])
def test_others_read_it_without_sonde(reader, lake, own, shared_data, python):
    done = subprocess.run(
        [python, "-c", f"lake = {str(lake)!r}\n{READERS[reader]}"], capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    sums = "SELECT rank, count(*), sum(dur)::BIGINT FROM device_task GROUP BY ALL ORDER BY ALL"
    ours = csv(own, shared_data / EIGHT, sums)
    rows = [tuple(map(int, line.split(","))) for line in ours.splitlines()[1:]]
    assert done.stdout.strip() == str(rows) and len(rows) == 8


@thorough
def test_ducklake_reads_only_the_files_of_a_rank(lake, python):
    script = (
        READERS["ducklake"].partition("print")[0]
        + """
plan = base.execute("EXPLAIN ANALYZE SELECT count(*) FROM lake.device_task WHERE rank = 3")
print(plan.fetchall()[0][1])
"""
    )
    done = subprocess.run(
        [python, "-c", f"lake = {str(lake)!r}\n{script}"], capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip
    assert "Total Files Read: 1 " in done.stdout, done.stdout + done.stderr


def test_the_guards_of_statements_hold(copied, own, tmp_path):
    (tmp_path / "secret.csv").write_text("a\n1\n")
    for statement in (
        f"SELECT * FROM '{tmp_path}/secret.csv'",
        f"SELECT * FROM read_text('{copied}/../secret.csv')",
        f"COPY (SELECT 1) TO '{copied}/new.parquet'",
        "SET allowed_directories = ['/']",
        "DELETE FROM lake_.sonde_run",
        "DROP VIEW device_task",
    ):
        refused(run(own, "query", copied, statement))
    assert not (copied / "new.parquet").exists()
    slow = "SELECT count(*) FROM range(100000000000)"
    assert "second" in refused(run(own, "query", copied, slow, "--max-seconds", "1"))


def test_what_only_recordings_answer_is_one_line(copied, own):
    """A base to compare with, and results, which are worked out from recordings."""
    line = refused(run(own, "query", copied, "SELECT 1", "--baseline", copied))
    assert "--baseline compares recordings" in line and "is a lake" in line
    assert "ask the recordings" in refused(run(own, "query", copied, "SELECT * FROM slow_rank"))


@thorough
def test_a_rank_with_other_content_is_refused(copied, own, shared_data, tmp_path):
    """Rank 1 under the number of rank 0."""
    one = sorted((shared_data / EIGHT).iterdir())[1]
    changed = shutil.copytree(one, tmp_path / "again" / one.name)
    for file in [*changed.rglob("ascend_pytorch_profiler_1.db"), *changed.glob("*info_1.json")]:
        file.rename(file.with_name(file.name.replace("_1.", "_0.")))
    line = refused(run(own, "lake", "add", changed, "--to", copied, "--run", "first"))
    assert "of run 'first' is in the lake with other content" in line
    done = run(own, "lake", "add", changed, "--to", copied, "--run", "second")
    assert done.returncode == 0, done.stderr
    counts = csv(own, copied, "SELECT run, count(DISTINCT rank), count(*) FROM trace GROUP BY run "
                              "ORDER BY run")  # fmt: skip
    assert counts.splitlines()[1:] == ["0,8,8", "1,1,1"]


@thorough
def test_what_is_no_lake_is_one_line(copied, own, tmp_path, python):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "is no lake" in refused(run(own, "lake", "list", empty))
    catalog = copied / "catalog.ducklake"
    whole = catalog.read_bytes()
    catalog.write_bytes(whole[:10000])
    for words in (("lake", "list", copied), ("query", copied, "SELECT 1")):
        assert f"cannot open the lake '{copied}'" in refused(run(own, *words))
    catalog.write_bytes(b"not a database at all")
    assert f"cannot open the lake '{copied}'" in refused(run(own, "lake", "list", copied))
    changes = {
        "UPDATE sonde_lake SET schema_version = 1": "has schema version 1",
        "UPDATE ducklake_metadata SET value = '0.1' WHERE key = 'version'": "version of DuckLake",
        "DROP TABLE sonde_lake": "no catalogue that sonde lake made",
    }
    for change, reason in changes.items():
        catalog.write_bytes(whole)
        script = "import sys, duckdb; duckdb.connect(sys.argv[1]).execute(sys.argv[2])"
        subprocess.run([python, "-c", script, catalog, change], check=True, timeout=60)
        assert reason in refused(run(own, "query", copied, "SELECT 1"))
    catalog.unlink()
    assert "is no lake" in refused(run(own, "lake", "list", copied))


@thorough
def test_a_cut_file_is_an_error_of_its_statements(copied, own):
    (file,) = copied.glob("device_task/run=0/rank=5/*.parquet")
    file.write_bytes(file.read_bytes()[:-100])
    assert "rank=5" in refused(run(own, "query", copied, KERNELS.format(where="")))
    assert csv(own, copied, KERNELS.format(where="WHERE rank = 4")).count("\n") > 1
    file.unlink()
    assert "rank=5" in refused(run(own, "query", copied, KERNELS.format(where="")))


@thorough
def test_where_nothing_can_be_written_nothing_is_left(mount_disk, own, shared_data, tmp_path):
    disk = mount_disk("600k")
    done = run(own, "lake", "add", shared_data / EIGHT, "--to", disk / "lake")
    refused(done)
    listed = run(own, "lake", "list", disk / "lake")
    assert listed.returncode == 1 or "no runs" in listed.stdout
    file = tmp_path / "file"
    file.write_text("in the way")
    refused(run(own, "lake", "add", shared_data / EIGHT, "--to", file / "lake"))


@thorough
def test_two_writers_at_once(own, shared_data, tmp_path):
    """Each rank is there once, whoever added it."""
    lake = tmp_path / "lake"
    ranks = sorted((shared_data / EIGHT).iterdir())
    shares = [ranks[:6], ranks[2:], ranks]
    running = [
        subprocess.Popen(
            [SONDE, "lake", "add", *share, "--to", lake, "--run", "one"], env=own,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for share in shares
    ]  # fmt: skip
    for process in running:
        _, error = process.communicate(timeout=300)
        assert process.returncode == 0, error
    assert csv(own, lake, KERNELS.format(where="")) == csv(
        own, shared_data / EIGHT, KERNELS.format(where="")
    )
    assert csv(own, lake, "SELECT count(*), count(DISTINCT trace) FROM trace").endswith("8,8\n")


@thorough
def test_a_writer_that_is_killed_is_taken_up(own, shared_data, tmp_path):
    """Whatever was written by then, there are all ranks or none, and the next call goes on."""
    words = [SONDE, "lake", "add", shared_data / EIGHT, "--to", tmp_path / "lake"]
    kills = 0
    for files in (1, 20, 60, 120):
        process = subprocess.Popen(
            words, env=own, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while process.poll() is None and len(list(tmp_path.rglob("*.parquet"))) < files:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
        if (tmp_path / "lake/catalog.ducklake").exists():
            listed = run(own, "lake", "list", tmp_path / "lake")
            assert "no runs" in listed.stdout or " 8 " in listed.stdout, listed
    assert kills > 0
    done = run(own, *words[1:])
    assert done.returncode == 0, done.stderr
    assert csv(own, tmp_path / "lake", KERNELS.format(where="")) == csv(
        own, shared_data / EIGHT, KERNELS.format(where="")
    )
    assert not list(tmp_path.rglob("*.partial"))


@contextlib.contextmanager
def shown(environment, *paths):
    """ask(target, body) of a page that is open on the paths."""
    server = subprocess.Popen(
        [str(word) for word in (SONDE, "view", *paths)], env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    address = urllib.parse.urlparse(server.stdout.readline().strip())

    def ask(target, body=None):
        with_token = f"{target}{'&' if '?' in target else '?'}{address.query}"
        request = urllib.request.Request(
            f"http://{address.netloc}{with_token}", None if body is None else body.encode()
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())

    def settled():
        for _ in range(600):
            session = ask("/api/session")
            if not session["loading"]:
                return session
            time.sleep(0.1)
        raise AssertionError("the traces were not read in time")

    try:
        yield ask, settled
    finally:
        server.terminate()
        server.communicate(timeout=60)


def test_a_rank_that_the_page_opens_has_the_rows_of_its_recording(lake, own, shared_data):
    (recording,) = (shared_data / EIGHT).glob("node*_1003_*")
    names = csv(
        own, lake,
        "SELECT DISTINCT table_name FROM duckdb_columns() WHERE database_name = 'memory' AND "
        "schema_name = 'main' AND table_name NOT IN ('trace', 'step_trace') ORDER BY ALL",
    ).split()[1:]  # fmt: skip
    with shown(own, lake) as (ask, settled):
        session = settled()
        assert [(one["name"], one["ranks"]) for one in session["maps"]] == [("first", 8)]
        assert session["traces"] == [] and session["notes"] == []
        assert ask("/api/rank?map=0&rank=3", "") == {"trace": 0}
        (trace,) = settled()["traces"]
        assert (trace["rank"], trace["state"], trace["name"]) == (3, "ready", "first"), trace
        filled = 0
        for name in names:
            rows = (
                "SELECT count(*) AS n, md5(string_agg(t::VARCHAR, chr(10) ORDER BY t::VARCHAR)) "
                f"AS content FROM {name} t"
            )
            ((count, content),) = ask("/api/sql?trace=0", rows)["rows"]
            expected = csv(own, recording, rows).splitlines()[1]
            assert f"{count},{content or ''}" == expected, name
            filled += count > 0
        assert filled > 15
        # The whole lake, whatever is open.
        of_lake = ask("/api/sql?trace=-2", "SELECT count(DISTINCT rank) FROM device_task")
        assert of_lake["rows"] == [[8]]


def test_the_page_has_the_steps_of_a_lake(lake, own, shared_data):
    steps = "SELECT rank, step_id, computing_ns FROM step_trace WHERE is_of_rank = 1 ORDER BY ALL"
    expected = [line.split(",") for line in csv(own, shared_data / EIGHT, steps).splitlines()[1:]]
    with shown(own, lake) as (ask, settled):
        settled()
        tile = ask("/api/rank_map?map=0&measure=computing")
    assert (tile["total_ranks"], tile["row_size"], tile["column_size"]) == (8, 1, 1)
    assert tile["measures"] == ["step", "computing", "exposed", "free"]
    cells = zip(tile["ranks"], tile["steps"], tile["ns"], strict=True)
    found = {(rank, step): ns for rank, step, ns in cells if ns is not None}
    assert len(found) == len(expected) == 8
    for rank, step, ns in expected:
        assert found[int(rank), int(step or -1)] == pytest.approx(float(ns), rel=1e-6)


def test_the_page_opens_the_rank_of_a_result_by_its_number(own, tmp_path, shared_data):
    """Copies of one rank under numbers of their own, as the modes count them."""
    (recording,) = (shared_data / EIGHT).glob("node*_1003_*")
    copy = shutil.copytree(recording, tmp_path / "copy")
    files = [one for one in copy.rglob("*") if one.is_file()]
    for rank in range(256):
        folder = tmp_path / "ranks" / f"node_{1000 + rank}_20250109081616713_ascend_pt"
        for file in files:
            name = file.name.replace("_3.", f"_{rank}.")
            target = folder / file.relative_to(copy).with_name(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(file, target)
    done = run(own, "cluster", "-d", tmp_path / "ranks", "-o", tmp_path / "result")
    assert done.returncode == 0, done.stderr
    result = tmp_path / "result/cluster_analysis_output"
    with shown(own, result, tmp_path / "ranks") as (ask, settled):
        assert [one["ranks"] for one in settled()["maps"]] == [256]
        ask("/api/rank?map=0&rank=200", "")
        (trace,) = settled()["traces"]
        assert (trace["state"], "node_1200_" in trace["path"]) == ("ready", True), trace


def write_devices(path, rank, busy_us):
    """A trace of a rank with several devices: of each step the busy time of each, by number."""
    of_host = {"ph": "X", "pid": 1, "tid": 1}
    events = []
    for step, devices in enumerate(busy_us):
        begin = 1000 + 10_000 * step
        events.append(
            {**of_host, "cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": begin,
             "dur": 9000}
        )  # fmt: skip
        for device, dur in enumerate(devices):
            ids = {"correlation": 10 * step + device + 1, "External id": 10 * step + device + 1}
            on_device = {"ph": "X", "pid": device, "tid": 7, "cat": "kernel", "dur": dur}
            events += [
                {**of_host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": begin + 5,
                 "dur": 4, "args": ids},
                {**on_device, "name": "sgemm", "ts": begin + 20,
                 "args": {**ids, "stream": 7, "device": device}},
            ]  # fmt: skip
    head = {"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 2}}
    path.write_text(json.dumps({**head, "traceEvents": events}))


def test_of_several_devices_the_busiest_is_the_ranks(own, tmp_path):
    """In the lake's map and in cluster_time_summary."""
    traces = tmp_path / "traces"
    traces.mkdir()
    for rank in range(2):
        write_devices(traces / f"rank{rank}.json", rank, [(700, 200), (300, 900 + rank)])
    done = run(own, "lake", "add", traces, "--to", tmp_path / "lake", "--run", "two")
    assert done.returncode == 0, done.stderr
    busy = "SELECT rank, step_id, computing_ns FROM step_trace WHERE is_of_rank = 1 ORDER BY ALL"
    expected = {(0, 0): 700_000, (0, 1): 900_000, (1, 0): 700_000, (1, 1): 901_000}
    rows = [tuple(map(int, line.split(","))) for line in csv(own, traces, busy).splitlines()[1:]]
    assert {(rank, step): ns for rank, step, ns in rows} == expected
    with shown(own, tmp_path / "lake") as (ask, settled):
        settled()
        tile = ask("/api/rank_map?map=0&measure=computing")
    cells = zip(tile["ranks"], tile["steps"], tile["ns"], strict=True)
    assert {(rank, step): ns for rank, step, ns in cells} == pytest.approx(expected)
    summary = "SELECT rank, step_id, computing_us FROM cluster_time_summary ORDER BY ALL"
    rows = [line.split(",") for line in csv(own, traces, summary).splitlines()[1:]]
    assert {(int(rank), int(step)): 1000 * float(us) for rank, step, us in rows} == expected
