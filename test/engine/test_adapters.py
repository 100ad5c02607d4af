"""The adapters to Ray and Dask: parts come back whole, lost workers are made up for, failures are
one line, what is cancelled ends. A program stands in for `sonde`, so that moments are known."""

import os
import signal
import subprocess
import time

import pytest
from conftest import ROOT, below, kill

STAND_IN = ROOT / "test/engine/programs/stand_in.py"


@pytest.fixture(name="start")
def make_starter(cluster, python, tmp_path):
    """Starts the adapter; `parts` is its folder."""
    command = tmp_path / "sonde"
    command.write_text(f'#!/bin/sh\nexec "{python}" "{STAND_IN}" "$@"\n')
    command.chmod(0o755)
    started = []

    def start(parts, memory=0):
        words = [python, "-m", "sonde.engine", cluster.address, str(memory), command,
                 "cluster", "--parts", parts]  # fmt: skip
        environment = {**cluster.environment, "PYTHONPATH": str(ROOT / "python")}
        started.append(subprocess.Popen(
            [str(word) for word in words], env=environment, cwd=tmp_path, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ))  # fmt: skip
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


ALL = sorted(f"{number}.parquet" for number in range(12))


def test_lost_workers_are_made_up_for(start, cluster, tmp_path):
    parts = tmp_path / "parts"
    process = start(parts)
    killed = 0
    while process.poll() is None and killed < 2:
        for number in cluster.workers()[:1]:
            kill(number)
            killed += 1
        time.sleep(0.7)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert killed == 2
    assert out == "the result\n"  # and no lines of the engine
    assert names(parts) == ALL
    assert (parts / "7.parquet").read_text() == "7"
    assert "12 of 12 parts" in err


def test_what_fails_is_one_line(start, tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "old.failed.parquet").touch()  # of an earlier call: tried again
    (parts / "fail").touch()
    process = start(parts)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1 and out == ""
    assert err.splitlines()[-1].startswith("sonde: error: on ")
    assert err.splitlines()[-1].endswith(": it cannot be done")
    assert not (parts / "old.failed.parquet").exists()
    (parts / "fail").unlink()
    done = names(parts)
    times = {name: (parts / name).stat().st_mtime_ns for name in done}
    process = start(parts)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert names(parts) == ALL
    assert all((parts / name).stat().st_mtime_ns == times[name] for name in done)


def test_memory_of_a_task_is_bounded(start, tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "greedy").touch()
    process = start(parts, memory=500_000_000)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "MemoryError" in err.splitlines()[-1]


def test_what_is_cancelled_ends(start, cluster, tmp_path):
    """Its tasks do not go on, and the cluster stays."""
    parts = tmp_path / "parts"
    process = start(parts)
    for _ in range(600):
        if parts.exists() and names(parts):
            break
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 130
    for _ in range(100):
        if not any(below(number, "stand_in.py") for number in cluster.workers()):
            break
        time.sleep(0.1)
    assert len(names(parts)) < 12
    process = start(parts)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, "the result\n"), err
