"""A training program under `sonde run` that ends by itself, is killed, or is killed with everything
around it: each step that it counted is in its capture."""

import os
import shutil
import signal
import subprocess
import sys
import time

from soak_storms.ground import HANG_S, ROOT, SONDE

PROGRAM = """
import ctypes, mmap, sys
import torch

progress, steps = sys.argv[1], int(sys.argv[2])
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
with open(progress, "r+b") as file:
    made = ctypes.c_uint64.from_buffer(mmap.mmap(file.fileno(), 8))
    for step in range(steps):
        with torch.profiler.record_function("soak_step"):
            optimizer.zero_grad()
            model(torch.randn(8, 16)).sum().backward()
            optimizer.step()
        made.value += 1
"""
ROWS = (
    "SELECT (SELECT count(*) FROM slice WHERE name = 'soak_step'), "
    "(SELECT coalesce(sum(count), 0)::BIGINT FROM import_issue WHERE code = 'records_dropped')"
)


def child_of(pid):
    """The first child of a process; None where there is none."""
    path = f"/proc/{pid}/task/{pid}/children"
    with open(path, encoding="ascii") as file:
        children = file.read().split()
    return int(children[0]) if children else None


def interrupt(ground, process, fate, progress):
    """After a while, by one of three fates; the exit status, None of one that hung."""
    time.sleep(ground.random.uniform(1, 12))
    if process.poll() is None and fate == "group":
        os.killpg(process.pid, signal.SIGKILL)
        ground.report.add(kills=1)
    if process.poll() is None and fate == "program":
        child = child_of(process.pid)
        if child:
            os.kill(child, signal.SIGKILL)
            ground.report.add(kills=1)
    seen = None
    while True:  # as long as it trains: a busy machine is slow
        try:
            return process.wait(2 * HANG_S)
        except subprocess.TimeoutExpired:
            if progress.read_bytes() != seen:
                seen = progress.read_bytes()
                continue
        ground.report.add(hangs=1)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None


def run(ground, folder):
    """Folder of the profile, and the steps that the program counted."""
    folder.mkdir()
    progress = folder / "progress"
    progress.write_bytes(bytes(8))
    fate = ground.random.choice(("alone", "program", "group"))
    steps = 300 if fate == "alone" else 1_000_000
    words = [SONDE, "run", "--profile-save-path", folder / "profile", "--", sys.executable,
             ground.folder / "train.py", progress, steps]  # fmt: skip
    process = subprocess.Popen(
        [str(word) for word in words], env={**ground.env, "OMP_NUM_THREADS": "1"}, cwd=ROOT,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    status = interrupt(ground, process, fate, progress)
    if fate == "alone" and status not in (0, None):
        ground.report.add(crashes=1)
        ground.log("training", f"{folder}: a run that nobody killed ended with {status}")
    return folder / "profile", int.from_bytes(progress.read_bytes(), "little")


def check(ground, profile, made):
    spans = list(profile.glob("*_ascend_pt"))
    rows, dropped = 0, 0
    if spans:
        ground.analyse_with_kills(spans[0])
        rows, dropped = ground.numbers(spans[0], ROWS) or (0, 0)
    lost = max(0, made - rows - dropped)
    ground.report.add(captures=len(spans), steps=rows, lost=lost, dropped=dropped)
    if lost:
        ground.log("training", f"{profile}: made {made}, rows {rows}, dropped {dropped}")


def rage(ground):
    try:
        import torch  # noqa: F401 - only whether it is there
    except ImportError:
        ground.report.show(training="left out: needs PyTorch")
        return
    (ground.folder / "train.py").write_text(PROGRAM, encoding="utf-8")
    number = 0
    while not ground.is_over():
        number += 1
        folder = ground.folder / f"train{number}"
        check(ground, *run(ground, folder))
        shutil.rmtree(folder)
