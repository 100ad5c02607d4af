"""Requests that are not whole, and speculation: what the session says beside what the client and
vLLM's own counters say."""

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
import urllib.request

import pytest
from vllm_server import Server

#: For requests that are not over before the test is done with them, however slow the machine.
LONG = 16000
ROOM_FOR_LONG = ["--max-model-len", 16384, "--hf-overrides", '{"max_position_embeddings": 16384}']


class Stream(threading.Thread):
    """A streamed completion; `moments` are those of its pieces with a token, on arrival."""

    def __init__(self, server, tokens, prompt="import "):
        super().__init__(daemon=True)
        body = {"model": "tiny", "prompt": prompt, "max_tokens": tokens, "temperature": 0,
                "ignore_eos": True, "stream": True}  # fmt: skip
        self._request = urllib.request.Request(
            f"http://127.0.0.1:{server.port}/v1/completions", data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )  # fmt: skip
        self.moments = []
        self._is_left = False
        self.start()

    def run(self):
        with contextlib.suppress(OSError), urllib.request.urlopen(self._request, timeout=120) as f:
            for line in f:
                if self._is_left:
                    return
                if line.startswith(b'data: {"') and b'"choices":[{' in line:
                    self.moments.append(time.monotonic())

    def await_pieces(self, count):
        end = time.monotonic() + 120
        while len(self.moments) < count:
            assert time.monotonic() < end and self.is_alive(), "no stream"
            time.sleep(0.002)

    def leave(self):
        """Goes away before the answer is whole."""
        self._is_left = True
        self.join(60)


def engine_of(server):
    """The process of the engine."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True,
                            check=True).stdout  # fmt: skip
    rows = [line.split(None, 2) for line in listed.splitlines()[1:]]
    parents = {int(pid): int(parent) for pid, parent, _ in rows}
    for pid, _, words in rows:
        place = int(pid)
        while place in parents and place != server.process.pid:
            place = parents[place]
        if place == server.process.pid and "EngineCore" in words:
            return int(pid)
    raise AssertionError(listed)


def text_of(session):
    return (session / "serving_summary.txt").read_text()


def await_served(server, session):
    end = time.monotonic() + 120
    while f"served: {session}" not in server.log.read_text(errors="replace"):
        assert time.monotonic() < end, server.last_lines()
        time.sleep(0.2)


@pytest.fixture(scope="module", name="server")
def serve_long(sonde, vllm_python, model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fates")
    launcher = [sonde, "run", "--profile-save-path", folder / "profile", "--"]
    with Server(vllm_python, model, folder / "log", launcher, options=ROOM_FOR_LONG) as server:
        server.profiles = folder / "profile"
        server.ask("import ", 4)
        yield server


@contextlib.contextmanager
def one_more_session(server):
    """A list that has the session's folder when it was started by what runs inside."""
    before, found = set(server.profiles.glob("server_*")), []
    yield found
    found += set(server.profiles.glob("server_*")) - before


def test_a_request_that_began_before(server, rows):
    """And ends in the session: one that is over when the session is there has to be longer."""
    for tokens in (500, 2000, 8000, LONG):
        stream = Stream(server, tokens)
        stream.await_pieces(20)
        with one_more_session(server) as sessions:
            assert server.profile("start")[0] == 200
            is_in_time = stream.is_alive()
            stream.join(300)
            assert server.profile("stop")[0] == 200
        (session,) = sessions
        await_served(server, session)
        found = rows(session, "SELECT * FROM request")
        if is_in_time and found:
            break
    (row,) = found
    assert row["is_whole"] == 0 and row["finish_reason"] == "length"
    assert row["ttft_ns"] is None and 0 < row["output_tokens"] < tokens


