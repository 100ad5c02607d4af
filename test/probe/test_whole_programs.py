"""`sonde run --dump-config` on programs with several models, scalers, evaluation, threads."""

import json
import re

RUN = """
import torch
from sonde._inject._dump import DumpRun
DumpRun(torch, "config.json").install()
from torch import nn
torch.manual_seed(0)
"""


def steps_of(folder):
    """Names of the entries of each step."""
    found = {}
    for path in (folder / "dump").glob("step*/*/dump.json"):
        found[int(path.parts[-3][4:])] = list(json.loads(path.read_text())["data"])
    return [found[step] for step in sorted(found)]


def test_outermost_modules_are_distinguished(run_program, tmp_path):
    done = run_program(
        RUN
        + """
class Part(nn.Module):
    def __init__(self, out):
        super().__init__()
        self.proj = nn.Linear(4, out)
    def forward(self, x):
        return self.proj(x)
class Agent:
    def __init__(self):
        self.critic = Part(1)
actor, agent = Part(4), Agent()
weights = [*actor.parameters(), *agent.critic.parameters()]
optimizer = torch.optim.SGD(weights, 0.1)
for _ in range(2):
    x = torch.ones(2, 4)
    (actor(x).sum() + agent.critic(x).sum()).backward()
    optimizer.step()
    optimizer.zero_grad()
""",
        level="mix",
    )
    for names in steps_of(tmp_path):
        assert "Module.proj.Linear.forward.0" in names
        assert "Module.critic.proj.Linear.forward.0" in names
        grads = sorted(name for name in names if "parameters_grad" in name)
        assert grads == [
            "Module.critic.proj.Linear.parameters_grad.0",
            "Module.proj.Linear.parameters_grad.0",
        ]
    assert "dumped steps 0-1: " in done.stderr and " entries in dump" in done.stderr


def test_a_new_model_in_the_place_of_an_old_one_keeps_its_names(run_program, tmp_path):
    run_program(
        RUN
        + """
for _ in range(2):
    model = nn.Sequential(nn.Linear(2, 2))
    model(torch.ones(1, 2))
    del model
""",
        level="L0",
    )
    assert {name for names in steps_of(tmp_path) for name in names} == {"Module.0.Linear.forward.0"}


def test_a_step_that_the_scaler_leaves_out_is_a_step(run_program, tmp_path):
    run_program(
        RUN
        + """
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
optimizer = torch.optim.SGD(model.parameters(), 0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**60)
for i in range(4):
    x = torch.ones(3, 4) * (1e30 if i == 1 else 1)
    scaler.scale(model(x).pow(2).sum()).backward()
    scaler.step(optimizer)
    scaler.update(1.0)
    optimizer.zero_grad()
""",
        level="L0",
    )
    steps = steps_of(tmp_path)
    assert len(steps) == 4
    assert all(names.count("Module.0.Linear.forward.0") == 1 for names in steps)
    assert not any("forward.1" in name for names in steps for name in names)


def test_evaluation_belongs_to_no_step(run_program, tmp_path):
    done = run_program(
        RUN
        + """
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(3):
    for _ in range(2):
        model(torch.ones(2, 4)).sum().backward()
    model.eval()
    with torch.no_grad():
        model(torch.ones(7, 4))
    model.train()
    optimizer.step()
    optimizer.zero_grad()
""",
        level="L0",
    )
    steps = steps_of(tmp_path)
    assert len(steps) == 3
    for names in steps:
        assert [name for name in names if ".0.Linear.forward" in name] == [
            "Module.0.Linear.forward.0",
            "Module.0.Linear.forward.1",
        ]
    assert "3 calls of evaluation left out" in done.stderr


def test_calls_that_never_came_are_reported(run_program):
    done = run_program(
        RUN + "model = nn.Sequential(nn.Linear(2, 2))\nmodel(torch.ones(1, 2))\n",
        level="L0",
        step=[0, 7],
        statistics={"list": ["ReLU"]},
    )
    assert "never recorded: step 7; the program came to step 0" in done.stderr
    assert "no call matched 'ReLU'" in done.stderr


def test_misspelt_keys_are_named(run_program):
    done = run_program(
        "from sonde.torch import PrecisionDebugger\nPrecisionDebugger('config.json')\n",
        dump_pth="x",
        other_tool={"a": 1},
        scope=[],
        statistics={"summary_mod": "md5", "level": "L1"},
    )
    assert (
        "'dump_pth' in the configuration is not known and has no effect; did you mean 'dump_path'?"
        in done.stderr
    )
    assert (
        "'summary_mod' in 'statistics' is not known and has no effect; did you mean 'summary_mode'?"
        in done.stderr
    )
    assert "'level' in 'statistics' has no effect there; it belongs outside" in done.stderr
    assert "'scope' in the configuration has no effect there; it belongs into" in done.stderr
    assert "other_tool" not in done.stderr


def test_threads_share_one_model(run_program, read_dump):
    """Calls get numbers of their own, and what belongs to one call stays together."""
    run_program(
        """
import concurrent.futures, torch
from torch import nn
from sonde.torch import PrecisionDebugger
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))
debugger = PrecisionDebugger("config.json")
debugger.start(model=model)
batches = [torch.full((32 + i, 64), float(i)) for i in range(80)]
with torch.no_grad(), concurrent.futures.ThreadPoolExecutor(8) as pool:
    list(pool.map(model, batches))
debugger.stop()
debugger.step()
""",
        level="mix",
    )
    data = {name: entry for name, entry in read_dump()["data"].items() if ".full." not in name}
    expected = {f"Functional.linear.{i}.forward" for i in range(160)}
    expected |= {f"Functional.relu.{i}.forward" for i in range(80)}
    for module in ("0.Linear", "1.ReLU", "2.Linear"):
        expected |= {f"Module.{module}.forward.{i}" for i in range(80)}
    assert set(data) == expected
    for name, entry in data.items():
        # Each batch has a length of its own: inputs and outputs are of one call.
        assert entry["input_args"][0]["shape"][0] == entry["output"][0]["shape"][0], name
    parents = read_dump(name="construct.json")
    for name, entry in data.items():
        if name.startswith("Functional."):
            around = data[parents[name]]
            assert around["input_args"][0]["shape"] == entry["input_args"][0]["shape"], name


