"""Whatever a configuration holds that nobody reads is named, with what was probably meant."""

import json

import pytest
from sonde.torch.precision import _config

LOAD = {"path": "/", "modules": ["Module.a.B.forward.0"]}
UNREAD = [
    ({"steps": [1]}, "'steps' in the configuration", "did you mean 'step'?"),
    ({"STEP": [1]}, "'STEP' in the configuration", "did you mean 'step'?"),
    ({"dumpPath": "x"}, "'dumpPath' in the configuration", "did you mean 'dump_path'?"),
    ({"output_path": "x"}, "'output_path' in the configuration", "did you mean 'dump_path'?"),
    ({"stat": {}}, "'stat' in the configuration", "did you mean 'statistics'?"),
    ({"foo": 1}, "'foo' in the configuration", "known are task, dump_path, rank"),
    ({"list": ["a"]}, "'list' in the configuration", "belongs into the block of the task"),
    ({"lists": ["a"]}, "'lists' in the configuration", "'list' in the block of the task?"),
    ({"seed": 3}, "'seed' in the configuration", "call seed_all(seed)"),
    ({"is_deterministic": True}, "'is_deterministic'", "call seed_all(seed, mode=True)"),
    ({"enable_dataloader": True}, "'enable_dataloader'", "call start(), stop() and step()"),
    ({"statistics": {"List": []}}, "'List' in 'statistics'", "did you mean 'list'?"),
    ({"statistics": {"scop": []}}, "'scop' in 'statistics'", "did you mean 'scope'?"),
    ({"statistics": {"level": "L0"}}, "'level' in 'statistics'", "belongs outside of that block"),
    ({"statistics": {"levels": "L0"}}, "'levels'", "did you mean 'level' outside of that block?"),
    ({"statistics": {"foo": 1}}, "'foo' in 'statistics'", "known are scope, list"),
    ({"tensor": {"lits": []}}, "'lits' in 'tensor'", "did you mean 'list'?"),
    ({"statistics": {"slice": [{"axis": 0}]}}, "'axis' in 'slice' of", "did you mean 'dim'?"),
    ({"statistics": {"slice": [{"start": 0}]}}, "'start' in 'slice' of", "did you mean 'begin'?"),
    ({"load": {**LOAD, "steps": [1]}}, "'steps' in 'load'", "did you mean 'step'?"),
    ({"requests": {"id": []}}, "'id' in 'requests'", "did you mean 'ids'?"),
    ({"white_list": ["matmul"]}, "'white_list' in the configuration", "the block 'acc_check'"),
    ({"acc_check": {"whitelist": []}}, "'whitelist' in 'acc_check'", "did you mean 'white_list'?"),
    ({"tensor": {"list": ["a"]}}, "the block 'tensor' has no effect", "the task is 'statistics'"),
    ({"statistics": {"diff_nums": 2}}, "'diff_nums'", "for the task tensor or diff_check"),
    ({"statistics": {"bench_path": "x"}}, "'bench_path'", "for the task tensor or diff_check"),
    ({"statistics": {"overflow_nums": 2}}, "'overflow_nums'", "overflow_check or nan_watch"),
]
# Templates, other tools' blocks, comments: nothing to be reported of them.
QUIET = [
    {"statistics": {"scope": [], "list": []}, "tensor": {"list": [], "data_mode": ["all"]}},
    {"acc_check": {"white_list": [], "is_online": False}, "free_benchmark": {"fuzz_level": "L1"}},
    {"task": "structure", "level": "L0", "statistics": {"summary_mode": "statistics"}},
    {"statistics": {"device": "host", "file_format": "npy"}, "_comment": "mine", "//": "this, too"},
    {"other_tool": {"a": 1}},
    {"seed": None, "is_deterministic": False, "enable_dataloader": False},
]
REFUSED = [
    ({"task": "Tensor"}, "(it is 'Tensor'; did you mean 'tensor'?)"),
    ({"task": "nan_wach"}, "(it is 'nan_wach'; did you mean 'nan_watch'?)"),
    ({"task": ["tensor"]}, "(it is ['tensor'])"),
    ({"level": "l0"}, "(it is 'l0'; did you mean 'L0'?)"),
    ({"risk_level": "all"}, "did you mean 'ALL'?"),
    ({"statistics": {"summary_mode": "MD5"}}, "did you mean 'md5'?"),
    ({"statistics": {"data_mode": ["Forward"]}}, "did you mean 'forward'?"),
    ({"level": "x" * 5000}, "x..."),
    ({"task": "nan_watch", "nan_watch": {"scope": ["a", "b"]}}, "use list, not scope"),
]


def read(tmp_path, content):
    path = tmp_path / "config.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return _config.read(str(path), dump_path="dump")


@pytest.mark.parametrize(("content", "what", "advice"), UNREAD)
def test_what_has_no_effect(tmp_path, capsys, content, what, advice):
    read(tmp_path, content)
    (line,) = capsys.readouterr().err.splitlines()
    assert what in line and advice in line


@pytest.mark.parametrize("content", QUIET)
def test_what_is_left_alone(tmp_path, capsys, content):
    read(tmp_path, content)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("content", "text"), REFUSED)
def test_a_refused_value_and_the_one_meant(tmp_path, content, text):
    with pytest.raises(Exception) as caught:
        read(tmp_path, content)
    assert text in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_key_that_stands_twice(tmp_path, capsys):
    assert read(tmp_path, '{"step": [0], "step": [1]}').step == [1]
    (line,) = capsys.readouterr().err.splitlines()
    assert "'step' is set twice" in line


def test_warnings_come_before_the_refusal(tmp_path, capsys):
    path = tmp_path / "config.json"
    path.write_text('{"dumppath": "dump"}')
    with pytest.raises(Exception, match="dump_path not found"):
        _config.read(str(path))
    first, second = capsys.readouterr().err.splitlines()
    assert "did you mean 'dump_path'?" in first and "[ERROR]" in second
