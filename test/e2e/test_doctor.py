"""`sonde doctor` against the real Python, and against broken ones."""

import sys

import pytest


@pytest.fixture(scope="module", name="healthy")
def make_place_for_the_screen():
    """The screen for the Python of the tests, made once."""
    return {}


def examine(run_sonde, healthy):
    if "done" not in healthy:
        healthy["done"] = run_sonde("doctor", "--python", sys.executable)
    return healthy["done"]


def test_healthy_python(run_sonde, healthy):
    done = examine(run_sonde, healthy)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    for subject in ("Python", "PyTorch", "Recorder", "Adapter", "Self-test", "Clock", "Save path"):
        assert f"ok   {subject} " in done.stdout
    assert "FAIL" not in done.stdout
    assert "\nRecorded: " in done.stdout
    assert "\nNot recorded: " in done.stdout


def test_one_screen(run_sonde, healthy):
    lines = examine(run_sonde, healthy).stdout.splitlines()
    assert len(lines) <= 45
    # Paths are not broken; everything else is.
    assert max(len(line) for line in lines if "/" not in line) <= 100


def test_the_python_of_a_command(run_sonde, tmp_path):
    """Of a script that a package installed: the one in its first line."""
    script = tmp_path / "serve"
    script.write_text(f"#!{sys.executable}\nprint('served')\n")
    script.chmod(0o755)
    done = run_sonde("doctor", "--python", "/no/such/python", "--", str(script), "--port", "1")
    assert done.returncode == 0 and sys.executable in done.stdout, done.stdout + done.stderr
    assert "served" not in done.stdout
    shell = tmp_path / "run"
    shell.write_text("#!/bin/sh\n")
    shell.chmod(0o755)
    done = run_sonde("doctor", "--python", "/no/such/python", "--", str(shell))
    assert f"which Python runs '{shell}' is unknown" in " ".join(done.stdout.split())


def make_python(folder, *arguments):
    script = folder / "python"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {" ".join(arguments)} "$@"\n')
    script.chmod(0o755)
    return script


def test_python_without_torch(run_sonde, one_error_line, tmp_path):
    """-S: neither site-packages nor the start-up hook."""
    done = run_sonde("doctor", "--python", make_python(tmp_path, "-S"))
    one_error_line(done, 1, "PyTorch: not installed")
    assert "FAIL PyTorch" in done.stdout
    assert "remedy: install torch 2.4 or newer" in done.stdout
    assert "GAP  Start-up hook" in done.stdout


def test_python_that_ignores_its_environment(run_sonde, tmp_path):
    done = run_sonde("doctor", "--python", make_python(tmp_path, "-E"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "GAP  Start-up hook" in done.stdout
    assert "remedy: start Python without -E, -I and -S" in " ".join(done.stdout.split())
    assert "Not recorded:  programs that do not call sonde.torch.profile" in done.stdout


def test_missing_or_broken_python(run_sonde, one_error_line, tmp_path):
    one_error_line(run_sonde("doctor", "--python", "/nowhere/python"), 1, "/nowhere/python")
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho boom >&2\nexit 3\n")
    broken.chmod(0o755)
    one_error_line(run_sonde("doctor", "--python", broken), 1, "ended with status 3: boom")
    broken.write_text("#!/bin/sh\necho not json\n")
    one_error_line(run_sonde("doctor", "--python", broken), 1, "not valid JSON")


def test_unwritable_save_path(run_sonde, one_error_line):
    done = run_sonde(
        "doctor", "--python", sys.executable, "--profile-save-path", "/proc/none"
    )  # fmt: skip
    one_error_line(done, 1, "Save path", "/proc/none")
    assert "Nothing will be recorded until every FAIL" in done.stdout


def test_other_profilers_are_named(run_sonde):
    variables = {"MSMONITOR_USE_DAEMON": "1", "PROFILER_SAMPLECONFIG": "x"}
    done = run_sonde("doctor", "--python", sys.executable, env=variables)
    assert done.returncode == 0
    assert "note Other profiler  MSMONITOR_USE_DAEMON=1" in done.stdout
    assert "PROFILER_SAMPLECONFIG=x: CANN's msprof" in done.stdout