def test_calls_of_threads_that_overlap_are_one_step(run_program, tmp_path):
    """Where the program has no debugger: nothing of a call is lost when another one ends."""
    run_program(
        RUN
        + """
import concurrent.futures, threading
torch.set_num_threads(1)
together = threading.Barrier(8)
class Meet(nn.Module):
    def forward(self, x):
        together.wait()
        return x
model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), Meet(), nn.Linear(8, 8)).eval()
batches = [torch.full((2 + i, 8), float(i)) for i in range(40)]
with torch.no_grad(), concurrent.futures.ThreadPoolExecutor(8) as pool:
    list(pool.map(model, batches))
""",
        level="L0",
    )
    rows: dict[str, list[int]] = {}
    for path in (tmp_path / "dump").glob("step*/*/dump.json"):
        data = json.loads(path.read_text())["data"]
        parents = json.loads((path.parent / "construct.json").read_text())
        assert set(data) == set(parents)
        for name, entry in data.items():
            length = entry["input_args"][0]["shape"][0]
            assert length == entry["output"][0]["shape"][0], name
            rows.setdefault(name.rsplit(".", 2)[0], []).append(length)
    modules = ("0.Linear", "1.ReLU", "2.Meet", "3.Linear")
    assert set(rows) == {f"Module.{module}" for module in modules}
    assert all(sorted(lengths) == [2 + i for i in range(40)] for lengths in rows.values())


def test_modules_in_lists_and_dicts_carry_their_place(run_program, tmp_path):
    """Nothing is distinguished by a number alone where the program has a name for it."""
    run_program(
        RUN
        + """
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(4, 4)
    def forward(self, x):
        return self.proj(x)
class Agent:
    shared = Part()
    def __init__(self):
        self.parts = {"left": Part(), "right": Part()}
    def run(self, x):
        return [self.parts[side](x) for side in ("left", "right")] + [self.shared(x)]
first, agent = Part(), Agent()
heads, pair, nets = nn.ModuleList([Part(), Part()]), [Part(), Part()], {"beta": Part()}
def called_by_another_name(net, x):
    return net(x)
old, new = Part(), Part()
with torch.no_grad():
    x = torch.ones(2, 4)
    first(x)
    agent.run(x)
    nets["beta"](x)
    for head in heads:
        head(x)
    for number, one in enumerate(pair):
        pair[number](x)
    for net in (old, new):
        called_by_another_name(net, x)
""",
        level="L0",
    )
    names = [name for names in steps_of(tmp_path) for name in names]
    leads = [name[len("Module.") : -len("proj.Linear.forward.0")] for name in names]
    assert leads == [
        "", "parts.left.", "parts.right.", "shared.", "nets.beta.", "heads.0.", "heads.1.",
        "pair.0.", "pair.1.", "net.", "new.",
    ]  # fmt: skip


def test_own_parameters_of_outermost_modules_have_gradients(run_program, tmp_path):
    """Also behind steps that are not recorded, and of the module that a step calls second."""
    run_program(
        RUN
        + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Parameter(torch.ones(4))
        self.fixed = nn.Parameter(torch.ones(4), requires_grad=False)
        self.body = nn.Linear(4, 4)
    def forward(self, x):
        return self.body(x + self.token) * self.fixed
net, head = Net(), Net()
optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], 0.1)
for _ in range(4):
    head(net(torch.ones(2, 4))).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
""",
        level="mix",
        step=[0, 2],
    )
    for step in (0, 2):
        (path,) = (tmp_path / "dump").glob(f"step{step}/*/dump.json")
        data = json.loads(path.read_text())["data"]
        gradients = {
            name: sorted(key for key in entry if key not in ("input_args", "output"))
            for name, entry in data.items()
            if "parameters_grad" in name
        }
        assert gradients == {
            "Module.net.Net.parameters_grad.0": ["token"],
            "Module.head.Net.parameters_grad.0": ["token"],
            "Module.body.Linear.parameters_grad.0": ["bias", "weight"],
            "Module.head.body.Linear.parameters_grad.0": ["bias", "weight"],
        }
        # Of `token` the sum of what comes back to both rows.
        sums = data["Module.head.Net.parameters_grad.0"]["token"][0]
        assert sums["shape"] == [4] and sums["Norm"] > 0


def test_each_of_several_processes_says_which_it_is(run_program, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    program = RUN + "nn.Linear(2, 2)(torch.ones(1, 2))\n"
    assert re.search(r"dumped step 0 of process \d+: 1 entries", run_program(program).stderr)
    printed = run_program(program, step=[7]).stderr
    assert re.search(r"no step of process \d+ was dumped", printed)
    assert "[WARNING] [rank 1] never recorded: step 7" in printed
    assert re.search(
        r"watched step 0 of process \d+ for", run_program(program, task="nan_watch").stderr
    )
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert "dumped step 0: 1 entries" in run_program(program).stderr
