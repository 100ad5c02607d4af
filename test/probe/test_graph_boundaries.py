"""``"graph": "boundaries"``: what compiled code has in memory anyway has the names and the numbers
of an eager dump; nothing is compiled again, and the program computes what it computes without."""

from test_graph_complete import PROGRAM, RECORD, compare, modules_of, records_of

COMPILES = True

# Compiled while nothing is recorded; the first step is the eager program's.
COMPILED = f"""{PROGRAM}
def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other))
model, batch = make()
half = batch.bfloat16()
plain = torch.compile(model)(batch)
plain_half = torch.compile(make()[0].bfloat16())(half)
torch._dynamo.reset()
{RECORD}
recorded(model, batch)
compiled = torch.compile(model, fullgraph=True)
made = torch._dynamo.utils.counters["stats"]
results, graphs = [compiled(batch)], made["unique_graphs"]
results += [recorded(compiled, batch), compiled(batch), recorded(compiled, batch)]
print("same", all(same(plain, result) for result in results))
print("compiled again", made["unique_graphs"] - graphs)
print("same in bfloat16", same(plain_half, recorded(torch.compile(make()[0].bfloat16()), half)))
# A fault that the compiler plants itself, in one layer.
torch._dynamo.reset()
torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"
model, batch = make()
model.layers[1].compile()
recorded(model, batch)
"""
MODULES = 23  # all have results in memory: each is what a product reads or gives


def test_buffers_are_results_of_modules(run_program, read_dump, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "tables"))
    monkeypatch.setenv("TORCHINDUCTOR_VEC_ISA_OK", "1")  # else it is found out by compiling
    for state in ("new", "cached"):
        done = run_program(COMPILED, level="L0", graph="boundaries")
        assert f"compiled code: {MODULES} of {MODULES} calls of modules" in done.stderr
        assert "same True" in done.stdout
        assert "compiled again 0" in done.stdout
        assert "same in bfloat16 True" in done.stdout
        check(read_dump)
        first = compare(tmp_path / "dump", "step1")
        assert first.startswith("first: none: nothing but rounding differs")
        assert "Module.layers.1.act.ReLU.forward.0" in compare(tmp_path / "dump", "step4"), state
        (tmp_path / "dump").rename(tmp_path / state)


def check(read_dump):
    eager, places = modules_of(read_dump()["data"]), read_dump(name="construct.json")
    for step in ("step1", "step2"):
        found = modules_of(read_dump(step)["data"])
        assert set(found) == set(eager) and len(found) == MODULES
        for name, entry in found.items():
            assert read_dump(step, "construct.json")[name] == places[name]
            for record, other in zip(entry["output"], eager[name]["output"], strict=True):
                if record is not None:
                    assert_alike(record, other, name)
    half = modules_of(read_dump("step3")["data"])
    assert set(half) == set(eager)
    assert all(record["dtype"] == "torch.bfloat16" and "note" not in record
               for entry in half.values() for record in records_of(entry))  # fmt: skip


def assert_alike(record, other, name):
    assert [record[key] for key in ("type", "dtype", "shape")] == [
        other[key] for key in ("type", "dtype", "shape")
    ], name
    scale = max(abs(other["Max"]), abs(other["Min"]))
    for key in ("Max", "Min", "Mean"):
        assert abs(record[key] - other[key]) <= 1e-5 * scale, name
    assert abs(record["Norm"] - other["Norm"]) <= 1e-5 * other["Norm"], name


# As vLLM computes products: an operator fills what the module made. By default, at the level L0.
FILLED = f"""
import torch
from torch import nn
torch.set_num_threads(1)
torch.set_grad_enabled(False)
library = torch.library.Library("sonde_test", "DEF")
library.define("product(Tensor(a!) out, Tensor x, Tensor weight) -> ()")

def product(out, x, weight):
    torch.mm(x, weight.t(), out=out)

library.impl("product", product, "CPU")
library.impl("product", lambda *_: None, "Meta")

class Product(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outer, inner) / 4)
    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        out = torch.empty(rows.shape[0], self.weight.shape[0])
        torch.ops.sonde_test.product(out, rows, self.weight)
        return out.view(*x.shape[:-1], -1)

torch.manual_seed(0)
model = nn.Sequential(Product(16, 32), Product(32, 16), nn.Linear(16, 8, bias=False))
batch = torch.randn(2, 4, 16)
{RECORD}
recorded(model, batch)
compiled = torch.compile(model)
plain = compiled(batch)
print("same", torch.equal(plain, recorded(compiled, batch)))
"""


def test_what_an_operator_fills_is_seen_by_default(run_program, read_dump, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "tables"))
    done = run_program(FILLED, level="L0")
    assert "same True" in done.stdout and "3 of 3 calls of modules" in done.stderr
    eager, found = (modules_of(read_dump(step)["data"]) for step in ("step0", "step1"))
    assert set(found) == set(eager) and len(eager) == 3
    for name, entry in found.items():
        assert_alike(entry["output"][0], eager[name]["output"][0], name)


# Sums over ranks, as vLLM has them on a CPU and elsewhere: an operator writes in place what the
# module made, within the module; and into what a module inside of it made.
SUMMED = f"""
import os
import torch
from torch import distributed, nn
torch.set_num_threads(1)
torch.set_grad_enabled(False)
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
library = torch.library.Library("sonde_test", "DEF")
library.define("sum_(int handle, Tensor(a!) x) -> ()")

def sum_(handle, x):
    x.mul_(2)

library.impl("sum_", sum_, "CPU")
library.impl("sum_", lambda *_: None, "Meta")

def by_operator(x):
    torch.ops.sonde_test.sum_(7, x)
    return x

def by_torch(x):
    distributed.all_reduce(x)
    return x

class Row(nn.Module):
    def __init__(self, add):
        super().__init__()
        self.weight, self.add = nn.Parameter(torch.randn(16, 16) / 4), add
    def forward(self, x):
        rows = nn.functional.linear(x.reshape(-1, 16), self.weight)
        return self.add(rows).view(x.shape)

class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(16, 16, bias=False)
    def forward(self, x):
        return by_operator(self.inner(x)) + 1

torch.manual_seed(0)
model = nn.Sequential(Row(by_operator), Row(by_torch), Outer(), nn.Linear(16, 8, bias=False))
batch = torch.randn(2, 4, 16)
{RECORD}
recorded(model, batch)
compiled = torch.compile(model)
plain = compiled(batch)
print("same", torch.equal(plain, recorded(compiled, batch)))
"""


def test_what_is_summed_over_ranks_is_seen(run_program, read_dump, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "tables"))
    done = run_program(SUMMED, level="L0")
    assert "same True" in done.stdout, done.stderr
    eager, found = (modules_of(read_dump(step)["data"]) for step in ("step0", "step1"))
    outputs = {name: found[name]["output"][0] for name in eager}
    # What the inner module gave is overwritten by the outer one.
    assert outputs.pop("Module.2.inner.Linear.forward.0") is None
    for name, output in outputs.items():
        assert_alike(output, eager[name]["output"][0], name)
