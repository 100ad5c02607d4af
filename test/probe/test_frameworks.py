"""The debugger as frameworks hold it, and the msprobe package as programs import it."""

import json
from pathlib import Path

import pytest

VERL = """
import os, sys, torch
from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))

class Profiler:  # a folder for each step and stage, by the debugger's inside
    def __init__(self):
        self.debugger = None
    def start(self, stage, step):
        from msprobe.pytorch import PrecisionDebugger
        path = os.path.join("dump", f"step_{step}", stage)
        os.makedirs(path, exist_ok=True)
        if self.debugger is None:
            self.debugger = PrecisionDebugger(config_path="config.json", dump_path=path)
        if hasattr(self.debugger, "service") and hasattr(self.debugger.service, "config"):
            self.debugger.service.config.dump_path = path
        self.debugger.start(model)
    def stop(self):
        self.debugger.stop()
        service = getattr(self.debugger, "service", None)
        reset = getattr(service, "reset_status", None) or getattr(service, "_reset_status", None)
        reset()

profiler = Profiler()
for step in (1, 2, 3):
    for stage in ("compute", "update"):
        profiler.start(stage, step)
        y = model(torch.ones(2, 3) * step)
        if stage == "update":
            y.sum().backward()
        profiler.stop()
"""


def test_a_folder_for_each_stage(run_program, tmp_path):
    run_program(VERL, level="mix")
    found = sorted(path.parts[-5:-3] for path in (tmp_path / "dump").rglob("dump.json"))
    assert found == [(f"step_{n}", stage) for n in (1, 2, 3) for stage in ("compute", "update")]
    for path in (tmp_path / "dump").rglob("dump.json"):
        names = list(json.loads(path.read_text())["data"])
        # Each counts its calls anew, and the second stage alone has gradients.
        assert "Functional.linear.0.forward" in names and "Functional.linear.2.forward" not in names
        assert any("backward" in name for name in names) == ("update" in path.parts)


def test_a_folder_of_its_own_by_the_configuration(run_program, tmp_path):
    """What serves one role after the other sets `debugger.config.dump_path`."""
    run_program(
        """
import torch
from msprobe.pytorch import PrecisionDebugger
debugger = PrecisionDebugger(config_path="config.json")
prefix = debugger.config.dump_path
for role in ("actor", "reference"):
    debugger.config.dump_path = f"{prefix}/{role}"
    debugger.start()
    torch.add(torch.ones(2), 1)
    debugger.stop()
assert debugger.service.current_iter == 0
"""
    )
    assert len(list((tmp_path / "dump").glob("*/step0/*/dump.json"))) == 2


def test_what_is_not_there_is_missed_aloud(run_program):
    done = run_program(
        """
from msprobe.pytorch import PrecisionDebugger
debugger = PrecisionDebugger(config_path="config.json")
print(hasattr(debugger, "stopp"), hasattr(debugger.service, "data_collector"))
print(hasattr(debugger, "stopp"))
"""
    )
    assert done.stdout.split() == ["False", "False", "False"]
    assert done.stderr.count("no attribute 'stopp' in Sonde's probe; did you mean 'stop'?") == 1
    assert "Service has no attribute 'data_collector'" in done.stderr


def test_nothing_is_left_behind(run_program):
    done = run_program(
        """
import torch
from torch import nn
from torch.optim import optimizer
from msprobe.pytorch import PrecisionDebugger
before = (nn.utils.clip_grad_norm_, len(optimizer._global_optimizer_pre_hooks))
model = nn.Linear(2, 2)
debugger = PrecisionDebugger(config_path="config.json")
for _ in range(2):
    debugger.start(model=model)
    print(nn.utils.clip_grad_norm_ is not before[0], len(optimizer._global_optimizer_pre_hooks))
    debugger.stop()
    print((nn.utils.clip_grad_norm_, len(optimizer._global_optimizer_pre_hooks)) == before)
    debugger.step()
""",
        level="mix",
    )
    assert done.stdout.split() == ["True", "1", "True"] * 2


IMPORTS = """
import msprobe
print(msprobe.__version__)
for line in (
    "from msprobe.pytorch.debugger.precision_debugger import PrecisionDebugger",
    "from msprobe.pytorch.common.utils import seed_all",
    "from msprobe.pytorch.common import seed_all",
    "from msprobe.pytorch import TrainerMon",
    "from msprobe.pytorch.monitor.module_hook import TrainerMon",
    "from msprobe.core.common.file_utils import load_json",
):
    try:
        exec(line, {})
        print("ok")
    except ImportError as problem:
        print(f"no: {problem}")
from msprobe.pytorch import AclGraphDumper, PrecisionDebugger
import sonde.torch
print(AclGraphDumper, PrecisionDebugger is sonde.torch.PrecisionDebugger)
"""


