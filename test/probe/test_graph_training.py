"""``"graph": "complete"`` in training: inputs, parameters and gradients of modules in compiled code
are entries as in an eager dump, and the program computes what it computes without."""

import re

import pytest
from test_graph_complete import compare

COMPILES = True

PROGRAM = """
import sys
from dataclasses import dataclass
import torch
from torch import nn

@dataclass
class Both:
    value: torch.Tensor
    more: object = None

class Mix(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(32))
    def forward(self, x, residual, *, scale=None):
        total = x + residual
        return {"mixed": total * torch.rsqrt(total.square().mean(-1, keepdim=True) + 1e-6)
                * self.weight * scale, "total": total}

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix, self.act, self.drop = Mix(), nn.ReLU(inplace=True), nn.Identity()
        self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32, bias=False)
    def forward(self, x, residual, scale, times=2):
        found = self.mix(x, residual, scale=scale)
        y = self.down(self.act(self.up(found["mixed"])))
        for _ in range(times):
            y = self.drop(y * 0.5)
        return y, found["total"]

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.scale = nn.Embedding(50, 32), nn.Parameter(torch.ones(32))
        self.layers = nn.ModuleList(Block() for _ in range(2))
        self.norm, self.head = nn.LayerNorm(32), Head()
    def forward(self, ids):
        x, residual = self.table(ids), 0.5
        for layer in self.layers:
            x, residual = layer(x, residual, self.scale)
        return self.head([self.norm(x + residual)], ids > 10).value

class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(32, 16), nn.Linear(16, 16)
    def forward(self, xs, mask):
        y = self.one(xs[0])
        y = self.two(torch.tanh(self.two(y)))
        return Both(torch.where(mask.unsqueeze(-1), y, 0.0))

def make():
    torch.manual_seed(0)
    return Net(), torch.randint(0, 50, (2, 8))

def train(program, model, batch):
    for parameter in model.parameters():
        parameter.grad = None
    result = program(batch)
    result.square().mean().backward()
    return [result.detach(), *(parameter.grad for parameter in model.parameters())]

def are_same(some, others):
    return all(torch.equal(a, b) for a, b in zip(some, others, strict=True))

torch.set_num_threads(1)
model, batch = make()
model.to(getattr(torch, sys.argv[1]))
plain = train(torch.compile(model, backend=sys.argv[2]), model, batch)
torch._dynamo.reset()
from sonde.torch.precision import PrecisionDebugger
debugger = PrecisionDebugger("config.json")
def recorded(program):
    debugger.start(model=model)
    results = train(program, model, batch)
    debugger.stop()
    debugger.step()
    return results
recorded(model)
compiled = torch.compile(model, fullgraph=True)
results = [recorded(compiled), train(compiled, model, batch), recorded(compiled)]
print("same", [are_same(plain, each) for each in results])
"""


def kind_of(record):
    return {
        key: record[key] for key in ("type", "dtype", "shape", "requires_grad") if key in record
    }


def check(name, record, other, tolerance):
    """A value of the compiled program beside that of the eager one."""
    if isinstance(other, list):
        assert len(record) == len(other), name
        for one, two in zip(record, other):
            check(name, one, two, tolerance)
    elif other is None or "type" not in other:
        assert (record is None) == (other is None), name
        for key in other or ():
            check(f"{name}.{key}", record[key], other[key], tolerance)
    elif other["type"] != "torch.Tensor":
        assert record == other, name
    else:
        assert kind_of(record) == kind_of(other), name
        scale = max(abs(other["Max"]), abs(other["Min"]))
        for key in ("Max", "Min", "Mean", "Norm"):
            if other[key] is None:
                assert record[key] is None, name
            else:
                bound = tolerance * (abs(other["Norm"]) if key == "Norm" else scale)
                assert record[key] == pytest.approx(other[key], abs=bound), f"{name}: {key}"


# A module that computes nothing has no place of its own in a graph, which a gradient could pass; of
# a value that is written in place hooks of modules hear no gradient, but the graph does.
ONLY_EAGER = {f"Module.layers.{at}.drop.Identity.backward.{n}" for at in range(2) for n in range(2)}
ONLY_COMPILED = {f"Module.layers.{at}.act.ReLU.backward.0" for at in range(2)}


def check_step(eager, construct, data, places, tolerance):
    assert set(eager) - set(data) == ONLY_EAGER
    assert set(data) - set(eager) == ONLY_COMPILED
    for name in set(data) & set(eager):
        entry, other = data[name], eager[name]
        assert sorted(entry) == sorted(other), name
        for key in entry:
            check(f"{name}.{key}", entry[key], other[key], tolerance)
        if ".forward." in name:
            assert places[name] == construct[name]


@pytest.mark.parametrize("task", ["statistics", "tensor"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 2e-5), ("bfloat16", 0.02)])
def test_training(run_program, read_dump, tmp_path, task, dtype, tolerance):
    # Kernels are those of the eager program, so nothing waits for a compiler of C++; what Inductor
    # makes of such graphs is in test/graph.
    arguments = [dtype, "aot_eager"]
    settings = {"level": "L0", "graph": "complete", "graph_backend": "aot_eager", "task": task}
    done = run_program(PROGRAM, arguments=arguments, **settings)
    assert "same [True, True, True]" in done.stdout, done.stdout
    warnings = re.findall("(?:WARNING|ERROR).*", done.stderr)
    assert [("16 bits" in text) for text in warnings] == [True] * (task == "tensor")

    eager, construct = read_dump()["data"], read_dump(name="construct.json")
    for step in ("step1", "step2"):
        places = read_dump(step, "construct.json")
        check_step(eager, construct, read_dump(step)["data"], places, tolerance)
    assert compare(tmp_path / "dump", "step2").startswith("first: none: ")


def test_what_is_not_wanted_is_not_recorded(run_program, read_dump):
    settings = {"level": "L0", "graph": "complete", "graph_backend": "aot_eager"}
    statistics = {"data_mode": ["forward", "output"]}
    done = run_program(
        PROGRAM, arguments=["float32", "aot_eager"], statistics=statistics, **settings
    )
    assert "same [True, True, True]" in done.stdout, done.stdout
    eager, data = read_dump()["data"], read_dump("step1")["data"]
    assert set(data) == set(eager)
    assert {key for entry in data.values() for key in entry} == {"output", "parameters"}


@pytest.mark.parametrize(
    ("settings", "key"),
    [({"summary_mode": "md5"}, "md5"), ({"slice": [{"dim": 0, "end": 1}]}, "Max"),
     ({"tensor_list": ["head"]}, "data_name")],
)  # fmt: skip
def test_parts_of_the_configuration_that_need_whole_tensors(run_program, read_dump, settings, key):
    common = {"level": "L0", "graph": "complete", "graph_backend": "aot_eager"}
    run_program(PROGRAM, arguments=["float32", "aot_eager"], statistics=settings, **common)
    name = "Module.head.two.Linear.forward.0"
    (record,), (other,) = (read_dump(step)["data"][name]["output"] for step in ("step1", "step0"))
    assert record["shape"] == other["shape"] and record[key] is not None
    assert record["Norm"] == pytest.approx(other["Norm"], rel=1e-5)
