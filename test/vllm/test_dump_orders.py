"""Which engine steps an order dumps; needs no vLLM."""

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from sonde._inject import _dump_control
from sonde._inject._dump_control import address_of
from sonde.vllm import _dump, _requests


class Engine:
    """Steps in the form of vLLM's scheduler: step({"a": 9}, new={"a": [prompt]})."""

    def __init__(self, *orders):
        self.selection = _requests.Selection()
        for order in orders:
            self.selection.order(_requests.read_order(order))
        self.computed = {}

    def step(self, tokens, new=None, finished=()):
        new = new or {}
        data = SimpleNamespace(
            num_scheduled_tokens=tokens,
            finished_req_ids=set(finished),
            scheduled_new_reqs=[
                SimpleNamespace(
                    req_id=name,
                    prompt_token_ids=prompt,
                    num_computed_tokens=self.computed.get(name, 0),
                )  # fmt: skip
                for name, prompt in new.items()
            ],
            scheduled_cached_reqs=SimpleNamespace(
                req_ids=[name for name in tokens if name not in new],
                num_computed_tokens=[self.computed[name] for name in tokens if name not in new],
            ),
        )
        wanted = self.selection.wants(data)
        for name, count in tokens.items():
            self.computed[name] = self.computed.get(name, 0) + count
        return wanted


def test_by_id():
    engine = Engine({"ids": ["cmpl-7c"]})
    assert not engine.step({"cmpl-1-0": 3}, {"cmpl-1-0": [1, 2, 3]})
    assert engine.step({"cmpl-1-0": 1, "cmpl-7c-0": 4}, {"cmpl-7c-0": [1, 2, 3, 4]})
    assert engine.step({"cmpl-1-0": 1, "cmpl-7c-0": 1})
    assert not engine.step({"cmpl-1-0": 1}, finished=["cmpl-7c-0"])


def test_the_next_requests_only():
    engine = Engine({"next": 1})
    assert engine.step({"a": 2}, {"a": [5, 6]})
    assert engine.step({"a": 1, "b": 2}, {"b": [5, 6]})  # a is still under way
    assert not engine.step({"b": 1}, finished=["a"])
    assert engine.selection.is_idle and engine.selection.chosen == 1


def test_a_resumed_request_is_not_a_next_one():
    engine = Engine()
    engine.step({"a": 2}, {"a": [5, 6]})
    engine.selection.order(_requests.read_order({}))
    assert not engine.step({"a": 2}, {"a": [5, 6]})  # preempted, and scheduled as new
    assert engine.step({"b": 2}, {"b": [5, 6]})


def test_by_the_begin_of_the_prompt():
    engine = Engine({"prompt": [5, 6]})
    assert not engine.step({"a": 3}, {"a": [5, 7, 6]})
    assert not engine.step({"c": 1}, {"c": [5]})
    assert engine.step({"b": 3}, {"b": [5, 6, 7]})


def test_the_first_tokens_only():
    engine = Engine({"next": 1, "tokens": 5})
    assert engine.step({"a": 4}, {"a": [1, 2, 3, 4]})
    assert engine.step({"a": 1})
    assert not engine.step({"a": 1})


def test_ranks_begin_together():
    engine = Engine({"next": 1, "from_step": 2})
    assert not engine.step({"a": 1}, {"a": [1]})
    assert engine.step({"b": 1}, {"b": [1]})


@pytest.mark.parametrize(
    ("order", "problem"),
    [
        ([], "must be an object"),
        ({"id": ["x"]}, "id is not known"),
        ({"ids": "x"}, "ids must be a list of texts"),
        ({"prompt": ["x"]}, "prompt must be a list of token numbers"),
        ({"next": 0}, "next must be a number of at least 1"),
        ({"tokens": True}, "tokens must be a number of at least 1"),
    ],
)
def test_bad_orders(order, problem):
    with pytest.raises(ValueError, match=problem):
        _requests.read_order(order)


@pytest.mark.parametrize(
    ("additional", "problem"),
    [
        ({"dump_config": "x"}, "additional_config.dump_config must be a dict, got str."),
        ({"dump_config_path": 1}, "additional_config.dump_config_path must be a string, got int."),
        (
            {"dump_config": {}, "dump_config_path": "x"},
            "Only one of additional_config.dump_config_path or additional_config.dump_config "
            "can be set.",
        ),
    ],
)
def test_bad_configurations(additional, problem):
    with pytest.raises(ValueError) as raised:
        _dump.read_config(additional)
    assert str(raised.value) == problem


def test_addresses_of_ranks():
    assert address_of("http://127.0.0.1:9000", 0) == "http://127.0.0.1:9000"
    assert address_of("http://127.0.0.1:9000", 2) == "http://127.0.0.1:9002"
    assert address_of("http://127.0.0.1:0", 2) == "http://127.0.0.1:0"
    assert address_of("unix:/tmp/s", 1) == "unix:/tmp/s.1"


RANK = """
import sys
from types import SimpleNamespace
from sonde._inject import _dump_control
selection = SimpleNamespace(steps=4, is_running=False)
selection.order = lambda order: print(order["from_step"], flush=True)
_dump_control.listen(sys.argv[1], int(sys.argv[2]), 2, selection, lambda order: order)
sys.stdin.read()
"""


def test_an_order_reaches_all_ranks(tmp_path):
    """Who asks the first one: both dump from the same step on."""
    address, root = f"unix:{tmp_path}/c", Path(__file__).resolve().parents[2]
    home = root / "build" / os.environ.get("PRESET", "dev")
    variables = {**os.environ, "PYTHONPATH": str(root / "python"), "SONDE_HOME": str(home)}
    ranks = [
        subprocess.Popen([sys.executable, "-c", RANK, address, str(rank)], env=variables, text=True,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for rank in range(2)
    ]  # fmt: skip
    end = time.monotonic() + 60
    while not all((tmp_path / name).exists() for name in ("c", "c.1")):
        assert time.monotonic() < end and all(rank.poll() is None for rank in ranks)
        time.sleep(0.01)
    assert _dump_control._post(address, '{"next": 1}') == 200
    for rank in ranks:
        assert rank.stdout.readline() == "5\n"
        rank.communicate("")
