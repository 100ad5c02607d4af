"""Programs that start processes of their own: each that trains is a capture like others."""

import csv
import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

OWN_OPTIMIZER = (Path(__file__).parents[1] / "own_optimizer.py").read_text()

# Two processes without torchrun; with "group" they form a group of two ranks.
PROGRAM = """
import sys
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def train(number, store):
    if store:
        dist.init_process_group("gloo", init_method=f"file://{store}", rank=number, world_size=2)
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(4):
        optimizer.zero_grad()
        model(torch.ones(2, 8)).sum().backward()
        if store:
            dist.all_reduce(model.weight.grad)
        optimizer.step()
    if store:
        dist.destroy_process_group()

if __name__ == "__main__":
    context = mp.get_context(sys.argv[1])
    store = sys.argv[2] if len(sys.argv) > 2 else ""
    children = [context.Process(target=train, args=(number, store)) for number in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    sys.exit(sum(child.exitcode for child in children))
"""


def recorded(run_sonde, python, tmp_path, *words, options=()):
    program = tmp_path / "ranks.py"
    program.write_text(OWN_OPTIMIZER + PROGRAM.replace("torch.optim.SGD(", "Descent("))
    done = run_sonde("run", "--profile-save-path", "out", *options, "--",
                     python, program, *words, timeout=240)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr and "helper" not in done.stderr
    return done, sorted((tmp_path / "out").glob("*/ASCEND_PROFILER_OUTPUT"))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_without_a_group(run_sonde, prepared, tmp_path, method):
    done, outputs = recorded(run_sonde, prepared.python, tmp_path, method)
    assert len(outputs) == 2, "and not the parent, which did nothing"
    assert "nothing to analyse" in done.stderr
    for output in outputs:
        with (output / "step_trace_time.csv").open() as file:
            assert [row["Step"] for row in csv.DictReader(file)] == ["0", "1", "2", "3"]


def test_forked_ranks(run_sonde, prepared, tmp_path):
    done, outputs = recorded(run_sonde, prepared.python, tmp_path, "fork", tmp_path / "store")
    assert len(outputs) == 2
    infos = [path.name for output in outputs for path in output.parent.glob("profiler_info_*.json")]
    assert sorted(infos) == ["profiler_info_0.json", "profiler_info_1.json"]
    assert "rank 0 " in done.stderr and "rank 1 " in done.stderr


def test_chosen_steps_of_forked_processes(run_sonde, prepared, tmp_path):
    """Each parses its steps as soon as they are over; the end sums up all."""
    options = ("--profile-step-start", 1, "--profile-step-end", 3)
    done, outputs = recorded(run_sonde, prepared.python, tmp_path, "fork", options=options)
    assert len(outputs) == 2
    assert "ended after 0 steps" in done.stderr
    rows = [line.split() for line in done.stderr.splitlines() if line.startswith("  process ")]
    assert [row[2] for row in rows] == ["2", "2"], "steps of both in the summary"
    times = [(output / "analyse.done").stat().st_mtime_ns for output in outputs]
    again = run_sonde("analyse", "out", "--only-missing")
    assert again.returncode == 0 and again.stdout in done.stderr
    assert [(output / "analyse.done").stat().st_mtime_ns for output in outputs] == times


@pytest.mark.parametrize("start", [5, 1000])
def test_a_program_that_ends_before_the_first_step_to_record(run_sonde, prepared, tmp_path, start):
    """Whether it got as far as the warm-up or not."""
    options = ("--profile-step-start", start)
    done, outputs = recorded(run_sonde, prepared.python, tmp_path, "fork", options=options)
    assert not outputs and not list((tmp_path / "out").glob("*_ascend_pt"))
    assert done.stderr.count(f"ended after 4 steps, before step {start}: nothing was recorded") == 2
    assert (
        f"the program ended after 4 steps, before step {start} (--profile-step-start)"
        in (done.stderr.splitlines()[-1])
    )


LOADER = """
import os, signal, sys
import torch

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return torch.ones(8) * 2

def die():
    torch.ones(8) * 2
    os.kill(os.getpid(), signal.SIGKILL)

model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for epoch in range(2):
    for batch in torch.utils.data.DataLoader(Data(), batch_size=4, num_workers=2):
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
idle = torch.multiprocessing.get_context("fork").Process(target=print, args=("idle",))
idle.start()
idle.join()
if len(sys.argv) > 1:
    killed = torch.multiprocessing.get_context("fork").Process(target=die)
    killed.start()
    killed.join()
"""


