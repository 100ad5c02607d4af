"""Eight threads in one model, with the native part of the probe under the thread sanitizer.

Needs a build of its own: ``cmake --build build/tsan --target sonde_probe_shared``, and
SONDE_TSAN_BUILD names its folder (``.ci/soak`` does both). Python and torch are as they always are;
what they lock the sanitizer sees.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, environment

PROGRAM = """
import concurrent.futures, torch
from torch import nn
from sonde.torch import PrecisionDebugger
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 16))
debugger = PrecisionDebugger("config.json")
def train(batch):
    model(batch).sum().backward()
batches = [torch.full((8 + i, 16), float(i)) for i in range(40)]
for _ in range(2):
    debugger.start(model=model)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(train, batches))
    debugger.stop()
    debugger.step()
print("threads done")
"""


@pytest.mark.parametrize(
    "settings",
    [
        {"task": "statistics"},
        {"task": "tensor", "async_dump": True, "tensor": {"list": ["linear", "Linear"]}},
        {"task": "nan_watch"},
    ],
    ids=lambda settings: settings["task"],
)
def test_nothing_races(tmp_path, settings):
    build = os.environ.get("SONDE_TSAN_BUILD")
    if not build:
        pytest.skip("needs a build: SONDE_TSAN_BUILD names the folder of the preset tsan")
    config = {"level": "mix", "risk_level": "ALL", "dump_path": "dump", **settings}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "program.py").write_text(PROGRAM)
    library = subprocess.run(
        ["gcc", "-print-file-name=libtsan.so"], capture_output=True, text=True, check=True
    )
    variables = {
        **environment(),
        "SONDE_HOME": str(Path(build).resolve()),
        "LD_PRELOAD": str(Path(library.stdout.strip()).resolve()),
        # What torch and Python do to memory themselves is theirs to lock.
        "TSAN_OPTIONS": "exitcode=66:ignore_noninstrumented_modules=1:"
        f"suppressions={ROOT / 'test' / 'tsan.supp'}",
    }
    # Its memory has fixed places, which random addresses may take.
    done = subprocess.run(
        ["setarch", "-R", sys.executable, "program.py"],
        cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert "WARNING: ThreadSanitizer" not in done.stderr, done.stderr[:4000]
    assert done.returncode == 0 and "threads done" in done.stdout, done.stderr[-2000:]
    if settings["task"] == "nan_watch":
        return
    for step in ("step0", "step1"):
        (rank,) = (tmp_path / "dump" / step).iterdir()
        data = json.loads((rank / "dump.json").read_text())["data"]
        calls = {name for name in data if ".linear." in name and name.endswith(".forward")}
        assert len(calls) == 80
