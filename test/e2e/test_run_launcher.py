"""`sonde run` as a launcher: environment, exit status, signals, notices. No torch is needed: a
start-up hook of the test's own stands in for Sonde's, and notes what the real one would note."""

import json
import os
import pty
import signal
import subprocess
import sys
import time

import pytest

HOOK = """
import os
with open(os.environ["SONDE_RUN_LIST"], "a") as file:
    for line in os.environ.get("TEST_NOTES", "").splitlines():
        kind, text = line.split(" ", 1)
        file.write(f"{kind}\\t{os.getpid()}\\t{text}\\n")
"""


@pytest.fixture(name="home")
def make_home(tmp_path):
    """A SONDE_HOME with the test's hook."""
    home = tmp_path / "home"
    (home / "_inject").mkdir(parents=True)
    (home / "_inject" / "sitecustomize.py").write_text(HOOK)
    return home


@pytest.fixture(name="launch")
def make_launch(run_sonde, home):
    def launch(*words, env=None, **options):
        return run_sonde("run", *words, env={"SONDE_HOME": str(home), **(env or {})}, **options)

    return launch


def test_python_children_see_the_options(launch, home, tmp_path):
    program = "import json, os; print(json.dumps(dict(os.environ)))"
    options = ("--profile-step-start", "2", "--profile-step-end", "4", "--profile-ranks", "0", "1")
    switches = ("--profile-record-shapes", "--no-profile-with-cpu", "--profile-save-path", "out")
    done = launch(*options, *switches, "--", sys.executable, "-c", program,
                  env={"PYTHONPATH": "/theirs"})  # fmt: skip
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["SONDE_ATTACH"] == "profile"
    assert seen["SONDE_HOME"] == str(home)
    assert seen["PYTHONPATH"] == f"{home / '_inject'}:/theirs"
    assert seen["SONDE_PROFILE_STEP_START"] == "2"
    assert seen["SONDE_PROFILE_STEP_END"] == "4"
    assert seen["SONDE_PROFILE_RANKS"] == "0,1"
    assert seen["SONDE_PROFILE_RECORD_SHAPES"] == "1"
    assert seen["SONDE_PROFILE_WITH_CPU"] == "0"
    assert seen["SONDE_PROFILE_SAVE_PATH"] == str(tmp_path / "out")
    assert "SONDE_PROFILE_LEVEL" not in seen
    assert not os.path.exists(seen["SONDE_RUN_LIST"]), "the run list goes at the end"


def test_exit_status_and_streams_pass_through(launch):
    done = launch("--", "sh", "-c", "cat; echo err >&2; exit 42", input="in")
    assert (done.returncode, done.stdout) == (42, "in")
    assert done.stderr.startswith("err\n")


def test_a_script_without_an_interpreters_name_is_the_shells(launch, tmp_path):
    script = tmp_path / "script"
    script.write_text("echo $0 $1; exit 3\n")
    script.chmod(0o755)
    done = launch("--", str(script), "word")
    assert (done.returncode, done.stdout) == (3, f"{script} word\n")


def test_death_by_signal_passes_through(launch):
    assert launch("--", "sh", "-c", "kill -SEGV $$").returncode == -signal.SIGSEGV


