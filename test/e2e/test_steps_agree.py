"""A profile and a dump of one program have the same steps: those that a person would draw.

Each program calls its layer another number of times in each of its iterations, so that the numbers
of calls show which iteration a step is, and whether it holds all of it and nothing else.

Programs of PLAIN use an optimizer of torch, the others one of their own (own_optimizer.py).
"""

import csv
import io
import json
import re
from pathlib import Path

import pytest

OWN_OPTIMIZER = (Path(__file__).parents[1] / "own_optimizer.py").read_text()

COMMON = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
    def forward(self, x, times=1):
        for _ in range(times):
            x = self.fc(x)
        return x
def sgd(*nets):
    return torch.optim.SGD([weight for net in nets for weight in net.parameters()], 0.01)
x = torch.ones(2, 4)
"""
PLAIN = ("gradients of several batches", "a scaler that skips")

# Each with the calls of the layer in its steps.
PROGRAMS = {
    "one model": (
        """
net = Net().eval()
with torch.inference_mode():
    for i in range(4):
        net(x, i + 1)
""",
        [1, 2, 3, 4],
    ),
    "an encoder and then tokens": (
        """
encoder, decoder = Net(), Net()
with torch.no_grad():
    for text in range(2):
        memory = encoder(x, 4)
        for token in range(3):
            memory = decoder(memory, token + 1).softmax(-1)
""",
        [5, 2, 3, 5, 2, 3],
    ),
    "an encoder and then tokens, gradients on": (
        """
encoder, decoder = Net(), Net()
for text in range(2):
    memory = encoder(x, 4)
    for token in range(3):
        memory = decoder(memory, token + 1)
""",
        [5, 2, 3, 5, 2, 3],
    ),
    "a part of a model and then the model": (
        """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = Net(), Net()
    def forward(self, x, times):
        return self.decoder(x, times)
model = Model()
with torch.no_grad():
    for text in range(2):
        memory = model.encoder(x, 3)
        for token in range(2):
            model(memory, token + 1)
""",
        [4, 2, 4, 2],
    ),
    "a model and its criterion": (
        """
net, criterion = Net(), nn.CrossEntropyLoss()
with torch.no_grad():
    for i in range(4):
        criterion(net(x, i + 1), torch.tensor([0, 1])).item()
""",
        [1, 2, 3, 4],
    ),
    "vision, projector and language": (
        """
vision, projector, language = Net().eval(), nn.Sequential(nn.GELU(), nn.Linear(4, 4)), Net().eval()
with torch.no_grad():
    for i in range(3):
        language(projector(vision(x, 2)), i + 1)
""",
        [4, 5, 6],
    ),
    "a model of one call after another, its loss at last": (
        """
net, criterion = Net(), nn.MSELoss()
with torch.no_grad():
    for i in range(3):
        net(x, i + 1)
    for i in range(3):
        criterion(net(x, i + 1), x)
""",
        [1, 2, 3, 1, 2, 3],
    ),
    "two updates of one network for one of another": (
        """
critic, maker = Net(), Net()
of_critic, of_maker = sgd(critic), sgd(maker)
for i in range(3):
    for _ in range(2):
        of_critic.zero_grad()
        (critic(x, 1).sum() - critic(maker(x, i + 1).detach(), 1).sum()).backward()
        of_critic.step()
    of_maker.zero_grad()
    critic(maker(x, i + 1)).sum().backward()
    of_maker.step()
""",
        [2 * 3 + 2, 2 * 4 + 3, 2 * 5 + 4],
    ),
    "gradients of several batches": (
        """
net = Net()
optimizer = sgd(net)
for i in range(8):
    net(x, i + 1).sum().backward()
    if i % 2:
        optimizer.step()
        optimizer.zero_grad()
""",
        [3, 7, 11, 15],
    ),
    "evaluation between epochs": (
        """
