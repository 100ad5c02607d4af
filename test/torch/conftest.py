"""Tests of the PyTorch adapter: need torch and built libraries; run by `make test`."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

torch = pytest.importorskip("torch")


@pytest.fixture(scope="session", autouse=True)
def attached():
    import harness

    torch.set_num_threads(1)
    harness.attach()
