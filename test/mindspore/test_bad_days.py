"""MindSpore programs in which something goes wrong, below `sonde run`."""

import contextlib
import csv
import sqlite3
import subprocess

import pytest
from conftest import PROGRAMS, ROOT, all_of_its_kind, clean_environment


@pytest.fixture(name="ended")
def make_ended(python, sonde, tmp_path):
    """ended(kind, options...): the process and its captures."""

    def ended(kind, *options, words=(), **variables):
        program = [python, PROGRAMS / "bad_days.py", kind, *words]
        command = [sonde, "run", *options, "--", *program]
        done = subprocess.run(command, cwd=tmp_path, env=clean_environment(**variables), text=True,
                              capture_output=True, timeout=300, check=False)  # fmt: skip
        return done, sorted((tmp_path / "profile").glob("*_ascend_*"))

    return ended


def launches(rows, span):
    return rows(span, "SELECT count(*) AS n FROM device_task")[0]["n"]


def steps_of(rows, span):
    return [row["step_id"] for row in rows(span, "SELECT step_id FROM step ORDER BY ts")]


@all_of_its_kind
def test_a_fork_while_recording(ended, rows):
    """The parent's capture is whole, and the child's records are not in it."""
    done, spans = ended("forked", SONDE_PROFILE_ANALYSE="0")
    assert done.returncode == 0 and "child ended with 0" in done.stdout, done.stderr
    results = [line for line in done.stdout.splitlines() if line.startswith("result ")]
    assert len(results) == 4 and len(set(results)) == 1
    (parent,) = (span for span in spans if launches(rows, span) > 0)
    assert steps_of(rows, parent) == [0, 1, 2, 3]
    assert rows(parent, "SELECT count(*) AS n FROM slice WHERE dur < 0")[0]["n"] == 0


@all_of_its_kind
def test_ranks_that_are_spawned(ended, rows, sonde, tmp_path):
    done, spans = ended("spawned", SONDE_PROFILE_ANALYSE="0")
    assert done.returncode == 0, done.stderr
    sql = "SELECT value FROM metadata WHERE key = 'rank'"
    found = sorted(row["value"] for span in spans for row in rows(span, sql))
    ranks = [span for span in spans if launches(rows, span) > 0]
    assert len(ranks) == 2 and {"0", "1"} <= set(found)
    assert all(steps_of(rows, span) == [0, 1, 2] for span in ranks)
    words = [sonde, "cluster", "-m", "all", "-d", ranks[0].parent, "-o", tmp_path / "all"]
    every = {(str(step), "rank", str(rank)) for step in range(3) for rank in range(2)}
    for form in ("db", "text"):  # without a form: db, since nothing has made texts of the captures
        option = ["--export_type", "text"] if form == "text" else []
        subprocess.run([*words, *option], check=True, capture_output=True, timeout=120)
        assert steps_of_cluster(tmp_path / "all" / "cluster_analysis_output", form) == every


def steps_of_cluster(folder, form):
    """{(step, type, index)} of a result in this form."""
    if form == "text":
        with open(folder / "cluster_step_trace_time.csv", encoding="utf-8") as file:
            return {(row["Step"], row["Type"], row["Index"]) for row in csv.DictReader(file)}
    with contextlib.closing(sqlite3.connect(folder / "cluster_analysis.db")) as database:
        found = database.execute('SELECT step, type, "index" FROM ClusterStepTraceTime')
        return {tuple(map(str, row)) for row in found}


@all_of_its_kind
def test_a_compilation_that_fails(ended, rows):
    done, (span,) = ended("compilation", SONDE_PROFILE_ANALYSE="0")
    assert done.returncode == 0 and "refused " in done.stdout, done.stderr
    assert done.stdout.count("result ") == 3
    assert len(steps_of(rows, span)) >= 3
    # What it had opened has ended.
    assert rows(span, "SELECT count(*) AS n FROM slice WHERE dur < 0")[0]["n"] == 0


@all_of_its_kind
def test_a_device_that_is_not_there(ended, rows):
    done, (span,) = ended("device")
    assert done.returncode == 1
    assert "Unsupported device target" in done.stderr
    assert launches(rows, span) > 30 and steps_of(rows, span) == [0]


@all_of_its_kind
def test_variables_of_the_user_stay(ended):
    theirs = {"MS_ALLOC_CONF": "memory_tracker:False", "MS_DEV_RUNTIME_CONF": "inline:false"}
    done, _ = ended("environment", SONDE_PROFILE_ANALYSE="0", **theirs)
    assert done.returncode == 0, done.stderr
    for name, value in theirs.items():
        assert f"{name} {value}" in done.stdout
    assert "MS_DEV_SAVE_GRAPHS None" in done.stdout


@all_of_its_kind
def test_a_program_that_is_killed_keeps_its_shapes(ended, rows, tmp_path):
    """And the next one removes the folder of graphs that it left behind."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    words = ("--profile-record-shapes",)
    variables = {"SONDE_PROFILE_ANALYSE": "0", "TMPDIR": str(folder)}
    done, (span,) = ended("killed", *words, **variables)
    assert done.returncode in (-9, 137), done.stderr
    assert launches(rows, span) > 30
    assert rows(span, "SELECT name FROM device_task WHERE input_types IS NULL") == []
    assert len(list(folder.glob("sonde_graphs_*"))) == 1
    done, _ = ended("environment", *words, **variables)
    assert done.returncode == 0, done.stderr
    assert not list(folder.glob("sonde_graphs_*"))


@pytest.fixture(name="packages_of_torch")
def find_torch():
    """The folder of packages in which torch lies: that of another interpreter."""
    command = [ROOT / "setup" / "python.sh", "torch"]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    if not found:
        pytest.skip("needs torch: make setup installs one")
    code = "import os, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))"
    return subprocess.run([found, "-c", code], capture_output=True, text=True,
                          check=True).stdout.strip()  # fmt: skip


@all_of_its_kind
def test_torch_in_the_same_process(ended, rows, packages_of_torch):
    done, (span,) = ended("torch", words=[packages_of_torch], SONDE_PROFILE_ANALYSE="0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("torch ") == 3 and done.stdout.count("result ") == 3
    names = {row["name"] for row in rows(span, "SELECT DISTINCT name FROM device_task")}
    assert "aten::addmm" in names and "Softmax" in {name.rpartition("/")[2] for name in names}
