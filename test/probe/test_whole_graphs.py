"""Programs with parts that ``torch.compile(fullgraph=True)`` made one graph of: they run under the
probe as without it, and what surrounds the graph is recorded."""

import json
import os

import pytest
from test_whole_programs import RUN

COMPILES = True

PROGRAM = """
torch.manual_seed(0)
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.block = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        %s
        self.last = nn.Linear(4, 2)
    def forward(self, batch):
        return self.last(self.block(self.first(batch)))
model = Model()
%s
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    loss = model(torch.ones(2, 4)).sum()
    loss.backward()
    optimizer.step()
    print(loss.item())
"""
WRAPPED = 'self.block = torch.compile(self.block, fullgraph=True, backend="eager")'
IN_PLACE = 'self.block.compile(fullgraph=True, backend="eager")'
WHOLE = 'model = torch.compile(model, fullgraph=True, backend="eager")'
# Beside its wrapper, by a name of its own that is found first.
TWICE = 'self.graph = torch.compile(self.block, fullgraph=True, backend="eager")'


@pytest.mark.parametrize(
    ("level", "inside", "outside", "recorded"),
    [("L0", WRAPPED, "", {"first", "block", "last"}), ("mix", IN_PLACE, "", {"first", "last"}),
     ("mix", TWICE, "", {"first", "last"}), ("L0", "", WHOLE, set())],
    ids=["wrapped", "in_place", "twice", "whole"],
)  # fmt: skip
def test_it_runs_as_without_the_probe(run_program, tmp_path, level, inside, outside, recorded):
    program = PROGRAM % (inside or "pass", outside)
    if inside == TWICE:
        program = program.replace("self.block(self.first", "self.graph(self.first")
        recorded = recorded | {"graph"}
    plain = run_program("import torch\nfrom torch import nn\n" + program)
    watched = run_program(RUN + program, level=level)
    assert watched.stdout == plain.stdout
    assert watched.stderr.count("is compiled with fullgraph=True") == 1
    assert "seen in part" not in watched.stderr
    names = set()
    for dump in tmp_path.rglob("dump.json"):
        names.update(json.loads(dump.read_text(encoding="utf-8"))["data"])
    found = {name.split(".")[1] for name in names if name.startswith("Module.")}
    assert found - {"_orig_mod"} == recorded


FUNCTION = """
torch.manual_seed(0)
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.last = nn.Linear(4, 2)
        @torch.compile(fullgraph=True, backend="eager")
        def twice(batch):
            return self.block(batch) * 2
        self.twice = twice
        self.again = torch.compile(self.tail, fullgraph=True, backend="eager")
    def tail(self, batch):
        return self.last(batch) + self.block[0](torch.zeros_like(batch)).sum()
    def forward(self, batch):
        return self.last(self.twice(batch)) + self.again(batch)
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.ones(2, 4)).sum()
    loss.backward()
    optimizer.step()
    print(loss.item())
"""


# Modules alone are a part of what the other level records.
LEVELS = ["L0", "mix"] if os.environ.get("SONDE_THOROUGH") == "1" else ["mix"]


@pytest.mark.parametrize("level", LEVELS)
def test_a_compiled_function_that_calls_modules(run_program, tmp_path, level):
    """Nobody sees beforehand what it calls: hooks are away while it is compiled."""
    plain = run_program("import torch\nfrom torch import nn\n" + FUNCTION)
    watched = run_program(RUN + FUNCTION, level=level)
    assert watched.stdout == plain.stdout
    for name in ("twice()", "tail()"):
        assert watched.stderr.count(f"{name} (") == 1
    assert watched.stderr.count("is compiled with fullgraph=True: modules that it calls") == 2
    dumps = sorted(tmp_path.rglob("dump.json"))
    assert len(dumps) == 3
    for dump in dumps:
        data = json.loads(dump.read_text(encoding="utf-8"))["data"]
        modules = [name for name in data if name.startswith("Module.") and ".forward." in name]
        # The call outside of both functions is there in each step, also in that which compiled.
        assert modules == ["Module.last.Linear.forward.0"], dump
