"""Faults planted into small models: the summary names kind and place, and rounding is no finding.

A sample of the pairs of ``planted/benchmark.py``, which runs all of them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, SONDE

PLANTED = Path(__file__).parent / "planted"
EVERY = 9


def test_a_sample_of_the_planted_faults(tmp_path):
    pytest.importorskip("torch")
    assert SONDE.is_file(), f"{SONDE} is missing: make build"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "python"),
        "SONDE_HOME": str(SONDE.parents[1]),
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, str(PLANTED / "benchmark.py"), str(tmp_path), str(SONDE), str(EVERY)],
        env=environment, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["pairs"] >= 20
    assert found["alarms"] == 0 and found["right"] >= found["pairs"] - 1, done.stdout
