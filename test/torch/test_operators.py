"""Operators, autograd nodes and user scopes against torch's own records of the same steps."""

import asyncio
import collections
import threading
import time

import harness
import pytest
import torch
from capture_reader import (
    BACKWARD,
    COLLECTIVE,
    COMPILED,
    DATALOADER,
    FRAMEWORK,
    OP,
    OPTIMIZER,
    USER,
)
from torch.profiler import ProfilerActivity, profile

ALL = (OP, FRAMEWORK, BACKWARD, USER, OPTIMIZER, DATALOADER, COMPILED, COLLECTIVE)


def make_model():
    torch.manual_seed(7)
    return torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.LayerNorm(16), torch.nn.GELU(), torch.nn.Linear(16, 4)
    )


def train(model, steps):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    torch.manual_seed(11)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        with torch.profiler.record_function("forward", "details"):
            out = model(torch.randn(3, 8))
            loss = torch.nn.functional.cross_entropy(out, torch.tensor([0, 1, 2]))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_self_test_passes():
    report = harness.self_test()
    assert report["attached"]
    assert [check for check in report["checks"] if not check["ok"]] == []
    assert report["torch"] == torch.__version__
    assert all(report["records"].values())


def test_names_and_numbers_equal_torch_profiler():
    """Both observers look at the same steps at the same time."""
    model = make_model()
    train(model, 1)
    with harness.record() as session:
        with profile(activities=[ProfilerActivity.CPU]) as theirs:
            train(model, 2)
    events = theirs.profiler.kineto_results.events()
    expected = collections.Counter(event.name() for event in events)
    ours = collections.Counter(record.name for record in session.capture.of(*ALL))
    assert ours == expected
    assert sum(ours.values()) > 300
    assert session.capture.dropped == 0


def test_every_range_ends_and_nests():
    model = make_model()
    with harness.record() as session:
        train(model, 2)
    by_thread = collections.defaultdict(list)
    for record in session.capture.of(*ALL):
        assert record.dur < 1 << 40
        by_thread[record.thread].append(record)
    assert sum(map(len, by_thread.values())) > 300
    for records in by_thread.values():
        open_ends = []
        for record in sorted(records, key=lambda r: (r.ticks, -r.dur)):
            while open_ends and open_ends[-1] <= record.ticks:
                open_ends.pop()
            assert not open_ends or record.end <= open_ends[-1]
            open_ends.append(record.end)


def test_kinds():
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(4, 2)))
    with harness.record() as session:
        train(make_model(), 1)
        for _ in loader:
            pass
    names = {kind: {r.name for r in session.capture.of(kind)} for kind in ALL}
    assert "aten::addmm" in names[OP]
    assert "AddmmBackward0" in names[BACKWARD]
    assert "torch::autograd::AccumulateGrad" in names[BACKWARD]
    assert names[USER] == {"forward"}
    assert any(name.startswith("Optimizer.step#AdamW") for name in names[OPTIMIZER])
    assert any(name.startswith("enumerate(DataLoader)#") for name in names[DATALOADER])
    assert any(name.startswith("autograd::engine::evaluate_function") for name in names[FRAMEWORK])


def test_sequence_numbers_tie_backward_to_forward():
    a = torch.randn(4, 5, requires_grad=True)
    with harness.record() as session:
        products = [a.mm(torch.randn(5, 6)) for _ in range(5)]
        numbers = [product.grad_fn._sequence_nr() for product in products]
        total = sum(product.sum() for product in products)
        total.backward()
    forward = {r.sequence: r for r in session.capture.named("aten::mm") if r.sequence >= 0}
    assert len(numbers) == 5 and set(numbers) <= set(forward)
    backward = {r.sequence: r for r in session.capture.named("MmBackward0")}
    assert sorted(backward) == sorted(numbers)
    thread_numbers = {number for _, number, _ in session.capture.threads.values()}
    for number in numbers:
        assert backward[number].link in thread_numbers
        assert backward[number].link == session.capture.threads[forward[number].thread][1]


def test_losses_are_bit_identical():
    plain = train(make_model(), 5)
    everything = harness.OPS | harness.SHAPES | harness.STACKS | harness.MEMORY | harness.MODULES
    with harness.record(everything):
        recorded = train(make_model(), 5)
    assert plain == recorded


