"""A sample of `make test-families`: planted changes of small models of our own are explained.

All of them, with the models of transformers, are counted by the make target. Here every 37th
pair is recorded and compared. No benign change may raise an alarm; of the faults the sample has
those that are known to be found, so that fewer is a step back.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SONDE = ROOT / "build" / os.environ.get("PRESET", "dev") / "bin" / "sonde"
COUNT = Path(__file__).with_name("families") / "count_families.py"
FOUND = 5


def test_sample_of_families(tmp_path):
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, str(COUNT), str(tmp_path), str(SONDE), "--own", "--every", "37"],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "python"),
            "SONDE_HOME": str(SONDE.parents[1]),
            "OMP_NUM_THREADS": "1",
        },
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    counts = json.loads(done.stdout.splitlines()[-1])
    assert counts["alarm"] == 0, done.stdout
    assert counts["benign"] + counts["faults"] + counts["skipped"] == 8, done.stdout
    assert counts["benign"] > 0 and counts["faults"] > 0, "the sample has both"
    assert counts["hit"] >= FOUND - counts["skipped"], done.stdout
