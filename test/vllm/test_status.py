"""State of a server's sessions besides its answers; needs no vLLM."""

import asyncio
import json
import os
import signal
import threading
from pathlib import Path

import pytest
from sonde import _analyse
from sonde.vllm import _status
from sonde.vllm._routes import ProfileRoutes


@pytest.fixture(autouse=True)
def forget_sessions(monkeypatch):
    monkeypatch.setattr(_status, "_states", {})


@pytest.fixture(name="session")
def make_session(tmp_path):
    """A session and the capture of its rank, as the server lays them."""
    session, span = tmp_path / "server_1_2_1", tmp_path / "rank0_1_2_ascend_pt"
    session.mkdir()
    (session / f"{span.name}.capture").write_text(f"../{span.name}\n")
    (span / "logs").mkdir(parents=True)
    return session, span


def analysed(span):
    folder = span / _analyse.OUTPUT_FOLDER
    folder.mkdir()
    (folder / _analyse.DONE_FILE).touch()


def call(app, path, method="GET", client=("127.0.0.1", 1), headers=()):
    """Status, headers and body of the answer."""
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "path": path, "method": method, "headers": list(headers)}
    scope["client"] = client
    asyncio.run(app(scope, None, send))
    return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]


async def server(scope, receive, send):
    """A vLLM whose profiling routes begin and end a session each."""
    if scope["path"].endswith("/start_profile"):
        await asyncio.to_thread(_status.publish, "/one", _status.RECORDING)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]})
    await send({"type": "http.response.body", "body": b""})


def test_a_session_is_complete_when_all_of_it_is(session):
    folder, span = str(session[0]), str(session[1])
    for own in (_status.RECORDING, _status.PARSING, _status.COMPLETE):
        _status.publish(folder, own)
        wanted = _status.RECORDING if own == _status.RECORDING else _status.PARSING
        assert _status.sessions() == [
            {"folder": folder, "state": wanted, "ranks": [{"folder": span, "state": wanted}]}
        ]
    analysed(session[1])
    assert _status.sessions()[0]["state"] == _status.COMPLETE
    _status.publish(folder, _status.FAILED)
    assert _status.sessions()[0]["state"] == _status.FAILED
    # Whoever tidies up meanwhile takes no more than what he removes.
    (session[0] / "gone_ascend_pt.capture").symlink_to("nowhere")
    assert [rank["folder"] for rank in _status.sessions()[0]["ranks"]] == [span]


def test_a_parser_that_failed(session, monkeypatch):
    ended = threading.Event()
    monkeypatch.setattr(_analyse, "_command", lambda *_: ["false"])
    _analyse.run_in_background([str(session[1])], on_end=lambda status: ended.set())
    assert ended.wait(60)
    _status.publish(str(session[0]), _status.COMPLETE)
    assert _status.sessions()[0]["state"] == _status.FAILED
    assert _status.sessions()[0]["ranks"][0]["reason"] == "the parser ended without files"
    assert _status.wait(str(session[0])), "nobody waits for what cannot be made"
    assert _status.unparsed() == [str(session[1])]
    monkeypatch.setattr(_analyse, "_command", lambda *_: ["sleep", "60"])
    _analyse.run_in_background([str(session[1])], on_end=lambda status: None)
    assert not _analyse.has_failed(str(session[1])), "the next parser may succeed"
    number = int((session[1] / "logs" / "analyse.parser").read_text().split()[0])
    os.kill(number, signal.SIGKILL)
    assert _status.wait(str(session[0])), "nor for a parser that was killed"
    (session[1] / "logs" / "analyse.parser").write_text(f"{number} another-machine\n")
    assert not _analyse.has_failed(str(session[1]))


def test_waiting_ends_with_the_last_file(session):
    folder = str(session[0])
    _status.publish(folder, _status.COMPLETE)
    waiting = threading.Thread(target=_status.wait, args=(folder,))
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    analysed(session[1])
    waiting.join(60)
    assert not waiting.is_alive()


def test_routes():
    app = ProfileRoutes(server)
    status, headers, body = call(app, "/profile_status")
    assert (status, headers[b"content-type"]) == (200, b"application/json")
    assert json.loads(body) == {"sessions": []}
    assert call(app, "/start_profile", "POST")[1] == {b"a": b"b", b"sonde-session": b"/one"}
    assert call(app, "/stop_profile", "POST")[1] == {b"a": b"b"}, "it ended none"
    (reported,) = json.loads(call(app, "/behind/a/proxy/profile_status")[2])["sessions"]
    assert reported == {"folder": "/one", "state": "recording", "ranks": []}
    assert call(app, "/profile_status", "POST")[1] == {b"a": b"b"}, "vLLM's own answer"


