"""What a program reads from its own profiler's lists and tables, with and without ``sonde run``:
the same calls, numbers, attributes and columns, since both are torch's objects."""

import inspect
import json
import re
import subprocess

import pytest

torch = pytest.importorskip("torch")

PROGRAM = """
import json, sys, warnings
import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule

warnings.simplefilter("ignore")  # of the deprecated names
# Older ones count some releases to another call in each run.
memory_repeats = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 13)
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.randn(8, 64)
found = {}


def train():
    with record_function("one step"):
        optimizer.zero_grad()
        torch.cat([model(data), model(data)]).sum().backward()
        optimizer.step()


def readable(thing):
    names = [name for name in dir(thing) if not name.startswith("_")]
    return {name: callable(getattr(thing, name)) for name in names}


train()
big = torch.ones(1000)
with profile(
    activities=[ProfilerActivity.CPU],
    schedule=schedule(wait=0, warmup=1, active=2, repeat=1),
    record_shapes=True,
    profile_memory=True,
    with_flops=True,
) as prof:
    for number in range(4):
        train()
        if number == 1:
            big = None  # a release outside of every call but the step
        prof.step()
events = prof.events()
kept = ("name", "trace_name", "count", "scope", "is_async", "is_remote", "node_id", "flops",
        "input_shapes", "kwinputs", "is_legacy", "is_user_annotation", "use_device", "device_type",
        "device_memory_usage", "device_time_total")
if memory_repeats:
    kept += ("cpu_memory_usage", "self_cpu_memory_usage")
found["events"] = [
    [str(getattr(event, name, "not in this torch")) for name in kept]
    + [event.cpu_parent.name if event.cpu_parent else None]
    + [child.name for child in event.cpu_children]
    for event in events
]
found["attributes of an event"] = readable(events[0])
rows = prof.key_averages()
found["attributes of a row"] = readable(rows[0])
found["attributes of a list"] = readable(rows)
found["rows"] = [[row.key, row.count, row.flops, row.node_id] for row in rows]
found["memory"] = [
    [row.key, row.cpu_memory_usage, row.self_cpu_memory_usage] for row in rows if memory_repeats
]
for name, options in {
    "plain": {}, "shapes": {"group_by_input_shape": True}, "stack": {"group_by_stack_n": 3},
}.items():
    found["grouped " + name] = sorted((row.key, row.count) for row in prof.key_averages(**options))
found["torch's plural"] = len(events.key_averages(group_by_input_shapes=True))
keys = ("cpu_time", "cpu_time_total", "self_cpu_time_total", "cuda_time_total", "count",
        "self_cuda_time_total", "device_time_total", "cpu_memory_usage", "self_cpu_memory_usage")
by_shape = prof.key_averages(group_by_input_shape=True)
found["headers"] = {
    key: by_shape.table(sort_by=key, row_limit=5).split("\\n")[1] for key in keys
}
memory = rows.table(sort_by="self_cpu_memory_usage", row_limit=100).split("\\n")[3:-4]
found["by memory"] = [
    line.split()[0] for line in memory if " B " not in line and memory_repeats
]
total = rows.total_average()
found["total"] = [total.key, total.count, total.flops, total.self_cpu_memory_usage]
found["printed"] = [str(rows).split("\\n")[1].split(), str(events).split("\\n")[1].split()]
inner = prof.profiler
found["of the profiler"] = [len(inner.function_events), inner.total_average().count,
                            inner.self_cpu_time_total > 0, "ReluBackward0" in inner.table()]
assert prof.events() is events  # read once
try:
    rows.table(sort_by="no_column")
except AttributeError as problem:
    found["no such column"] = str(problem)

# Times hang together, whatever they are.
for event in events:
    assert event.self_cpu_time_total > -1e-3, (event.name, event.self_cpu_time_total)
    assert event.time_range.start >= 0 and event.cpu_time == event.time_range.elapsed_us()
roots = sum(event.cpu_time_total for event in events if event.cpu_parent is None)
assert abs(rows.self_cpu_time_total - roots) < 1e-3, (rows.self_cpu_time_total, roots)

events.export_chrome_trace("events.json")
with open("events.json") as file:
    found["exported"] = sorted(event["name"] for event in json.load(file))
with open("found.json", "w") as file:
    json.dump(found, file)
"""


@pytest.fixture(scope="module", name="both")
def run_both(run_kinds):
    """What the program found alone and under Sonde."""
    return {kind: json.loads((folder / "found.json").read_text())
            for kind, (folder, _) in run_kinds(PROGRAM).items()}  # fmt: skip


@pytest.fixture(scope="module", name="run_kinds")
def make_run_kinds(sonde, prepared, tmp_path_factory):
    """run_kinds(program) runs it alone and under Sonde; folder and finished process of each."""

    def run(program, status=0):
        results = {}
        for kind in ("alone", "recorded"):
            folder = tmp_path_factory.mktemp(kind)
            (folder / "train.py").write_text(program)
            launcher = [str(sonde), "run", "--no-analyse", "--"] if kind == "recorded" else []
            done = subprocess.run([*launcher, prepared.python, "train.py"], cwd=folder, text=True,
                                  capture_output=True, timeout=240, check=False)  # fmt: skip
            assert done.returncode == status, done.stderr
            results[kind] = (folder, done)
        return results

    return run


@pytest.mark.parametrize(
    "part",
    ["events", "attributes of a row", "attributes of a list", "attributes of an event", "rows",
     "memory", "grouped plain", "grouped shapes", "grouped stack", "torch's plural", "headers",
     "by memory", "total", "printed", "of the profiler", "no such column", "exported"],
)  # fmt: skip
def test_the_program_finds_the_same(both, part):
    assert both["recorded"][part] == both["alone"][part]