@pytest.mark.parametrize("words", [[], ["kill"]])
def test_data_loader_workers(run_sonde, prepared, tmp_path, words):
    """Each ends its session before multiprocessing's os._exit; who is killed leaves a ring."""
    program = tmp_path / "loader.py"
    program.write_text(LOADER)
    done = run_sonde("run", "--profile-save-path", "out", "--no-analyse", "--",
                     prepared.python, program, *words, timeout=240)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"{4 + len(words)} helper processes" in done.stderr, "not the idle one"
    rings = list((tmp_path / "out").glob("*/SONDE/ring_*"))
    assert len({ring.parent for ring in rings}) == len(words)
    captures = [path for path in (tmp_path / "out").glob("*/SONDE") if path not in
                {ring.parent for ring in rings}]  # fmt: skip
    assert len(captures) == 5
    assert all(list(path.glob("events_*")) for path in captures)
    assert sum(file.stat().st_size for path in captures for file in path.iterdir()) < 1 << 20
    if words:
        return
    # Who asks for the program means none of its workers, which are no ranks either.
    done = run_sonde("cluster", "-m", "cluster_time_summary", "-d", "out", "-o", "tables")
    assert "4 traces are of processes that help a rank" in done.stderr
    assert "counts as rank 0" in done.stderr and "counts as rank 1" not in done.stderr
    for asked in (("compare", "-bp", "out", "--enable_operator_compare"), ("advisor", "all")):
        done = run_sonde(*asked, "-d", "out", "-o", "tables")
        assert done.returncode == 0, done.stderr


SPAWNED_LOADER = """
import sys
import torch

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 16
    def __getitem__(self, index):
        return torch.ones(8) * 2

if __name__ == "__main__":
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for batch in torch.utils.data.DataLoader(
        Data(), batch_size=4, num_workers=2, multiprocessing_context=sys.argv[1]
    ):
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_data_loader_workers_that_import_torch_themselves(run_sonde, prepared, tmp_path, method):
    """Helpers like forked ones: not parsed automatically, in no table, and no word that steps are
    few."""
    program = tmp_path / "loader.py"
    own = OWN_OPTIMIZER + SPAWNED_LOADER.replace("torch.optim.SGD(", "Descent(")
    program.write_text(own if method == "forkserver" else SPAWNED_LOADER)
    words = ("--", prepared.python, program, method)
    done = run_sonde("run", "--profile-save-path", "out", *words, timeout=240)
    assert done.returncode == 0, done.stderr
    assert "2 helper processes" in done.stderr and done.stderr.count("  process ") == 1
    assert len(list((tmp_path / "out").glob("*_ascend_pt"))) == 3
    assert len(list((tmp_path / "out").glob("*/ASCEND_PROFILER_OUTPUT"))) == 1
    if method == "forkserver":
        return  # what is chosen of the steps does not depend on it
    options = ("--profile-save-path", "steps", "--profile-step-start", 1, "--profile-step-end", 3)
    done = run_sonde("run", *options, *words, timeout=240)
    assert len(list((tmp_path / "steps").glob("*/ASCEND_PROFILER_OUTPUT"))) == 1
    assert "ended after" not in done.stderr and "helper" not in done.stderr


LARGE_GROUP = """
import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

dist.init_process_group("fake", rank=0, world_size=1000, store=FakeStore())
dist.all_reduce(torch.ones(1000))
"""


def test_a_group_of_many_ranks(run_sonde, prepared, tmp_path):
    program = tmp_path / "large.py"
    program.write_text(LARGE_GROUP)
    done = run_sonde("run", "--profile-save-path", "out", "--profile-level", "level1", "--",
                     prepared.python, program, timeout=240)  # fmt: skip
    assert done.returncode == 0, done.stderr
    files = tmp_path.glob("out/*/ASCEND_PROFILER_OUTPUT/communication*.json")
    found = {path.stem: json.loads(path.read_text())["step"]["collective"] for path in files}
    assert found["communication_matrix"] == {}, "no link was measured"
    (name,) = (name for name in found["communication"] if name.startswith("hcom_allReduce"))
    sent = run_sonde("query", tmp_path / "out", "SELECT size_bytes, basis FROM communication",
                     "--format", "json")  # fmt: skip
    assert json.loads(sent.stdout) == [{"size_bytes": 2 * 4000 // 1000 * 999, "basis": "nominal"}]


ENDS_AT_ONCE = """
import os, sys
import torch
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        torch.ones(2, 2) @ torch.ones(2, 2)
        sys.stdout.write("worked")
        sys.stdout.flush()
    os._exit(0)
os._exit(0)
"""


def test_a_daemon_whose_parents_left_at_once(run_sonde, tmp_path):
    """Nothing was recorded of the first process, and it never reported its end."""
    program = tmp_path / "daemon.py"
    program.write_text(ENDS_AT_ONCE)
    # The pipe is at its end when the last of them has ended.
    done = run_sonde("run", "--profile-save-path", "out", "--",
                     "sh", "-c", f"{sys.executable} {program} | cat")  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "worked")
    assert "nothing to analyse" in done.stderr and "error" not in done.stderr