net, criterion = Net(), nn.MSELoss()
optimizer = sgd(net)
for epoch in range(3):
    net.train()
    for i in range(2):
        criterion(net(x, 2 * epoch + i + 1), x).backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        for _ in range(3):
            criterion(net(x, 9), x)
""",
        [1, 2, 3, 4, 5, 6],
    ),
    "a scaler that skips": (
        """
net = Net()
optimizer, scaler = sgd(net), torch.amp.GradScaler("cpu", init_scale=4.0)
for i in range(4):
    loss = net(x, i + 1).sum() * (float("inf") if i == 1 else 1)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
""",
        [1, 2, 3, 4],
    ),
    "actor, critic and reference": (
        """
actor, critic, reference = Net(), Net(), Net().requires_grad_(False)
optimizer = sgd(actor, critic)
for i in range(3):
    with torch.no_grad():
        wanted = reference(x, 2)
    ((actor(x, i + 1) - wanted).square().mean() + critic(x, 1).square().mean()).backward()
    optimizer.step()
""",
        [4, 5, 6],
    ),
    "updates without torch.optim": (
        """
net, criterion = Net(), nn.MSELoss()
for i in range(4):
    criterion(net(x, i + 1), x).backward()
    with torch.no_grad():
        for weight in net.parameters():
            weight -= 0.01 * weight.grad
            weight.grad = None
""",
        [1, 2, 3, 4],
    ),
    "inference before training": (
        """
net = Net()
with torch.no_grad():
    net(x, 5)
optimizer = sgd(net)
for i in range(3):
    net(x, i + 1).sum().backward()
    optimizer.step()
""",
        [5, 1, 2, 3],
    ),
    "an optimizer that is made after the first backward": (
        """
net, optimizer = Net(), None
for i in range(3):
    net(x, i + 1).sum().backward()
    optimizer = optimizer or sgd(net)
    optimizer.step()
""",
        [1, 2, 3],
    ),
    "steps that the program marks": (
        """
from sonde.torch import step
net = Net()
optimizer = sgd(net)
for i in range(3):
    for _ in range(2):
        net(x, i + 1).sum().backward()
        optimizer.step()
    step()
""",
        [1, 1, 4, 6],
    ),
}


def dumped(run_sonde, python, tmp_path):
    config = {"task": "statistics", "level": "L0", "dump_path": "dump"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    done = run_sonde("run", "--dump-config", "config.json", "--", python, "program.py")
    assert done.returncode == 0, done.stderr
    found = {}
    for path in (tmp_path / "dump").glob("step*/*/dump.json"):
        names = json.loads(path.read_text())["data"]
        calls = [name for name in names if re.search(r"\.Linear\.forward\.\d+$", name)]
        found[int(path.parts[-3][4:])] = len(calls)
    return found


def profiled(run_sonde, python, tmp_path):
    done = run_sonde("run", "--profile-save-path", "out", "--", python, "program.py")
    assert done.returncode == 0, done.stderr
    (span,) = (tmp_path / "out").glob("*_ascend_pt")
    asked = run_sonde(
        "query", span, "SELECT step_id, count(*) AS calls FROM device_task WHERE step_id IS NOT "
        "NULL AND name = 'aten::addmm' GROUP BY 1 ORDER BY 1", "--format", "csv",
    )  # fmt: skip
    assert asked.returncode == 0, asked.stderr
    rows = csv.DictReader(io.StringIO(asked.stdout, newline=""))
    return {int(row["step_id"]): int(row["calls"]) for row in rows}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_profile_and_a_dump_have_the_same_steps(run_sonde, prepared, tmp_path, name):
    source, calls = PROGRAMS[name]
    program = COMMON + source
    if "sgd(" in source and name not in PLAIN:
        program = OWN_OPTIMIZER + program.replace("torch.optim.SGD(", "Descent(")
    (tmp_path / "program.py").write_text(program)
    expected = dict(enumerate(calls))
    found = [seen(run_sonde, prepared.python, tmp_path) for seen in (dumped, profiled)]
    assert found == [expected, expected]
