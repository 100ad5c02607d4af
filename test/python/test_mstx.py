"""Markers of a program's own: what is recorded, what is refused, nesting across domains."""

import asyncio
import re
import threading

import capture_reader
import pytest
from sonde import _native, mstx

SPAN_END = 37  # record kinds of src/capture/format.h
FEATURES = _native.FEATURE_RECORDING | _native.FEATURE_MARKERS


@pytest.fixture(name="record")
def make_record(tmp_path):
    """record(function, **filters) records a call and returns its capture."""

    def record(function, **filters):
        recorder = _native.recorder()
        recorder.start(_native.SessionConfig(FEATURES, str(tmp_path), **filters))
        try:
            function()
        finally:
            path = recorder.stop()
        return capture_reader.read(path)

    return record


def by_name(capture):
    return {record.name: record for record in capture.records}


def test_nothing_happens_without_a_recording():
    assert mstx.range_start("x") == 0
    assert mstx.range_push("x") == -1
    assert mstx.range_pop() == -1
    mstx.mark("x")
    mstx.range_end(0)


def test_marks_and_ranges(record):
    def program():
        mstx.mark("here")
        number = mstx.range_start("there", domain="mine")
        assert number >= 1
        thread = threading.Thread(target=mstx.range_end, args=(number, "mine"))
        thread.start()
        thread.join()

    capture = record(program)
    records = by_name(capture)
    assert records["here"].kind == capture_reader.MARK
    assert capture.domains[records["there"].domain] == "mine"
    begin, end = capture.named("there")[0], capture.of(SPAN_END)[0]
    assert (begin.link, begin.ticks <= end.ticks) == (end.link, True)


def test_messages_that_differ_each_time(record, tmp_path):
    """They are of the recording in which they came: later ones hold nothing of them."""

    def program(number):
        for i in range(500):
            mstx.mark(f"session {number} loss {i}")
            with mstx.annotate(f"session {number} step {i}"):
                mstx.range_push(f"session {number} part {i}")
                mstx.range_pop()

    for number in range(3):
        capture = record(lambda number=number: program(number))
        marks = [r.name for r in capture.records if r.kind == capture_reader.MARK]
        assert marks == [f"session {number} loss {i}" for i in range(500)]
    dictionaries = list(tmp_path.glob("*_ascend_pt/SONDE/dictionary_*"))
    assert len(dictionaries) == 3
    for file in dictionaries:
        reported = re.findall(rb"session (\d) (?:loss|step|part)", file.read_bytes())
        assert len(reported) == 1500 and len(set(reported)) == 1


def test_nesting(record):
    def program():
        assert mstx.range_push("outer") == 0
        assert mstx.range_push("inner") == 1
        assert mstx.range_pop() == 1
        assert mstx.range_pop() == 0
        assert mstx.range_pop() == -1

    records = by_name(record(program))
    outer, inner = records["outer"], records["inner"]
    assert outer.ticks <= inner.ticks and inner.end <= outer.end


def test_domains_that_interleave_still_nest(record):
    def program():
        assert mstx.range_push("a", domain="one") == 0
        assert mstx.range_push("b", domain="two") == 0
        assert mstx.range_pop("one") == 0
        assert mstx.range_pop("one") == -1
        assert mstx.range_pop("two") == 0

    records = by_name(record(program))
    assert records["a"].ticks <= records["b"].ticks
    assert records["b"].end <= records["a"].end


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, {"a", "b", "plain"}),
        ({"domain_include": ["one"]}, {"a"}),
        ({"domain_exclude": ["one"]}, {"b", "plain"}),
    ],
)
def test_domain_filters(record, filters, expected):
    def program():
        mstx.mark("a", domain="one")
        mstx.mark("b", domain="two")
        mstx.mark("plain")

    assert set(by_name(record(program, **filters))) == expected