def test_other_threads_are_seen():
    def work():
        for _ in range(10):
            torch.ones(3).add(1)

    with harness.record() as session:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    adds = session.capture.named("aten::add")
    assert len(adds) == 30
    assert len({record.thread for record in adds}) == 3
    tids = [session.capture.threads[r.thread][0] for r in adds]
    assert len(set(tids)) == 3


def test_nothing_is_recorded_between_sessions():
    with harness.record() as first:
        torch.ones(2)
    torch.ones(2).add(1)
    with harness.record() as second:
        torch.ones(2)
    assert first.capture.named("aten::add") == []
    assert second.capture.named("aten::add") == []
    assert len(second.capture.named("aten::ones")) == 1


def test_ranges_open_at_start_and_stop():
    """A range open at start has no record; one open at stop is unfinished; neither disturbs."""
    outer = torch.profiler.record_function("open at start")
    inner = torch.profiler.record_function("open at stop")
    outer.__enter__()
    with harness.record() as first:
        torch.ones(2)
        inner.__enter__()
        outer.__exit__(None, None, None)
        torch.ones(2)
    with harness.record() as second:
        inner.__exit__(None, None, None)
        torch.ones(2)
    assert first.capture.named("open at start") == []
    assert [r.dur for r in first.capture.named("open at stop")] == [(1 << 48) - 1]
    assert len(first.capture.named("aten::ones")) == 2
    assert second.capture.named("open at stop") == []
    assert len(second.capture.named("aten::ones")) == 1


def test_names_of_scopes_are_of_their_session():
    """The numbers of texts that differ each time are used again by the next session, for others."""
    for session_number in range(3):
        texts = [f"session {session_number} step {i}" for i in range(300)] + ["the same"] * 3
        with harness.record() as session:
            for text in texts:
                with torch.profiler.record_function(text):
                    torch.ones(2)
        assert [r.name for r in session.capture.of(USER)] == texts
        assert len(session.capture.named("aten::ones")) == len(texts)


def test_user_scopes_that_end_out_of_order():
    with harness.record() as session:
        a = torch.profiler.record_function("a")
        b = torch.profiler.record_function("b")
        a.__enter__()
        b.__enter__()
        a.__exit__(None, None, None)
        torch.ones(2)
        b.__exit__(None, None, None)
        torch.zeros(2)
    records = {r.name: r for r in session.capture.records}
    a, b, ones = records["a"], records["b"], records["aten::ones"]
    assert a.ticks < b.ticks < a.end <= ones.ticks < ones.end <= b.end
    assert records["aten::zeros"].ticks >= max(records["a"].end, records["b"].end)


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_scope_that_ends_on_another_thread(goes_on):
    """It ends when it ended, on the track of the thread that opened it; what comes then is not in
    it. Its address may be that of a later scope."""
    took = []

    def end(scope):
        time.sleep(0.02)
        scope.__exit__(None, None, None)
        took.append(time.perf_counter_ns())

    with harness.record() as session:
        for i in range(3):
            scope = torch.profiler.record_function(f"crossing {i}")
            begun_ns = time.perf_counter_ns()
            scope.__enter__()
            torch.ones(2)
            thread = threading.Thread(target=end, args=(scope,))
            thread.start()
            thread.join()
            del scope
            took[-1] -= begun_ns
            time.sleep(0.01)
            if goes_on:
                torch.zeros(2)
    scopes = [r for r in session.capture.of(USER) if r.name.startswith("crossing")]
    assert [scope.name for scope in scopes] == [f"crossing {i}" for i in range(3)]
    ones = session.capture.named("aten::ones")
    assert len({record.thread for record in [*scopes, *ones]}) == 1
    ns_a_tick = (took[0] + 0.0) / max(scopes[0].dur, 1)
    for scope, took_ns, inside in zip(scopes, took, ones):
        assert scope.ticks <= inside.ticks and inside.end <= scope.end
        assert 0.5 * took_ns <= scope.dur * ns_a_tick <= 1.5 * took_ns
    for zeros in session.capture.named("aten::zeros"):
        assert not any(scope.ticks <= zeros.ticks < scope.end for scope in scopes)


