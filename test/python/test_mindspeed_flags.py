"""`--profile-*` given to a training script itself: its trainer makes a profiler of torch_npu with
them, and what it records under ``sonde run`` is what its users know.

The two trainers below are written after what MindSpeed-LLM's do with their flags: one counts
iterations from 1 and takes defaults of Megatron, the other counts steps from 0.
"""

import json
from pathlib import Path

import pytest
from conftest import query

OWN_OPTIMIZER = (Path(__file__).parents[1] / "own_optimizer.py").read_text()

TRAINER = """
import argparse, json, os, sys
import torch
import torch_npu

def switch(text):
    return text.lower() in ("1", "true")

parser = argparse.ArgumentParser()
parser.add_argument("trainer")
MCORE = sys.argv[1] == "mcore"
flag = dict(action="store_true") if MCORE else dict(type=switch, default=False)
prefix = "--" if MCORE else "--training."
name = (lambda text: text.replace("_", "-")) if MCORE else (lambda text: text)

def add(text, **how):
    parser.add_argument(prefix + name(text), dest=text, **how)

add("profile", **flag)
add("profile_step_start", type=int, default=10 if MCORE else 0)
add("profile_step_end", type=int, default=12 if MCORE else -1)
add("profile_ranks", type=int, nargs="+", default=[0] if MCORE else [-1])
add("profile_level", default="level0")
add("profile_export_type", default="text")
add("profile_save_path", default="./profile_dir" if MCORE else "./profile")
for text in ("data_simplification", "with_cpu", "with_stack", "with_memory", "record_shapes"):
    add("profile_" + text, **flag)
args = parser.parse_args()
rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))

def make_profiler():
    profiler, iteration = torch_npu.profiler, 0
    start, end = args.profile_step_start, args.profile_step_end
    levels = dict(level_none="Level_none", level0="Level0", level1="Level1", level2="Level2")
    if MCORE:
        assert start >= 1
        steps = dict(warmup=0 if start == iteration + 1 else 1, active=end - start,
                     skip_first=start - iteration - 2)
    else:
        steps = dict(warmup=0 if start == 0 else 1, skip_first=max(0, start - 1),
                     active=1000000 if end == -1 else end - start)
    kinds = profiler.ProfilerActivity
    made = profiler.profile(
        with_stack=args.profile_with_stack,
        record_shapes=args.profile_record_shapes,
        profile_memory=args.profile_with_memory,
        activities=[kinds.NPU] + ([kinds.CPU] if args.profile_with_cpu else []),
        schedule=profiler.schedule(wait=0, repeat=1, **steps),
        on_trace_ready=profiler.tensorboard_trace_handler(args.profile_save_path),
        experimental_config=profiler._ExperimentalConfig(
            aic_metrics=profiler.AiCMetrics.PipeUtilization,
            profiler_level=getattr(profiler.ProfilerLevel, levels[args.profile_level]),
            export_type=getattr(profiler.ExportType, args.profile_export_type.capitalize()),
            data_simplification=args.profile_data_simplification,
        ),
    )
    facts = {"rank": rank, "world_size": world}
    if MCORE:
        facts |= {f"{kind}_parallel_size": 1 for kind in ("tensor_model", "pipeline_model", "data",
                  "context", "expert_model")} | {"sequence_parallel": False}
    made.add_metadata_json("distributed_args", json.dumps(facts))
    return made

model = torch.nn.Linear(4, 4).to("npu:0")
optimizer = torch.optim.SGD(model.parameters(), 0.1)
wanted = args.profile and (args.profile_ranks == [-1] or rank in args.profile_ranks)
prof = make_profiler() if wanted else None
if prof: prof.start()
for _ in range(8):
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    if prof: prof.step()
if prof: prof.stop()
print("to the end")
"""


