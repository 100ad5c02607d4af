"""Memory: allocator events against the allocator and beside torch.profiler, and pauses of Python's
garbage collector."""

import gc
import threading

import harness
import torch
from capture_reader import GC
from torch.profiler import ProfilerActivity, profile

BLOCK = 1 << 20


def test_allocation_and_release():
    with harness.record(harness.MEMORY) as session:
        block = torch.empty(BLOCK, dtype=torch.uint8)
        address = block.data_ptr()
        del block
    events = [event for event in session.capture.memory if event.pointer == address]
    assert [event.size for event in events] == [BLOCK, -BLOCK]
    assert events[0].total - events[1].total == BLOCK
    assert all(event.device_type == 0 for event in events)


def test_totals_follow_the_events():
    with harness.record(harness.MEMORY) as session:
        blocks = [torch.empty(BLOCK + i, dtype=torch.uint8) for i in range(20)]
        del blocks[::2]
        blocks += [torch.empty(3 * BLOCK, dtype=torch.uint8)]
    events = session.capture.memory
    for before, after in zip(events, events[1:]):
        assert after.total == before.total + after.size
    live = sum(event.size for event in events)
    assert events[-1].total - (events[0].total - events[0].size) == live
    assert live == sum(block.numel() for block in blocks)


def test_all_threads():
    def work():
        for _ in range(50):
            torch.empty(BLOCK, dtype=torch.uint8)

    with harness.record(harness.MEMORY) as session:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    taken = [event for event in session.capture.memory if event.size == BLOCK]
    assert len(taken) == 200
    assert len({event.thread for event in taken}) == 4
    assert sum(event.size for event in session.capture.memory) == 0


def test_torch_profiler_sees_the_same():
    with harness.record(harness.MEMORY) as session:
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as theirs:
            blocks = [torch.empty(BLOCK, dtype=torch.uint8) for _ in range(5)]
        del blocks
    events = theirs.profiler.kineto_results.events()
    sizes = [event.nbytes() for event in events if event.name() == "[memory]"]
    assert sizes.count(BLOCK) == 5
    assert len([event for event in session.capture.memory if event.size == BLOCK]) == 5


def test_nothing_without_the_switch():
    with harness.record(harness.OPS) as session:
        torch.empty(BLOCK, dtype=torch.uint8)
    assert session.capture.memory == []


def test_torch_is_left_as_it_was():
    """After a session torch's own profiler alone still sees memory, and we nothing."""
    with harness.record(harness.MEMORY):
        torch.empty(BLOCK)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as theirs:
        torch.empty(BLOCK, dtype=torch.uint8)
    events = theirs.profiler.kineto_results.events()
    assert [e.nbytes() for e in events if e.name() == "[memory]"].count(BLOCK) == 1


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
