"""Ranges of Python functions: who calls whom, exceptions, generators, threads."""

import sys
import threading

import harness
import pytest
import torch
from capture_reader import PYTHON

OPTIONS = {"python_functions": True}


def inner():
    return torch.ones(2)


def outer():
    return [inner() for _ in range(3)]


def failing():
    raise ValueError("expected")


def generate():
    yield 1
    yield 2


def functions(session, name):
    return [r for r in session.capture.of(PYTHON) if r.name.endswith(f": {name}")]


def test_calls_nest():
    with harness.record(harness.OPS, OPTIONS) as session:
        outer()
    (call,) = functions(session, "outer")
    calls = functions(session, "inner")
    assert len(calls) == 3
    assert all(call.ticks <= c.ticks and c.end <= call.end for c in calls)
    assert call.name == f"{__file__}({outer.__code__.co_firstlineno}): outer"
    ones = session.capture.named("aten::ones")
    assert len(ones) == len(calls)
    assert all(c.ticks <= o.ticks and o.end <= c.end for c, o in zip(calls, ones))


def test_exceptions_generators_and_threads():
    with harness.record(harness.OPS, OPTIONS) as session:
        with pytest.raises(ValueError, match="expected"):
            failing()
        assert list(generate()) == [1, 2]
        thread = threading.Thread(target=outer)
        thread.start()
        thread.join()
    assert len(functions(session, "failing")) == 1
    assert len(functions(session, "generate")) == 3
    (call,) = functions(session, "outer")
    assert call.thread != functions(session, "failing")[0].thread
    ended = [r for r in session.capture.of(PYTHON) if r.dur < 1 << 40]
    assert len(session.capture.of(PYTHON)) - len(ended) < 20  # those that stop the session


def test_off_by_default_and_removed():
    with harness.record(harness.OPS) as session:
        outer()
    assert session.capture.of(PYTHON) == []
    with harness.record(harness.OPS, OPTIONS):
        outer()
    with harness.record(harness.OPS) as session:
        outer()
    assert session.capture.of(PYTHON) == []
    assert sys.getprofile() is None


def test_a_profiler_that_is_there_is_left_alone():
    seen = []

    def theirs(frame, event, argument):
        seen.append(frame.f_code.co_name)

    sys.setprofile(theirs)
    try:
        with harness.record(harness.OPS, OPTIONS) as session:
            outer()
        assert sys.getprofile() is theirs
    finally:
        sys.setprofile(None)
    assert "outer" in seen
    assert session.capture.of(PYTHON) == []
    assert any("another profiler" in issue for issue in session.capture.issues)
