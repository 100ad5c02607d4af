"""`sonde run` for programs that know nothing of Sonde."""

import json
import os
import subprocess
import sys

import pytest
from conftest import BUILD, ROOT
from sonde._inject import _dump, _dump_control

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
ON_ORDER = """
import sys
import torch
from torch import nn
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
with torch.no_grad():
    for _ in sys.stdin:
        model(torch.ones(3, 4))
        print("done", flush=True)
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


LEAVES = """
import torch
from torch import nn
layer, loss = nn.Linear(4, 2), nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for _ in range(2):
    loss(layer(torch.ones(3, 4)), torch.tensor([0, 1, 0])).backward()
    optimizer.step()
whole = nn.Sequential(layer, nn.ReLU())
whole(torch.ones(3, 4)).sum().backward()
optimizer.step()
"""


def test_outermost_modules_without_children_are_entries(run, tmp_path):
    done = run(LEAVES, "--dump-config", "config.json")
    assert done.returncode == 0, done.stderr
    for step in ("step0", "step1"):
        assert names(tmp_path, step) == [
            "Module.layer.Linear.forward.0",
            "Module.loss.CrossEntropyLoss.forward.0",
            "Module.loss.CrossEntropyLoss.backward.0",
            "Module.layer.Linear.backward.0",
            "Module.layer.Linear.parameters_grad.0",
        ]
    # Part of a model it has the model's name.
    assert names(tmp_path, "step2") == [
        "Module.0.Linear.forward.0",
        "Module.1.ReLU.forward.0",
        "Module.1.ReLU.backward.0",
        "Module.0.Linear.backward.0",
        "Module.0.Linear.parameters_grad.0",
    ]


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


def test_stands_in_beside_a_folder_of_that_name(run, tmp_path):
    """Of a program that lies in the sources of msProbe, whose folder comes first in the path."""
    (tmp_path / "msprobe").mkdir()
    (tmp_path / "msprobe" / "__init__.py").touch()
    (tmp_path / "msprobe" / "own.py").write_text("VALUE = 5")
    (tmp_path / "config.json").write_text('{"dump_path": "dump", "risk_level": "ALL"}')
    done = run(
        f"from msprobe.own import VALUE\n{OF_MSPROBE}\nassert VALUE == 5", "--provide", "msprobe"
    )
    assert done.returncode == 0, done.stderr
    assert "Torch.add.0.forward" in names(tmp_path, "step0")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "config.json"),
        ("{", "config.json"),
        ("[]", "must be an object"),
        ('{"task": "x", "dump_path": "d"}', "task is invalid, it should be one of"),
        ('{"level": "x", "dump_path": "d"}', "level is invalid, it should be one of"),
        ('{"level": "L0"}', "dump_path not found"),
        ('{"dumpPath": "d"}', "dump_path not found; is it meant by 'dumpPath'?"),
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


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ('{"step": "3", "dump_path": "d"}', "step is invalid, it should be a list"),
        ('{"task": "diff_check", "dump_path": "d"}', "diff_check needs bench_path"),
    ],
)
def test_wrong_configurations_that_only_the_package_knows(run, tmp_path, content, text):
    (tmp_path / "config.json").write_text(content)
    done = run("import torch\nprint('ran')", "--dump-config", "config.json")
    assert done.returncode == 2
    assert "ran" not in done.stdout
    assert text in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("content", "text"),
    [({"statistics": {"data_mode": ["sideways"]}},
      "imported neither torch nor mindspore; the configuration would be refused: "),
     ({}, "imported neither torch nor mindspore\n")],
)  # fmt: skip
def test_a_program_without_a_framework_gets_one_line(run, tmp_path, content, text):
    (tmp_path / "c.json").write_text(json.dumps({"dump_path": str(tmp_path / "d"), **content}))
    done = run("print(1)", "--dump-config", tmp_path / "c.json")
    assert done.returncode == 0 and done.stdout == "1\n"
    assert done.stderr.startswith("sonde: nothing was dumped: the Python program '")
    assert text in done.stderr and done.stderr.count("\n") == 1


def test_a_rank_that_is_not_there(run, tmp_path):
    (tmp_path / "config.json").write_text('{"rank": [5], "dump_path": "dump", "level": "L0"}')
    done = run(INFERENCE, "--dump-config", "config.json")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("rank [5] is to be recorded, but there is none") == 1


def test_unknown_package(run):
    done = run("print('ran')", "--provide", "other")
    assert done.returncode != 0
    assert "--provide must be msprobe or torch_npu" in done.stderr


def test_only_the_ordered_steps(run, tmp_path):
    """Nothing is recorded before `POST /dump`, and nothing after its steps."""
    (tmp_path / "program.py").write_text(ON_ORDER)
    variables = {k: v for k, v in os.environ.items() if not k.startswith("SONDE_")}
    variables["SONDE_HOME"] = str(BUILD)
    address = f"unix:{tmp_path}/c"
    options = ["--dump-config", "config.json", "--control", address]
    with subprocess.Popen(
        [str(SONDE), "run", *options, "--", sys.executable, "program.py"],
        cwd=tmp_path,
        env=variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:

        def steps(count):
            for _ in range(count):
                program.stdin.write("one more\n")
                program.stdin.flush()
                assert program.stdout.readline() == "done\n"

        steps(2)
        assert not (tmp_path / "dump").exists()
        assert _dump_control._post(address, '{"tokens": 1}') == 400
        assert _dump_control._post(address, "[" * 50_000) == 400
        assert _dump_control._post(address, '{"next": 2}') == 200
        steps(4)
        assert _dump_control._post(address, "") == 200
        steps(2)
        program.stdin.close()
        assert program.wait(60) == 0
    assert sorted(os.listdir(tmp_path / "dump")) == ["step2", "step3", "step6"]
    for step in ("step2", "step6"):
        assert names(tmp_path, step) == ["Module.0.Linear.forward.0", "Module.1.ReLU.forward.0"]


def test_orders_of_steps():
    steps = _dump.Steps()
    steps.order(_dump.read_order({}))
    assert steps.wants()
    steps.is_running = True  # an order that comes now is for the next one
    steps.order(_dump.read_order({"next": 2}))
    steps.steps, steps.is_running = 1, False
    assert steps.wants()
    steps.order(_dump.read_order({"next": 1, "from_step": 8}))
    wanted = []
    for number in range(2, 10):
        steps.steps = number
        wanted.append(steps.wants())
    assert wanted == [True, False, False, False, False, True, False, False]
    for wrong in ([], {"next": 0}, {"next": True}, {"ids": ["a"]}, {"from_step": -1}):
        with pytest.raises(ValueError):
            _dump.read_order(wrong)


@pytest.mark.parametrize(
    "shift, printed", [(-1.0, "found it in 1 call, see"), (1.0, "for NaN: none")]
)
def test_a_watch_for_nan_says_what_it_found(run, tmp_path, shift, printed):
    settings = {"task": "nan_watch", "level": "mix", "dump_path": "dump"}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    program = f"""
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.log(x * 0 + {shift})
Model()(torch.ones(2, 4))
"""
    done = run(program, "--dump-config", "config.json")
    assert done.returncode == 0, done.stderr
    assert "watched step 0 for NaN" in done.stderr and printed in done.stderr, done.stderr
    assert "no step was dumped" not in done.stderr
