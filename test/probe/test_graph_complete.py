"""``"graph": "complete"``: a dump of a compiled program has what an eager one has, and the program
computes what it computes without."""

import subprocess

import pytest
from conftest import BUILD
from sonde.torch.precision import _config, _errors

COMPILES = True

PROGRAM = """
import sys
import torch
import torch.nn.functional as F
from torch import nn

class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(32))
    def forward(self, x, residual):
        total = x + residual
        mean = total.square().mean(-1, keepdim=True)
        return total * torch.rsqrt(mean + 1e-6) * self.weight, total

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.act = Norm(), nn.ReLU()
        self.up, self.down = nn.Linear(32, 64, bias=False), nn.Linear(64, 32, bias=False)
    def forward(self, x, residual):
        y, total = self.norm(x, residual)
        return self.down(self.act(self.up(total))), y

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.norm = nn.Linear(32, 32, bias=False), Norm()
        self.layers = nn.ModuleList(Block() for _ in range(4))
        self.head = nn.Linear(32, 50, bias=False)
    def forward(self, x):
        x, residual = self.stem(x), x
        for layer in self.layers:
            x, residual = layer(x, residual)
        y, total = self.norm(x, residual)
        return self.head(total), y

def make():
    torch.manual_seed(0)
    return Net(), torch.randn(2, 8, 32)

torch.set_num_threads(1)
torch.set_grad_enabled(False)
"""
RECORD = """
from sonde.torch.precision import PrecisionDebugger
debugger = PrecisionDebugger("config.json")
def recorded(model, batch):
    debugger.start(model=model)
    result = model(batch)
    debugger.stop()
    debugger.step()
    return result
"""
# Without the debugger, with it, with it at rest; then layers that are compiled by themselves. The
# first step is the eager program's.
COMPILED = f"""{PROGRAM}
model, batch = make()
plain = torch.compile(model)(batch)
torch._dynamo.reset()
{RECORD}
recorded(model, batch)
compiled = torch.compile(model, fullgraph=True)
results = [recorded(compiled, batch), compiled(batch), recorded(compiled, batch)]
model, batch = make()
for layer in model.layers:
    layer.compile()
recorded(model, batch)
# A fault that the compiler plants itself, in one layer.
torch._dynamo.reset()
torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"
model, batch = make()
model.layers[1].compile()
recorded(model, batch)
print("same", all(torch.equal(a, b) for result in results for a, b in zip(plain, result)))
"""


def modules_of(entries):
    return {name: entry for name, entry in entries.items() if name.startswith("Module.")}


def records_of(entry):
    return [record for record in entry["output"] if record is not None]


def check(eager, construct, dump):
    data, places = dump
    found = modules_of(data)
    assert len(eager) == 23 and set(found) == set(eager)
    for name, entry in found.items():
        assert places[name] == construct[name]
        expected = records_of(eager[name])
        assert len(records_of(entry)) == len(expected), name
        for record, other in zip(records_of(entry), expected):
            for key in ("type", "dtype", "shape", "requires_grad"):
                assert record[key] == other[key], name
            scale = max(abs(other["Max"]), abs(other["Min"]))
            for key in ("Max", "Min", "Mean"):
                assert record[key] == pytest.approx(other[key], abs=1e-5 * scale), name
            assert record["Norm"] == pytest.approx(other["Norm"], rel=1e-5), name


def test_a_compiled_program_is_as_an_eager_one(run_program, read_dump, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TORCHINDUCTOR_VEC_ISA_OK", "1")  # else it is found out by compiling
    done = run_program(COMPILED, level="L0", graph="complete")
    assert "same True" in done.stdout
    assert "WARNING" not in done.stderr

    eager, construct = modules_of(read_dump()["data"]), read_dump(name="construct.json")
    for step in ("step1", "step2", "step3"):
        data, places = read_dump(step), read_dump(step, "construct.json")
        check(eager, construct, (data["data"], places))
        assert {"input_args", "input_kwargs", "output", "parameters"} == set(
            data["data"]["Module.layers.3.up.Linear.forward.0"]
        )
    assert compare(tmp_path / "dump", "step3") == "first: none: nothing but rounding differs"
    assert "Module.layers.1.act.ReLU.forward.0" in compare(tmp_path / "dump", "step4")


def compare(folder, step):
    """What ``sonde probe compare`` says first of a step, beside the eager one."""
    golden, target = (next((folder / name).glob("*/dump.json")) for name in ("step0", step))
    command = [BUILD / "bin" / "sonde", "probe", "compare", "-gp", golden, "-tp", target]
    done = subprocess.run(
        [*command, "-o", folder / "out"], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.splitlines()[0]


@pytest.mark.parametrize(
    ("settings", "text"),
    [({}, "the level L1"), ({"level": "L1"}, "the level L1"), ({"level": "debug"}, "level debug"),
     ({"level": "L0", "task": "structure"}, "the task structure"),
     ({"level": "L1", "task": "nan_check"}, "the task nan_check"),
     ({"level": "L0", "graph": "all"}, "should be one of ['complete', 'boundaries']")],
)  # fmt: skip
def test_what_compiled_code_cannot_give_is_refused(settings, text):
    content = {"graph": "complete", "dump_path": "dump", **settings}
    with pytest.raises(_errors.ProbeError) as problem:
        _config.check(content)
    assert text in str(problem.value)


@pytest.mark.parametrize("level", ["L0", "mix"])
def test_what_it_can_give_is_not(level):
    content = {"graph": "complete", "dump_path": "dump", "level": level}
    assert _config.check(content).graph == "complete"
