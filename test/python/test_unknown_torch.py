"""A torch that the adapter does not know: its headers are asked, or names and times remain."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import capture_reader
import pytest
from conftest import BUILD
from sonde import _seams, doctor
from sonde._inject import _hosts

torch = pytest.importorskip("torch")

PYTHON = Path(__file__).resolve().parents[2] / "python"
PROGRAM = """
import sys, torch
from sonde import torch as st
config = st._ExperimentalConfig(aic_metrics=st.AiCMetrics.AiCoreNone)
handler = st.tensorboard_trace_handler(sys.argv[1], analyse_flag=False)
with st.profile(on_trace_ready=handler, record_shapes=True, experimental_config=config) as prof:
    x = torch.ones(3, 5, requires_grad=True)
    (x * 2).sum().backward()
print(prof.span_path)
"""


def run(tmp_path, words, **variables):
    environment = {
        **os.environ,
        "PYTHONPATH": str(PYTHON),
        "SONDE_HOME": str(BUILD),
        "SONDE_TEST_UNKNOWN_TORCH": "1",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        **variables,
    }
    return subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, text=True, timeout=300,
        check=True,
    )  # fmt: skip


def record(tmp_path, **variables):
    done = run(tmp_path, ["-c", PROGRAM, str(tmp_path)], **variables)
    return done, capture_reader.read(done.stdout.splitlines()[-1])


@pytest.fixture(name="no_compiler")
def make_no_compiler(tmp_path):
    """Variables under which no compiler is found."""
    (tmp_path / "bin").mkdir()
    return {"PATH": str(tmp_path / "bin"), "CXX": ""}


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a compiler")
def test_headers_are_asked(tmp_path, no_compiler):
    done, capture = record(tmp_path)
    assert "is not known" not in done.stderr
    multiply = min(capture.named("aten::mul"), key=lambda record: record.ticks)
    assert multiply.kind == capture_reader.OP
    assert multiply.args["inputs"][0] == (6, [3, 5])
    (backward,) = capture.named("MulBackward0")
    assert (backward.kind, backward.sequence) == (capture_reader.BACKWARD, multiply.sequence)
    assert not capture.issues
    # What was learned is kept.
    _, again = record(tmp_path, **no_compiler)
    assert (6, [3, 5]) in again.named("aten::mul")[0].args["inputs"]


def test_without_a_compiler(tmp_path, no_compiler):
    done, capture = record(tmp_path, **no_compiler)
    complaints = [line for line in done.stderr.splitlines() if line.startswith("sonde: torch")]
    assert complaints == [
        f"sonde: torch {torch.__version__} is not known (no C++ compiler was found): "
        "operators are recorded with names and times only"
    ]
    assert [(r.args, r.sequence) for r in capture.named("aten::mul")] == [({}, -1)] * 2
    assert any("range layout: unknown to this release" in issue for issue in capture.issues)


def test_doctor_says_so(tmp_path, no_compiler):
    done = run(tmp_path, ["-m", "sonde.doctor", "--json"], **no_compiler)
    checks = {check["name"]: check for check in json.loads(done.stdout)["adapter"]["checks"]}
    assert checks["range layout"]["ok"] is False
    assert "compiler" in checks["range layout"]["remedy"]


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a compiler")
def test_doctor_looks_up_the_places_in_the_compiler(tmp_path, monkeypatch):
    (torch_seams,) = (host for host in _hosts.HOSTS if host.package == "torch")
    folder = Path(torch.__file__).parents[1]
    assert all(_seams.missing(seam, str(folder)) == [] for seam in torch_seams.seams())
    made = tmp_path / "torch" / "_inductor"
    made.mkdir(parents=True)
    (made.parent / "__init__.py").write_text("")
    (made / "compile_fx.py").write_text("def compile_otherwise(): pass\n")
    spec = importlib.util.spec_from_file_location("torch", made.parent / "__init__.py")
    monkeypatch.setattr(doctor.importlib.util, "find_spec", {"torch": spec}.get)
    monkeypatch.setattr(doctor, "_version_of", {"torch": "2.99.0"}.get)
    (found,) = doctor._hosts()
    lack = ["torch._inductor.compile_fx.compile_fx"]
    assert found["missing"]["modules of compiled graphs"] == lack
    assert found["missing"]["values in compiled graphs"] == lack


def test_doctor_names_what_was_compiled(tmp_path):
    done = run(tmp_path, ["-m", "sonde.doctor", "--json"])
    checks = {check["name"]: check for check in json.loads(done.stdout)["adapter"]["checks"]}
    assert checks["range layout"]["detail"] == "compiled from the headers of this torch"
    assert all(check["ok"] for check in checks.values())
