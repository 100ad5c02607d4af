"""Whatever stands in a configuration is read, or refused with a sentence: nothing else comes."""

import json
import random

import pytest
from sonde.torch.precision import _config, _errors, _known_keys

# fmt: off
VALUES = [
    None, True, 0, -1, 3, 10**18, -(10**18), 1.5, 1e308, float("nan"), float("inf"), "", "x",
    "all", "1-2", "2-1", "1-", "-", "0-999999999999", "a\0b", "\ud800", "x" * 5000, [], [None],
    [True], [-1], [10**18], ["1-3"], ["x", 1], [[]], [{}], [{"dim": None}], ["all", "all"],
    [{"dim": 0, "start": "a", "end": []}], {}, {"x": 1}, {"scope": {}}, {"list": [None]},
]
# fmt: on
TASKS = [*_config.TASKS, *_config.MORE_TASKS]


def read_or_refused(path):
    """Whether the configuration was taken."""
    try:
        _config.read(str(path))
        return True
    except Exception as error:
        # Those of the reference tool: it has classes of its own, and plain ones.
        known = type(error) is Exception or type(error).__module__ == _errors.__name__
        if not known:
            raise AssertionError(f"{type(error).__name__} for {path.read_bytes()[:300]}") from error
        assert str(error).strip()
        return False


def read(content, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(content))
    read_or_refused(path)


@pytest.mark.parametrize("key", _known_keys.COMMON)
def test_each_key_with_each_value(key, tmp_path):
    for value in VALUES:
        read({"task": "statistics", "dump_path": str(tmp_path / "dump"), key: value}, tmp_path)


@pytest.mark.parametrize("task", TASKS)
def test_each_key_of_each_task(task, tmp_path):
    for key in _known_keys.OF_TASKS:
        for value in VALUES:
            read({"task": task, "dump_path": str(tmp_path / "dump"), task: {key: value}}, tmp_path)


def test_several_at_once(tmp_path):
    chance = random.Random(7)
    for _ in range(2000):
        task = chance.choice(TASKS)
        content = {"task": task, "dump_path": str(tmp_path / "dump")}
        for _ in range(chance.randrange(4)):
            content[chance.choice(_known_keys.COMMON)] = chance.choice(VALUES)
        keys = chance.sample(_known_keys.OF_TASKS, chance.randrange(4))
        content[task] = {key: chance.choice(VALUES) for key in keys}
        read(content, tmp_path)


def test_texts_that_are_no_configuration(tmp_path):
    path = tmp_path / "config.json"
    whole = json.dumps({"task": "tensor", "step": [1, "3-5"], "tensor": {"scope": ["a", "b"]}})
    texts = ["", "[]", "3", "null", '"x"', "{", "[" * 100_000, '{"a": 1e999999}', "\ufeff{}"]
    texts += [whole[:length] for length in range(len(whole))]
    for text in texts:
        path.write_text(text)
        read_or_refused(path)
    path.write_bytes(b"\xff\xfe\x00{")
    assert not read_or_refused(path)
