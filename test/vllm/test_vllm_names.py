"""The names of hosts that Sonde changes: in the sources of those installed, and of other versions
of vLLM in SONDE_VLLM_SOURCES (folders `<version>/vllm/...`, unpacked wheels)."""

import importlib.util
import os
import re
from pathlib import Path

import pytest
from sonde._inject._hosts import HOSTS
from sonde._seams import missing

TORCH, VLLM = (next(host for host in HOSTS if host.package == name) for name in ("torch", "vllm"))


def lacks(host, folder, version):
    return {seam.title: names for seam in host.seams() if seam.fits(version)
            if (names := missing(seam, str(folder))) != []}  # fmt: skip


def test_of_the_vllm_that_is_installed(vllm_python):
    (folder,) = Path(vllm_python).parents[1].glob("lib/python*/site-packages")
    (metadata,) = folder.glob("vllm-*.dist-info")
    version = tuple(map(int, re.match(r"vllm-(\d+)\.(\d+)\.(\d+)", metadata.name).groups()))
    assert lacks(VLLM, folder, version) == {}


def test_of_other_releases():
    folders = sorted(Path(os.environ.get("SONDE_VLLM_SOURCES", "/nowhere")).glob("*/vllm"))
    if not folders:
        pytest.skip("needs sources: SONDE_VLLM_SOURCES names no folder with releases")
    for folder in folders:
        version = tuple(map(int, folder.parent.name.split(".")))
        assert lacks(VLLM, folder.parent, version) == {}, version


def test_of_the_torch_that_is_installed():
    spec = importlib.util.find_spec("torch")
    if spec is None:
        pytest.skip("needs torch: its sources are looked at")
    assert lacks(TORCH, Path(spec.origin).parents[1], (2, 15)) == {}