def test_signals_reach_the_program(sonde, home, tmp_path):
    ready = tmp_path / "ready"
    script = f"trap 'echo got; exit 5' TERM; : > {ready}; while :; do sleep 0.05; done"
    with subprocess.Popen(
        [sonde, "run", "--", "sh", "-c", script],
        env={**os.environ, "SONDE_HOME": str(home)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as launcher:
        deadline = time.monotonic() + 20
        while not ready.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        launcher.terminate()
        out, _ = launcher.communicate(timeout=20)
    assert (launcher.returncode, out) == (5, "got\n")


def test_the_terminals_interrupt_arrives_once(sonde, home, tmp_path):
    """Control-C goes to the whole process group; the launcher must not send it a second time."""
    ready = tmp_path / "ready"
    # Up to 20 s for the first, then half a second in which a second one would come.
    script = (
        "n=0; trap 'n=$((n+1))' INT; "
        f": > {ready}; i=0; while [ $n -eq 0 ] && [ $i -lt 400 ]; do sleep 0.05; i=$((i+1)); done; "
        "i=0; while [ $i -lt 10 ]; do sleep 0.05; i=$((i+1)); done; "
        f"echo $n > {tmp_path / 'count'}; exit 4"
    )
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["SONDE_HOME"] = str(home)
        os.chdir(tmp_path)
        os.execv(sonde, ["sonde", "run", "--quiet", "--", "sh", "-c", script])
    deadline = time.monotonic() + 20
    while not ready.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    os.write(terminal, b"\x03")
    _, state = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(state) == 4
    assert (tmp_path / "count").read_text() == "1\n"


def test_missing_and_not_executable_commands(launch, one_error_line, tmp_path):
    one_error_line(launch("--", "no-such-command"), 127, "'no-such-command'")
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    one_error_line(launch("--", script), 126, str(script))


def test_unwritable_folder_is_reported_before_the_start(launch, one_error_line, tmp_path):
    done = launch("--profile-save-path", "/proc/none", "--", "touch", tmp_path / "ran")
    one_error_line(done, 1, "--profile-save-path", "/proc/none")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "program, notes, notice",
    [
        (("true",), "", "ran no Python program"),
        (("python",), "noframework python3 a.py", "'python3 a.py' imported neither torch"),
        (("sh", "python"), "noframework python3 a.py", "'python3 a.py' imported neither torch"),
        (("python",), "skipped rank 3 is not chosen", "rank 3 is not chosen"),
        (("python",), "control http://127.0.0.1:1", "no POST /start_profile"),
    ],
)
def test_nothing_recorded_is_one_notice(launch, program, notes, notice):
    command = {
        ("true",): ("true",),
        ("python",): (sys.executable, "-c", "pass"),
        ("sh", "python"): ("sh", "-c", f"{sys.executable} -c pass"),
    }[program]
    done = launch("--", *command, env={"TEST_NOTES": notes})
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("sonde: nothing was recorded: ")
    assert notice in done.stderr
    assert done.stderr.count("\n") == 1
    quiet = launch("--quiet", "--", *command, env={"TEST_NOTES": notes})
    assert (quiet.returncode, quiet.stderr) == (0, "")


def make_analysed_capture(folder):
    (folder / "ASCEND_PROFILER_OUTPUT").mkdir(parents=True)
    (folder / "ASCEND_PROFILER_OUTPUT" / "analyse.done").touch()
    (folder / "SONDE").mkdir()


@pytest.mark.parametrize("flag, kept", [((), True), (("--profile-data-simplification",), False)])
def test_raw_records_go_only_on_request_and_after_parsing(launch, tmp_path, flag, kept):
    make_analysed_capture(tmp_path / "a")
    (tmp_path / "b" / "SONDE").mkdir(parents=True)
    notes = f"capture {tmp_path}/a\ncapture {tmp_path}/b"
    launch(*flag, "--", sys.executable, "-c", "pass", env={"TEST_NOTES": notes})
    assert (tmp_path / "a" / "SONDE").exists() == kept
    assert (tmp_path / "b" / "SONDE").exists(), "not parsed: nothing may be removed"


def test_captures_are_named_and_discarded_ones_are_not(launch, tmp_path):
    for name in ("a", "b"):
        make_analysed_capture(tmp_path / name)
    notes = f"capture {tmp_path}/a\ncapture {tmp_path}/b\ndiscarded {tmp_path}/b"
    done = launch("--no-analyse", "--", sys.executable, "-c", "pass", env={"TEST_NOTES": notes})
    assert (done.returncode, done.stderr) == (0, f"sonde: recorded: {tmp_path}/a\n")


def test_a_capture_that_cannot_be_parsed_does_not_change_the_exit_status(launch, tmp_path):
    (tmp_path / "a_ascend_pt").mkdir()
    notes = f"capture {tmp_path}/a_ascend_pt"
    done = launch("--", "sh", "-c", f"{sys.executable} -c pass; exit 3", env={"TEST_NOTES": notes})
    assert done.returncode == 3
    assert "later: sonde analyse" in done.stderr
    assert done.stdout == ""
    kept = launch("--no-analyse", "--", sys.executable, "-c", "pass", env={"TEST_NOTES": notes})
    assert kept.stderr == f"sonde: recorded: {tmp_path}/a_ascend_pt\n"


def test_commands_need_no_dashes_before_them(launch):
    done = launch("--profile-level", "level0", "sh", "-c", "exit 6", "--", "x")
    assert done.returncode == 6