def scopes_of_tasks(naps_ms):
    """Each task has a scope over its naps; the first to begin need not be the last to end. How long
    each of them took, by the program's own clock."""
    took_ns = {}

    async def job(name, nap_ms):
        begin_ns = time.perf_counter_ns()
        with torch.profiler.record_function(f"job {name}"):
            for _ in range(3):
                torch.ones(4).add(1)
                await asyncio.sleep(nap_ms / 1e3)
                with torch.profiler.record_function(f"turn of {name}"):
                    torch.ones(4).mul(2)
        took_ns[name] = time.perf_counter_ns() - begin_ns

    async def main():
        await asyncio.gather(*(job(name, nap) for name, nap in naps_ms.items()))

    asyncio.run(main())
    return took_ns


@pytest.mark.parametrize(
    "naps_ms", [{"a": 20, "b": 40}, {"a": 40, "b": 20}, {"a": 10, "b": 60, "c": 30}]
)
def test_scopes_of_tasks_that_take_turns(naps_ms):
    """Each end belongs to its own begin, whichever scope of the thread is innermost."""
    with harness.record() as session:
        with torch.profiler.record_function("around"):
            took_ns = scopes_of_tasks(naps_ms)
    took = {record.name: record for record in session.capture.of(USER)}
    ticks_per_ns = {name: took[f"job {name}"].dur / ns for name, ns in took_ns.items()}
    rate = max(ticks_per_ns.values())
    assert ticks_per_ns == pytest.approx(dict.fromkeys(took_ns, rate), rel=0.1), took
    assert took["around"].end >= max(record.end for record in took.values())
    assert sum(r.name.startswith("turn of") for r in session.capture.of(USER)) == 3 * len(naps_ms)


def test_a_scope_of_a_generator_that_is_closed_late():
    def numbers():
        with torch.profiler.record_function("numbers"):
            yield 1
            yield 2

    with harness.record() as session:
        generator = numbers()
        next(generator)
        with torch.profiler.record_function("consumer"):
            torch.ones(2).add(1)
            generator.close()
            torch.ones(2).mul(1)
    own, consumer = (session.capture.named(name)[0] for name in ("numbers", "consumer"))
    assert own.ticks < consumer.ticks < own.end < consumer.end


def test_attach_and_detach_while_threads_run(tmp_path):
    """The adapter leaves no callback behind and ends no range that is not its own."""
    stop = threading.Event()

    def work():
        a = torch.randn(8, 8, requires_grad=True)
        while not stop.is_set():
            a.mm(a).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    harness.start(harness.OPS, tmp_path)
    try:
        for _ in range(10000):
            assert harness.adapter.sonde_torch_detach() == 0
            assert harness.adapter.sonde_torch_attach(None) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        harness.stop()
    with harness.record() as session:
        torch.ones(2)
    assert len(session.capture.named("aten::ones")) == 1


def test_two_torch_profilers_beside_us():
    with harness.record(harness.OPS | harness.MEMORY) as session:
        for _ in range(2):
            with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as theirs:
                torch.ones(5).add(1)
            assert any(event.key == "aten::add" for event in theirs.key_averages())
    assert len(session.capture.named("aten::add")) == 2


def test_custom_operators_that_come_and_go():
    """The schema of an operator that is unloaded is freed; its name must not stick to the next."""
    for i in range(20):
        library = torch.library.Library(f"sonde_test_{i}", "DEF")
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x + x, "CPU")
        with harness.record() as session:
            getattr(torch.ops, f"sonde_test_{i}").twice(torch.ones(2))
        assert len(session.capture.named(f"sonde_test_{i}::twice")) == 1
        library._destroy()


@pytest.mark.skipif(not hasattr(torch, "compile"), reason="no torch.compile")
def test_compiled_region_is_named():
    model = torch.compile(make_model(), backend="aot_eager")
    model(torch.ones(2, 8))
    with harness.record() as session:
        model(torch.ones(2, 8))
    regions = session.capture.of(COMPILED)
    assert len(regions) == 1 and regions[0].name.startswith("Torch-Compiled Region")
