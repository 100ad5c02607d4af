"""Checkpoints of Megatron in several layouts, compared by the reference tool and by
``sonde probe config_check -c``, number by number."""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SONDE = ROOT / "build" / os.environ.get("PRESET", "dev") / "bin" / "sonde"
PROGRAM = Path(__file__).parent / "programs" / "megatron_checkpoints.py"
PAIRS = [
    ("cut", "single"),
    ("cut_noisy", "cut"),
    ("cut_noisy", "older"),
    ("experts_noisy", "experts"),
]
CUT_ALIKE = [("cut_noisy", "cut"), ("cut_noisy", "older")]


@pytest.fixture(scope="module", name="python")
def find_python():
    given = os.environ.get("SONDE_MSPROBE_PYTHON")
    if given:
        return given
    command = [str(ROOT / "setup" / "python.sh"), "msprobe"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module", name="checkpoints")
def write_checkpoints(python, tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoints")
    subprocess.run([python, PROGRAM, folder], check=True)
    # The reference asks only whether there is a Megatron, so that its classes can be unpickled.
    (folder / "stand_in" / "megatron").mkdir(parents=True)
    (folder / "stand_in" / "megatron" / "__init__.py").touch()
    return folder


def reference(python, folder, target, golden):
    out = folder / f"reference_{target}_{golden}.json"
    subprocess.run(
        [python, "-m", "msprobe.msprobe", "config_check", "-c", target, golden, "-o", out.name],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(folder / "stand_in")},
        check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    return json.loads(out.read_text())


@pytest.mark.parametrize("target, golden", PAIRS)
def test_every_number_of_the_reference(python, checkpoints, tmp_path, target, golden):
    out = tmp_path / "similarity.json"
    command = [SONDE, "probe", "config_check", "-c", target, golden, "-o", out]
    done = subprocess.run(
        command, cwd=checkpoints, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    ours, theirs = json.loads(out.read_text()), reference(python, checkpoints, target, golden)
    assert ours.keys() == theirs.keys() and len(ours) > 20
    for name, numbers in theirs.items():
        mine = ours[name]
        assert mine["numel"] == numbers["numel"] and mine["shape"] == numbers["shape"], name
        if "linear_fc1" in name and (target, golden) not in CUT_ALIKE:
            # Halves of a gated layer lie otherwise in other layouts: the reference takes them as
            # they come, so its distance is of rows that do not belong together.
            assert mine["l2"] < 0.1
            continue
        # The reference computes in single precision.
        assert mine["l2"] == pytest.approx(numbers["l2"], rel=1e-4, abs=1e-6), name
        assert mine["cos"] == pytest.approx(numbers["cos"], rel=1e-5), name
    if target == "cut":
        assert "all tensors hold the same values" in done.stdout
