"""Shared by the tests of precision commands: the built command and the reference data.

PRESET chooses the build folder (default dev).
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SONDE = ROOT / "build" / os.environ.get("PRESET", "dev") / "bin" / "sonde"


@pytest.fixture(scope="session", name="run_probe")
def make_run_probe():
    """run_probe(folder, "graph", ...) runs `sonde probe graph ...` in the folder."""
    assert SONDE.is_file(), f"{SONDE} is missing: make build"

    # A machine's own python3 may have no packages to list.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

    def run(folder, *words):
        return subprocess.run(
            [str(word) for word in (SONDE, "probe", *words)], cwd=folder,
            env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=300,
            check=False,
        )  # fmt: skip

    return run


@pytest.fixture(name="probe")
def make_probe(run_probe, tmp_path):
    """probe("graph", ...) runs `sonde probe graph ...`; ``good=True`` asserts that it succeeds."""

    def run(*words, good=True, cwd=tmp_path):
        done = run_probe(cwd, *words)
        if good:
            assert done.returncode == 0, done.stderr
        return done

    return run


@pytest.fixture(scope="session", name="shared_data")
def find_shared_data():
    """Folder with data and results of the reference; tests that need it are skipped without."""
    folder = Path(os.environ.get("SONDE_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / "precision").is_dir():
        pytest.skip(f"needs data: there is none at {folder} (SONDE_SHARED_DATA)")
    return folder
