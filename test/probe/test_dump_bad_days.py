"""Programs that are killed while they are recorded, disks that are full or cannot be written."""

import json
import os
import random
import subprocess
import sys
import time

import pytest
from conftest import environment

TRAINING = """
import sys
import torch
from torch import nn
from sonde.torch import PrecisionDebugger
torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(16, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
debugger = PrecisionDebugger("config.json")
for step in range(int(sys.argv[1])):
    debugger.start(model=model)
    loss = model(torch.randn(8, 16)).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    debugger.stop()
    debugger.step()
    print(loss.item(), flush=True)
"""


def written_part(path, depth):
    """A file of members that is whole, or was cut by a kill: at the border of a page, as the system
    does it, in its last member."""
    text = path.read_text()
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        assert text and path.stat().st_size % os.sysconf("SC_PAGE_SIZE") == 0, path
        return json.loads(text[: text.rindex(",\n" + " " * depth + '"')] + "}" * depth)


def check_folder(folder):
    """All three files are whole up to a cut; what an entry names is there, and whole, too."""
    data = written_part(folder / "dump.json", depth=2)["data"]
    stacks = json.loads((folder / "stack.json").read_text())
    construct = written_part(folder / "construct.json", depth=1)
    named = [name for names, _ in stacks.values() for name in names]
    assert len(named) == len(set(named))
    assert all(parent is None or isinstance(parent, str) for parent in construct.values())
    files = list(saved_files(data))
    for name in files:
        content = (folder / "dump_tensor_data" / name).read_bytes()
        assert content[:4] == b"PK\x03\x04" and content[-22:-18] == b"PK\x05\x06", name
    return len(data)


def saved_files(value):
    if isinstance(value, dict):
        if "data_name" in value:
            yield value["data_name"]
        for item in value.values():
            yield from saved_files(item)
    elif isinstance(value, list):
        for item in value:
            yield from saved_files(item)


@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_killed_at_any_moment(tmp_path, task):
    pytest.importorskip("torch")
    settings = {"task": task, "level": "mix", "risk_level": "ALL", "dump_path": "dump"}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    (tmp_path / "program.py").write_text(TRAINING)
    with subprocess.Popen(
        [sys.executable, "program.py", "100000"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as program:
        wanted = random.randrange(1, 6)
        for _ in range(wanted):
            assert program.stdout.readline()
        time.sleep(random.random() / 10)
        program.kill()
    steps = sorted((tmp_path / "dump").iterdir(), key=lambda path: int(path.name[4:]))
    assert len(steps) >= wanted
    begun = [file.parent for step in steps for file in step.glob("*/dump.json")]
    counts = [check_folder(folder) for folder in begun]
    assert min(counts[:wanted]) == max(counts[:wanted]) > 20
    assert len(begun) >= len(steps) - 1  # the last step may have been about to begin


@pytest.fixture(name="small_disk")
def mount_small_disk(mount_disk):
    """A file system with room for a part of a step."""
    return mount_disk("64k")


@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_a_full_disk(run_program, small_disk, task):
    plain = run_program(TRAINING, arguments=[3], dump_path=str(small_disk), step=[1000])
    done = run_program(
        TRAINING, arguments=[3], task=task, level="mix", dump_path=str(small_disk / "dump")
    )
    assert done.stdout == plain.stdout
    errors = [line for line in done.stderr.splitlines() if "[ERROR]" in line]
    assert len(errors) == 1 and "No space left on device" in errors[0], done.stderr
    assert "Traceback" not in done.stderr
    for path in small_disk.rglob("dump.json"):
        assert check_folder(path.parent) > 0 or path.parent.parent.name != "step0"


@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_a_disk_that_is_no_longer_written(run_program, small_disk, task):
    """It becomes read-only between two steps."""
    subprocess.run(["mount", "-o", "remount,size=10m", small_disk], check=True)
    source = TRAINING.replace(
        "    debugger.step()\n",
        f"    debugger.step()\n    __import__('os').system('mount -o remount,ro {small_disk}')\n",
    )
    done = run_program(
        source, good=False, arguments=[2], task=task, level="L0", dump_path=str(small_disk / "dump")
    )
    assert len(done.stdout.splitlines()) == 2, done.stderr
    assert done.returncode == 0 and done.stderr.count("Read-only file system") == 1
    assert os.listdir(small_disk / "dump") == ["step0"]
