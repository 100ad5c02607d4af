"""The same programs recorded by the reference tool and by the precision probe, field by field.

SONDE_MSPROBE_PYTHON names an interpreter that has mindstudio-probe and torch already.
"""

import json
import math
import os
import subprocess
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / os.environ.get("PRESET", "dev")
PROGRAM = Path(__file__).parent / "programs" / "precision_cases.py"
MODELS = PROGRAM.with_name("precision_models.py")
PROGRAMS = PROGRAM.with_name("precision_programs.py")
ARCHITECTURES = PROGRAM.with_name("precision_architectures.py")
SURROUNDINGS = PROGRAM.with_name("precision_surroundings.py")
RANKS = PROGRAM.with_name("precision_ranks.py")
SHARDED = PROGRAM.with_name("precision_sharded.py")

# Sums that cancel agree less well than their terms: both tools add in single precision, in another
# order.
_RELATIVE = 2e-6
_OF_NORM = 2e-7


@pytest.fixture(scope="session", name="python")
def find_python():
    given = os.environ.get("SONDE_MSPROBE_PYTHON")
    if given:
        return given
    command = [str(ROOT / "setup" / "python.sh"), "msprobe"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


class Recorded:
    """One dump and the digest that the program printed."""

    def __init__(self, folder, digest, place="*"):
        self.digest = digest
        self.steps = {}
        for step in sorted(folder.glob("step*")):
            (self.steps[step.name],) = step.glob(place)

    def json(self, step, name):
        content = json.loads((self.steps[step] / f"{name}.json").read_text())
        if name == "dump":
            # The folder, which differs.
            content["dump_data_dir"] = bool(content["dump_data_dir"])
        return content

    def tensors(self, step):
        """Name -> bytes of the elements."""
        found = {}
        for path in sorted((self.steps[step] / "dump_tensor_data").glob("*.pt")):
            with zipfile.ZipFile(path) as archive:
                (name,) = [name for name in archive.namelist() if name.endswith("/data/0")]
                found[path.name] = archive.read(name)
        return found


def prepare(tool, folder, settings):
    """The configuration and the environment of a run."""
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(("SONDE_", "PYTHONPATH"))
    }
    environment["OMP_NUM_THREADS"] = "1"
    config = "-"
    if tool != "none":
        config = folder / f"{tool}.json"
        config.write_text(json.dumps({**settings, "dump_path": str(folder / tool)}))
    if tool == "sonde":
        package = ROOT / "python"
        environment["PYTHONPATH"] = f"{package / 'sonde' / '_provide'}:{package}"
        environment["SONDE_HOME"] = str(BUILD)
    return config, environment


def record(python, tool, folder, cases, settings, program=PROGRAM):
    """Runs cases under one of the tools, or under none."""
    config, environment = prepare(tool, folder, settings)
    command = [python, str(program), str(config), *cases.split()]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    digest = [line for line in done.stdout.splitlines() if line.startswith("digest")]
    assert digest, done.stdout
    return Recorded(folder / tool, digest)


def scale_of(record):
    """What a mean may be off by: a part of the root mean square."""
    norm, shape = record.get("Norm"), record.get("shape") or []
    count = math.prod(shape) if isinstance(shape, list) else 1
    if not isinstance(norm, float) or not math.isfinite(norm) or not count:
        return 0.0
    return _OF_NORM * norm / math.sqrt(count)


