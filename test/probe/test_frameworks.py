"""The debugger as frameworks hold it, and the msprobe package as programs import it."""

import json
import shutil
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
        # Each counts its calls again, and the second stage alone has gradients.
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
    """A package of that name with what ours lacks, built as the real one is: its modules import
    each other in a circle, which holds only where it is entered by the debugger's module."""
    files = {
        "__init__.py": "",
        "core/__init__.py": "",
        "core/common/__init__.py": "",
        "core/common/file_utils.py": "def load_json(path): return {}\n",
        "core/compare.py": "def compare(): pass\n",
        "mindspore/__init__.py": "class MindsporeDebugger: pass\n",
        "pytorch/__init__.py": (
            "from msprobe.pytorch.debugger.precision_debugger import PrecisionDebugger\n"
            "from msprobe.pytorch.debugger.precision_debugger import module_dump\n"
            "from msprobe.pytorch.compare.compare import compare\n"
            "from msprobe.pytorch.random import random_save\n"
            "from .common.utils import seed_all\n"
            "def set_fx_dump_config(): pass\n"
            "from .monitor.module_hook import TrainerMon\n"
            "AclGraphDumper = 'theirs'\n"
        ),
        "pytorch/debugger/__init__.py": "",
        "pytorch/debugger/config.py": "from msprobe.pytorch.common.log import logger\n",
        "pytorch/debugger/precision_debugger.py": (
            "from .config import logger\n"
            "class PrecisionDebugger: pass\n"
            "def module_dump(): pass\n"
            "def theirs_alone(): pass\n"
        ),
        "pytorch/compare/__init__.py": "",
        "pytorch/compare/compare.py": "def compare(): return 'theirs'\n",
        "pytorch/common/__init__.py": "from .utils import seed_all\n",
        "pytorch/common/log.py": "logger = print\n",
        "pytorch/common/utils.py": (
            "from msprobe.pytorch.random import set_random\ndef seed_all(): pass\n"
        ),
        "pytorch/random.py": (
            "from msprobe.pytorch.common.log import logger\n"
            "print('run once')\n"
            "def set_random(): pass\n"
            "def random_save(): return 'theirs'\n"
        ),
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
    lines.remove("run once")
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
import sonde.torch
print(random_save(), compare(), PrecisionDebugger is sonde.torch.PrecisionDebugger)
print(seed_all is sonde.torch.seed_all, hasattr(msprobe.pytorch, "no_such_thing"))
try:
    import msprobe.no_such_module
except ModuleNotFoundError as problem:
    print(problem)
"""
    )
    lines = done.stdout.splitlines()
    assert lines == [
        "run once",
        "theirs theirs True",
        "True False",
        "No module named 'msprobe.no_such_module'",
    ]


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
    lines = [line for line in done.stdout.splitlines() if line != "run once"]
    assert lines == ["True True", "theirs" if is_installed else "False"]


@pytest.mark.parametrize(
    "line",
    [
        "from msprobe.pytorch.random import random_save",
        "from msprobe.pytorch.common.log import logger",
        "from msprobe.pytorch.debugger.precision_debugger import module_dump, theirs_alone",
        "from msprobe.pytorch import common; common.utils.set_random",
        "from msprobe import pytorch; pytorch.monitor.module_hook.TrainerMon",
        "import msprobe; msprobe.pytorch.random_save",
    ],
)
def test_whichever_module_is_asked_for_first(run_program, tmp_path, line):
    install_msprobe(tmp_path / "installed")
    place = f"import sys\nsys.path.append({str(tmp_path / 'installed')!r})\n"
    done = run_program(f"{place}{line}\nimport sonde.torch, msprobe.pytorch as it\nprint('done')")
    assert done.stdout == "run once\ndone\n"
    assert "sonde: error" not in done.stderr


def test_threads_that_import_at_once(run_program, tmp_path):
    install_msprobe(tmp_path / "installed")
    # The longer the module takes the more threads meet in it.
    slow = tmp_path / "installed" / "msprobe" / "pytorch" / "common" / "log.py"
    slow.write_text("import time\ntime.sleep(0.3)\nlogger = print\n")
    done = run_program(
        f"import sys\nsys.path.append({str(tmp_path / 'installed')!r})\n"
        """
import threading
NAMES = ["random_save", "TrainerMon", "compare", "PrecisionDebugger", "random", "common"]
together, found = threading.Barrier(len(NAMES)), []
def ask(name):
    together.wait()
    exec(f"from msprobe.pytorch import {name}", {})
    found.append(name)
threads = [threading.Thread(target=ask, args=(name,)) for name in NAMES]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(sorted(found) == sorted(NAMES))
"""
    )
    assert done.stdout == "run once\nTrue\n", done.stderr


ASKED = """
import importlib.util
print(importlib.util.find_spec("msprobe.infer"), importlib.util.find_spec("msprobe.pytorch.x"))
import msprobe
print(msprobe.pytorch.common.utils.seed_all is msprobe.pytorch.seed_all)
from msprobe import pytorch
from msprobe.pytorch import common
"""


def test_who_only_asks_is_answered(run_program):
    """No exception from a question, and no word about what is there."""
    done = run_program(ASKED)
    assert done.stdout.splitlines() == ["None None", "True"]
    assert "sonde: error" not in done.stderr


def test_a_name_of_a_module_of_ours_that_is_missing(run_program):
    done = run_program(
        "try:\n    from msprobe.pytorch.common.utils import get_rank\n"
        "except ImportError:\n    print('caught')"
    )
    assert done.stdout == "caught\n"
    assert "msprobe.pytorch.common.utils.get_rank is not part of Sonde's probe" in done.stderr


@pytest.mark.parametrize(
    ("damage", "kind", "text"),
    [
        ("raise RuntimeError('no driver')", "RuntimeError", "cannot be imported (RuntimeError: no"),
        ("import no_such_package", "ImportError", "cannot be imported (ModuleNotFoundError"),
        (None, "ImportError", "neither Sonde's probe nor the msProbe at"),
    ],
)
def test_an_installed_msprobe_that_is_broken(run_program, tmp_path, damage, kind, text):
    """Ours works beside it, and a use of it reports what is wrong."""
    installed = tmp_path / "installed"
    install_msprobe(installed)
    if damage is None:
        shutil.rmtree(installed / "msprobe" / "pytorch")
    else:
        (installed / "msprobe" / "pytorch" / "__init__.py").write_text(damage)
    done = run_program(
        f"import sys\nsys.path.append({str(installed)!r})\n"
        f"""
from msprobe.pytorch import PrecisionDebugger, seed_all
import sonde.torch
print(PrecisionDebugger is sonde.torch.PrecisionDebugger)
try:
    from msprobe.pytorch import random_save
except {kind}:
    print("caught")
"""
    )
    assert [line for line in done.stdout.splitlines() if line != "run once"] == ["True", "caught"]
    assert done.stderr.count(text) == 1


def test_an_editable_msprobe(run_program, tmp_path):
    """Found by a finder of its own, not by the search path."""
    install_msprobe(tmp_path / "sources")
    done = run_program(
        f"""
import importlib.util
import sys
class Editable:
    @staticmethod
    def find_spec(name, path=None, target=None):
        place = {str(tmp_path / "sources" / "msprobe")!r}
        if name == "msprobe":
            return importlib.util.spec_from_file_location(name, place + "/__init__.py")
sys.meta_path.append(Editable)
from msprobe.pytorch import random_save
print(random_save())
"""
    )
    assert done.stdout == "run once\ntheirs\n", done.stderr
