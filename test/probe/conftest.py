"""Shared by the tests of the precision probe: programs that record, and the data of the reference.

PRESET chooses the build folder (default dev). Tests that need torch are skipped without it.
"""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / os.environ.get("PRESET", "dev")
PACKAGE = ROOT / "python"
os.environ["SONDE_HOME"] = str(BUILD)


def environment():
    """As a program finds it that imports the package of this tree."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith("SONDE_")}
    variables.update(
        PYTHONPATH=f"{PACKAGE / 'sonde' / '_provide'}:{PACKAGE}",
        SONDE_HOME=str(BUILD),
        OMP_NUM_THREADS="1",
    )
    return variables


@pytest.fixture(name="run_program")
def make_run_program(tmp_path, prepared, request):
    """run_program(source, level=..., ...) runs a program that finds its configuration in
    ``config.json`` and records into ``dump``; ``good=False`` where it may fail. Files that set
    COMPILES run an interpreter of their own: torch's compiler remembers what it saw first."""
    python = sys.executable if getattr(request.module, "COMPILES", False) else prepared.python

    def run(source, good=True, arguments=(), **settings):
        config = {"task": "statistics", "level": "L1", "risk_level": "ALL", "dump_path": "dump"}
        (tmp_path / "config.json").write_text(json.dumps({**config, **settings}))
        program = tmp_path / "program.py"
        program.write_text(textwrap.dedent(source))
        done = subprocess.run(
            [python, str(program), *map(str, arguments)], cwd=tmp_path,
            env=environment(), capture_output=True, text=True, timeout=180, check=False,
        )  # fmt: skip
        if good:
            assert done.returncode == 0, done.stderr
        return done

    return run


@pytest.fixture(name="read_dump")
def make_read_dump(tmp_path):
    """read_dump("step0", "dump.json") of the program that ran; strict about the JSON."""

    def read(step="step0", name="dump.json"):
        (folder,) = (tmp_path / "dump" / step).iterdir()
        return json.loads((folder / name).read_text())

    return read


@pytest.fixture(scope="session", name="shared_data")
def find_shared_data():
    """Folder with the dumps of the reference; tests that need it are skipped without."""
    folder = Path(os.environ.get("SONDE_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / "precision_26_2").is_dir():
        pytest.skip(f"needs data: there is none at {folder} (SONDE_SHARED_DATA)")
    return folder