@pytest.fixture(name="train")
def make_training(sonde_run, need_torch, tmp_path):
    """train(words...) returns (what it printed, the folders of captures)."""

    def train(*words, **variables):
        # Those of one trainer have torch's optimizer.
        own = TRAINER.replace("torch.optim.SGD(", "Descent(").replace(
            "import torch_npu\n", f"import torch_npu\n{OWN_OPTIMIZER}", 1
        )
        trainer = own if words[0] == "mcore" else TRAINER
        source = f"import sys\nsys.argv[1:] = {list(words)!r}\n{trainer}"
        done = sonde_run(source, "--provide", "torch_npu", "--no-analyse", **variables)
        assert done.returncode == 0, done.stderr
        assert "to the end" in done.stdout
        return done, sorted(tmp_path.glob("by_flags/*_ascend_pt"))

    return train


def recorded(span, trainer):
    """The iterations that the capture has as steps, in the trainer's own counting."""
    first = 1 if trainer == "mcore" else 0
    rows = query(span, "SELECT step_id FROM step WHERE dur >= 0 ORDER BY ts")
    return [int(number) + first for (number,) in rows]


@pytest.mark.parametrize(
    ("words", "iterations"),
    [
        # Of Megatron's loop the fifth iteration; counted from 0 the sixth step.
        (("mcore", "--profile-step-start", "5", "--profile-step-end", "6"), [5]),
        (("fsdp2", "--training.profile_step_start", "5", "--training.profile_step_end", "6"), [5]),
        (("mcore", "--profile-step-start", "1", "--profile-step-end", "3"), [1, 2]),
        (("fsdp2", "--training.profile_step_start", "0", "--training.profile_step_end", "2"),
         [0, 1]),
        # To the end, where the last step() had begun one more.
        (("fsdp2", "--training.profile_step_start", "6"), [6, 7, 8]),
        # Megatron's -1 is one iteration.
        (("mcore", "--profile-step-start", "5", "--profile-step-end", "-1"), [5]),
    ],
)  # fmt: skip
def test_the_iterations_of_the_flags_are_recorded(train, words, iterations):
    turn_on = (
        ("--profile", "--profile-save-path", "by_flags")
        if words[0] == "mcore"
        else ("--training.profile", "true", "--training.profile_save_path", "by_flags")
    )
    done, (span,) = train(words[0], *turn_on, *words[1:])
    assert recorded(span, words[0]) == iterations
    if words[-1] == "-1":
        assert "Invalid parameter active, reset it to 1." in done.stdout + done.stderr


def test_the_other_flags_have_their_effect(train, tmp_path):
    """Folder, level, shapes, memory, stacks and the job's facts, as they were given."""
    words = ("mcore", "--profile", "--profile-step-start", "3", "--profile-step-end", "4",
             "--profile-level", "level1", "--profile-with-cpu", "--profile-with-stack",
             "--profile-with-memory", "--profile-record-shapes", "--profile-save-path",
             "by_flags")  # fmt: skip
    _, (span,) = train(*words)
    assert span.parent == tmp_path / "by_flags"
    config = json.loads((span / "profiler_info.json").read_text())["config"]
    common = config["common_config"]
    assert all(common[name] for name in ("record_shapes", "profile_memory", "with_stack"))
    assert common["activities"] == ["ProfilerActivity.CPU", "ProfilerActivity.NPU"]
    assert config["experimental_config"]["_profiler_level"] == "Level1"
    facts = json.loads((span / "profiler_metadata.json").read_text())
    sizes = facts["distributed_args"]
    assert (sizes["rank"], sizes["world_size"], sizes["tensor_model_parallel_size"]) == (0, 1, 1)
    assert query(span, "SELECT count(*) > 0 FROM memory_event") == [["true"]]


@pytest.mark.parametrize(("rank", "spans"), [("0", 1), ("1", 0)])
def test_ranks_of_the_flags(train, rank, spans):
    """A rank that the script does not profile leaves nothing of its own."""
    words = ("mcore", "--profile", "--profile-save-path", "by_flags", "--profile-step-start", "2",
             "--profile-step-end", "3")  # fmt: skip
    _, found = train(*words, RANK=rank, WORLD_SIZE="2")
    assert len(found) == spans


def test_without_the_flag_the_run_is_recorded_as_ever(train, tmp_path):
    train("mcore")
    (span,) = (tmp_path / "profile").glob("*_ascend_pt")
    assert recorded(span, "mcore") == list(range(1, 9))