def test_decorators(record):
    @mstx.mstx_range("decorated")
    def decorated():
        return 7

    @mstx.annotate()
    def named_by_itself():
        raise KeyError("x")

    def program():
        assert decorated() == 7
        with pytest.raises(KeyError):
            named_by_itself()
        with mstx.annotate("block", domain="d"):
            pass

    records = by_name(record(program))
    assert {"decorated", "named_by_itself", "block"} <= set(records)
    assert records["named_by_itself"].dur != capture_reader.UNFINISHED


def test_texts_that_differ_are_not_all_remembered(record, monkeypatch):
    monkeypatch.setattr(_native, "_MAX_NAMES", 100)
    texts = [f"request {number} done" for number in range(350)]

    def program():
        for text in texts:
            mstx.mark(text)
            mstx.mark("each time")

    marks = [mark.name for mark in record(program).records]
    assert sorted(marks) == sorted(texts + ["each time"] * 350)
    assert len(_native.recorder()._names) <= 100


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: mstx.mark(""), "Invalid message for mstx.mark function. "
                                "Please provide a valid message string."),
        (lambda: mstx.mark(3), "Invalid message for mstx.mark function."),
        (lambda: mstx.range_start("x", domain=3),
         "Invalid domain for mstx.range_start func. Please input valid domain string."),
        (lambda: mstx.range_push("x", stream=3),
         "Invalid stream for mstx.range_push func. Please input valid stream."),
        (lambda: mstx.range_end("x"),
         "Invalid message for mstx.range_end function. "
         "Please provide the return value from mstx.range_start."),
    ],
)  # fmt: skip
def test_wrong_arguments(call, text):
    with pytest.warns(UserWarning) as caught:
        call()
    assert str(caught[0].message).startswith(text)


def spans(capture):
    """Name to begin and end of the ranges that may end anywhere."""
    ends = {record.link: record for record in capture.of(SPAN_END)}
    begins = [record for record in capture.records if record.name and record.link in ends]
    return {begin.name: (begin.ticks, ends[begin.link].ticks) for begin in begins}


def test_tasks_push_and_pop_their_own(record):
    """Two tasks of one thread take turns: each pop ends what its own task pushed."""

    async def job(name, order, mine, others):
        await mine.wait()
        order.append(mstx.range_push(f"outer {name}"))
        order.append(mstx.range_push(f"inner {name}"))
        others.set()
        mine.clear()
        await mine.wait()
        order.append(mstx.range_pop())
        order.append(mstx.range_pop())
        order.append(mstx.range_pop())
        others.set()

    async def main():
        first, second, orders = asyncio.Event(), asyncio.Event(), ([], [])
        first.set()
        await asyncio.gather(job("a", orders[0], first, second), job("b", orders[1], second, first))
        return orders

    orders = []

    def program():
        mstx.range_push("around")
        orders.extend(asyncio.run(main()))
        mstx.range_pop()

    capture = record(program)
    assert orders == [[0, 1, 1, 0, -1]] * 2
    found = spans(capture)
    assert set(found) == {"outer a", "inner a", "outer b", "inner b"}
    # a begins and ends first: the ranges cross, and none has the other's end.
    assert found["outer a"][0] < found["outer b"][0] < found["outer a"][1] < found["outer b"][1]
    assert found["inner a"][1] <= found["outer a"][1]
    (around,) = capture.named("around")
    assert around.ticks < found["outer a"][0] and around.end > found["outer b"][1]


def test_decorated_coroutines_last_until_they_are_done(record):
    @mstx.annotate("annotated")
    async def first():
        await asyncio.sleep(0.02)
        return 1

    @mstx.mstx_range("ranged")
    async def second():
        await asyncio.sleep(0.01)
        return 2

    async def main():
        return await asyncio.gather(first(), second())

    results = []
    capture = record(lambda: results.extend(asyncio.run(main())))
    assert results == [1, 2]
    found = spans(capture)
    assert found["annotated"][0] <= found["ranged"][0] < found["ranged"][1] < found["annotated"][1]