def differences(ours, theirs, path="", slack=0.0):
    """Places where two JSON values differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        if list(ours) != list(theirs):
            yield f"{path}: keys {list(ours)} and {list(theirs)}"
            return
        for key in ours:
            more = scale_of(theirs) if key == "Mean" else 0.0
            yield from differences(ours[key], theirs[key], f"{path}/{key}", more)
    elif isinstance(ours, list) and isinstance(theirs, list):
        if len(ours) != len(theirs):
            yield f"{path}: {len(ours)} and {len(theirs)} elements"
            return
        for index, pair in enumerate(zip(ours, theirs)):
            yield from differences(*pair, f"{path}[{index}]")
    elif isinstance(ours, float) and isinstance(theirs, float):
        same = ours == theirs or (math.isnan(ours) and math.isnan(theirs))
        if not same and not math.isclose(ours, theirs, rel_tol=_RELATIVE, abs_tol=slack):
            yield f"{path}: {ours} and {theirs}"
    elif type(ours) is not type(theirs) or ours != theirs:
        yield f"{path}: {ours!r} and {theirs!r}"


def assert_same_files(ours, theirs, task):
    """Every file of every step, field by field; the tensors bit by bit."""
    assert list(ours.steps) == list(theirs.steps)
    for step in theirs.steps:
        for name in ("dump", "stack", "construct"):
            found = list(differences(ours.json(step, name), theirs.json(step, name), name))
            assert not found, f"{step}: {len(found)} differences, the first: {found[:5]}"
        if task == "tensor":
            assert ours.tensors(step) == theirs.tensors(step)


SETS = [
    ("plain", "mix", "statistics", "statistics", {}),
    ("plain", "L1", "statistics", "statistics", {"risk_level": "FOCUS"}),
    ("plain", "L1", "statistics", "statistics", {"risk_level": "CORE"}),
    ("plain_bfloat16", "mix", "tensor", "statistics", {}),
    ("plain_inplace", "mix", "statistics", "statistics", {}),
    ("many", "mix", "tensor", "statistics", {}),
    ("inference", "L0", "statistics", "md5", {}),
    ("shared", "mix", "statistics", "statistics", {}),
    ("shared", "L0", "tensor", "statistics", {}),
    ("in_place", "mix", "statistics", "statistics", {}),
    ("checkpointed", "L0", "statistics", "statistics", {}),
    ("odd", "L1", "statistics", "statistics", {}),
    # The reference takes its checksums after the call, when an optimizer has changed the tensor.
    ("odd_forward", "L1", "tensor", "md5", {}),
    ("odd_forward", "L1", "statistics", "xor", {}),
    ("odd", "L1", "statistics", "statistics", {"precision": "high"}),
    ("inference", "mix", "statistics", "statistics", {"step": [0]}),
    ("plain", "mix", "structure", "statistics", {}),
]


@pytest.mark.parametrize(("case", "level", "task", "summary", "more"), SETS)
def test_repeats_the_reference(python, tmp_path, case, level, task, summary, more):
    block = {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": summary}
    settings = {"task": task, "level": level, "rank": [], "step": [], "risk_level": "ALL", **more}
    settings[task] = block
    ours = record(python, "sonde", tmp_path, case, settings)
    theirs = record(python, "msprobe", tmp_path, case, settings)
    plain = record(python, "none", tmp_path, case, settings)
    assert ours.digest == plain.digest
    assert_same_files(ours, theirs, task)


def test_goes_on_after_a_call_that_raised(python, tmp_path):
    """The reference records nothing of the thread after it; the probe does."""
    settings = {"task": "statistics", "level": "L1", "risk_level": "ALL", "statistics": {}}
    ours = record(python, "sonde", tmp_path, "failing", settings)
    data = ours.json("step0", "dump")["data"]
    assert "output" not in data["Torch.matmul.0.forward"]
    assert "input_args" in data["Torch.matmul.0.forward"]


# All models of one run, each a step. Not "recomputed": the exception that ends a recomputation
# early ends the reference's recording, too.
NAMES = (
    "convolutions recurrent translator experts objects kinds mixed_bfloat16 mixed_float16 changing "
    "attention losses several half double"
)
# An input that a module uses more than once, and that is used outside, too: both tools change the
# order in which its gradients are added.
REORDERED = ("translator", "attention")

MODEL_SETS = [
    ("mix", "tensor", {}),
    ("L0", "statistics", {"data_mode": ["output"]}),
    ("mix", "statistics", {"list": ["linear", "Tensor.mul"]}),
    ("mix", "statistics", {"tensor_list": ["linear", "backward.0"]}),
    ("L1", "statistics", {"slice": [{"dim": 0, "begin": 1}, {"dim": 1, "size": 3, "end": 2}]}),
]


def without_lstm(name, content):
    """The reference does not see the function behind nn.LSTM in this torch."""
    if name == "dump":
        content["data"] = {k: v for k, v in content["data"].items() if not k.startswith("VF.")}
    elif name == "construct":
        content = {k: v for k, v in content.items() if not k.startswith("VF.")}
    else:
        groups = [[n for n in names if not n.startswith("VF.")] for names, _ in content.values()]
        kept = [(names, stack[1]) for names, stack in zip(groups, content.values()) if names]
        content = {str(number): list(group) for number, group in enumerate(kept)}
    return content


@pytest.mark.parametrize(("level", "task", "block"), MODEL_SETS)
def test_repeats_the_reference_for_models(python, tmp_path, level, task, block):
    settings = {"task": task, "level": level, "risk_level": "ALL", task: block}
    ours = record(python, "sonde", tmp_path, NAMES, settings, MODELS)
    theirs = record(python, "msprobe", tmp_path, NAMES, settings, MODELS)
    plain = record(python, "none", tmp_path, NAMES, settings, MODELS)
    for line, expected in zip(ours.digest, plain.digest):
        assert line == expected or line.split()[1] in REORDERED
    assert ours.digest == theirs.digest
    assert list(ours.steps) == list(theirs.steps)
    for step in theirs.steps:
        for name in ("dump", "stack", "construct"):
            found = list(
                differences(
                    without_lstm(name, ours.json(step, name)), theirs.json(step, name), name
                )
            )
            assert not found, f"{step}: {len(found)} differences, the first: {found[:5]}"
        if task == "tensor":
            saved = {k: v for k, v in ours.tensors(step).items() if not k.startswith("VF.")}
            assert saved == theirs.tensors(step)


# Of these "encoder" has a residual input: its gradients are added in another order, as above.
WHOLE = (
    "two_optimizers penalty accumulated kept_graph closure scaled frozen own_function hooks "
    "parametrized lazy images encoder threads generators results written_to many_results indexed "
    "subclasses"
)
WHOLE_SETS = [
    ("mix", "tensor", {}),
    ("L1", "statistics", {}),
    ("L0", "statistics", {}),
]
# With these the reference ends the program, or loses the gradients of the copied model.
BEYOND = "copied sparse complex_numbers rare_types transformed"


PARTS = "mixture autocast_training generation batch_norms adapter recomputed_layers"


# The final word names the case that has an input used several times, as above.
@pytest.mark.parametrize(
    ("program", "cases", "several"),
    [(PROGRAMS, WHOLE, "encoder"), (ARCHITECTURES, PARTS, "mixture")],
    ids=["programs", "architectures"],
)
@pytest.mark.parametrize(("level", "task", "block"), WHOLE_SETS)
def test_repeats_the_reference_for_sets(
    python, tmp_path, level, task, block, program, cases, several
):
    settings = {"task": task, "level": level, "risk_level": "ALL", task: block}
    ours = record(python, "sonde", tmp_path, cases, settings, program)
    theirs = record(python, "msprobe", tmp_path, cases, settings, program)
    plain = record(python, "none", tmp_path, cases, settings, program)
    for line, expected in zip(ours.digest, plain.digest):
        assert line == expected or line.split()[1] == several
    assert ours.digest == theirs.digest
    assert_same_files(ours, theirs, task)


@pytest.mark.parametrize("task", ["statistics", "tensor"])
def test_records_what_the_reference_fails_at(python, tmp_path, task):
    settings = {"task": task, "level": "mix", "risk_level": "ALL", task: {}}
    ours = record(python, "sonde", tmp_path, BEYOND, settings, PROGRAMS)
    plain = record(python, "none", tmp_path, BEYOND, settings, PROGRAMS)
    assert ours.digest == plain.digest
    for step, place in ours.steps.items():
        assert ours.json(step, "dump")["data"]
        assert not (place / "dump_error_info.log").exists()


def test_records_a_recomputation_that_ends_early(python, tmp_path):
    """What runs after it is recorded, and each call has an entry of its own."""
    settings = {"task": "statistics", "level": "mix", "risk_level": "ALL", "statistics": {}}
    ours = record(python, "sonde", tmp_path, "recomputed", settings, MODELS)
    plain = record(python, "none", tmp_path, "recomputed", settings, MODELS)
    assert ours.digest == plain.digest
    data = ours.json("step0", "dump")["data"]
    calls = [name for name in data if name.startswith("Functional.gelu.") and "forward" in name]
    assert len(calls) == 4
    assert all("input_args" in data[name] for name in calls)
    assert "Tensor.add_.0.forward" in data  # of the optimizer


SURROUNDING_SETS = [
    ("scripts batches without_values", "mix", "statistics", {}),
    ("scripts batches", "mix", "tensor", {}),
    ("scripts without_values bytes_as_floats", "L1", "statistics", {"summary_mode": "xor"}),
    ("without_values bytes_as_floats", "mix", "statistics", {"summary_mode": "md5"}),
    ("bytes_as_floats", "mix", "statistics", {}),
    ("registered", "L0", "statistics", {}),
    ("registered", "L0", "tensor", {"data_mode": ["backward"]}),
    ("registered", "L1", "statistics", {}),
    ("registered", "mix", "statistics", {"list": ["library", "Own"]}),
    ("seeded", "mix", "statistics", {}),
]


@pytest.mark.parametrize(("names", "level", "task", "block"), SURROUNDING_SETS)
def test_repeats_the_reference_in_other_surroundings(python, tmp_path, names, level, task, block):
    settings = {"task": task, "level": level, "risk_level": "ALL", task: block}
    ours = record(python, "sonde", tmp_path, names, settings, SURROUNDINGS)
    theirs = record(python, "msprobe", tmp_path, names, settings, SURROUNDINGS)
    assert ours.digest == theirs.digest
    assert_same_files(ours, theirs, task)
    assert not list((tmp_path / "sonde").rglob("dump_error_info.log"))


def test_dropout_stays_away_where_steps_are_left_out(python, tmp_path):
    settings = {"task": "statistics", "level": "L1", "step": [1]}
    ours = record(python, "sonde", tmp_path, "seeded", settings, SURROUNDINGS)
    theirs = record(python, "msprobe", tmp_path, "seeded", settings, SURROUNDINGS)
    assert ours.digest == theirs.digest
    assert_same_files(ours, theirs, "statistics")


def record_ranks(python, tool, folder, settings, program=RANKS):
    """Runs a program of two processes; what each of them recorded."""
    config, environment = prepare(tool, folder, settings)
    command = [python, str(program), str(config)]
    runs = [
        subprocess.Popen(
            [*command, str(rank), str(folder / f"{tool}_store")],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    texts = [run.communicate(timeout=300) for run in runs]
    assert [run.returncode for run in runs] == [0, 0], texts
    digests = [out.splitlines()[-1] for out, _ in texts]
    return [Recorded(folder / tool, digests[rank], f"rank{rank}") for rank in range(2)]


@pytest.mark.parametrize(("level", "task"), (("mix", "tensor"), ("L1", "statistics")))
def test_repeats_the_reference_for_ranks(python, tmp_path, level, task):
    settings = {"task": task, "level": level, "risk_level": "ALL", task: {}}
    ours = record_ranks(python, "sonde", tmp_path, settings)
    theirs = record_ranks(python, "msprobe", tmp_path, settings)
    exchange = "Distributed.batch_isend_irecv.0.forward"
    for mine, other in zip(ours, theirs):
        assert mine.digest == other.digest
        # What the reference has of the results is of the call, or in the entry of another one.
        data = [
            dump.json("step2", "dump")["data"][exchange]["input_args"] for dump in (mine, other)
        ]
        assert data[0] == data[1]
        del mine.steps["step2"], other.steps["step2"]
        assert_same_files(mine, other, task)
    assert not list((tmp_path / "sonde").rglob("dump_error_info.log"))


# Steps in which FullyShardedDataParallel has taken the gradients when the reference looks.
TAKEN = ("step2", "step3")


@pytest.mark.parametrize(
    "block",
    [
        {},
        {"scope": ["Module.blocks.0.Block.forward.0", "Module.blocks.1.Block.backward.2"]},
        {"list": ["blocks.1"], "data_mode": ["backward"]},
    ],
    ids=["everything", "scope", "list"],
)
def test_repeats_the_reference_for_sharded_models(python, tmp_path, block):
    settings = {"task": "statistics", "level": "L0", "risk_level": "ALL", "statistics": block}
    ours = record_ranks(python, "sonde", tmp_path, settings, SHARDED)
    theirs = record_ranks(python, "msprobe", tmp_path, settings, SHARDED)
    for mine, other in zip(ours, theirs):
        assert mine.digest == other.digest
        for step in other.steps:
            dumps = [dump.json(step, "dump") for dump in (mine, other)]
            for name in [name for name in dumps[0]["data"] if "parameters_grad" in name]:
                if step in TAKEN:
                    got, expected = (dump["data"].pop(name) for dump in dumps)
                    assert all(gradient["Norm"] > 0 for (gradient,) in got.values())
                    assert expected == dict.fromkeys(got, [None])
            assert not list(differences(*dumps))
            for name in ("stack", "construct"):
                assert mine.json(step, name) == other.json(step, name)
    assert not list((tmp_path / "sonde").rglob("dump_error_info.log"))


TAKEN = """
import msprobe.pytorch as it
from msprobe.pytorch import *
from msprobe.pytorch import AclGraphDumper, acl_save
import sonde.torch
theirs = (random_save, set_fx_dump_config, set_ge_dump_config, TrainerMon)
print({name.__module__.partition(".")[0] for name in theirs})
print(it.PrecisionDebugger is PrecisionDebugger is sonde.torch.PrecisionDebugger)
"""


@pytest.mark.parametrize(
    "first",
    [
        "",
        "from msprobe.pytorch.monitor.module_hook import TrainerMon",
        "from msprobe.pytorch.common.utils import get_rank_if_initialized",
        "from msprobe.pytorch.reproducibility.random_reproducibility import random_save",
        "from msprobe.pytorch.dump.debugger.precision_debugger import module_dump",
        "from msprobe.pytorch import compare",
        "from msprobe.core.common.const import Const",
    ],
)
def test_what_it_exports_is_there_behind_ours(python, tmp_path, first):
    """Its modules import each other in a circle: whichever a program asks for first."""
    _, environment = prepare("sonde", tmp_path, {})
    done = subprocess.run(
        [python, "-c", f"{first}\n{TAKEN}"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == ["{'msprobe'}", "True"]
    assert "sonde: error" not in done.stderr
