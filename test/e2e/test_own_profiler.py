"""A program that uses ``torch.profiler`` itself, with and without ``sonde run``: the same windows,
the same operators, the same results."""

import gzip
import json
import subprocess
from collections import Counter

import pytest

pytest.importorskip("torch")

PROGRAM = """
import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.profiler import tensorboard_trace_handler

torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train():
    with record_function("one step"):
        optimizer.zero_grad()
        loss = model(torch.ones(8, 16)).sum()
        loss.backward()
        optimizer.step()
    return loss


train()
with profile(
    activities=[ProfilerActivity.CPU],
    schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
    on_trace_ready=tensorboard_trace_handler("scheduled", use_gzip=True),
    record_shapes=True,
) as prof:
    prof.add_metadata_json("note", '{"a": 1}')
    for _ in range(6):
        train()
        prof.step()
for row in sorted(prof.key_averages(), key=lambda row: row.key):
    if row.key.startswith("aten::"):
        print(row.key, row.count)
assert "aten::addmm" in prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=50)
with profile() as whole:
    loss = train()
whole.export_chrome_trace("whole.json")
assert isinstance(whole, torch.profiler.profile)
print("loss", loss.item().hex())
"""


def events_of(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        return json.load(file)["traceEvents"]


def operators_of(path):
    names = (event["name"] for event in events_of(path) if event.get("cat") == "cpu_op")
    return Counter(name for name in names if name.startswith("aten::"))


@pytest.fixture(scope="module", name="both")
def run_both(sonde, prepared, tmp_path_factory):
    """Folder and standard output of the program alone and under Sonde."""
    results = {}
    for kind in ("alone", "recorded"):
        folder = tmp_path_factory.mktemp(kind)
        (folder / "train.py").write_text(PROGRAM)
        launcher = [str(sonde), "run", "--"] if kind == "recorded" else []
        done = subprocess.run([*launcher, prepared.python, "train.py"], cwd=folder, text=True,
                              capture_output=True, timeout=240, check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr
        results[kind] = (folder, done)
    return results


def test_the_program_prints_the_same(both):
    assert both["alone"][1].stdout == both["recorded"][1].stdout
    assert "aten::addmm 4" in both["alone"][1].stdout


def test_its_own_files_hold_the_same_operators(both):
    alone, recorded = both["alone"][0], both["recorded"][0]
    (theirs,) = (alone / "scheduled").glob("*.pt.trace.json.gz")
    (ours,) = (recorded / "scheduled").glob("*.pt.trace.json.gz")
    assert operators_of(ours) == operators_of(theirs)
    assert operators_of(recorded / "whole.json") == operators_of(alone / "whole.json")
    steps = {event["name"] for event in events_of(ours)} & {
        event["name"] for event in events_of(theirs) if event["name"].startswith("ProfilerStep")
    }
    assert steps == {"ProfilerStep#2", "ProfilerStep#3"}
    assert sum(event["name"] == "one step" for event in events_of(ours)) == 2


def test_every_window_is_a_capture_with_deliverables(both):
    folder, done = both["recorded"]
    spans = sorted((folder / "profile").glob("*_ascend_pt"))
    assert len(spans) == 3  # until the first profiler, and two windows
    for span in spans:
        assert (span / "ASCEND_PROFILER_OUTPUT" / "analyse.done").exists()
    assert "its settings apply from here on" in done.stderr
    metadata = json.loads((spans[1] / "profiler_metadata.json").read_text())
    assert metadata["note"] == {"a": 1}


def test_steps_on_the_command_line_leave_the_program_its_profiler(run_sonde, prepared, tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)
    done = run_sonde("run", "--profile-step-start", "1", "--profile-step-end", "3", "--",
                     prepared.python, "train.py", timeout=240)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "profile").glob("*_ascend_pt"))) == 1
    assert (tmp_path / "whole.json").exists()
    assert "its settings apply from here on" not in done.stderr
