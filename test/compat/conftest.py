"""One recorded training run of two ranks, analysed in every form, for the peer tools to open."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRESET = os.environ.get("PRESET", "dev")
SONDE = ROOT / "build" / PRESET / "bin" / "sonde"
STEPS = ("--profile-step-start", "2", "--profile-step-end", "6")
SWITCHES = ("--profile-level", "level1", "--profile-with-memory", "--profile-record-shapes")


def run(*command, **options):
    """Runs a command that must succeed; its output goes into the message when it does not."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="session", name="torch_python")
def find_torch_python():
    return run(ROOT / "setup" / "python.sh", "torch").stdout.strip()


@pytest.fixture(scope="session", name="capture")
def record_training(tmp_path_factory, torch_python):
    """The folder that two ranks of the training example recorded into."""
    folder = tmp_path_factory.mktemp("capture")
    training = (torch_python, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2")
    program = (ROOT / "examples" / "train_tiny_gpt.py", "--steps", "8")
    options = (*STEPS, *SWITCHES, "--profile-save-path", folder)
    run(SONDE, "run", *options, "--", *training, *program)
    spans = sorted(folder.glob("*_ascend_pt"))
    assert len(spans) == 2, f"one folder a rank expected, found {spans}"
    return folder


@pytest.fixture(scope="session", name="profile")
def analyse(capture):
    """profile("text") analyses the capture with that export type, once, and returns its folder."""
    done = {}

    def analysed(export_type):
        if export_type not in done:
            folder = capture.parent / f"{capture.name}_{export_type}"
            run(SONDE, "analyse", capture, "--export-type", export_type, "-o", folder)
            done[export_type] = folder
        return done[export_type]

    return analysed
