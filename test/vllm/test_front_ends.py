"""Several front-ends of one server, each of which may be asked to start or to stop; needs no
vLLM."""

from types import SimpleNamespace

import pytest
from sonde.vllm import _alone, _capture, _front_end, _session, _status


@pytest.fixture(autouse=True)
def name_server(monkeypatch):
    monkeypatch.setattr(_session, "_number", 0)
    monkeypatch.setattr(_status, "_states", {})
    monkeypatch.setenv("SONDE_SERVER_ID", "1_2")


@pytest.fixture(name="make_front_end")
def prepare_front_ends(tmp_path, monkeypatch):
    """Front-ends whose configuration wants traces in the test's folder; sums up in a list."""
    summed_up = []
    monkeypatch.setattr(_front_end, "analyse", summed_up.append)
    monkeypatch.setattr(_front_end.atexit, "register", lambda *_: None)
    monkeypatch.setattr(_capture.ProcessCapture, "start", lambda *_: None)
    config = SimpleNamespace(profiler_config=SimpleNamespace(torch_profiler_dir=str(tmp_path)))
    return lambda: SimpleNamespace(vllm_config=config), summed_up


def test_another_one_is_asked_to_stop(make_front_end, tmp_path):
    make, summed_up = make_front_end
    first, second = make(), make()
    for _ in range(3):
        session = _session.begin(str(tmp_path))
        _front_end.begin(first, False)
        assert _front_end.finish(second) == session
        assert _front_end.finish(second) is None and _front_end.finish(first) is None
    assert [path for path in summed_up if path] == _session.of_server(str(tmp_path))


@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_front_end_that_is_to_be_ignored(make_front_end, tmp_path, monkeypatch, is_recorded):
    """It belongs to the session, and is not recorded itself."""
    started = []
    monkeypatch.setattr(
        _capture.ProcessCapture, "start", lambda self, folder: started.append(folder)
    )
    make, summed_up = make_front_end
    session = _session.begin(str(tmp_path))
    first = make()
    _front_end.begin(first, is_recorded)
    assert started == [session] * is_recorded
    if not is_recorded:
        assert _front_end.finish(first) == session and summed_up == [session]


def test_nothing_was_started(make_front_end, tmp_path):
    make, summed_up = make_front_end
    assert _front_end.finish(make()) is None
    tmp_path.rmdir()
    assert _front_end.finish(make()) is None
    assert not any(summed_up)


def test_each_lists_the_sessions_of_all(tmp_path, monkeypatch):
    session = _session.begin(str(tmp_path))
    _status.publish(session, _status.RECORDING)
    here = dict(_status._states)
    monkeypatch.setattr(_status, "_states", {})  # another process
    assert _status.sessions() == []
    wanted = {"folder": session, "state": _status.RECORDING, "ranks": []}
    assert _status.sessions(str(tmp_path)) == [wanted]
    _status.publish(session, _status.COMPLETE)
    monkeypatch.setattr(_status, "_states", here)
    assert _status.sessions() == [{**wanted, "state": _status.COMPLETE}]


def test_the_engine_ends_a_session_that_no_front_end_takes_part_in(tmp_path, monkeypatch, capsys):
    """Of several engines the last; with a front-end none of them does."""
    summed_up = []
    monkeypatch.setattr(_capture, "analyse", summed_up.append)
    monkeypatch.setenv("VLLM_USE_RUST_FRONTEND", "1")
    session = _session.begin(str(tmp_path), None, 0)
    monkeypatch.setattr(_session, "_number", 0)  # another process
    assert _session.begin(str(tmp_path), None, 1) == session
    _alone.finish(session, 1)
    assert not summed_up
    _alone.finish(session, 0)
    _alone.finish(session, 0)
    assert summed_up == [session]
    (line,) = capsys.readouterr().err.splitlines()
    assert session in line and "Rust program (VLLM_USE_RUST_FRONTEND=1)" in line
    second = _session.begin(str(tmp_path), None, 0)
    _session.join_front_end(second)
    _alone.finish(second, 0)
    assert summed_up == [session]


@pytest.mark.parametrize(("words", "file", "expected"), [
    (["vllm", "serve", "m", "--headless"], "", True), (["vllm", "serve", "m"], "", False),
    (["vllm", "serve", "m", "--config", "f"], "\nheadless: true", True),
    (["vllm", "serve", "m", "--config", "f"], "\nheadless: false", False),
])  # fmt: skip
def test_engines_without_a_front_end_are_known_by_their_command(words, file, expected):
    assert _alone.is_headless(words, file) is expected


def test_engines_of_a_server_share_a_session_and_those_of_a_program_do_not(tmp_path, monkeypatch):
    folder = str(tmp_path)
    first = _session.begin(folder, None, 0)
    monkeypatch.setattr(_session, "_number", 0)  # another process
    assert _session.begin(folder, None, 1) == first
    monkeypatch.setattr(_session, "_number", 0)
    second = _session.begin(folder, "mine", 0)
    assert second != first and _session.current(folder) == second
