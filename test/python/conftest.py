"""Shared by the tests of the Python package: where things lie, and programs under the hook.

PRESET chooses the build folder (default dev). Tests that need torch are skipped without it.
"""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / os.environ.get("PRESET", "dev")
INJECT = ROOT / "python" / "sonde" / "_inject"

# One copy of the libraries in this process, whatever else is built.
os.environ["SONDE_HOME"] = str(BUILD)
if str(ROOT / "test" / "torch") not in sys.path:
    sys.path.insert(0, str(ROOT / "test" / "torch"))


class Finished:
    """A program that ended: status, output, and its entries in the run list."""

    def __init__(self, done, run_list):
        self.returncode = done.returncode
        self.stdout = done.stdout
        self.stderr = done.stderr
        lines = run_list.read_text().splitlines() if run_list.exists() else []
        self.notes = [tuple(line.split("\t", 2)) for line in lines]

    def noted(self, kind):
        """Texts of one kind of note."""
        return [text for name, _, text in self.notes if name == kind]


def hooked_environment(tmp_path, **variables):
    """Environment as `sonde run` sets it; analysis is off unless asked for."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SONDE_")}
    environment.pop("RANK", None)
    (tmp_path / "run_list").touch()  # the launcher makes it
    environment.update(
        PYTHONPATH=str(INJECT),
        SONDE_HOME=str(BUILD),
        SONDE_ATTACH="profile",
        SONDE_RUN_LIST=str(tmp_path / "run_list"),
        SONDE_PROFILE_SAVE_PATH=str(tmp_path / "captures"),
        SONDE_PROFILE_ANALYSE="0",
    )
    environment.update(variables)
    return {name: value for name, value in environment.items() if value is not None}


@pytest.fixture(name="run_hooked")
def make_run_hooked(tmp_path):
    """run_hooked(words...) runs Python below the start-up hook and returns a Finished."""

    def run(*words, timeout=120, **variables):
        done = subprocess.run(
            [sys.executable, *map(str, words)],
            cwd=tmp_path,
            env=hooked_environment(tmp_path, **variables),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        return Finished(done, tmp_path / "run_list")

    return run


@pytest.fixture(name="need_torch")
def check_torch():
    """Skips where torch is not installed; does not import it."""
    import importlib.util

    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs torch")


@pytest.fixture(scope="session", name="sonde_command")
def find_command():
    """Path of the built command."""
    path = BUILD / "bin" / "sonde"
    assert path.is_file(), f"{path} is missing: make build"
    return path


def query(path, statement):
    """Rows of a statement as texts."""
    words = [BUILD / "bin" / "sonde", "query", "--format", "csv", path, statement]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return list(csv.reader(text.splitlines()))[1:]


@pytest.fixture(name="sonde_run")
def make_sonde_run(tmp_path, sonde_command, prepared):
    """sonde_run(source, options..., NAME=value) is `sonde run` of a program of that source, by an
    interpreter that is prepared, or another `python`."""

    def call(source, *options, python=None, **more):
        (tmp_path / "program.py").write_text(source)
        variables = {k: v for k, v in os.environ.items() if not k.startswith("SONDE_")}
        return subprocess.run(
            [sonde_command, "run", *options, "--", python or prepared.python, "program.py"],
            cwd=tmp_path,
            env={**variables, "SONDE_HOME": str(BUILD), **more},
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )

    return call


@pytest.fixture(scope="session", name="package_root")
def find_package_root():
    """The folder that holds the package."""
    return str(ROOT / "python")
