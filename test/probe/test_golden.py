"""Every set that the reference recorded of a program which runs on a CPU, recorded again.

Not here: ``resnet50_gpu_mix`` (a GPU, and no program beside it), the sets of MindSpore, and
``vllm_cpu/msprobe_mix``, which test/vllm records with a server.
"""

import json
import math
import subprocess
import sys
import zipfile

import pytest
from conftest import environment

SIDES = {"golden": "0", "target": "1"}
# Set -> level, task, summary mode, backward, shape of the model, steps.
NEW = {
    "mix_statistics_statistics_b1": ("mix", "statistics", "statistics", "1", "", "1"),
    "L0_tensor_statistics_b1": ("L0", "tensor", "statistics", "1", "64,32,4,2,48,1", "1"),
    "L1_statistics_md5_b1": ("L1", "statistics", "md5", "1", "", "1"),
    "debug_tensor_statistics_b1": ("debug", "tensor", "statistics", "1", "", "2"),
}
# Of torch 1.13: sums have other last digits, and with them checksums.
OLD = {
    "L0_statistics_statistics_b1": ("L0", "statistics", "statistics", "1", "", "2"),
    "mix_statistics_md5_b0": ("mix", "statistics", "md5", "0", "", "2"),
    "mix_statistics_statistics_b0": ("mix", "statistics", "statistics", "0", "", "2"),
    "mix_tensor_statistics_b0": ("mix", "tensor", "statistics", "0", "", "2"),
}


def record(tmp_path, program, *words, **variables):
    pytest.importorskip("torch")
    command = [sys.executable, str(program), "out/dump", *words]
    (tmp_path / "out").mkdir()
    found = {**environment(), **{key: value for key, value in variables.items() if value}}
    subprocess.run(command, cwd=tmp_path, env=found, check=True, capture_output=True, timeout=180)
    return tmp_path / "out" / "dump"


@pytest.fixture(name="record_set")
def make_record_set(tmp_path, shared_data, prepared):
    """record_set(setting, side) gives the dump of the reference's program, which imports torch
    first: it goes on from an interpreter that has done so."""
    program = shared_data / "precision_26_2/torch/example/make_msprobe_dumps.py"

    def record(setting, side):
        level, task, summary, backward, shape, steps = setting
        (tmp_path / "out").mkdir()
        words = ("out/dump", level, task, summary, SIDES[side], backward)
        asked = {"QWEN_SHAPE": shape, "QWEN_STEPS": steps}
        found = {**environment(), **{key: value for key, value in asked.items() if value}}
        done = subprocess.run([prepared.python, program, *words], cwd=tmp_path, env=found,
                              capture_output=True, text=True, timeout=180, check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return tmp_path / "out" / "dump"

    return record


def read(folder, name):
    return json.loads((folder / name).read_text())


def differences(left, right, skipped=(), path=""):
    """Places where two dumps differ; ``skipped``: keys of records that are not compared."""
    if isinstance(left, dict) and isinstance(right, dict):
        if list(left) != list(right):
            yield f"{path}: {list(left)} and {list(right)}"
            return
        for key in left:
            if key not in skipped:
                yield from differences(left[key], right[key], skipped, f"{path}/{key}")
    elif isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right):
            yield f"{path}: {len(left)} and {len(right)}"
            return
        for index, pair in enumerate(zip(left, right)):
            yield from differences(*pair, skipped, f"{path}[{index}]")
    elif isinstance(left, float) and isinstance(right, float):
        is_same = math.isclose(left, right, rel_tol=2e-4, abs_tol=1e-6)
        if not is_same and not (math.isnan(left) and math.isnan(right)):
            yield f"{path}: {left} and {right}"
    elif left != right:
        yield f"{path}: {left!r} and {right!r}"


def pairs(ours, theirs):
    """Folders of the same step."""
    steps = sorted(path.name for path in theirs.glob("step*"))
    assert steps, theirs
    assert sorted(path.name for path in ours.iterdir()) == steps
    for step in steps:
        (left,), (right,) = (ours / step).iterdir(), (theirs / step).iterdir()
        yield left, right


def compare(left, right, skipped=("dump_data_dir",)):
    if (right / "debug.json").exists():
        ours, expected = read(left, "debug.json"), read(right, "debug.json")
        assert not list(differences(ours, expected, skipped))
        return
    assert not list(differences(read(left, "dump.json"), read(right, "dump.json"), skipped))
    assert list(read(left, "construct.json").items()) == list(read(right, "construct.json").items())
    groups = [[names for names, _ in read(side, "stack.json").values()] for side in (left, right)]
    assert groups[0] == groups[1]
    assert "sonde/torch/precision" not in (left / "stack.json").read_text()


def values_of(path):
    with zipfile.ZipFile(path) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/data/0")]
        return len(archive.read(name))


def compare_files(left, right):
    if not (right / "dump_tensor_data").exists():
        return
    sizes = [
        {path.name: values_of(path) for path in (side / "dump_tensor_data").iterdir()}
        for side in (left, right)
    ]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", NEW)
def test_sets_of_this_release(record_set, shared_data, name, side):
    ours = record_set(NEW[name], side)
    theirs = shared_data / "precision_26_2" / "torch" / name / side
    for left, right in pairs(ours, theirs):
        # Another processor adds in another order: last digits, and with them checksums.
        compare(left, right, ("dump_data_dir", "md5"))
        compare_files(left, right)


def test_a_pass_that_overflows(tmp_path, shared_data):
    folder = shared_data / "precision_26_2" / "torch"
    ours = record(tmp_path, folder / "example" / "make_overflow_dump.py")
    for left, right in pairs(ours, folder / "overflow_mix_statistics" / "dump"):
        compare(left, right)
        assert "Infinity" in (left / "dump.json").read_text()


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", OLD)
def test_sets_of_the_release_before(record_set, shared_data, name, side):
    """Backward of modules whose inputs need no gradients is there since torch 2."""
    ours = record_set(OLD[name], side)
    theirs = shared_data / "precision" / "qwen_like" / name / side
    for left, right in pairs(ours, theirs):
        found, expected = read(left, "dump.json"), read(right, "dump.json")
        if name.startswith("L0"):
            for content in (found, expected):
                kept = {k: v for k, v in content["data"].items() if ".forward." in k}
                content["data"] = kept
        assert not list(differences(found, expected, ("dump_data_dir", "md5")))
        compare_files(left, right)
