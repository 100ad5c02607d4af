"""Statements that would end the program that runs them: each is one clear line, and the next one
works."""

import contextlib
import os
import signal
import subprocess
import time

import pytest
from test_view import wait_until_ready
from test_view_hard import ask_raw, serve, write_trace

# The database's own functions recurse without a limit, allocate what its limit does not count,
# and do not look
# whether they are cancelled.
DEEP = "SELECT json_structure(repeat('[', 500000) || repeat(']', 500000))"
WIDE = "SELECT length(repeat('x', 900000000) || repeat('y', 900000000))"
LONG = "SELECT levenshtein(repeat('ab', 150000), repeat('ba', 150001))"
MODEST = "SELECT count(*) FROM slice"


@pytest.fixture(name="trace", scope="module")
def make_trace(tmp_path_factory):
    return write_trace(tmp_path_factory.mktemp("apart") / "trace.json", 2000)


@pytest.fixture(name="view", scope="module")
def start_view(sonde, cache_home, trace):
    limits = ("--max-memory", "500MB", "--max-seconds", "3")
    with serve(sonde, cache_home, trace, *limits) as (process, address):
        wait_until_ready(address)
        yield process, address


def largest_of(pid, seconds=3.0):
    """Bytes that the processes below `pid` held at most, each at its own time."""
    most, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        children = subprocess.run(
            ["ps", "-o", "rss=", "--ppid", str(pid)], capture_output=True, text=True, check=False
        )
        most = max([most, *(int(line) * 1024 for line in children.stdout.split())])
        time.sleep(0.01)
    return most


@pytest.mark.parametrize(
    "target", ["/api/sql?trace=0", "/api/sql?trace=-1", "/api/export?format=csv&trace=0"]
)
@pytest.mark.parametrize(
    ("statement", "status", "reported"),
    [
        (DEEP, 500, b"crashed the database"),
        (LONG, 409, b"cancelled after 3 s"),
        (WIDE, 507, b"--max-memory"),
    ],
)
def test_the_page_goes_on(view, target, statement, status, reported):
    process, address = view
    answer, text = ask_raw(address, target, "POST", statement.encode())
    assert (answer, reported in text) == (status, True), text
    assert ask_raw(address, target, "POST", MODEST.encode())[0] == 200
    assert process.poll() is None


@pytest.mark.parametrize(
    ("statement", "reported"),
    [(DEEP, "crashed the database"), (LONG, "cancelled after 2 s"), (WIDE, "--max-memory")],
)
def test_the_command_says_it_in_a_line(run_sonde, one_error_line, trace, statement, reported):
    done = run_sonde("query", trace, statement, "--max-seconds", "2", "--max-memory", "500MB")
    one_error_line(done, 1, reported)
    assert done.stdout == ""


def test_memory_stays_below_its_limit(sonde, cache_home, trace):
    growing = "SELECT max(length(repeat('x', (range * 1000000)::INTEGER))) FROM range(1, 4000)"
    words = [sonde, "query", trace, growing, "--max-memory", "200MB", "--max-seconds", "90"]
    with subprocess.Popen(
        words,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(cache_home)},
    ) as process:
        assert largest_of(process.pid) < 300_000_000
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 1 and "--max-memory" in errors, errors


SIDE = "(SELECT (range * {0}) % 6000011 AS key, range::VARCHAR AS text FROM range(6000000))"
JOIN = f"SELECT count(*) FROM {SIDE.format(7919)} a JOIN {SIDE.format(104729)} b USING (key) "


def test_a_join_beyond_the_limit_goes_to_files(sonde, cache_home, trace):
    """What the database's allocator keeps counts, too: at most a tenth more than the limit."""
    statement = JOIN + "WHERE length(a.text) + length(b.text) > 0"
    most = 0
    with subprocess.Popen(
        [sonde, "query", trace, statement, "--max-memory", "200MB"],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "XDG_CACHE_HOME": str(cache_home)},
    ) as process:
        while process.poll() is None:
            listed = subprocess.run(
                ["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True
            )
            for pid in listed.stdout.split():
                with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as status:
                    peaks = [line.split()[1] for line in status if line.startswith("VmHWM")]
                    most = max([most, *(int(kilobytes) << 10 for kilobytes in peaks)])
            time.sleep(0.05)
    assert process.returncode == 0
    assert 100_000_000 < most < 220_000_000


def test_the_prompt_goes_on_with_a_new_process(run_sonde, trace):
    done = run_sonde("query", trace, input=f"{MODEST};\n{MODEST};\n")
    assert done.returncode == 0 and done.stdout.count("2000") == 2, done.stderr


def test_results_of_recipes_and_pieces_of_every_size_arrive(run_sonde, trace):
    sql = "SELECT count(*) AS n FROM op_statistic UNION ALL SELECT count(*) FROM finding"
    assert run_sonde("query", trace, sql).returncode == 0
    sql = "SELECT repeat('ab', 1500000) AS t, range AS i, NULL AS n FROM range(5)"
    done = run_sonde("query", trace, sql, "--format", "csv")
    lines = done.stdout.splitlines()
    assert [len(line) for line in lines] == [5, *(3000003 for _ in range(5))], done.stderr
    done = run_sonde("query", trace, "SELECT * FROM range(300000)", "--format", "csv")
    assert done.stdout.split() == ["range", *map(str, range(300000))]


def test_no_process_stays(sonde, cache_home, trace):
    """When the command is killed in the middle of a statement, its process ends with it."""
    words = [sonde, "query", trace, LONG]
    with subprocess.Popen(
        words, stderr=subprocess.DEVNULL, env={**os.environ, "XDG_CACHE_HOME": str(cache_home)}
    ) as process:
        children = []
        while not children:
            found = subprocess.run(
                ["ps", "-o", "pid=", "--ppid", str(process.pid)],
                capture_output=True,
                text=True,
                check=False,
            )
            children = [int(pid) for pid in found.stdout.split()]
        process.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 30
    while any(os.path.exists(f"/proc/{pid}") for pid in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(os.path.exists(f"/proc/{pid}") for pid in children)
