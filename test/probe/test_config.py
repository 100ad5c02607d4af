"""Wrong settings: the message that users of the reference tool know, before anything runs."""

import json

import pytest
from sonde.torch.precision import _config
from sonde.torch.precision._scope import Scope

WRONG = [
    ({"task": "x"}, "task is invalid, it should be one of"),
    ({"level": "L9"}, "level is invalid, it should be one of ['L0', 'L1', 'L2', 'mix', 'debug']"),
    ({"dump_path": 3}, "dump_path is invalid, it should be a string"),
    ({"rank": 3}, "rank is invalid, it should be a list"),
    ({"rank": [-1]}, "Each element of rank must be between 0 and 1000000, currently it is -1."),
    ({"rank": [True]}, "rank element True must be an integer or string."),
    ({"step": ["a"]}, 'The string parameter for step only supports formats like "3" or "3-5".'),
    ({"step": ["5-3"]}, "the left boundary (5) cannot be greater than the right boundary (3)."),
    ({"step": ["-3"]}, "The hyphen(-) must start and end with decimal numbers."),
    ({"step": ["3-2000000"]}, "The boundaries must fall within the range of [0, 1000000]."),
    ({"async_dump": 1}, "async_dump is invalid, it should be a boolean"),
    ({"extra_info": "x"}, "extra_info is invalid, it should be a boolean"),
    ({"precision": "x"}, "precision is invalid, it should be one of"),
    ({"risk_level": "x"}, "risk_level is invalid, it should be one of"),
    ({"statistics": {"scope": "x"}}, "scope is invalid, it should be a list[str]"),
    ({"statistics": {"list": [1]}}, "list is invalid, it should be a list[str]"),
    ({"statistics": {"summary_mode": "x"}}, "summary_mode is invalid, summary_mode is not in"),
    ({"statistics": {"data_mode": ["all", "input"]}}, "'all' cannot be combined"),
    ({"statistics": {"data_mode": ["x"]}}, "The element 'x' of data_mode ['x'] is not in"),
    ({"statistics": {"slice": 3}}, "slice is invalid, it should be a list"),
    ({"statistics": {"slice": [{"dim": "a"}]}}, "Field 'dim' in slice must be an integer, got str"),
    ({"statistics": {"slice": [{"dim": -1}]}}, "slice.dim cannot be negative, got -1"),
    (
        {"statistics": {"request_id": 1}},
        "request_id is invalid, it should be str, actual type=int.",
    ),
    ({"statistics": "x"}, "statistics is invalid, it should be an object"),
    ({"statistics": {"summary_mode": {}}}, "summary_mode is invalid, summary_mode is not in"),
    ({"dump_path": "a\0b"}, "dump_path is invalid, it must not hold a null character"),
    ({"async_dump": True, "task": "tensor"}, "the parameters list cannot be empty."),
    (
        {"async_dump": True, "statistics": {"summary_mode": "md5"}},
        "the parameters summary_mode cannot be md5.",
    ),
]


def write(tmp_path, content):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"dump_path": "dump", **content}))
    return str(path)


@pytest.mark.parametrize(("content", "text"), WRONG)
def test_refused(tmp_path, content, text):
    with pytest.raises(Exception) as caught:
        _config.read(write(tmp_path, content))
    assert text in str(caught.value)
    assert "无效参数" in str(caught.value)


def test_arguments_win(tmp_path):
    path = write(tmp_path, {"level": "L0", "step": [1]})
    config = _config.read(path, task="tensor", dump_path="other", level="mix", step=["2-4", 3])
    assert (config.task, config.dump_path, config.level) == ("tensor", "other", "mix")
    assert config.step == [2, 3, 4]


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("config.txt", "{}", "无效文件"),
        ("config.json", "{", "无效文件"),
        ("config.json", "[]", "无效文件"),
        ("config.json", "\xff", "无效文件"),
    ],
)
def test_unreadable_files(tmp_path, name, content, text):
    path = tmp_path / name
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(Exception) as caught:
        _config.read(str(path))
    assert text in str(caught.value)


def test_missing_file(tmp_path):
    with pytest.raises(Exception) as caught:
        _config.read(str(tmp_path / "none.json"))
    assert "非法文件路径" in str(caught.value)


@pytest.mark.parametrize(
    ("level", "scope", "text"),
    [
        ("L1", ["a"], "须传入长度为2的列表，实际长度为1."),
        ("L1", ["Module.a.B.forward.0", "Module.a.B.forward.1"], "要求格式为api完整命名"),
        ("L0", ["Torch.add.0.forward", "Torch.add.1.forward"], "要求格式为模块完整命名"),
        ("mix", ["x", "y"], "要求格式为api或模块完整命名"),
    ],
)
def test_wrong_scopes(level, scope, text):
    with pytest.raises(Exception) as caught:
        Scope(_config.Config(level=level, scope=scope))
    assert text in str(caught.value)


def test_scope_and_list():
    scope = Scope(
        _config.Config(
            level="L1", scope=["Torch.add.1.forward", "Torch.mul.0.forward"], parts=["add"]
        )
    )
    names = [
        "Torch.add.0",
        "Torch.add.1",
        "Torch.sub.0",
        "Torch.add.2",
        "Torch.mul.0",
        "Torch.add.3",
    ]
    wanted = [name for name in names if scope.wants(f"{name}.forward")]
    assert wanted == ["Torch.add.1", "Torch.add.2"]


def test_a_listed_module_opens_a_window():
    scope = Scope(_config.Config(level="mix", parts=["layer.1"]))
    assert not scope.wants("Torch.add.0.forward")
    scope.begin_module("Module.layer.1.Linear.forward.0")
    assert scope.wants("Torch.add.1.forward")
    scope.end_module("Module.layer.1.Linear.forward.0")
    assert not scope.wants("Torch.add.2.forward")


def test_risk_levels():
    focus = Scope(_config.Config(level="L1"))
    assert focus.wants("Functional.linear.0.forward")
    assert not focus.wants("Tensor.view.0.forward")
    core = Scope(_config.Config(level="mix", risk_level="CORE"))
    assert core.wants("Torch.matmul.0.forward")
    assert not core.wants("Functional.linear.0.forward")
    assert core.wants("Module.a.Linear.forward.0")


def test_folders_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    for folder, text in (("file/dump", "is not a directory"), ("x" * 300, "is too long")):
        with pytest.raises(Exception, match=text):
            _config.check_folder(str(tmp_path / folder))
    _config.check_folder(str(tmp_path / "mit Lücke" / "dump"))
    assert not (tmp_path / "mit Lücke").exists()
