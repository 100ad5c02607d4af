"""Real PyTorch programs below the start-up hook: the captures that they leave.

Each program runs once; several tests look at what it left.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import capture_reader
import pytest
from conftest import ROOT, Finished, hooked_environment

pytestmark = pytest.mark.usefixtures("need_torch")

PROGRAMS = Path(__file__).resolve().parent / "programs"
TIMEOUT_S = 180


def run(folder, words, python=sys.executable, **variables):
    done = subprocess.run(
        [python, *map(str, words)],
        cwd=folder,
        env=hooked_environment(folder, **variables),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return Finished(done, folder / "run_list")


def captures_below(folder):
    """Every capture of a run, by process id."""
    spans = sorted((folder / "captures").glob("*_ascend_pt"))
    return {int(span.name.split("_")[-4]): read_capture(span) for span in spans}


def read_capture(span):
    """A capture with its metadata as values."""
    capture = capture_reader.read(span)
    capture.metadata = {key: json.loads(text) for key, text in capture.metadata.items()}
    return capture


def steps_of(capture):
    """(number, finished) of each step."""
    return [
        (step.sequence, step.dur != capture_reader.UNFINISHED)
        for step in capture.of(capture_reader.STEP)
    ]


def names_of(capture, *kinds):
    return {record.name for record in capture.of(*kinds)}


class Trained:
    """The training program alone and below the hook, with fork workers."""

    def __init__(self, folder):
        words = [PROGRAMS / "train.py", 3, "fork"]
        self.alone = run(folder, words, SONDE_ATTACH=None)
        self.hooked = run(
            folder, words, SONDE_PROFILE_WITH_MEMORY="1", SONDE_PROFILE_RECORD_SHAPES="1",
            SONDE_PROFILE_WITH_STACK="1", SONDE_PROFILE_LEVEL="level1",
        )  # fmt: skip
        self.main_span = Path(self.hooked.noted("capture")[0])
        captures = captures_below(folder)
        self.main = captures.pop(int(self.main_span.name.split("_")[-4]))
        self.workers = list(captures.values())


@pytest.fixture(scope="module", name="trained")
def make_trained(tmp_path_factory):
    return Trained(tmp_path_factory.mktemp("train"))


def test_computes_the_same_bit_for_bit(trained):
    assert trained.alone.stdout.count("loss 0x") == 3
    assert trained.hooked.stdout == trained.alone.stdout
    assert trained.hooked.returncode == 0
    # torch's allocator logs this once when its events are asked for, to whatever profiler.
    lines = trained.hooked.stderr.splitlines()
    lines = [line for line in lines if "Memory block of unknown size" not in line]
    assert lines == trained.alone.stderr.splitlines()


def test_steps_end_with_the_optimizer(trained):
    # Step 3 began after the third optimizer step and never ended.
    assert steps_of(trained.main) == [(0, True), (1, True), (2, True), (3, False)]
    optimizer = [r for r in trained.main.records if r.name.startswith("Optimizer.step")]
    steps = trained.main.of(capture_reader.STEP)
    assert len(optimizer) == 3
    for step, scope in zip(steps, optimizer):
        assert step.ticks <= scope.ticks and scope.end <= step.end


def test_operators_modules_loader_and_memory_are_there(trained):
    assert {"aten::addmm", "aten::relu"} <= names_of(trained.main, capture_reader.OP)
    assert {"body", "body.0", "head"} <= names_of(trained.main, capture_reader.MODULE)
    assert any("DataLoader" in record.name for record in trained.main.records)
    assert trained.main.memory
    assert any(record.args for record in trained.main.named("aten::addmm"))
    assert trained.main.stacks


def test_metadata_is_complete(trained):
    metadata = trained.main.metadata
    assert metadata["rank"] == -1 and metadata["rank_source"] == "none"
    assert metadata["role"] == "main"
    assert metadata["user_metadata"]["distributed_args"] == {"rank": 0, "world_size": 1}
    common = metadata["profiler_config"]["common_config"]
    assert common["record_shapes"] and common["profile_memory"] and common["with_stack"]
    assert metadata["profiler_config"]["experimental_config"]["_profiler_level"] == "Level1"
    assert "HCCL_ALGO" in metadata["ENV_VARIABLES"]


def test_a_forked_worker_leaves_what_it_recorded(trained):
    assert len(trained.workers) == 2  # one in each of two epochs
    for worker in trained.workers:
        assert "aten::full" in names_of(worker, capture_reader.OP)
        assert worker.metadata["role"] == "worker" and worker.metadata["rank"] == -1
    assert len(trained.hooked.noted("forked")) == 2


def test_spawned_workers_are_attached(tmp_path):
    done = run(tmp_path, [PROGRAMS / "train.py", 2, "spawn", "forkserver"])
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("loss") == 4
    captures = captures_below(tmp_path)
    with_batches = [c for c in captures.values() if "aten::full" in names_of(c, capture_reader.OP)]
    assert len(with_batches) == 2, done.notes
    main = [c for c in captures.values() if "aten::addmm" in names_of(c, capture_reader.OP)]
    assert len(main) == 1


@pytest.fixture(scope="module", name="two_ranks")
def make_two_ranks(prepared, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    words = ["-m", "torch.distributed.run", "--nproc-per-node", "2", PROGRAMS / "two_ranks.py"]
    done = run(
        folder, words, SONDE_PROFILE_STEP_START="1", SONDE_PROFILE_STEP_END="3",
        SONDE_PROFILE_RANKS="1", PYTHON_EXEC=prepared.python,
    )  # fmt: skip
    return done, captures_below(folder)


def test_the_chosen_rank_records_the_chosen_steps(two_ranks):
    done, captures = two_ranks
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()[1::3]) == ["0", "1"]
    assert len(captures) == 1
    capture = next(iter(captures.values()))
    assert capture.metadata["rank"] == 1 and capture.metadata["rank_source"] == "RANK"
    assert steps_of(capture) == [(1, True), (2, True)]
    assert capture.metadata["profiler_config"]["common_config"]["schedule"] == {
        "wait": 0, "active": 2, "warmup": 1, "repeat": 1, "skip_first": 0, "skip_first_wait": 0,
    }  # fmt: skip


def test_groups_are_in_the_metadata(two_ranks):
    _, captures = two_ranks
    groups = next(iter(captures.values())).metadata["parallel_group_info"]
    found = {group["group_name"]: group for group in groups.values()}
    assert found["default_group"]["global_ranks"] == [0, 1]
    assert found["pair"]["group_rank"] == 1


def test_launcher_and_other_rank_say_why_they_do_not_record(two_ranks):
    done, _ = two_ranks
    assert sorted(done.noted("skipped")) == [
        "launcher torch.distributed.run",
        "rank 0 is not in the list of ranks",
    ]
    assert len(done.noted("capture")) == 1


@pytest.fixture(scope="module", name="killed")
def make_killed(prepared, tmp_path_factory):
    """Two endless trainings, one ended by TERM and one by KILL."""
    started = {}
    for number in (signal.SIGTERM, signal.SIGKILL):
        folder = tmp_path_factory.mktemp(number.name)
        started[number] = folder, subprocess.Popen(
            [prepared.python, PROGRAMS / "train.py", "2", "none", "wait"],
            env=hooked_environment(folder), stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
    results = {}
    for number, (folder, process) in started.items():
        assert "thirty steps\n" in iter(process.stdout.readline, ""), "it ended before"
        process.send_signal(number)
        process.stdout.read()
        results[number] = process.wait(TIMEOUT_S), captures_below(folder)
    return results


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_program_leaves_a_readable_capture(killed, number):
    status, captures = killed[number]
    assert status == -number
    capture = next(iter(captures.values()))
    finished = [step for step, whole in steps_of(capture) if whole]
    assert finished[:2] == [0, 1] and len(finished) > 20
    assert finished == list(range(len(finished)))


# Each way to compile the module, and each way to call it.
HOW = [["new"], ["in place", "bound"], ["wrapped"]]
if os.environ.get("SONDE_THOROUGH") == "1":
    HOW += [["bound"], ["in place"]]


@pytest.mark.parametrize("how", HOW, ids=" ".join)
def test_inference_steps_are_calls_of_the_root_module(prepared, tmp_path, how):
    done = run(tmp_path, [PROGRAMS / "inference.py", *how], prepared.python)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["no input", "(1, 4)"]
    capture = next(iter(captures_below(tmp_path).values()))
    assert steps_of(capture)[:5] == [(step, True) for step in range(5)]


WATCHED = """
import gc, json, os, time
import torch

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
place = os.path.join(os.environ["SONDE_CONFIG_PATH"], "profiler_config.json")
with open(place) as file:
    asked = json.load(file)