def test_what_was_found_is_not_nothing(both):
    found = both["recorded"]
    assert any(row[0] == "ProfilerStep*" and row[1] == 2 for row in found["rows"])
    assert any(name == "ProfilerStep#2" for name in found["exported"])
    assert any(event[0] == "[memory]" for event in found["events"]) or found["total"][3] != 0
    assert sum(row[2] for row in found["rows"] if row[0] == "aten::addmm") == 2 * 2 * 2 * 8 * 64 * (
        64 + 8
    )
    assert "CPU Mem" in found["headers"]["count"] and "FLOPs" in found["headers"]["count"]
    assert len(found["grouped shapes"]) > len(found["grouped plain"])


BEGINS_WITH_A_MODULE = """
import json, torch
from torch.profiler import profile

model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
data = torch.randn(2, 8)
model(data)
with profile(record_shapes=True, with_stack=True) as prof:
    for _ in range(3):
        model(data).sum()
kinds = ("aten::", "nn.Module: ")
rows = sorted((row.key, row.count) for row in prof.key_averages() if row.key.startswith(kinds))
prof.export_chrome_trace("exported.json")
with open("exported.json") as file:
    events = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
names = sorted(event["name"] for event in events
               if event["cat"] != "kernel" and event["name"].startswith(kinds))
with open("found.json", "w") as file:
    json.dump({"rows": rows, "exported": names}, file)
"""


def test_a_capture_whose_first_range_is_a_module(run_kinds):
    found = {kind: json.loads((folder / "found.json").read_text())
             for kind, (folder, _) in run_kinds(BEGINS_WITH_A_MODULE).items()}  # fmt: skip
    assert found["recorded"] == found["alone"]
    assert ["aten::linear", 3] in found["recorded"]["rows"]
    assert "nn.Module: Linear_0" in found["recorded"]["exported"]


CYCLES = """
import torch
from torch.profiler import profile, schedule

data = torch.ones(4)
for options in ({"acc_events": True}, {}):
    with profile(schedule=schedule(wait=0, warmup=1, active=1, repeat=2), **options) as prof:
        for _ in range(5):
            data.cos()
            prof.step()
    rows = {row.key: row.count for row in prof.key_averages()}
    print(rows["aten::cos"], rows["ProfilerStep*"], len(prof.events()))
with prof:
    data.sin()
print(sorted(row.key for row in prof.key_averages() if row.key.startswith("aten")))
with profile() as prof:
    data.cos()
print(len(prof.events()))
prof.start()
data.cos(), data.cos()
print(len(prof.events()))  # not complete
prof.stop()
print(len(prof.events()))
"""


def test_cycles_count_as_torch_counts_them(run_kinds):
    has_choice = "acc_events" in inspect.signature(torch.profiler.profile).parameters
    results = run_kinds(CYCLES if has_choice else CYCLES.replace('"acc_events": True', ""))
    assert results["recorded"][1].stdout == results["alone"][1].stdout
    second = "1 1 2" if has_choice else "2 2 4"  # older ones accumulate always
    assert results["alone"][1].stdout.startswith(f"2 2 4\n{second}\n")


# Of each what it raises; the first is raised once more at the end, where nothing catches it.
RAISING = {
    "with profile(on_trace_ready=broken): torch.ones(2)": "ValueError: mine 1",
    "with profile(schedule=broken): torch.ones(2)": "ValueError: mine 1",
    "with profile(schedule=lambda n: broken(n) if n else RECORD) as prof: prof.step()":
        "ValueError: mine 1",
    "with profile() as prof: torch.ones(2)\nprof.export_stacks('x')":
        "AssertionError: export_stacks() requires with_stack=True",
    "with profile() as prof: torch.ones(2)\nprof.key_averages(no_keyword=1)": "TypeError: ",
}  # fmt: skip
RAISES = """
import torch
from torch.profiler import ProfilerAction, profile

RECORD = ProfilerAction.RECORD


def broken(_):
    raise ValueError("mine 1")


for call in CALLS:
    try:
        exec(call)
        print("went on")
    except Exception as problem:
        print(f"{type(problem).__name__}: {problem}".splitlines()[0])
exec(CALLS[0])
print("went on")
"""


def test_what_the_program_raises_reaches_it(run_kinds):
    """Or ends it."""
    results = run_kinds(RAISES.replace("CALLS", repr(list(RAISING))), status=1)
    for _, done in results.values():
        lines = done.stdout.splitlines()
        assert len(lines) == len(RAISING), done.stdout
        for line, beginning in zip(lines, RAISING.values()):
            assert line.startswith(beginning), done.stdout
        assert "ValueError: mine 1" in done.stderr.splitlines(), done.stderr


FILES = """
import os, torch
from torch.profiler import profile

with profile(with_stack=True, record_shapes=True, profile_memory=True) as prof:
    torch.ones(300, 300) @ torch.ones(300, 300)
prof.export_chrome_trace(path="named.json")
prof.export_stacks(path="named.txt", metric="self_cpu_time_total")
prof.export_stacks("placed.txt", "self_cpu_time_total")
print(sorted(name for name in os.listdir() if name.startswith(("named", "placed"))))
"""


def test_files_have_the_names_that_the_program_gave(run_kinds):
    results = run_kinds(FILES)
    assert results["recorded"][1].stdout == results["alone"][1].stdout
    assert "'named.json', 'named.txt', 'placed.txt'" in results["recorded"][1].stdout
    folder = results["recorded"][0]
    assert json.loads((folder / "named.json").read_text())["traceEvents"]
    lines = (folder / "named.txt").read_text().splitlines()
    assert any(re.fullmatch(r".*train\.py\(\d+\):_<module>.* \d+", line) for line in lines)
