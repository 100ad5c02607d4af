"""What is changed in a worker, with classes shaped like vLLM's; needs no vLLM."""

from types import SimpleNamespace

import pytest
from sonde._inject import _after_import
from sonde.vllm import _marks, _worker


@pytest.fixture(name="ranges")
def watch_ranges(monkeypatch):
    """The names of the ranges, in the order in which they begin."""
    names = []

    class Range:
        def __init__(self, _, name):
            names.append(name)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            names.append("end")

    monkeypatch.setattr(_marks, "recorder", lambda: object())
    monkeypatch.setattr(_marks, "Range", Range)
    return names


class Runner:
    """As vLLM's model runner."""

    def _dummy_run(self, num_tokens, is_graph_capturing=False):
        return num_tokens, is_graph_capturing


class Worker:
    """As vLLM's worker."""

    def __init__(self, runner):
        self.model_runner = runner

    def execute_model(self, scheduled):
        return scheduled.total_num_scheduled_tokens

    def execute_dummy_batch(self):
        return self.model_runner._dummy_run(1)


def test_made_up_runs_are_ranges_and_no_steps(ranges):
    steps = []
    runner, worker = type("Mine", (Runner,), {}), type("Mine", (Worker,), {})
    _worker.change_runner(SimpleNamespace(GPUModelRunner=runner))
    _worker.change_worker(SimpleNamespace(Worker=worker), steps.append, lambda: None)
    one = runner()
    assert one._dummy_run(2048) == (2048, False)
    assert one._dummy_run(8, is_graph_capturing=True) == (8, True)
    assert worker(one).execute_dummy_batch() == (1, False)
    one._dummy_run(4)
    assert [name for name in ranges if name != "end"] == [
        "warm-up", "graph capture", "dummy batch", "warm-up",
    ]  # fmt: skip
    assert not steps


def test_nothing_is_told_while_nothing_is_recorded(ranges, monkeypatch):
    monkeypatch.setattr(_marks, "recorder", lambda: None)
    runner = type("Mine", (Runner,), {})
    _worker.change_runner(SimpleNamespace(GPUModelRunner=runner))
    assert runner()._dummy_run(3) == (3, False)
    assert not ranges


def test_a_module_may_be_changed_by_several(tmp_path, monkeypatch):
    (tmp_path / "changed_by_two.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    order = []

    def first(_):
        order.append(1)

    _after_import.when_imported("changed_by_two", first)
    _after_import.when_imported("changed_by_two", lambda module: order.append(module.__name__))
    _after_import.when_imported("changed_by_two", first)
    __import__("changed_by_two")
    assert order == [1, "changed_by_two"]
