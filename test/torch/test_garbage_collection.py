"""Pauses of Python's garbage collector."""

import gc

import harness
from capture_reader import GC


def make_garbage(count):
    for _ in range(count):
        cycle = []
        cycle.append(cycle)


def test_every_collection_with_threshold_zero():
    gc.disable()
    try:
        with harness.record(harness.OPS, {"gc_threshold_ms": 0}) as session:
            make_garbage(1000)
            collected = gc.collect()
            gc.collect(0)
    finally:
        gc.enable()
    records = session.capture.of(GC)
    assert [record.args["generation"] for record in records] == [2, 0]
    assert records[0].args["collected"] == collected >= 1000
    assert all(0 < record.dur < 1 << 40 for record in records)


def test_threshold():
    with harness.record(harness.OPS, {"gc_threshold_ms": 60000}) as session:
        make_garbage(1000)
        gc.collect()
    assert session.capture.of(GC) == []


def test_nothing_without_the_option_or_after():
    before = list(gc.callbacks)
    with harness.record(harness.OPS) as session:
        gc.collect()
    assert session.capture.of(GC) == []
    with harness.record(harness.OPS, {"gc_threshold_ms": 0.0}):
        assert len(gc.callbacks) == len(before) + 1
    assert gc.callbacks == before