def test_without_an_msprobe_the_missing_is_named(run_program):
    done = run_program(IMPORTS)
    lines = done.stdout.splitlines()
    assert lines[1:4] == ["ok", "ok", "ok"]
    assert "pip install mindstudio-probe" in lines[5] and "msprobe.pytorch.monitor" in lines[5]
    assert "msprobe.core is not part of Sonde's probe" in lines[6]
    assert "msprobe.pytorch.TrainerMon is not part of Sonde's probe" in done.stderr
    assert lines[7] == "None True"


def install_msprobe(folder: Path) -> None:
    """A package of that name with what ours lacks, built as the real one is."""
    files = {
        "__init__.py": "",
        "core/__init__.py": "",
        "core/common/__init__.py": "",
        "core/common/file_utils.py": "def load_json(path): return {}\n",
        "core/compare.py": "def compare(): pass\n",
        "mindspore/__init__.py": "class MindsporeDebugger: pass\n",
        "pytorch/__init__.py": (
            "from msprobe.core.compare import compare\n"
            "def random_save(): return 'theirs'\n"
            "def set_fx_dump_config(): pass\n"
            "from .monitor.module_hook import TrainerMon\n"
            "from msprobe.pytorch.debugger.precision_debugger import PrecisionDebugger\n"
            "AclGraphDumper = 'theirs'\n"
        ),
        "pytorch/debugger/__init__.py": "",
        "pytorch/debugger/precision_debugger.py": "raise RuntimeError('ours answers for it')\n",
        "pytorch/common/__init__.py": "from .utils import seed_all\n",
        "pytorch/common/utils.py": "def seed_all(): pass\n",
        "pytorch/monitor/__init__.py": "",
        "pytorch/monitor/module_hook.py": "class TrainerMon: pass\n",
    }
    for name, text in files.items():
        path = folder / "msprobe" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_an_installed_msprobe_gives_the_rest(run_program, tmp_path):
    install_msprobe(tmp_path / "installed")
    done = run_program(f"import sys\nsys.path.append({str(tmp_path / 'installed')!r})\n" + IMPORTS)
    lines = done.stdout.splitlines()
    assert lines[1:7] == ["ok"] * 6
    assert lines[7] == "theirs True"
    assert "not part of Sonde" not in done.stderr


def test_what_frameworks_take_of_an_installed_msprobe(run_program, tmp_path):
    """Theirs where ours has nothing, ours where it has, also behind `from msprobe import ...`."""
    install_msprobe(tmp_path / "installed")
    done = run_program(
        f"import sys\nsys.path.append({str(tmp_path / 'installed')!r})\n"
        """
import msprobe.pytorch
from msprobe.pytorch import PrecisionDebugger, compare, random_save, seed_all, set_fx_dump_config
from msprobe.mindspore import MindsporeDebugger
from msprobe.core.compare import compare as same
import sonde.torch
print(random_save(), compare is same, PrecisionDebugger is sonde.torch.PrecisionDebugger)
print(seed_all is sonde.torch.seed_all, hasattr(msprobe.pytorch, "no_such_thing"))
try:
    import msprobe.no_such_module
except ModuleNotFoundError as problem:
    print(problem)
"""
    )
    lines = done.stdout.splitlines()
    assert lines == ["theirs True True", "True False", "No module named 'msprobe.no_such_module'"]


EVERYTHING = """
from msprobe.pytorch import *
import sonde.torch
print(PrecisionDebugger is sonde.torch.PrecisionDebugger, seed_all is sonde.torch.seed_all)
print("random_save" in globals() and random_save())
"""


@pytest.mark.parametrize("is_installed", [False, True])
def test_an_import_of_everything(run_program, tmp_path, is_installed):
    """As guides write it before compare_distributed(): ours and what an installed one has."""
    install_msprobe(tmp_path / "installed")
    place = tmp_path / "installed" if is_installed else tmp_path
    done = run_program(f"import sys\nsys.path.append({str(place)!r})\n" + EVERYTHING)
    assert done.stdout.splitlines() == ["True True", "theirs" if is_installed else "False"]
