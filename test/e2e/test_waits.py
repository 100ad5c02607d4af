"""Wait and transit of collectives come from when each of the ranks analysed together arrived."""

import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ascend_reader as reader
import pytest

PROGRAM = Path(__file__).parent / "programs" / "late_rank.py"
LATE_MS = 60
COUNT = 8


@pytest.fixture(scope="module", name="capture")
def record(tmp_path_factory, sonde, prepared, cache_home):
    """The folder of two ranks, of which the second comes late to each all-reduce."""
    folder = tmp_path_factory.mktemp("late")
    words = [sonde, "run", "--profile-save-path", folder, "--profile-level", "level1",
             "--profile-export-type", "text,db", "--",
             sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2",
             PROGRAM]  # fmt: skip
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False,
        env={**os.environ, "XDG_CACHE_HOME": str(cache_home), "PYTHON_EXEC": prepared.python},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(folder.glob("*_ascend_pt"))) == 2
    return folder


def times_of(span):
    """Waits and transits of the all-reduces of the common group, in ms."""
    (path,) = span.rglob("communication.json")
    (step,) = reader.read_json(path).values()
    times = [
        tuple(float(info["Communication Time Info"][f"{part} Time(ms)"])
              for part in ("Wait", "Transit", "Elapse"))
        for name, info in step["collective"].items() if name.startswith("hcom_allReduce")
    ]  # fmt: skip
    return sorted(times, reverse=True)[:COUNT]


def test_the_early_one_waits(capture):
    first, second = (times_of(span) for span in ranks_in_order(capture))
    for wait, transit, elapse in first:
        assert wait + transit == pytest.approx(elapse, abs=1e-3)
        assert 0.8 * LATE_MS < wait < LATE_MS + 40
        assert transit < 0.5 * LATE_MS
    assert sum(wait for wait, _, _ in second) < 0.2 * sum(wait for wait, _, _ in first)


def ranks_in_order(folder):
    spans = {}
    for span in folder.glob("*_ascend_pt"):
        (info,) = span.glob("profiler_info_*.json")
        spans[int(re.search(r"_(\d+)\.json", info.name)[1])] = span
    return [spans[0], spans[1]]


def test_both_forms_say_the_same(capture):
    for span in ranks_in_order(capture):
        db = reader.open_db(span / "ASCEND_PROFILER_OUTPUT" / "analysis.db")
        found = sorted(
            (row[0] for row in db.execute(
                "SELECT wait_time FROM CommAnalyzerTime WHERE hccl_op_name LIKE 'hcom_allReduce%'"
            )), reverse=True,
        )  # fmt: skip
        assert found[:COUNT] == pytest.approx([wait for wait, _, _ in times_of(span)], abs=1e-3)


def test_the_summary_reports_waits(capture, run_sonde, tmp_path):
    done = run_sonde("analyse", capture, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if "for the last rank to arrive" in line)
    waits = [float(wait) for wait in re.findall(r"rank \d (\d+\.\d) of", line)]
    assert waits[0] > 0.8 * COUNT * LATE_MS > waits[1]


def test_one_rank_alone_does_not_suffice(capture, run_sonde, tmp_path):
    span = tmp_path / "one" / ranks_in_order(capture)[0].name
    shutil.copytree(ranks_in_order(capture)[0], span)
    done = run_sonde("analyse", span)
    assert done.returncode == 0, done.stderr
    assert "waits unknown" in done.stdout
    assert all(wait == 0 for wait, _, _ in times_of(span))
    assert json.loads((span / "profiler_info_0.json").read_text())


@pytest.fixture(name="undelivered")
def without_deliverables(capture, tmp_path):
    """The same as it was recorded, so that every reader has to compute for itself."""
    folder = tmp_path / "captures"
    shutil.copytree(capture, folder, ignore=shutil.ignore_patterns("ASCEND_PROFILER_OUTPUT"))
    return folder


def test_statements_say_the_same(capture, undelivered, run_sonde):
    sql = (
        "SELECT rank, wait_ns, transit_ns, elapse_ns FROM communication "
        "WHERE name LIKE 'hcom_allReduce%' ORDER BY rank, wait_ns DESC"
    )
    done = run_sonde("query", undelivered, sql, "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for number, span in enumerate(ranks_in_order(capture)):
        rows = [row for row in found if row["rank"] == number]
        assert all(row["wait_ns"] + row["transit_ns"] == row["elapse_ns"] for row in rows)
        waits = [row["wait_ns"] / 1e6 for row in rows][:COUNT]
        assert waits == pytest.approx([wait for wait, _, _ in times_of(span)], abs=1e-3)


def test_links_that_nobody_measured_have_no_rows(undelivered, run_sonde):
    sql = ("SELECT DISTINCT basis, (SELECT count(*) FROM communication_matrix) AS links "
           "FROM communication WHERE size_bytes > 0")  # fmt: skip
    done = run_sonde("query", undelivered, sql, "--format", "json")
    assert json.loads(done.stdout) == [{"basis": "nominal", "links": 0}], done.stderr


def share_out(run_sonde, folder, out, processes):
    """Several processes by their shares; the first prints the results."""
    words = ("cluster", "-m", "communication_time", "-d", folder, "-o", out, "--export_type", "db")
    with ThreadPoolExecutor() as pool:
        ends = list(pool.map(lambda number: run_sonde(
            *words, stdin=subprocess.DEVNULL,
            env={"OMPI_COMM_WORLD_RANK": str(number), "OMPI_COMM_WORLD_SIZE": str(processes)},
        ), range(processes)))  # fmt: skip
    for done in ends:
        assert done.returncode == 0, done.stderr
    assert ("process 0 of 2" in ends[0].stderr) == (processes == 2)


def by_steps(run_sonde, folder, out):
    """Each rank is mapped by itself, twice; what they have in common goes by the shuffle."""
    mode = ("-m", "communication_time")
    parts = out / "parts"

    def step(*words):
        done = run_sonde("cluster", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    ranks = ranks_in_order(folder)
    numbers = [(span, "--numbers", f"{rank}/0/{rank}") for rank, span in enumerate(ranks)]
    for words in numbers:
        step("map", *mode, *words, "-o", parts)
    early = run_sonde("cluster", "reduce", *mode, parts, "-o", out)
    assert early.returncode == 1 and "lacks the waits of all ranks" in early.stderr
    (waits,) = step("shuffle", *mode, parts, "-o", out)
    for words in numbers:
        assert len(step("map", *mode, *words, "-o", parts, "--waits", waits)) == 1
    step("reduce", *mode, parts, "-o", out, "--export_type", "db")


@pytest.mark.parametrize("way", ["one process", "two processes", "steps"])
def test_cluster_says_the_same(way, capture, undelivered, run_sonde, tmp_path):
    """Also of ranks that are read apart: their collectives are matched between."""
    out = tmp_path / "out"
    if way == "steps":
        by_steps(run_sonde, undelivered, out)
    else:
        share_out(run_sonde, undelivered, out, 2 if way == "two processes" else 1)
    (path,) = out.rglob("cluster_analysis.db")
    db = reader.open_db(path)
    for number, span in enumerate(ranks_in_order(capture)):
        found = sorted(
            (row[0] for row in db.execute(
                "SELECT wait_time FROM ClusterCommunicationTime "
                "WHERE rank_id = ? AND hccl_op_name LIKE 'hcom_allReduce%'", (number,)
            )), reverse=True,
        )  # fmt: skip
        assert found[:COUNT] == pytest.approx([wait for wait, _, _ in times_of(span)], abs=1e-3)
