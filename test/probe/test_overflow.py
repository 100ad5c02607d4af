"""Tasks that look for NaN and infinity."""

import pytest

PROGRAM = """
import torch
from sonde.torch import PrecisionDebugger
debugger = PrecisionDebugger("config.json")
for step in range(3):
    debugger.start()
    x = torch.ones(2)
    y = torch.add(x, 1)
    z = torch.div(y, torch.zeros(2))
    torch.mul(z, 2)
    debugger.stop()
    debugger.step()
"""


def test_overflow_check_keeps_the_first(run_program, read_dump, tmp_path):
    done = run_program(PROGRAM, task="overflow_check", overflow_check={"overflow_nums": 1})
    assert "Torch.div.0.forward has NaN or infinity in its results" in done.stderr
    data = read_dump()["data"]
    assert list(data) == ["Torch.div.0.forward"]
    assert data["Torch.div.0.forward"]["input_args"][0]["Max"] == 2.0
    assert data["Torch.div.0.forward"]["output"][0]["Max"] == float("inf")
    (folder,) = (tmp_path / "dump" / "step0").iterdir()
    files = sorted(path.name for path in (folder / "dump_tensor_data").iterdir())
    assert files == [f"Torch.div.0.forward.{io}.pt" for io in ("input.0", "input.1", "output.0")]
    assert not (tmp_path / "dump" / "step1").exists()


def test_overflow_check_without_limit(run_program, read_dump):
    run_program(PROGRAM, task="overflow_check", overflow_check={"overflow_nums": -1})
    for step in range(3):
        assert list(read_dump(f"step{step}")["data"]) == [
            "Torch.div.0.forward",
            "Torch.mul.0.forward",
        ]


def test_nan_check_marks_every_call(run_program, read_dump):
    run_program(PROGRAM, task="nan_check")
    data = read_dump()["data"]
    assert data["Torch.add.0.forward"]["is_nan"] == 0
    assert data["Torch.div.0.forward"]["is_nan"] == 1
    assert "Max" not in data["Torch.div.0.forward"]["output"][0]


IN_PLACE = """
import torch
from sonde.torch import PrecisionDebugger
debugger = PrecisionDebugger("config.json")
debugger.start()
x = torch.tensor([1.0, 2.0])
x.div_(0)
torch.nan_to_num(x)
try:
    torch.matmul(x, torch.ones(3))
except RuntimeError:
    pass
y = torch.add(torch.ones(2), 1)
y[0] = float("nan")
torch.empty(2).fill_(1.0)
debugger.stop()
"""


def test_nan_check_looks_at_results_only(run_program, read_dump):
    run_program(IN_PLACE, task="nan_check")
    marks = {name: entry.get("is_nan") for name, entry in read_dump()["data"].items()}
    assert marks.pop("Torch.matmul.0.forward") is None  # it raised
    assert {name: mark for name, mark in marks.items() if mark} == {
        "Tensor.div_.0.forward": 1,
        "Tensor.__setitem__.0.forward": 1,  # gives nothing back: what it wrote to counts
    }
    assert marks["Torch.nan_to_num.0.forward"] == 0
    assert marks["Torch.add.0.forward"] == 0


def test_overflow_check_keeps_what_was_there_before_a_change(run_program, read_dump):
    run_program(IN_PLACE, task="overflow_check", overflow_check={"overflow_nums": -1})
    data = read_dump()["data"]
    assert list(data) == ["Tensor.div_.0.forward", "Tensor.__setitem__.0.forward"]
    assert data["Tensor.div_.0.forward"]["input_args"][0]["Max"] == 2.0
    assert data["Tensor.div_.0.forward"]["output"][0]["Max"] == float("inf")
    assert data["Tensor.__setitem__.0.forward"]["input_args"][0]["Max"] == 2.0
    assert data["Tensor.__setitem__.0.forward"]["output"] == [None]


TRAINING = """
import torch
from sonde.torch import PrecisionDebugger
debugger = PrecisionDebugger("config.json")
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
debugger.start(model=model)
y = model(torch.ones(1, 2))
torch.mul(y, torch.full((1, 2), float("inf"))).sum().backward()
debugger.stop()
"""


@pytest.mark.parametrize(
    ("mode", "keys"),
    [
        (["output"], {"forward": ["output", "is_nan"], "backward": ["output", "is_nan"]}),
        (["forward"], {"forward": ["input_args", "input_kwargs", "output", "is_nan"]}),
        (["backward"], {"backward": ["input", "output", "is_nan"]}),
    ],
)
def test_nan_check_keeps_to_data_mode(run_program, read_dump, mode, keys):
    run_program(TRAINING, task="nan_check", nan_check={"data_mode": mode})
    found = {}
    for name, entry in read_dump()["data"].items():
        found[name.rpartition(".")[2]] = list(entry)
    assert found == keys


def test_overflow_check_of_modules_and_their_gradients(run_program, read_dump):
    block = {"overflow_nums": -1, "data_mode": ["all"]}
    run_program(TRAINING, task="overflow_check", level="L0", overflow_check=block)
    data = read_dump()["data"]
    assert sorted(data) == [
        "Module.0.Linear.parameters_grad.0",
        "Module.1.ReLU.backward.0",  # inputs of the first module need no gradients
    ]
    gradients = data["Module.0.Linear.parameters_grad.0"]
    assert sorted(gradients) == ["bias", "weight"]
    assert [len(records) for records in gradients.values()] == [1, 1]


@pytest.mark.parametrize(("mode", "expected"), [("forward", False), ("backward", True)])
def test_overflow_check_keeps_to_data_mode(run_program, read_dump, mode, expected):
    block = {"overflow_nums": -1, "data_mode": [mode]}
    run_program(TRAINING, task="overflow_check", overflow_check=block)
    found = {name.rpartition(".")[2] == "backward" for name in read_dump()["data"]}
    assert found == {expected}


def test_overflow_check_keeps_parameters_of_modules(run_program, read_dump):
    program = TRAINING.replace("model(torch.ones(1, 2))", "model(torch.full((1, 2), 3e38) * 8)")
    run_program(program, task="overflow_check", level="L0", overflow_check={"overflow_nums": 1})
    (entry,) = read_dump()["data"].values()
    assert list(entry) == ["input_args", "input_kwargs", "output", "parameters"]
    assert sorted(entry["parameters"]) == ["bias", "weight"]
