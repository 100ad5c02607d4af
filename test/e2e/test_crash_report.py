"""A crash of the command itself: a line for people, the call stack, and the usual end."""

import os
import signal
import subprocess

import pytest


@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGSEGV, "a fault of Sonde itself"), (signal.SIGABRT, "a fault of Sonde itself"),
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
        _, told = process.communicate(timeout=60)
    assert process.returncode == -number
    (line,) = [line for line in told.splitlines() if line.startswith("sonde: error: ")]
    assert words in line and line.endswith(f"(signal {number:02})")
    frames = told.splitlines()[told.splitlines().index(line) + 1 :]
    assert sum("/sonde(+0x" in frame for frame in frames) >= 2, told