def test_a_session_shorter_than_its_requests(server, rows):
    """Nothing begins or ends in it: its tokens are told all the same, each with the piece in which
    it was sent."""
    streams = [Stream(server, LONG) for _ in range(2)]
    for stream in streams:
        stream.await_pieces(20)
    # What arrives first in a session may have been on its way since before, on a busy machine long.
    for more in (40, 400, 4000):
        with one_more_session(server) as sessions:
            assert server.profile("start")[0] == 200
            streams[0].await_pieces(len(streams[0].moments) + more)
            assert server.call("/v1/completions", {"model": "none", "prompt": "a"})[0] == 404
            assert server.profile("stop")[0] == 200
        (session,) = sessions
        await_served(server, session)
        (steps,) = rows(session, "SELECT sum(output_tokens) AS n FROM engine_step")
        if steps["n"] >= 40:
            break
    assert steps["n"] >= 40
    for stream in streams:
        stream.leave()
    told = text_of(session)
    assert " 0 of them whole" in told and "1 refused" in told
    assert f"of all, as far as recorded: {steps['n']} output tokens" in told
    late = "sent_ts < output_ts OR sent_ts - output_ts > 20e9"  # the machine may be busy
    assert rows(session, f"SELECT count(*) AS n FROM request_step WHERE {late}") == [{"n": 0}]
    # Most are sent before the one after next comes out: they are not shifted by some steps.
    (shifted,) = rows(session, """
        SELECT count(*) FILTER (sent_ts > after_next) AS n, count(sent_ts) AS sent FROM (
            SELECT sent_ts, lead(output_ts, 2) OVER (PARTITION BY request_id ORDER BY output_ts)
            AS after_next FROM request_step WHERE output_tokens > 0)""")  # fmt: skip
    assert shifted["sent"] >= 40 and shifted["n"] <= shifted["sent"] / 2, shifted


def test_requests_whose_engine_is_killed_are_cut(server, rows):
    """The last one of this server."""
    with one_more_session(server) as sessions:
        assert server.profile("start")[0] == 200
        streams = [Stream(server, LONG) for _ in range(3)]
        for stream in streams:
            stream.await_pieces(40)
        os.kill(engine_of(server), signal.SIGKILL)
        for stream in streams:
            stream.join(60)
        server.process.wait(120)
    (session,) = sessions
    found = rows(session, "SELECT *, last_token_ts - ts AS served FROM request")
    assert len(found) == 3
    for row in found:
        assert row["is_whole"] == 0 and row["finish_reason"] == "engine died", row
        assert 40 <= row["output_tokens"] < LONG
        assert row["served"] < row["dur"]
    told = text_of(session)
    assert "Served: 3 requests, 0 of them whole, 3 cut by an error of the engine" in told
    assert "ITL" in told and "E2E" not in told
    # Those that the client has are no more than those that the session knows.
    assert sum(len(s.moments) for s in streams) <= sum(row["output_tokens"] for row in found)


def counters(server):
    found = {}
    for line in server.call("/metrics")[1].splitlines():
        if line.startswith("vllm:spec_decode"):
            name, value = line.rsplit(" ", 1)
            found[name.split("{")[0]] = found.get(name.split("{")[0], 0) + float(value)
    return found


def test_speculation_beside_the_counters(sonde, vllm_python, model, tmp_path, rows):
    folder = tmp_path / "profile"
    launcher = [sonde, "run", "--profile-save-path", folder, "--profile-wait", "--"]
    draft = {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 3}
    options = ["--speculative-config", json.dumps(draft)]
    with Server(vllm_python, model, tmp_path / "log", launcher, options=options) as server:
        server.ask("import ", 4)
        before = counters(server)
        assert server.profile("start")[0] == 200
        server.ask("import os import sys import os ", 64)
        assert server.profile("stop")[0] == 200
        after = counters(server)
    (session,) = folder.glob("server_*")
    told = {name: after[name] - before.get(name, 0) for name in after}
    drafted = told["vllm:spec_decode_num_draft_tokens_total"]
    accepted = told["vllm:spec_decode_num_accepted_tokens_total"]
    assert drafted > 0
    for table in ("request", "engine_step"):
        sql = f"SELECT sum(drafted_tokens) AS d, sum(accepted_tokens) AS a FROM {table}"
        (row,) = rows(session, sql)
        assert row["d"] == drafted and accepted - 3 <= row["a"] <= accepted, (row, told)
    sql = "SELECT count(*) AS n FROM request_step WHERE drafted_tokens > 0"
    assert rows(session, sql)[0]["n"] == told["vllm:spec_decode_num_drafts_total"]
    assert f"speculation: {drafted:.0f} tokens drafted" in text_of(session)
    (row,) = rows(session, "SELECT max_tokens, sampling, lora FROM request")
    assert row["max_tokens"] == 64 and json.loads(row["sampling"])["temperature"] == 0
    assert row["lora"] is None