asked.update(start_step=-1, active=2, activities=["NPU"], prof_dir="captures", record_shapes=True,
             metadata={"job": {"id": 7}}, with_flops=True)
asked["experimental_config"].update(
    profiler_level="Level1", aic_metrics="PipeUtilization", gc_detect_threshold=THRESHOLD,
    sys_io=True, host_sys=["cpu"])
with open(place, "w") as file:
    json.dump(asked, file)
end = time.monotonic() + 120
while time.monotonic() < end and not os.path.isdir("captures"):
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    time.sleep(0.05)
for _ in range(3):
    gc.collect()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("threshold, usual", [("0", None), ("None", "0")])
def test_the_watched_file_takes_effect(prepared, tmp_path, threshold, usual):
    """Every key has an effect or a line with the reason."""
    program = tmp_path / "program.py"
    program.write_text(WATCHED.replace("THRESHOLD", threshold))
    done = run(tmp_path, [program], prepared.python, SONDE_CONFIG_PATH=str(tmp_path / "watched"),
               SONDE_PROFILE_GC_THRESHOLD_MS=usual)  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name in ("sys_io has no effect: no device", "host_sys has no effect", "with_flops has no"):
        assert done.stderr.count(f"Parameter {name}") == 1
    assert done.stderr.count("has no effect") == 3
    (capture,) = captures_below(tmp_path).values()
    steps = [step for step, _ in steps_of(capture)]
    assert len(steps) == 2 and steps[1] == steps[0] + 1, "each is marked once"
    assert "aten::addmm" in names_of(capture, capture_reader.OP), "the CPU is the device"
    assert "GC" in {record.name for record in capture.records}
    assert capture.metadata["user_metadata"]["job"] == {"id": 7}
    config = capture.metadata["profiler_config"]
    assert config["common_config"]["activities"] == ["ProfilerActivity.NPU"]
    assert config["common_config"]["record_shapes"]
    experimental = config["experimental_config"]
    assert experimental["_aic_metrics"] == "ACL_AICORE_PIPE_UTILIZATION"
    assert experimental["_profiler_level"] == "Level1"
    assert experimental["_gc_detect_threshold"] == 0


