"""Tests on a real vLLM server on the CPU; skipped where no vLLM is installed (`make test-vllm`
installs one; SONDE_VLLM_PYTHON names another)."""

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
MODEL_SCRIPT = ROOT / "examples" / "vllm" / "make_model.py"
ENTRY_POINT = "[vllm.general_plugins]\nsonde = sonde.vllm:register\n"
sys.path.insert(0, str(ROOT / "tools"))
pytest.register_assert_rewrite("watched", "one_rank")


@pytest.fixture(scope="session", name="sonde")
def find_sonde():
    """The built command."""
    command = ROOT / "build" / os.environ.get("PRESET", "dev") / "bin" / "sonde"
    assert command.is_file(), f"{command} is missing: make build"
    return command


@pytest.fixture(scope="session", name="rows")
def make_rows(sonde):
    """rows(path, sql) returns the rows as dictionaries."""

    def rows(path, sql):
        done = subprocess.run([sonde, "query", path, sql, "--format", "json"],
                              capture_output=True, text=True, timeout=120, check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return rows


@pytest.fixture(scope="session", name="vllm_python")
def find_vllm():
    """An interpreter that has vLLM."""
    command = [str(ROOT / "setup" / "python.sh"), "vllm", "--if-there"]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    if not found:
        pytest.skip("needs vllm: make setup-vllm installs one")
    return found


def write_model(python, folder, *options):
    """Makes the small Qwen2."""
    done = subprocess.run([python, MODEL_SCRIPT, folder, *options], capture_output=True, text=True,
                          timeout=300, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session", name="model")
def make_model(vllm_python, tmp_path_factory):
    """The small Qwen2; made once where several files of tests run side by side or in turn."""
    shared = os.environ.get("UNITS_SHARED_FOLDER")
    if shared is None:
        return write_model(vllm_python, tmp_path_factory.mktemp("model"))
    MODEL_SCRIPT.read_bytes()  # whoever uses the model depends on it, too
    folder = Path(shared) / "model"
    with open(f"{folder}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            write_model(vllm_python, f"{folder}.partial")
            Path(f"{folder}.partial").rename(folder)
    return folder


@pytest.fixture(name="wide_model")
def make_wide_model(vllm_python, tmp_path):
    """The same with as many tokens as `vllm bench latency` asks with."""
    return write_model(vllm_python, tmp_path / "wide", "--vocabulary", "10000")


def pretend_installed(sonde, folder):
    """Environment in which the package and its entry point are found as if installed."""
    metadata = folder / "site" / "sonde-0.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: sonde\nVersion: 0.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINT)
    paths = [str(ROOT / "python"), str(metadata.parent), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": ":".join(filter(None, paths)), "SONDE_HOME": str(sonde.parents[1])}


@pytest.fixture(scope="module", name="installed")
def make_installed(sonde, tmp_path_factory):
    return pretend_installed(sonde, tmp_path_factory.mktemp("installed"))


class Recorder:
    """Takes down the names of what is recorded."""

    def __init__(self):
        self.reported = []
        self.fast = self

    def __getattr__(self, name):
        return lambda *args, **kwargs: self.reported.append((name, *args)) or 1

    def intern(self, name):
        return name

    def features_word(self):
        return 1

    def args(self, facts, once):
        return dict(facts)


@pytest.fixture(name="recorder")
def make_recorder(monkeypatch):
    recorder = Recorder()
    from sonde.vllm import _marks  # only where the package is there

    monkeypatch.setattr(_marks, "recorder", lambda: recorder)
    return recorder
