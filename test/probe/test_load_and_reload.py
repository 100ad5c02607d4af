"""Inputs loaded from an earlier dump, a configuration that changes, operators of libraries."""

import json
import os

import pytest
from test_debugger import MODEL

PROGRAM = (
    MODEL
    + """
import sys
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
debugger = PrecisionDebugger("config.json")
scale = float(sys.argv[1])
for step in range(2):
    debugger.start(model=model)
    print(model(torch.ones(1, 4) * scale).tolist())
    debugger.stop()
    debugger.step()
"""
)
SECOND = "Module.2.Linear.forward.0"


def test_load(run_program, tmp_path):
    tensors = {"level": "L0", "task": "tensor", "dump_path": "first"}
    first = run_program(PROGRAM, arguments=[1], **tensors)
    load = {"path": str(tmp_path / "first"), "modules": [SECOND, "Module.9.Linear.forward.0"]}
    done = run_program(PROGRAM, arguments=[5], load={**load, "step": [1]}, **tensors)
    lines = done.stdout.splitlines()
    assert lines[1] == first.stdout.splitlines()[1] != lines[0]
    assert "[load] module validation: 1/2 modules valid in model" in done.stderr
    assert "never matched during this step: ['Module.9.Linear.forward.0']" in done.stderr
    assert "Load-only mode" in done.stderr


def test_load_and_dump(run_program, tmp_path, read_dump):
    tensors = {"level": "L0", "task": "tensor"}
    run_program(PROGRAM, arguments=[1], **tensors, dump_path="first")
    load = {"path": str(tmp_path / "first"), "modules": [SECOND], "dump_after_load": True}
    run_program(PROGRAM, arguments=[5], load=load, level="L0")
    (place,) = (tmp_path / "first" / "step0").iterdir()
    before = json.loads((place / "dump.json").read_text())["data"]
    after = read_dump()["data"]
    assert after[SECOND]["input_args"][0]["Max"] == before[SECOND]["input_args"][0]["Max"]
    name = "Module.0.Linear.forward.0"
    assert after[name]["output"][0]["Norm"] != before[name]["output"][0]["Norm"]


@pytest.mark.parametrize(
    ("load", "problem"),
    [
        ({}, "load.path is required"),
        ({"path": "nowhere"}, "load.path does not exist or is not a directory: nowhere"),
        ({"path": "."}, "load.modules is required and must be a non-empty list[str]"),
        ({"path": ".", "modules": [1]}, "load.modules must be a list[str]"),
        ({"path": ".", "modules": [SECOND] * 2}, "contains duplicate entry"),
        ({"path": ".", "modules": ["Torch.x"]}, "must start with 'Module.'"),
        ({"path": ".", "modules": ["Module.x.backward.0"]}, "not '.backward.N'"),
        ({"path": ".", "modules": ["Module.x.forward.a"]}, "must end with '.forward.N'"),
        (
            {"path": ".", "modules": [SECOND], "dump_after_load": 1},
            "load.dump_after_load must be bool",
        ),
    ],
)
def test_bad_load(run_program, load, problem):
    done = run_program(PROGRAM, good=False, arguments=[1], load=load, level="L0")
    assert done.returncode != 0 and problem in done.stderr


def test_hot_reload(run_program, tmp_path):
    run_program(
        MODEL
        + """
import json
from sonde.torch.precision import _reload
_reload._PAUSE_ON_S = _reload._PAUSE_OFF_S = 0
def change(**more):
    config = json.load(open("config.json"))
    config.update(more)
    open("config.json", "w").write(json.dumps(config))
debugger = PrecisionDebugger("config.json")
def step():
    debugger.start()
    torch.add(torch.ones(2), 1)
    torch.mul(torch.ones(2), 1)
    debugger.stop()
    debugger.step()
step()
change(dump_enable=True)
step()
change(statistics={"list": ["mul"]})
step()
open("config.json", "w").write("{")
step()
""",
        dump_enable=False,
    )
    folders = sorted(os.listdir(tmp_path / "dump"))
    assert folders == ["step1", "step2"]
    names = []
    for folder in folders:
        (place,) = (tmp_path / "dump" / folder).iterdir()
        names.append(list(json.loads((place / "dump.json").read_text())["data"]))
    assert "Torch.add.0.forward" in names[0] and "Torch.mul.0.forward" in names[0]
    assert names[1] == ["Torch.mul.0.forward"]


