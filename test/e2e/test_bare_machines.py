"""Machines without a temporary folder, space or descriptors, and users who change their mind: the
program runs, and nothing is left behind."""

import os
import resource
import signal
import subprocess
import time

import pytest
from test_view_hard import write_trace

PROGRAM = ("--", "sh", "-c", "echo ran; exit 3")


def ran_without_recording(done, *parts):
    assert (done.returncode, done.stdout) == (3, "ran\n"), done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and "the program runs without recording" in lines[0], done.stderr
    assert all(part in lines[0] for part in parts), lines


@pytest.mark.parametrize("folder", ["/nowhere/at/all", "/dev/null"])
def test_without_a_temporary_folder(run_sonde, folder):
    ran_without_recording(run_sonde("run", *PROGRAM, env={"TMPDIR": folder}), folder)


def test_without_a_place_for_captures(run_sonde):
    ran_without_recording(run_sonde("run", *PROGRAM, cwd="/proc"), "./profile")


def test_a_folder_that_the_user_names_is_a_mistake_to_repair(run_sonde, one_error_line):
    done = run_sonde("run", "--profile-save-path", "/proc/x", *PROGRAM)
    one_error_line(done, 1, "--profile-save-path")
    assert done.stdout == ""


def test_with_hardly_any_descriptors(run_sonde):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))

    done = run_sonde("run", *PROGRAM, preexec_fn=limit)
    assert (done.returncode, done.stdout) == (3, "ran\n"), done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_ended_command_leaves_nothing(sonde, cache_home, tmp_path, number):
    trace = write_trace(tmp_path / "trace.json", 200)
    temporary, out = tmp_path / "temporary", tmp_path / "out"
    for folder in (temporary, out):
        folder.mkdir()
    statement = "SELECT levenshtein(repeat('ab', 150000), repeat('ba', 150001))"
    words = [sonde, "query", trace, statement, "--format", "csv", "-o", out / "result.csv"]
    env = {**os.environ, "XDG_CACHE_HOME": str(cache_home), "TMPDIR": str(temporary)}
    with subprocess.Popen(words, env=env, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while not list(out.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert list(out.iterdir()) and list(temporary.iterdir())
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode == -number
    assert (list(out.iterdir()), list(temporary.iterdir())) == ([], [])


def half_written(folder):
    return [path for path in folder.rglob(".*") if path.name.endswith(".partial")]


def stopped_beside_many_folders(process, lake):
    """Stops it at a moment when files lie half-written, behind at least a hundred folders."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if sum(path.is_dir() for path in lake.rglob("rank=*")) > 100:
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            if half_written(lake):
                return True
            process.send_signal(signal.SIGCONT)
        time.sleep(0.001)
    return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_ended_command_with_many_folders_leaves_nothing(
    shared_data, sonde, cache_home, tmp_path, number
):
    """A lake has a folder for each table and rank."""
    job = shared_data / "ascend_pt/synth8_tp_pp_dp"
    if not job.exists():
        pytest.skip(f"needs data: no {job}")
    lake = tmp_path / "lake"
    env = {**os.environ, "XDG_CACHE_HOME": str(cache_home)}
    words = [sonde, "lake", "add", job, "--to", lake, "--run", "nightly"]
    with subprocess.Popen(words, env=env, stderr=subprocess.PIPE) as process:
        assert stopped_beside_many_folders(process, lake)
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
        process.communicate(timeout=60)
    assert process.returncode == -number
    assert half_written(lake) == []
