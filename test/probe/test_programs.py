"""Programs that do more with a recorded model than call it."""

import pytest

MODEL = """
import copy, io, pickle
import torch
from torch import nn
from torch.nn import functional
from sonde.torch import PrecisionDebugger
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
debugger = PrecisionDebugger("config.json")
"""


def test_a_recorded_model_is_copied_and_pickled(run_program, read_dump):
    """A copy works alone, and what is read from a file knows nothing of the probe."""
    done = run_program(
        MODEL
        + """
debugger.start(model=model)
model(torch.ones(1, 4)).sum().backward()
twin = copy.deepcopy(model)
with torch.no_grad():
    twin[0].weight.add_(1)
read = pickle.loads(pickle.dumps(model))
first = model(torch.ones(1, 4))
second = read(torch.ones(1, 4))
third = twin(torch.ones(1, 4))
debugger.stop()
debugger.step()
print(torch.equal(first, second), not torch.equal(first, third))
""",
        level="L0",
    )
    assert done.stdout.split() == ["True", "True"]
    names = [name for name in read_dump()["data"] if ".0.Linear.forward." in name]
    assert names == [f"Module.0.Linear.forward.{number}" for number in (0, 1, 2)]


def test_a_copy_of_a_hidden_module_calls_itself(run_program):
    done = run_program(
        MODEL
        + """
class Hidden(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
    def __call__(self, x):
        return self.forward(x)
    def forward(self, x):
        return x * self.scale
model = nn.Sequential(Hidden())
debugger.start(model=model)
model(torch.ones(1))
twin = copy.deepcopy(model)
read = pickle.loads(pickle.dumps(model))
with torch.no_grad():
    twin[0].scale.fill_(3)
print(twin(torch.ones(1)).item(), read(torch.ones(1)).item(), model(torch.ones(1)).item())
""",
        level="L0",
        hidden_modules=True,
    )
    assert done.stdout.split() == ["3.0", "1.0", "1.0"]


def test_what_is_trained_may_change(run_program, read_dump):
    run_program(
        MODEL
        + """
for step in range(4):
    model[0].weight.requires_grad_(step in (1, 3))
    if step == 3:
        model[2].weight = nn.Parameter(torch.ones(2, 4))
    debugger.start(model=model)
    model(torch.ones(1, 4)).sum().backward()
    debugger.stop()
    debugger.step()
""",
        level="L0",
    )
    for step in range(4):
        data = read_dump(f"step{step}")["data"]
        first = list(data["Module.0.Linear.parameters_grad.0"])
        assert sorted(first) == (["bias", "weight"] if step in (1, 3) else ["bias"])
        assert sorted(data["Module.2.Linear.parameters_grad.0"]) == ["bias", "weight"]


def test_a_second_backward_keeps_its_place(run_program, read_dump):
    run_program(
        MODEL
        + """
debugger.start(model=model)
y = model(torch.ones(1, 4))
y.sum().backward(retain_graph=True)
torch.mul(y, 2).sum().backward()
debugger.stop()
debugger.step()
""",
        level="mix",
    )
    places = list(read_dump(name="construct.json"))
    assert places.index("Module.2.Linear.backward.0") < places.index("Torch.mul.0.forward")
    assert list(read_dump()["data"])[-1].startswith("Module.0.Linear.")


def test_hooks_of_the_program_leave_no_calls(run_program, read_dump):
    run_program(
        MODEL
        + """
model[2].register_full_backward_hook(lambda module, to_inputs, to_outputs: None)
debugger.start(model=model)
model(torch.ones(1, 4)).sum().backward()
debugger.stop()
debugger.step()
""",
        level="mix",
    )
    assert not [name for name in read_dump()["data"] if "view_as" in name]


def test_arrays_of_numpy_are_saved(run_program, read_dump, tmp_path):
    run_program(
        MODEL
        + """
debugger.start(model=model)
torch.arange(3.0).numpy()
debugger.stop()
debugger.step()
name = "Tensor.numpy.0.forward.output.0.pt"
(folder,) = __import__("glob").glob("dump/step0/*/dump_tensor_data")
assert torch.equal(torch.load(f"{folder}/{name}", weights_only=True), torch.arange(3.0))
""",
        task="tensor",
    )
    (record,) = read_dump()["data"]["Tensor.numpy.0.forward"]["output"]
    assert record["type"] == "numpy.ndarray" and record["dtype"] == "float32"
    assert record["data_name"] == "Tensor.numpy.0.forward.output.0.pt"


