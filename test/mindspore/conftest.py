"""Tests on a real MindSpore on the CPU; skipped where none is installed (`make setup-mindspore`
installs one; SONDE_MINDSPORE_PYTHON names another). `make test` runs a sample: starting MindSpore
takes five seconds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / os.environ.get("PRESET", "dev")
PROGRAMS = Path(__file__).resolve().parent / "programs"
sys.path.insert(0, str(ROOT / "tools"))

all_of_its_kind = pytest.mark.skipif(
    os.environ.get("SONDE_THOROUGH") != "1", reason="others of its kind run: SONDE_THOROUGH=1"
)


@pytest.fixture(scope="session", name="python")
def find_mindspore():
    """An interpreter that has MindSpore."""
    command = [str(ROOT / "setup" / "python.sh"), "mindspore", "--if-there"]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    if not found:
        pytest.skip("needs mindspore: make setup-mindspore installs one")
    return found


@pytest.fixture(scope="session", name="release")
def find_release(python):
    """Of MindSpore, as two numbers."""
    code = "from importlib.metadata import version; print(version('mindspore'))"
    text = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, text.split(".")[:2]))


@pytest.fixture(scope="session", name="sonde")
def find_sonde():
    """The built command."""
    command = BUILD / "bin" / "sonde"
    assert command.is_file(), f"{command} is missing: make build"
    return command


def clean_environment(**more):
    """One thread, and nothing of another recording."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SONDE_", "MS_", "GLOG_"))}
    kept.pop("RANK", None)
    kept |= {"OMP_NUM_THREADS": "1", "SONDE_HOME": str(BUILD), "GLOG_v": "3"}
    return {k: v for k, v in (kept | more).items() if v is not None}


class Finished:
    """A program that has ended, and its captures."""

    def __init__(self, done, folder):
        self.returncode, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr
        self.folder = folder

    @property
    def results(self):
        """What the program printed of its results."""
        return [line for line in self.stdout.splitlines() if line.startswith("result ")]

    def spans(self, where="profile"):
        """Folders of its captures in the order of time."""
        return sorted((self.folder / where).glob("*_ascend_ms"))


@pytest.fixture(scope="session", name="run")
def make_run(python, sonde, tmp_path_factory):
    """run(words..., options=[...], NAME=value): the program of that name below `sonde run`; with
    options=None without it."""

    def run(program, *words, options=(), folder=None, **variables):
        folder = folder or tmp_path_factory.mktemp("run")
        command = [python, str(PROGRAMS / program), *map(str, words)]
        if options is not None:
            command = [str(sonde), "run", *options, "--", *command]
        done = subprocess.run(command, cwd=folder, env=clean_environment(**variables),
                              capture_output=True, text=True, timeout=300, check=False)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return Finished(done, folder)

    return run


@pytest.fixture(scope="session", name="rows")
def make_rows(sonde):
    """rows(path, sql) returns the rows as dictionaries."""

    def rows(path, sql):
        done = subprocess.run([sonde, "query", path, sql, "--format", "json"],
                              capture_output=True, text=True, timeout=120, check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return rows


@pytest.fixture(scope="session", name="shared_data")
def find_shared_data():
    """Dumps and captures of other tools."""
    folder = Path(os.environ.get("SONDE_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"needs data: nothing at {folder}")
    return folder
