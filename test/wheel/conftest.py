"""The wheel of what is built already (PRESET, default dev), once for all files of this folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session", name="build")
def build_folder():
    return ROOT / "build" / os.environ.get("PRESET", "dev")


@pytest.fixture(scope="session", name="wheel")
def build_wheel(build, tmp_path_factory):
    """Nothing is compiled: the build keeps the settings that it has."""
    folder = tmp_path_factory.mktemp("wheel")
    make = [sys.executable, str(ROOT / "tools" / "wheel.py"), str(build), str(folder)]
    done = subprocess.run(make, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("sonde-*.whl")
    return wheel