def test_operators_of_libraries(run_program, read_dump):
    """What an operator writes to is reported after the call."""
    run_program(
        MODEL
        + """
library = torch.library.Library("sonde_test", "DEF")
library.define("fill(Tensor(a!) out, Tensor x) -> ()")
library.define("twice(Tensor x) -> Tensor")
library.impl("fill", lambda out, x: [out.copy_(x * 3), None][1], "CPU")
library.impl("twice", lambda x: x * 2, "CPU")
debugger = PrecisionDebugger("config.json")
debugger.start()
out = torch.zeros(2)
torch.ops.sonde_test.fill(out, torch.ones(2))
torch.ops.sonde_test.fill(out=out, x=torch.ones(2))
assert torch.ops.sonde_test.twice(out).tolist() == [6, 6]
debugger.stop()
debugger.step()
""",
        custom_op_namespaces=["sonde_test"],
    )
    data = read_dump()["data"]
    for name in ("sonde_test.fill.0.forward", "sonde_test.fill.1.forward"):
        assert data[name]["output"][0]["Max"] == 3.0
    assert data["sonde_test.fill.0.forward"]["input_args"][0]["Max"] == 0.0
    assert data["sonde_test.twice.0.forward"]["output"][0]["Max"] == 6.0


def test_written_by_a_thread(run_program, tmp_path):
    """async_dump: the same files, and the program may change its tensors at once."""
    program = (
        MODEL
        + """
debugger = PrecisionDebugger("config.json")
debugger.start()
x = torch.zeros(1000)
for _ in range(50):
    torch.clone(x)
    x += 1
debugger.stop()
debugger.step()
"""
    )
    settings = {"task": "tensor", "tensor": {"list": ["clone"]}}
    run_program(program, **settings)
    run_program(program, **settings, dump_path="other", async_dump=True, async_dump_limit_mb=1)
    (one,) = (tmp_path / "dump" / "step0").iterdir()
    (two,) = (tmp_path / "other" / "step0").iterdir()
    names = sorted(os.listdir(one / "dump_tensor_data"))
    assert len(names) == 100 and names == sorted(os.listdir(two / "dump_tensor_data"))
    for name in names:
        left, right = (place / "dump_tensor_data" / name for place in (one, two))
        assert left.read_bytes() == right.read_bytes()


def test_modules_that_call_no_hooks(run_program, read_dump):
    program = (
        MODEL
        + """
class Hidden(nn.Module):
    def __init__(self, passes_on):
        super().__init__()
        self.inner, self.passes_on = nn.Linear(2, 2), passes_on
    def __call__(self, x):
        return super().__call__(x) if self.passes_on else self.forward(x)
    def forward(self, x):
        return self.inner(x)
model = nn.Sequential(Hidden(False), Hidden(True))
debugger = PrecisionDebugger("config.json")
debugger.start(model=model)
model(torch.ones(1, 2)).sum().backward()
debugger.stop()
debugger.step()
"""
    )
    run_program(program, level="L0", hidden_modules=True)
    construct = read_dump(name="construct.json")
    for number in (0, 1):
        outer = f"Module.{number}.Hidden.forward.0"
        assert construct[f"Module.{number}.inner.Linear.forward.0"] == outer
        assert construct[outer] is None
        assert len(read_dump()["data"][outer]["input_args"]) == 1
    assert "Module.0.Hidden.backward.0" in read_dump()["data"]


def test_numpy_files(run_program, read_dump):
    done = run_program(
        MODEL
        + """
import glob, numpy
debugger = PrecisionDebugger("config.json")
debugger.start()
values = [torch.arange(6).reshape(2, 3).to(kind) for kind in (
    torch.float32, torch.float16, torch.int64, torch.uint8, torch.bool, torch.complex64)]
for value in values:
    torch.clone(value.t())
torch.clone(torch.tensor([1.5, 2], dtype=torch.bfloat16))
torch.clone(torch.tensor(2.5))
debugger.stop()
debugger.step()
folder = glob.glob("dump/step0/*/dump_tensor_data")[0]
def load(number):
    return numpy.load(f"{folder}/Torch.clone.{number}.forward.input.0.npy")
for number, value in enumerate(values):
    loaded = load(number)
    assert loaded.dtype == value.numpy().dtype and (loaded == value.t().numpy()).all()
assert load(len(values)).tolist() == [1.5, 2] and load(len(values) + 1).shape == ()
print("loaded")
""",
        task="tensor",
        tensor={"tensor_format": "npy"},
    )
    assert "loaded" in done.stdout
    record = read_dump()["data"]["Torch.clone.0.forward"]["output"][0]
    assert record["data_name"] == "Torch.clone.0.forward.output.0.npy"
