"""Python: call stacks against Python's own report, and ranges of its functions."""

import linecache
import sys
import threading

import harness
import pytest
import torch
from capture_reader import OP, PYTHON, USER


def deep(depth):
    if depth == 0:
        return torch.ones(3)  # the line of the operator
    return deep(depth - 1)


def test_frames_of_an_operator():
    with harness.record(harness.OPS | harness.STACKS) as session:
        deep(5)
    record = session.capture.named("aten::ones")[0]
    stack = session.capture.stacks[record.link]
    assert [frame[0] for frame in stack[:7]] == ["deep"] * 6 + ["test_frames_of_an_operator"]
    assert all(frame[1] == __file__ for frame in stack[:7])
    assert "the line of the operator" in linecache.getline(*stack[0][1:])
    assert len(stack) > 10


def test_only_outermost_operators_and_user_scopes():
    with harness.record(harness.OPS | harness.STACKS) as session:
        with torch.profiler.record_function("scope"):
            torch.nn.functional.linear(torch.ones(2, 2), torch.ones(2, 2))
    linear = session.capture.named("aten::linear")[0]
    inner = [r for r in session.capture.of(OP) if linear.ticks < r.ticks and r.end <= linear.end]
    assert inner and all(record.link == 0 for record in inner)
    assert linear.link != 0
    assert session.capture.of(USER)[0].link != 0


def test_same_place_same_stack():
    with harness.record(harness.OPS | harness.STACKS) as session:
        for _ in range(500):
            deep(3)
    assert len({record.link for record in session.capture.named("aten::ones")}) == 1


def test_code_that_comes_and_goes():
    """Code objects are freed and their addresses used again; names must stay right."""
    with harness.record(harness.OPS | harness.STACKS) as session:
        for i in range(300):
            space = {"torch": torch}
            exec(f"def made_{i}():\n    return torch.ones({i % 7 + 1})\n", space)  # noqa: S102
            space[f"made_{i}"]()
    records = session.capture.named("aten::ones")
    found = [session.capture.stacks[record.link][0][0] for record in records]
    assert found == [f"made_{i}" for i in range(300)]


def test_threads_generators_and_callbacks():
    def generate():
        for _ in range(3):
            yield torch.ones(2)

    def work():
        list(generate())
        sorted([2, 1], key=lambda value: torch.full((1,), value).item())

    with harness.record(harness.OPS | harness.STACKS) as session:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    ones = [session.capture.stacks[r.link] for r in session.capture.named("aten::ones")]
    assert [[f[0] for f in stack[:2]] for stack in ones] == 3 * [["generate", "work"]]
    full = [session.capture.stacks[r.link] for r in session.capture.named("aten::full")]
    assert [[f[0] for f in stack[:2]] for stack in full] == 2 * [["<lambda>", "work"]]


def test_backward_threads_have_none_or_their_callers():
    a = torch.ones(3, requires_grad=True)
    with harness.record(harness.OPS | harness.STACKS) as session:
        (a * 2).sum().backward()
    assert session.capture.dropped == 0


def test_no_stacks_without_the_switch():
    with harness.record(harness.OPS) as session:
        deep(2)
    assert {record.link for record in session.capture.of(OP)} == {0}


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