def test_transformed_functions(run_program, read_dump, tmp_path):
    done = run_program(
        MODEL
        + """
weights = {name: value.detach() for name, value in model.named_parameters()}
def loss(values, x):
    return torch.func.functional_call(model, values, (x,)).pow(2).sum()
debugger.start(model=model)
found = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(weights, torch.ones(3, 4))
found["0.weight"].sum()
torch.func.grad(lambda x: torch.sin(x).sum())(torch.ones(2))
debugger.stop()
debugger.step()
""",
        level="mix",
    )
    assert "collecting a value failed" not in done.stderr
    data = read_dump()["data"]
    # A batch within has no values of its own.
    assert data["Functional.linear.0.forward"]["input_args"][0]["Max"] is None
    record = data["Torch.sin.0.forward"]["input_args"][0]
    assert record["type"] == "GradTrackingTensor" and record["Norm"] is not None


def test_a_result_that_is_a_dict_and_a_dataclass(run_program, read_dump):
    """Results of Hugging Face models: all fields, also those that the dict leaves out."""
    run_program(
        MODEL
        + """
import collections, dataclasses
@dataclasses.dataclass
class Result(collections.OrderedDict):
    last: object = None
    cache: object = None
    def __post_init__(self):
        self["last"] = self.last
class Gives(nn.Module):
    def forward(self, x):
        return Result(x)
model = nn.Sequential(Gives())
debugger.start(model=model)
model(torch.ones(1))
debugger.stop()
debugger.step()
""",
        level="L0",
    )
    (output,) = read_dump()["data"]["Module.0.Gives.forward.0"]["output"]
    assert list(output) == ["last", "cache"] and output["cache"] is None


def test_collectives_that_are_waited_for(run_program, read_dump):
    """Their results are recorded late, and nothing that the probe itself calls for it."""
    run_program(
        MODEL
        + """
import torch.distributed as dist
dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
debugger.start(model=model)
values = torch.ones(2, 3).t()
dist.all_reduce(values, async_op=True).wait()
torch.add(values, 1)
debugger.stop()
debugger.step()
dist.destroy_process_group()
""",
        level="mix",
    )
    names = [name for name in read_dump()["data"] if not name.startswith("Torch.ones")]
    assert names == [
        "Tensor.t.0.forward",
        "Distributed.all_reduce.0.forward",
        "Torch.add.0.forward",
    ]


KERNEL = """
import triton
import triton.language as tl
@triton.jit
def double(x_ptr, y_ptr, count, SIZE: tl.constexpr):
    place = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    values = tl.load(x_ptr + place, mask=place < count)
    tl.store(y_ptr + place, values * 2, mask=place < count)
x, y = torch.arange(5.0), torch.zeros(5)
debugger.start(model=model)
for _ in range(2):
    double[(2,)](x, y, 5, SIZE=4)
double[(2,)](x_ptr=x, y_ptr=y, count=5, SIZE=4)
debugger.stop()
double[(2,)](x, y, 5, SIZE=4)
debugger.step()
print(y.tolist())
"""


@pytest.mark.parametrize("level", ["L1", "mix"])
def test_launches_of_kernels(run_program, read_dump, monkeypatch, level):
    """Triton's interpreter stands in for a GPU."""
    pytest.importorskip("triton")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    done = run_program(MODEL + KERNEL, level=level)
    assert done.stdout.split("\n")[0] == "[0.0, 2.0, 4.0, 6.0, 8.0]"
    data = {name: entry for name, entry in read_dump()["data"].items() if "Triton" in name}
    assert list(data) == [f"Triton.double.{number}.forward" for number in range(3)]
    first, _, third = data.values()
    assert [value.get("Max") for value in first["input_args"]] == [4.0, 0.0, None]
    assert [value.get("Max") for value in first["output"]] == [4.0, 8.0, None]
    assert first["input_kwargs"]["SIZE"]["value"] == 4
    assert [value["Max"] for value in third["output"]] == [4.0, 8.0]
