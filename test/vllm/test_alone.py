"""Sessions that an engine ends itself, since no front-end with Sonde in it takes part. Needs no
vLLM."""

import os
from concurrent.futures import Future

import pytest
from sonde.vllm import _alone, _capture, _session, _status


@pytest.fixture(name="session")
def make_session(tmp_path, monkeypatch, capsys):  # which takes what the begin prints, too
    """One that was begun by the engine of a Rust front-end; nothing parses it."""
    monkeypatch.setenv("VLLM_USE_RUST_FRONTEND", "1")
    monkeypatch.setattr(_alone, "_reported", False)
    monkeypatch.setattr(_alone, "_answers_later", False)
    monkeypatch.setattr(_capture.options, "wait", True)
    parse = lambda session: _status.publish(session, _status.PARSING)  # noqa: E731
    monkeypatch.setattr(_capture, "analyse", parse)
    session = _session.begin(str(tmp_path))
    _alone.begin(session)
    return session


def engine_with(invoke):
    """What a release does for a call: a result, or later where that is a promise."""
    answers = []

    def original(name, get_result, output):
        result = get_result()
        if isinstance(result, Future):
            result.add_done_callback(lambda done: call(name, done.result, output))
        else:
            answers.append((name, result, output))

    call = invoke(original)
    return call, answers


def stop(session, result):
    def profile():
        _alone.finish(session, 0)
        return result

    return profile


def test_a_stop_is_answered_when_the_files_are_there(session, capsys):
    call, answers = engine_with(_alone.answer_later)
    call("profile", stop(session, "stopped"), 1)
    call("is_sleeping", lambda: False, 2)
    assert answers == [("is_sleeping", False, 2)], "the engine goes on"
    _status.publish(session, _status.COMPLETE)
    while len(answers) < 2:
        os.sched_yield()
    assert answers[1] == ("profile", "stopped", 1)
    call("profile", lambda: "again", 3)  # nothing ended with it
    assert answers[2] == ("profile", "again", 3)
    assert "has no effect" not in capsys.readouterr().err


def test_an_engine_that_cannot_answer_later_reports_it(session, capsys):
    _alone.finish(session, 0)
    assert "--profile-wait has no effect, since this release" in capsys.readouterr().err


def test_the_state_of_a_session_is_in_its_folder(session, capsys):
    state = os.path.join(session, "session.state")
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "/profile_status" in line]
    assert "Rust program" in line and state in line and "recording, parsing, complete" in line
    with open(state) as file:
        assert file.read() == "recording\n"
    _alone.begin(session)
    assert "/profile_status" not in capsys.readouterr().err, "once"