SUBINTERPRETER = """
import torch
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
other = interpreters.create()
interpreters.run_string(other, "value = 1")
torch.ones(2) + 1
print("done", flush=True)
"""


def test_a_second_interpreter_is_left_alone(tmp_path):
    """The last of the main one ends it; if the main thread ended there, ours would stay."""
    program = tmp_path / "program.py"
    program.write_text(SUBINTERPRETER)
    done = run(tmp_path, [program])
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert len(captures_below(tmp_path)) == 1


COMPILED_OPTIMIZER = """
import torch

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
step = torch.compile(optimizer.step, backend="eager")
for _ in range(3):
    model(torch.ones(2, 4)).sum().backward()
    step()
counters = torch._dynamo.utils.counters
print(sorted(counters["frames"].items()), sum(counters["graph_break"].values()))
"""


def test_a_compiled_optimizer_is_compiled_as_ever(prepared, tmp_path):
    """Dynamo meets none of our frames."""
    program = tmp_path / "program.py"
    program.write_text(COMPILED_OPTIMIZER)
    alone = run(tmp_path, [program], prepared.python, SONDE_ATTACH=None)
    done = run(tmp_path, [program], prepared.python)
    assert alone.returncode == 0, alone.stderr
    assert done.stdout == alone.stdout and "ok" in done.stdout, done.stderr
    (capture,) = captures_below(tmp_path).values()
    assert steps_of(capture) == [(0, True), (1, True), (2, True), (3, False)]


def test_examples_run_under_the_command(sonde_command, tmp_path):
    words = [sys.executable, ROOT / "examples" / "generate.py", "--tokens", "4"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SONDE_")}
    plain = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path)
    done = subprocess.run(
        [sonde_command, "run", "--no-analyse", "--", *words],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, plain.stdout), done.stderr
    spans = list((tmp_path / "profile").glob("*_ascend_pt"))
    assert len(spans) == 1 and str(spans[0]) in done.stderr
    finished = [step for step, whole in steps_of(capture_reader.read(spans[0])) if whole]
    assert finished == [0, 1, 2, 3]


def test_doctor_speaks_json(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "sonde.doctor", "--json"],
        env={**hooked_environment(tmp_path, SONDE_ATTACH=None),
             "PYTHONPATH": f"{ROOT / 'python' / 'sonde' / '_inject'}:{ROOT / 'python'}"},
        capture_output=True, text=True, check=True, timeout=TIMEOUT_S,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert found["schema"] == 1
    assert found["start_up_hook"]["found"] is True
    assert found["torch"]["supported"] is True
    assert found["recorder"]["error"] is None
    assert all(check["ok"] for check in found["adapter"]["checks"])
    assert len(found["adapter"]["checks"]) > 5
    (host,) = [host for host in found["hosts"] if host["package"] == "torch"]
    assert host["missing"] == {} and host["seams"] > 5
