"""`sonde run` for programs that know nothing of Sonde."""

import json
import os
import subprocess
import sys

import pytest
from conftest import BUILD, ROOT

SONDE = BUILD / "bin" / "sonde"

TRAINING = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
loss = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    loss(model(torch.ones(3, 4)), torch.tensor([0, 1, 0])).backward()
    optimizer.step()
    optimizer.zero_grad()
"""
INFERENCE = """
import torch
from torch import nn
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
with torch.no_grad():
    for _ in range(3):
        model(torch.ones(3, 4))
"""
OF_MSPROBE = """
from msprobe.pytorch import PrecisionDebugger, seed_all
import torch
seed_all(1)
debugger = PrecisionDebugger(config_path="config.json")
debugger.start()
torch.add(torch.ones(2), 1)
debugger.stop()
debugger.step()
"""


@pytest.fixture(name="run")
def make_run(tmp_path):
    pytest.importorskip("torch")
    assert SONDE.is_file(), f"{SONDE} is missing: make build"
    settings = {"task": "statistics", "level": "L0", "dump_path": "dump", "risk_level": "ALL"}
    (tmp_path / "config.json").write_text(json.dumps(settings))

    def call(source, *options):
        (tmp_path / "program.py").write_text(source)
        words = [str(SONDE), "run", *options, "--", sys.executable, "program.py"]
        variables = {k: v for k, v in os.environ.items() if not k.startswith("SONDE_")}
        variables["SONDE_HOME"] = str(ROOT / "build" / os.environ.get("PRESET", "dev"))
        return subprocess.run(
            words,
            cwd=tmp_path,
            env=variables,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    return call


def names(tmp_path, step):
    (folder,) = (tmp_path / "dump" / step).iterdir()
    return list(json.loads((folder / "dump.json").read_text())["data"])


def test_a_training_step_is_a_step(run, tmp_path):
    done = run(TRAINING, "--dump-config", "config.json")
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(tmp_path / "dump")) == ["step0", "step1"]
    for step in ("step0", "step1"):
        found = names(tmp_path, step)
        assert found[:3] == [
            "Module.0.Linear.forward.0",
            "Module.1.ReLU.forward.0",
            "Module.2.Linear.forward.0",
        ]
        assert "Module.2.Linear.backward.0" in found
        assert "Module.0.Linear.parameters_grad.0" in found


def test_a_call_is_a_step_without_optimizer(run, tmp_path):
    done = run(INFERENCE, "--dump-config", "config.json")
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(tmp_path / "dump")) == ["step0", "step1", "step2"]
    assert names(tmp_path, "step2") == ["Module.0.Linear.forward.0", "Module.1.ReLU.forward.0"]


def test_stands_in_for_msprobe(run, tmp_path):
    settings = {"task": "statistics", "level": "L1", "dump_path": "dump", "risk_level": "ALL"}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    done = run(OF_MSPROBE, "--provide", "msprobe")
    assert done.returncode == 0, done.stderr
    assert names(tmp_path, "step0") == ["Torch.ones.0.forward", "Torch.add.0.forward"] or names(
        tmp_path, "step0"
    ) == ["Torch.add.0.forward"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "config.json"),
        ("{", "config.json"),
        ("[]", "must be an object"),
        ('{"task": "x", "dump_path": "d"}', "task is invalid, it should be one of"),
        ('{"level": "x", "dump_path": "d"}', "level is invalid, it should be one of"),
        ('{"level": "L0"}', "dump_path not found"),
        ('{"dump_path": "/dev/null/d"}', "dump_path"),
    ],
)
def test_wrong_configurations_before_anything_runs(run, tmp_path, content, text):
    path = tmp_path / "config.json"
    if content is None:
        path.unlink()
    else:
        path.write_text(content)
    done = run("print('ran')", "--dump-config", "config.json")
    assert done.returncode != 0
    assert "ran" not in done.stdout
    assert text in done.stderr


def test_unknown_package(run):
    done = run("print('ran')", "--provide", "other")
    assert done.returncode != 0
    assert "--provide must be msprobe" in done.stderr
