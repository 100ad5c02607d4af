"""The wheel beside what its users have: vLLM, vllm-ascend, verl, MindSpeed and MindSpeed-LLM.

uv resolves their published requirements by the metadata of the package index, for an Arm host with
Python 3.11, and loads no package. `pip install --dry-run` would load gigabytes for the same answer.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(
    os.environ.get("SONDE_THOROUGH") != "1", reason="with SONDE_THOROUGH=1: make test-thorough"
)

# vllm-ascend is pinned, since older releases would be taken where the newest had a conflict.
# MindSpeed and MindSpeed-LLM have only empty packages in the index: theirs are the files
# requirements.txt of Ascend/MindSpeed (1c304a21) and Ascend/MindSpeed-LLM (07e65e55).
OTHERS = {
    "vllm": "vllm",
    "vllm-ascend": "vllm-ascend==0.23.0",
    "verl": "verl",
    "verl with vllm": "verl[vllm]",
    "MindSpeed": """pybind11 ninja wheel numpy six regex decorator attrs psutil pyyaml protobuf
        einops scipy sentencepiece pytest tokenizers<=0.20.3 transformers>=4.43.2 gpytorch
        pandas""",
    "MindSpeed-LLM": """numpy transformers==5.2.0 transformers_stream_generator sympy decorator
        scipy sentencepiece einops datasets pybind11 accelerate six protobuf peft tiktoken ray
        codetiming word2number latex2sympy2 mistral_common antlr4-python3-runtime""",
}
# The first has another version in the index than vllm-ascend asks for. The others are there as
# sources alone, whose requirements only a build shows.
OVERRIDES = """\
triton-ascend
arctic-inference; sys_platform == "none"
transformers-stream-generator; sys_platform == "none"
word2number; sys_platform == "none"
"""
EXTRAS = "ray,dask,s3,gcs"


@pytest.fixture(scope="module", name="uv")
def find_uv():
    done = subprocess.run(
        [ROOT / "setup/python.sh", "resolve"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"needs network: {done.stderr.strip().splitlines()[-1]}")
    return Path(done.stdout.strip()).parent / "uv"


@pytest.fixture(scope="module", name="sonde")
def any_sonde(wheel, tmp_path_factory):
    """The wheel by a name that fits every machine; its metadata are what is asked."""
    version = wheel.name.split("-")[1]
    named = tmp_path_factory.mktemp("any") / f"sonde-{version}-py3-none-any.whl"
    shutil.copy(wheel, named)
    return named


def resolved(uv, folder, *requirements):
    """The version of each package that would be installed, by its name."""
    (folder / "requirements.txt").write_text("\n".join(requirements) + "\n")
    (folder / "overrides.txt").write_text(OVERRIDES)
    done = subprocess.run(
        [
            uv, "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--no-build",
            "--python-version", "3.11", "--python-platform", "aarch64-manylinux_2_36",
            "--override", folder / "overrides.txt", folder / "requirements.txt",
        ],
        capture_output=True, text=True, check=False, env={**os.environ, "UV_NO_PROGRESS": "1"},
    )  # fmt: skip
    if "Failed to fetch" in done.stderr:
        pytest.skip(f"needs network: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return dict(re.findall(r"(?m)^([\w.-]+)(?:==| @ )(\S+)", done.stdout))


@pytest.mark.parametrize("name", OTHERS)
def test_wheel_changes_no_version(name, uv, sonde, tmp_path):
    requirements = OTHERS[name].split()
    alone = resolved(uv, tmp_path, *requirements)
    beside = resolved(uv, tmp_path, *requirements, f"sonde @ {sonde.as_uri()}")
    assert len(alone) > 20
    assert beside.pop("sonde", None) is not None
    assert beside == alone


@pytest.mark.parametrize("name", OTHERS)
def test_extras_conflict_with_nothing(name, uv, sonde, tmp_path):
    """Ray, Dask and buckets: what decides how the others compute keeps its version."""
    requirements = OTHERS[name].split()
    alone = resolved(uv, tmp_path, *requirements)
    beside = resolved(uv, tmp_path, *requirements, f"sonde[{EXTRAS}] @ {sonde.as_uri()}")
    assert {"sonde", "ray", "distributed", "s3fs", "gcsfs"} <= beside.keys()
    frameworks = {"torch", "torch-npu", "numpy", "transformers", "vllm", "vllm-ascend", "verl"}
    kept = alone.keys() & frameworks
    assert {each: beside[each] for each in kept} == {each: alone[each] for each in kept}


def test_conflict_would_be_seen(uv, tmp_path):
    """The resolver refuses what cannot be installed together."""
    with pytest.raises(AssertionError, match="No solution found"):
        resolved(uv, tmp_path, *OTHERS["MindSpeed"].split(), "tokenizers>=0.21")