def test_strangers_get_names_and_no_paths(session, monkeypatch):
    folder, span = session
    _status.publish(str(folder), _status.COMPLETE)
    monkeypatch.setattr(_analyse, "has_failed", lambda _: True)
    reason = "no space is left on the disk of"
    monkeypatch.setattr(_analyse, "failure_of", lambda path: f"{reason} {path}")
    monkeypatch.setattr(_analyse, "is_analysed", lambda _: False)
    app = ProfileRoutes(server)
    for asks in (
        {},
        {"client": None},
        {"client": ("::1", 5)},
    ):
        assert str(folder) in call(app, "/profile_status", **asks)[2].decode()
    for asks in (
        {"client": ("10.1.2.3", 5)},
        {"client": ("somebody", 5)},
        {"headers": [(b"X-Forwarded-For", b"10.1.2.3")]},
    ):
        body = call(app, "/profile_status", **asks)[2].decode()
        assert "/" not in body
        (reported,) = json.loads(body)["sessions"]
        assert reported["folder"] == folder.name
        assert reported["ranks"][0]["reason"] == f"{reason} {span.name}"
        assert call(app, "/start_profile", "POST", **asks)[1][b"sonde-session"] == b"one"
        monkeypatch.setattr(_status, "_states", {str(folder): _status.COMPLETE})


def test_parsing_is_not_bound_to_the_processor_of_a_rank(session, monkeypatch):
    everywhere = os.sched_getaffinity(0)
    if len(everywhere) < 2:
        pytest.skip("there is one processor")
    seen = session[1] / "seen"
    words = ["sh", "-c", f"grep Cpus_allowed_list /proc/self/status > {seen}"]
    monkeypatch.setattr(_analyse, "_command", lambda *_: words)
    ended = threading.Event()
    rank = {min(everywhere)}
    os.sched_setaffinity(0, rank)
    try:
        _analyse.run_in_background(
            [str(session[1])],
            on_end=lambda _: ended.set(),
            processors=everywhere,
            delay_s=0.01,
        )
        assert os.sched_getaffinity(0) == rank
    finally:
        os.sched_setaffinity(0, everywhere)
    assert ended.wait(60)
    now = Path("/proc/self/status").read_text().split("Cpus_allowed_list:")[1].split()[0]
    assert seen.read_text().split()[1] == now


def test_parsers_of_a_process_wait_for_each_other(session, monkeypatch):
    order = session[1] / "order"
    ended = threading.Semaphore(0)
    for text, seconds in (("first", 0.5), ("second", 0)):
        words = ["sh", "-c", f"sleep {seconds}; echo {text} >> {order}"]
        monkeypatch.setattr(_analyse, "_command", lambda *_, words=words: words)
        _analyse.run_in_background(
            [str(session[1])], on_end=lambda _: ended.release(), delay_s=0.01
        )
    assert ended.acquire(timeout=60) and ended.acquire(timeout=60)
    assert order.read_text().split() == ["first", "second"]


def test_a_full_disk_is_a_failure_with_its_reason(session, monkeypatch):
    """Nothing can be written there: no file records that there was a parser, or which."""
    folder, span = str(session[0]), str(session[1])
    _status.publish(folder, _status.COMPLETE)
    assert _status.sessions()[0]["state"] == _status.PARSING, "a parser will come"
    monkeypatch.setattr(_analyse, "_is_full", lambda span: True)
    for written in (None, ""):
        if written is not None:
            (session[1] / "logs" / "analyse.parser").write_text(written)
        (rank,) = _status.sessions()[0]["ranks"]
        assert rank["state"] == _status.FAILED
        assert rank["reason"] == f"no space is left on the disk of {span}"
        assert _status.wait(folder)
    log = "sonde: parsing\nsonde: error: cannot write 'x': No space left on device\n"
    (session[1] / "logs" / "analyse.log").write_text(log)
    reason = _status.sessions()[0]["ranks"][0]["reason"]
    assert reason == "cannot write 'x': No space left on device"


def test_complete_comes_after_the_store(session, monkeypatch):
    _status.publish(str(session[0]), _status.COMPLETE)
    monkeypatch.setattr(_analyse, "_command", lambda *_: ["sleep", "60"])
    _analyse.run_in_background([str(session[1])], on_end=lambda status: None)
    analysed(session[1])
    assert _status.sessions()[0]["state"] == _status.PARSING, "the store is being written"
    number = int((session[1] / "logs" / "analyse.parser").read_text().split()[0])
    os.kill(number, signal.SIGKILL)
    assert _status.wait(str(session[0]))
    assert _status.sessions()[0]["state"] == _status.COMPLETE
