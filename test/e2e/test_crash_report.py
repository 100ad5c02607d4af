"""A crash of the command itself: a line for people, the call stack, and the usual end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGSEGV, "a bug in Sonde"), (signal.SIGABRT, "a bug in Sonde"),
     (signal.SIGBUS, "a file became shorter while it was read")],
)  # fmt: skip
def test_what_a_crash_says(sonde, cache_home, tmp_path, number, words):
    trace = tmp_path / "t.json"
    trace.write_text('[{"ph": "X", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "name": "a"}]')
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache_home)}
    with subprocess.Popen([sonde, "query", trace], stdin=subprocess.PIPE, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=environment) as process:  # fmt: skip
        process.stdin.write("SELECT name FROM slice;\n")
        process.stdin.flush()
        assert process.stdout.readline()  # it answers, and waits for the next statement
        process.send_signal(number)
        _, reported = process.communicate(timeout=60)
    assert process.returncode == -number
    (line,) = [line for line in reported.splitlines() if line.startswith("sonde: error: ")]
    assert words in line and line.endswith(f"(signal {number:02})")
    frames = reported.splitlines()[reported.splitlines().index(line) + 1 :]
    assert sum("/sonde(+0x" in frame for frame in frames) >= 2, reported


@pytest.fixture(scope="module", name="crasher")
def build_crasher(tmp_path_factory):
    library = tmp_path_factory.mktemp("crasher") / "crash_at.so"
    source = Path(__file__).parent / "programs" / "crash_at.c"
    command = ["cc", "-O1", "-fPIC", "-shared", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True, timeout=60)
    return library


@pytest.mark.parametrize("at_a_time", ["1", "2"])
def test_a_capture_over_which_it_crashes_leaves_the_others(
    sonde, run_sonde, crasher, tmp_path, at_a_time
):
    names = ["one", "two", "three", "four"]
    program = ROOT / "test" / "store" / "record_program.py"
    library = sonde.parent.parent / "lib" / "libsonde_record.so"
    for name in names:
        words = [sys.executable, program, library, tmp_path / name]
        subprocess.run(words, check=True, timeout=60)
    env = {"LD_PRELOAD": str(crasher), "CRASH_AT": "two/small_ascend_pt/SONDE/.probe"}
    words = ("analyse", tmp_path, "--max-process-number", at_a_time)
    done = run_sonde(*words, env=env)
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if "crashed while reading it" in line]
    assert line.startswith(f"sonde: error: {tmp_path}/two/small_ascend_pt")
    assert f"(signal {signal.SIGSEGV:d})" in line
    ended = [
        n
        for n in names
        if (tmp_path / n / "small_ascend_pt/ASCEND_PROFILER_OUTPUT/analyse.done").exists()
    ]
    assert ended == ["one", "three", "four"]
    for name in names:
        written = f"{tmp_path / name}/small_ascend_pt/ASCEND_PROFILER_OUTPUT"
        assert (written in done.stdout) == (name != "two")
    whole = run_sonde(*words)  # nothing of the crash is left
    assert whole.returncode == 0, whole.stderr
    for name in names:
        assert f"{tmp_path / name}/small_ascend_pt/ASCEND_PROFILER_OUTPUT" in whole.stdout
