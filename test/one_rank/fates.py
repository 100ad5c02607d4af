"""Requests that are not whole: the session next to what the client got."""

import os
import signal
import subprocess

from watched import Stream, await_line, one_more_session

#: Tokens of requests that are not over before the test is done with them, however slow the machine.
LONG = 16000


def text_of(session):
    return (session.folder / "serving_summary.txt").read_text()


def test_a_request_that_began_before(server, rows):
    """And ends in the session: one that is over when the session is there has to be longer."""
    for tokens in (500, 2000, 8000, LONG):
        stream = Stream(server, tokens)
        stream.await_pieces(20)
        with one_more_session(server) as session:
            assert server.profile("start")[0] == 200
            is_in_time = stream.is_alive()
            stream.join(300)
            assert server.profile("stop")[0] == 200
        await_line(server, f"served: {session.folder}")
        found = rows(session.folder, "SELECT * FROM request")
        if is_in_time and found:
            break
    (row,) = found
    assert row["is_whole"] == 0 and row["finish_reason"] == "length"
    assert row["ttft_ns"] is None and 0 < row["output_tokens"] < tokens


def test_a_session_shorter_than_its_requests(server, rows):
    """Nothing begins or ends in it: its tokens are recorded all the same, each with the piece in
    which it was sent."""
    streams = [Stream(server, LONG) for _ in range(2)]
    for stream in streams:
        stream.await_pieces(20)
    # What arrives first in a session may have been on its way since before, on a busy machine long.
    for more in (40, 400, 4000):
        with one_more_session(server) as session:
            assert server.profile("start")[0] == 200
            streams[0].await_pieces(len(streams[0].moments) + more)
            assert server.call("/v1/completions", {"model": "none", "prompt": "a"})[0] == 404
            assert server.profile("stop")[0] == 200
        await_line(server, f"served: {session.folder}")
        (steps,) = rows(session.folder, "SELECT sum(output_tokens) AS n FROM engine_step")
        if steps["n"] >= 40:
            break
    assert steps["n"] >= 40
    for stream in streams:
        stream.leave()
    reported = text_of(session)
    assert " 0 of them whole" in reported and "1 refused" in reported
    assert f"of all, as far as recorded: {steps['n']} output tokens" in reported
    late = "sent_ts < output_ts OR sent_ts - output_ts > 20e9"  # the machine may be busy
    assert rows(session.folder, f"SELECT count(*) AS n FROM request_step WHERE {late}") == [
        {"n": 0}
    ]
    # Most are sent before the one after next comes out: they are not shifted by some steps.
    (shifted,) = rows(session.folder, """
        SELECT count(*) FILTER (sent_ts > after_next) AS n, count(sent_ts) AS sent FROM (
            SELECT sent_ts, lead(output_ts, 2) OVER (PARTITION BY request_id ORDER BY output_ts)
            AS after_next FROM request_step WHERE output_tokens > 0)""")  # fmt: skip
    assert shifted["sent"] >= 40 and shifted["n"] <= shifted["sent"] / 2, shifted


def test_requests_whose_engine_is_killed_are_cut(server, rows, sonde):
    """The last test: the worker of the only rank lives in the engine's process."""
    with one_more_session(server) as session:
        assert server.profile("start")[0] == 200
        streams = [Stream(server, LONG) for _ in range(2)]
        for stream in streams:
            stream.await_pieces(40)
        span = max(
            server.profiles.glob("rank*_ascend_pt"), key=lambda path: path.stat().st_mtime_ns
        )
        os.kill(int(span.name.split("_")[-4]), signal.SIGKILL)
        for stream in streams:
            stream.join(60)
        server.process.wait(120)
    found = rows(session.folder, "SELECT *, last_token_ts - ts AS served FROM request")
    assert len(found) == 2
    for row in found:
        assert row["is_whole"] == 0 and row["finish_reason"] == "engine died", row
        assert 40 <= row["output_tokens"] < LONG
        assert row["served"] < row["dur"]
    reported = text_of(session)
    assert "Served: 2 requests, 0 of them whole, 2 cut by an error of the engine" in reported
    assert "ITL" in reported and "E2E" not in reported
    # Those that the client has are no more than those that the session knows.
    assert sum(len(s.moments) for s in streams) <= sum(row["output_tokens"] for row in found)
    done = subprocess.run([sonde, "analyse", session.span], capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert rows(session.span, "SELECT count(*) AS n FROM step WHERE dur >= 0")[0]["n"] >= 39
