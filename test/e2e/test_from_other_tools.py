"""docs/from-other-tools.md: its commands are typed here, and both languages agree.

Servers (vllm, curl) are typed by the tests below test/vllm.
"""

import importlib
import json
import re
import shlex
import shutil
import signal
import subprocess

import pytest
from conftest import ROOT

DOCUMENTS = [ROOT / "docs" / name for name in ("from-other-tools.md", "from-other-tools.zh.md")]
STATES = {"yes": "可用", "accepted": "可写", "not yet": "尚无"}

PROGRAM = """
import torch

model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
"""

DEBUGGED = """
import torch
from msprobe.pytorch import PrecisionDebugger

debugger = PrecisionDebugger(config_path="config.json", dump_path="debugged")
model = torch.nn.Linear(8, 2)
debugger.start(model=model)
model(torch.ones(4, 8))
debugger.stop()
debugger.step()
print("dumped")
"""


def rows(document):
    """(there, here, state) of each line of its tables, the first and second as they stand."""
    for line in document.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 4 and cells[0] not in ("There", "原工具"):
            yield tuple(cells[:3])


def typed():
    """The second cells of what works and can be typed without a server."""
    lines = {here.strip("`") for _, here, state in rows(DOCUMENTS[0]) if state != "not yet"}
    return sorted(line for line in lines if "vllm" not in line and not line.startswith("curl"))


COMMANDS = [line for line in typed() if line.startswith("sonde ")]
OPTIONS = [line for line in typed() if line.startswith("--")]
NAMES = [line for line in typed() if line.startswith("sonde.")]


@pytest.fixture(scope="module", name="place")
def make_place(sonde, prepared, tmp_path_factory):
    """A folder with what the lines name: a program, two captures and two dumps of it."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "train.py").write_text(PROGRAM)
    (folder / "debug.py").write_text(DEBUGGED)
    config = {"task": "statistics", "dump_path": str(folder / "dump"), "level": "mix"}
    (folder / "config.json").write_text(json.dumps(config | {"rank": [], "step": [0]}))
    python = [prepared.python, "train.py"]
    base = ["run", "--quiet", "--profile-save-path", "base"]
    subprocess.run([sonde, *base, "--", *python], cwd=folder, check=True, timeout=120)
    for words in (["--quiet"], ["--quiet", "--dump-config", "config.json"]):
        subprocess.run([sonde, "run", *words, "--", *python], cwd=folder, check=True, timeout=120)
    step = next((folder / "dump").rglob("step0"))
    for name in ("target", "golden", "step"):
        shutil.copytree(step, folder / name)
    return folder


def test_every_line_is_of_a_kind_that_is_tried():
    assert (len(COMMANDS), len(OPTIONS), len(NAMES)) > (8, 8, 5)
    assert sorted(COMMANDS + OPTIONS + NAMES) == typed()


@pytest.mark.parametrize("line", [line for line in COMMANDS if "sonde view" not in line])
def test_the_command_works(line, place, run_sonde, prepared):
    words = [prepared.python if word == "python3" else word for word in shlex.split(line)[1:]]
    done = run_sonde(*words, cwd=place)
    assert done.returncode == 0, done.stderr
    assert done.stdout or "sonde run" in line


@pytest.mark.parametrize("line", [line for line in COMMANDS if "sonde view" in line])
def test_the_page_opens(line, place, sonde):
    page = subprocess.Popen(
        [sonde, *shlex.split(line)[1:]], cwd=place, stdout=subprocess.PIPE, text=True
    )
    try:
        assert any("http://127.0.0.1" in printed for printed in page.stdout)
    finally:
        page.send_signal(signal.SIGINT)
        page.communicate(timeout=60)


def test_the_options_are_those_of_sonde_run(run_sonde):
    named = set(re.findall(r"--[\w\[\]-]+", run_sonde("run", "--help").stdout))
    known = {re.sub(r"\[no-\]", "", option) for option in named}
    assert set(OPTIONS) <= known


@pytest.mark.parametrize("name", NAMES)
def test_the_name_is_there(name, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "python")
    module, attribute = name.rsplit(".", 1)
    if not hasattr(importlib.import_module(module), attribute):
        importlib.import_module(name)


def test_both_languages_say_the_same():
    english, chinese = (list(rows(document)) for document in DOCUMENTS)
    assert [(here.replace("–", ""), STATES[state]) for _, here, state in english] == [
        (here.replace("–", ""), state) for _, here, state in chinese
    ]
    for (there, _, _), (anders, _, _) in zip(english, chinese, strict=True):
        assert re.findall("`[^`]*`", there) == re.findall("`[^`]*`", anders)
