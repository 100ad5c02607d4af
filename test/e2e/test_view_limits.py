"""Statements of the page and of `sonde query` that take more memory or time than they may."""

import pytest
from test_view import wait_until_ready
from test_view_hard import ask_raw, serve, write_trace

HUGE = "SELECT count(*) FROM range(1000000000) a, range(1000000000) b"
# A median holds its numbers, and the database does not count them.
WIDE = "SELECT median(a.range * 1000003 + b.range) FROM range(6000) a, range(6000) b"
MODEST = "SELECT count(*) FROM slice"


@pytest.fixture(name="traces", scope="module")
def make_traces(tmp_path_factory):
    """Two, so that there is a statement on one and on all."""
    folder = tmp_path_factory.mktemp("two")
    for name in ("a.json", "b.json"):
        write_trace(folder / name, 2000, start=len(name))
    return folder


def start(sonde, cache_home, traces, *limits):
    with serve(sonde, cache_home, traces, *limits) as (_, address):
        wait_until_ready(address)
        yield address


@pytest.fixture(name="brief", scope="module")
def start_brief(sonde, cache_home, traces):
    yield from start(sonde, cache_home, traces, "--max-seconds", "2")


@pytest.fixture(name="small", scope="module")
def start_small(sonde, cache_home, traces):
    yield from start(sonde, cache_home, traces, "--max-memory", "40MB")


TARGETS = ["/api/sql?trace=0", "/api/sql?trace=-1", "/api/export?format=csv&trace=0"]


@pytest.mark.parametrize("target", TARGETS)
def test_a_long_statement_is_cancelled(brief, target):
    status, text = ask_raw(brief, target, "POST", HUGE.encode())
    assert (status, b"cancelled after 2 s" in text, b"--max-seconds" in text) == (409, True, True)
    assert ask_raw(brief, target, "POST", MODEST.encode())[0] == 200


@pytest.mark.parametrize("target", TARGETS)
def test_a_large_statement_is_refused(small, target):
    status, text = ask_raw(small, target, "POST", WIDE.encode())
    assert (status, b"--max-memory" in text) == (507, True), text
    assert b"SET " not in text and b"https" not in text  # advice that nobody could follow here
    assert ask_raw(small, target, "POST", MODEST.encode())[0] == 200


def test_the_command_says_the_same(run_sonde, one_error_line, traces):
    done = run_sonde("query", traces / "a.json", WIDE, "--max-memory", "40MB")
    one_error_line(done, 1)
    assert "--max-memory" in done.stderr and "SET " not in done.stderr, done.stderr
    done = run_sonde("query", traces / "a.json", HUGE, "--max-seconds", "1")
    one_error_line(done, 1)
    assert "cancelled after 1 s" in done.stderr, done.stderr


def test_what_the_limits_allow_runs(run_sonde, traces):
    done = run_sonde("query", traces / "a.json", MODEST, "--max-memory", "40MB", "--format", "csv")
    assert done.returncode == 0 and done.stdout.split()[-1] == "2000", done.stderr


@pytest.mark.parametrize("command", ["view", "query"])
@pytest.mark.parametrize(("option", "value", "reported"), [
    ("--max-seconds", "0", "must be a number of at least 1, not '0'"),
    ("--max-seconds", "soon", "must be a number of at least 1, not 'soon'"),
    ("--max-memory", "much", "must be a number of bytes, optionally with K, M or G"),
])  # fmt: skip
def test_what_is_no_limit(run_sonde, one_error_line, traces, command, option, value, reported):
    done = run_sonde(command, traces / "a.json", option, value)
    one_error_line(done, 2)
    assert reported in done.stderr, done.stderr
