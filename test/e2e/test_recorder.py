"""The recorder in a C++ program of a user: environment, control address, kill, full exit."""

import http.client
import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / os.environ.get("PRESET", "dev")
EXAMPLE = BUILD / "bin" / "example_own_ranges"
DUMP = BUILD / "bin" / "sonde_capture_dump"
RANGE, STEP, COUNTER = 1, 8, 33
STOPPED, EXITED = 1, 2


def environment(tmp_path, **more):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("SONDE_")}
    return {**clean, "SONDE_SAVE_PATH": str(tmp_path), **more}


def run_example(env):
    return subprocess.run(
        [EXAMPLE], env=env, capture_output=True, text=True, timeout=60, check=False
    )


def read_capture(span):
    """Facts and records of a capture; fails on anything that must never be in one."""
    done = subprocess.run([DUMP, span], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout[:2000]
    facts, *records = map(json.loads, done.stdout.splitlines())
    return facts, records


def spans(tmp_path):
    return sorted(path.parent for path in tmp_path.glob("*/SONDE"))


def test_environment_records_from_load_to_exit(tmp_path):
    done = run_example(environment(tmp_path, SONDE_RECORD="1"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (span,) = spans(tmp_path)
    assert span.name.endswith("_ascend_pt")
    facts, records = read_capture(span)
    assert (facts["end"], facts["dropped"], facts["ring_files"]) == (EXITED, 0, 0)
    steps = [r for r in records if r["kind"] == STEP]
    assert [r["name"] for r in steps] == [f"ProfilerStep#{n}" for n in range(10)]
    assert all(r["dur"] > 0 for r in steps)
    work = [r for r in records if (r["kind"], r["name"]) == (RANGE, "work")]
    assert len(work) == 30
    assert len({r["thread"] for r in work}) == 21, "two threads a step, and the main loop"
    assert sum(r["kind"] == COUNTER for r in records) == 10
    assert "main loop" in facts["threads"].values()


def test_nothing_is_written_without_being_asked(tmp_path):
    done = run_example(environment(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert not list(tmp_path.iterdir())


def test_left_to_the_start_up_hook_under_sonde_run(tmp_path):
    done = run_example(
        environment(
            tmp_path, SONDE_RECORD="1", SONDE_ATTACH="profile", SONDE_CONTROL="http://0.0.0.0:1"
        )
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not list(tmp_path.iterdir())


def test_ranks_that_are_not_chosen_record_nothing(tmp_path):
    run_example(environment(tmp_path, SONDE_RECORD="1", SONDE_RANKS="0,3", RANK="1"))
    assert not spans(tmp_path)
    run_example(environment(tmp_path, SONDE_RECORD="1", SONDE_RANKS="0,3", RANK="3"))
    assert len(spans(tmp_path)) == 1


@pytest.mark.parametrize(
    "variable, value, message",
    [
        ("SONDE_SAVE_PATH", "/proc/nowhere", "/proc/nowhere"),
        ("SONDE_RING_SLOTS", "many", "SONDE_RING_SLOTS='many' is not a number"),
        ("SONDE_CONTROL", "http://0.0.0.0:1", "http://127.0.0.1:PORT or unix:PATH"),
    ],
)
def test_bad_settings_are_one_line_and_the_program_runs(tmp_path, variable, value, message):
    env = environment(tmp_path, SONDE_RECORD="1")
    env[variable] = value
    done = run_example(env)
    assert done.returncode == 0
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("sonde: ") and message in done.stderr


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=10)
        self._path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(10)
        self.sock.connect(self._path)


def ask(path, method, what, body=None):
    connection = UnixConnection(path)
    connection.request(method, what, body=body)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def compiled(folder, text):
    """The program of that source text, linked with the recorder."""
    source = folder / "server.cc"
    source.write_text(text)
    program = folder / "server"
    subprocess.run(
        [
            "g++",
            "-std=c++17",
            f"-I{ROOT / 'include'}",
            source,
            f"-L{BUILD / 'lib'}",
            "-lsonde_record",
            f"-Wl,-rpath,{BUILD / 'lib'}",
            "-o",
            program,
        ],
        check=True,
    )
    return program


@pytest.fixture(name="server")
def run_server(tmp_path):
    """A program that works until it is ended, with its control socket."""
    program = compiled(
        tmp_path,
        "#include <sonde/sonde.hpp>\n#include <unistd.h>\n"
        'int main() { for (;;) { SONDE_SCOPE("request"); usleep(200); } }\n',
    )
    path = tmp_path / "control"
    captures = tmp_path / "captures"
    captures.mkdir()
    with subprocess.Popen(
        [program], env=environment(captures, SONDE_CONTROL=f"unix:{path}")
    ) as process:
        until(path.exists)
        yield process, path, captures
        process.kill()


def until(happened, pause_s=0.01):
    """Waits for something that must happen, however slow the machine is at the moment."""
    deadline = time.monotonic() + 120
    while not happened():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(pause_s)


def requests_in(span):
    return sum(record["name"] == "request" for record in read_capture(span)[1])


def test_control_address(server):
    _, path, captures = server
    assert ask(path, "GET", "/status")[1]["state"] == "idle"
    for _ in range(3):
        before = spans(captures)
        assert ask(path, "POST", "/start_profile", '{"level": "Level1"}')[0] == 200
        (span,) = set(spans(captures)) - set(before)
        until(lambda span=span: requests_in(span) > 10)
        status, answer = ask(path, "POST", "/stop_profile")
        assert status == 200
        facts, records = read_capture(answer["path"])
        assert facts["end"] == STOPPED
        assert facts["metadata"]["options"] == {"level": "Level1"}
        assert sum(r["name"] == "request" for r in records) > 10
    assert len(spans(captures)) == 3


def test_killed_while_recording(server):
    process, path, captures = server
    assert ask(path, "POST", "/start_profile")[0] == 200
    (span,) = spans(captures)
    until(lambda: len(read_capture(span)[1]) >= 200, pause_s=0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    facts, records = read_capture(span)
    assert (facts["end"], facts["dropped"]) == (0, 0)
    finished = [r for r in records if r["name"] == "request" and r["dur"] >= 0]
    unfinished = [r for r in records if r["name"] == "request" and r["dur"] < 0]
    assert len(finished) > 100
    assert len(unfinished) <= 1


BUSY = """
#include <sonde/sonde.hpp>
#include <string>
#include <thread>
#include <unistd.h>

void Requests(long first, long count) {
  for (long n = first; n < first + count; ++n) {
    sonde::Scope request("request " + std::to_string(n));
    { SONDE_SCOPE("outer"); { SONDE_SCOPE("inner"); } }
    if (n % 20 == 0) usleep(500);
  }
}

int main() {
  std::thread([] { Requests(1000000, 1000000000); }).detach();
  for (long thread = 0;; ++thread) std::thread([] { Requests(0, 40); }).join();
}
"""


@pytest.mark.parametrize(
    "more", [{}, {"SONDE_KEEP_LAST_SECONDS": "2"}], ids=["all", "last seconds"]
)
def test_read_while_it_records(tmp_path, more):
    """Threads come and go, new names with them: whatever moment is read, nothing is missing."""
    program = compiled(tmp_path, BUSY)
    captures = tmp_path / "captures"
    captures.mkdir()
    env = environment(captures, SONDE_RECORD="1", **more)
    counts = []
    with subprocess.Popen([program], env=env) as process:
        try:
            until(lambda: has_records(captures), pause_s=0.001)
            (span,) = spans(captures)
            for _ in range(6):
                counts.append(count_and_check(tmp_path, span))
        finally:
            process.kill()
    counts.append(count_and_check(tmp_path, span))
    if not more:
        assert counts == sorted(counts) and counts[0] < counts[-1], "what was recorded stays"


def has_records(captures):
    """Whether a segment has its first records: from then on there is something to read."""
    return any(path.stat().st_size > 4096 for path in captures.glob("*/SONDE/events_*"))


def count_and_check(tmp_path, span):
    """How many ranges there are; fails where any is without a name or a position is missing."""
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [
            BUILD / "bin" / "sonde",
            "query",
            span,
            "SELECT (SELECT count(*) FROM slice) AS slices, "
            "(SELECT string_agg(DISTINCT code, ' ') FROM import_issue) AS codes, "
            "(SELECT count(*) - count(DISTINCT name) FROM slice "
            "WHERE name LIKE 'request _______') AS twice",
            "--format",
            "json",
        ],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    assert row["twice"] == 0, "of the thread that stays each request has a name of its own"
    # The last piece of a file may be half written at that moment, and at first the clock was only
    # read once.
    harmless = {
        "capture_no_end",
        "capture_not_closed",
        "capture_truncated",
        "clock_rate_guessed",
        "records_dropped",
    }
    assert set(row["codes"].split()) <= harmless
    return row["slices"]


def test_without_memory_the_recording_gives_up_and_the_program_goes_on(tmp_path):
    program = tmp_path / "short_of_memory"
    source = Path(__file__).parent / "programs" / "short_of_memory.c"
    command = ["cc", "-O1", f"-I{ROOT / 'include'}", "-o", str(program), str(source), "-ldl"]
    subprocess.run(command, check=True, timeout=60)
    library = BUILD / "lib" / "libsonde_record.so"
    gave_up = 0
    for kib in (0, 100, 500, 1000, 3000, 5000, 7000, 9000, 12000, 16000, 20000, 30000, 50000):
        folder = tmp_path / str(kib)
        folder.mkdir()
        done = subprocess.run(
            [program, str(kib), library, folder],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, (kib, done.returncode, done.stderr)
        gave_up += done.stdout.split() != ["0", "0"]
    assert gave_up > 3, "the limits were meant to be too low"
