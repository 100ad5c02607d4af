"""msProbe 26.2.0 and Sonde's probe on the same MindSpore program, one after the other."""

import json
import math
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / os.environ.get("PRESET", "dev")
PROGRAM = Path(__file__).resolve().parent / "programs" / "mindspore_live.py"


def python_of(purpose, *words):
    command = [str(ROOT / "setup" / "python.sh"), purpose, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module", name="python")
def find_python():
    python = python_of("mindspore", "--if-there")
    if not python:
        pytest.skip("needs mindspore: make setup-mindspore installs one")
    return python


@pytest.fixture(scope="module", name="packages")
def find_packages():
    """Where the installed msProbe lies; MSPROBE_PACKAGES names another folder."""
    named = os.environ.get("MSPROBE_PACKAGES")
    if named:
        return named
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    command = [python_of("msprobe"), "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module", name="example")
def find_example():
    data = Path(os.environ.get("SONDE_SHARED_DATA", ROOT.parent / "shared" / "data"))
    folder = data / "precision_26_2" / "mindspore" / "example"
    if not folder.is_dir():
        pytest.skip(f"needs data: nothing at {folder}")
    return folder


def dump_of(folder):
    (path,) = folder.glob("step0/*/dump.json")
    return json.loads(path.read_text()), json.loads((path.parent / "construct.json").read_text())


def differences(ours, theirs, place=""):
    """Where two records differ; numbers are equal within 1e-6."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        if list(ours) != list(theirs):
            yield place, list(ours), list(theirs)
        for key in ours.keys() & theirs.keys():
            yield from differences(ours[key], theirs[key], f"{place}.{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for i, (a, b) in enumerate(zip(ours, theirs)):
            yield from differences(a, b, f"{place}.{i}")
    elif isinstance(ours, float) and isinstance(theirs, float):
        if not math.isclose(ours, theirs, rel_tol=1e-6, abs_tol=1e-9):
            yield place, ours, theirs
    elif ours != theirs:
        yield place, ours, theirs


@pytest.mark.parametrize("level, entries", [("mix", 172), ("L0", 42), ("L1", 130)])
def test_the_same_program_under_both(level, entries, python, packages, example, tmp_path):
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "OMP_NUM_THREADS": "1",
                   "GLOG_v": "3", "SONDE_HOME": str(BUILD)}  # fmt: skip
    words = [python, str(PROGRAM), str(example), level]
    sonde = [str(BUILD / "bin" / "sonde"), "run", "--provide", "msprobe", "--"]
    results = []
    for command in ([*sonde, *words, str(tmp_path / "ours")],
                    [*words, str(tmp_path / "theirs"), packages]):  # fmt: skip
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True,
                              text=True, timeout=300, check=False)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        results.append([line for line in done.stdout.splitlines() if line.startswith("result ")])
    assert results[0] == results[1] and len(results[0]) == 1
    (ours, our_parents), (theirs, their_parents) = map(
        dump_of, (tmp_path / "ours", tmp_path / "theirs")
    )
    assert list(ours["data"]) == list(theirs["data"]) and len(ours["data"]) == entries
    assert list(differences(ours["data"], theirs["data"])) == []
    assert our_parents == their_parents
    assert {**ours, "data": 0, "dump_data_dir": 0} == {**theirs, "data": 0, "dump_data_dir": 0}
