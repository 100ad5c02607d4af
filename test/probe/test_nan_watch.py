"""The task that waits for the first NaN."""

import random

import pytest

STEPS = 6

PROGRAM = """
import torch
from torch import nn
from sonde.torch import PrecisionDebugger

class Norm(nn.Module):
    def forward(self, x, shift):
        return torch.log(x * 0 + shift)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.norms = nn.ModuleList([Norm(), Norm()])
    def forward(self, x, shift):
        return self.norms[1](self.first(x), shift) + self.norms[0](x, 1.0) * 2

torch.empty(3).fill_(float("nan"))  # before anything is watched
debugger = PrecisionDebugger("config.json")
model = Model()
for step in range({steps}):
    debugger.start(model=model)
    model(torch.ones(2, 4), -1.0 if step >= {bad} else 1.0).masked_fill(
        torch.ones(4) > 0, float("-inf")).sum()
    debugger.stop()
    debugger.step()
"""

BACKWARD = """
import torch
from sonde.torch import PrecisionDebugger
debugger = PrecisionDebugger("config.json")
debugger.start()
x = torch.zeros(3, requires_grad=True)
(torch.sqrt(x) * 0).sum().backward()
debugger.stop()
debugger.step()
"""

OTHERS = """
import torch
from sonde.torch import PrecisionDebugger
debugger = PrecisionDebugger("config.json")
debugger.start()
nan = float("nan")
{call}
debugger.stop()
debugger.step()
"""


def find(tmp_path):
    (path,) = tmp_path.glob("dump/step*/*/nan_watch.json")
    return path.parent


def test_dumps_the_call_at_whatever_step(run_program, read_dump, tmp_path):
    bad = random.randrange(1, STEPS)
    done = run_program(PROGRAM.format(steps=STEPS, bad=bad), task="nan_watch", nan_watch={})
    assert [path.name for path in (tmp_path / "dump").iterdir()] == [f"step{bad}"]
    data = read_dump(f"step{bad}")["data"]
    assert list(data) == ["Torch.log.0.forward"]
    assert data["Torch.log.0.forward"]["input_args"][0]["Max"] == -1.0
    assert read_dump(f"step{bad}", "nan_watch.json") == [
        {
            "name": "Torch.log.0.forward",
            "modules": [{"name": "norms.1", "class": "Norm"}, {"name": "", "class": "Model"}],
            "inputs_with_nan": [],
        }
    ]
    (group,) = read_dump(f"step{bad}", "stack.json").values()
    assert "return torch.log(x * 0 + shift)" in group[1][0]
    tensors = sorted(path.name for path in (find(tmp_path) / "dump_tensor_data").iterdir())
    assert tensors == [f"Torch.log.0.forward.{io}.0.pt" for io in ("input", "output")]
    assert "Torch.log.0.forward in norms.1 (Norm) has NaN in its results" in done.stderr


def test_goes_on_where_more_are_wanted(run_program, read_dump, tmp_path):
    settings = {"overflow_nums": -1}
    run_program(PROGRAM.format(steps=STEPS, bad=4), task="nan_watch", nan_watch=settings)
    assert sorted(path.name for path in (tmp_path / "dump").iterdir()) == ["step4", "step5"]
    data = read_dump("step5")["data"]
    assert list(data) == ["Torch.log.0.forward", "Tensor.__add__.2.forward"]
    finds = read_dump("step5", "nan_watch.json")
    assert [item["inputs_with_nan"] for item in finds] == [[], ["input.0"]]


def test_finds_it_in_gradients(run_program, read_dump, tmp_path):
    run_program(BACKWARD, task="nan_watch", nan_watch={"data_mode": ["all"]})
    assert list(read_dump()["data"]) == ["Torch.sqrt.0.backward"]
    assert read_dump()["data"]["Torch.sqrt.0.backward"]["input"][0]["Max"] == 0.0


def test_leaves_gradients_alone_by_default(run_program, tmp_path):
    run_program(BACKWARD, task="nan_watch")
    assert not (tmp_path / "dump").exists()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("x = torch.ones(3); x[1] = nan", "Tensor.__setitem__.0.forward"),
        ("torch.ones(3).half().mul_(nan)", "Tensor.mul_.0.forward"),
        ("torch.mul(torch.ones(3).bfloat16(), nan)", "Torch.mul.0.forward"),
        ("torch.mul(torch.ones(2, dtype=torch.complex64), nan)", "Torch.mul.0.forward"),
        ("torch.mul(torch.eye(2).to_sparse(), nan)", "Torch.mul.0.forward"),
        ("torch.topk(torch.tensor([1.0, nan]), 1)", "Torch.topk.0.forward"),
        ("torch.split(torch.tensor([1.0, nan]), 1)", None),  # only moves what is there
        ("torch.mul(torch.ones(3), 2); torch.ones(3, dtype=torch.int32).add(1)", None),
    ],
)
def test_every_kind_of_result(run_program, read_dump, tmp_path, call, name):
    done = run_program(OTHERS.format(call=call), task="nan_watch", risk_level="FOCUS")
    if name is None:
        assert not (tmp_path / "dump").exists()
    else:
        assert list(read_dump()["data"]) == [name]
    assert "collecting a value failed" not in done.stderr


@pytest.mark.parametrize(
    "change, printed",
    [
        ("x.div_(x.clone())", "Tensor.div_.0.forward has NaN in its results; its inputs held none"),
        ("x /= x.clone()", "Tensor.__itruediv__.0.forward has NaN in its results; its inputs held"),
        ("F.rms_norm(x + inf, (2,)).sum()", "Functional.rms_norm.0.forward has NaN in its results"),
        # A function that was taken from torch before the watch began.
        ("rms_norm(x + inf, (2,)).sum()", "Torch.rms_norm.0.forward has NaN in its results"),
        ("x *= inf", "Tensor.__imul__.0.forward has NaN in its results; its inputs held none"),
        # A NaN that nobody watched came in with it.
        ("relu(torch.tensor([nan, 1.0]), inplace=True)", "input.0 held it before"),
        ("relu(torch.zeros(2).log_().mul_(0.0), inplace=True)", "Tensor.mul_.0.forward has"),
        ("torch.div(x, x.clone(), out=torch.zeros(2))", "its inputs held none"),
    ],
)
def test_the_value_before_an_operation_in_place_is_reported(run_program, tmp_path, change, printed):
    import torch

    done = run_program(
        f"""
import torch
import torch.nn.functional as F
from torch.nn.functional import relu, rms_norm
from sonde.torch import PrecisionDebugger
inf, nan = float("inf"), float("nan")
debugger = PrecisionDebugger("config.json")
x = torch.tensor([0.0, 1.0])
debugger.start()
{change}
debugger.stop()
""",
        level="L1",
        task="nan_watch",
    )
    assert printed in done.stderr, done.stderr
    if change.startswith("x.div_"):  # saved as it was, not as the call left it
        saved = next((tmp_path / "dump").rglob("Tensor.div_.0.forward.input.0.pt"))
        assert torch.equal(torch.load(saved), torch.tensor([0.0, 1.0]))
