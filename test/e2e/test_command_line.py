"""Messages and exit status of the command line: help, wrong usage, failures."""

import subprocess

import pytest

COMMANDS = ("run", "doctor")


def test_help_names_every_command(run_sonde):
    done = run_sonde("--help")
    assert (done.returncode, done.stderr) == (0, "")
    for command in COMMANDS:
        assert f"  {command}" in done.stdout


def test_every_command_has_help_with_an_example(run_sonde):
    listed = run_sonde("--help").stdout.split("Commands:\n")[1].split("\n\n")[0]
    for line in listed.splitlines():
        command = line.split()[0]
        done = run_sonde(command, "--help")
        assert (done.returncode, done.stderr) == (0, "")
        assert f"Example:\n  sonde {command}" in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 110


def test_version(run_sonde):
    done = run_sonde("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("sonde 0.")


@pytest.mark.parametrize(
    "words, parts",
    [
        ((), ("no command given", "sonde --help")),
        (("rnu",), ("unknown command 'rnu'", "did you mean 'run'?")),
        (("run",), ("no command to run",)),
        (("run", "--"), ("no command to run",)),
        (("run", "--profile-levl", "level0", "--", "true"), ("did you mean '--profile-level'?",)),
        (("run", "--profile-level", "level9", "--", "true"), ("level_none, level0", "'level9'")),
        (("run", "--profile-step-start", "x", "--", "true"), ("--profile-step-start",)),
        (
            ("run", "--profile-step-start", "5", "--profile-step-end", "5", "--", "true"),
            ("impossible schedule",),
        ),
        (("run", "--profile-step-end", "0", "--", "true"), ("impossible schedule",)),
        (("run", "--profile-ranks", "-3", "--", "true"), ("--profile-ranks",)),
        (("run", "--profile-export-type", "xml", "--", "true"), ("text, db", "'xml'")),
        (("run", "--control", "http://0.0.0.0:80", "--", "true"), ("127.0.0.1",)),
        (("query", "a", "b", "extra"), ("unexpected argument 'extra'",)),
    ],
)
def test_wrong_usage_is_status_2(run_sonde, one_error_line, words, parts):
    one_error_line(run_sonde(*words), 2, *parts)


def test_switches_take_a_value_as_flags_of_trainers_do(run_sonde):
    """And a command called true is still one."""
    show = (
        "sh",
        "-c",
        "echo $SONDE_PROFILE_WITH_STACK $SONDE_PROFILE_MSTX $0",
        "--profile",
        "true",
    )
    options = (
        "--profile-ranks",
        "0",
        "1",
        "--profile-with-stack",
        "True",
        "--profile-mstx",
        "false",
    )
    for words in ((*options, "--", *show), (*options, *show)):
        done = run_sonde("run", "-q", *words)
        assert (done.returncode, done.stdout) == (0, "1 0 --profile\n"), done.stderr
    assert run_sonde("run", "-q", "--profile-mstx", "true").returncode == 0
    assert run_sonde("run", "-q", "--profile-mstx", "false", "--", "true").returncode == 0
    assert run_sonde("run", "-q", "--profile-mstx", "false").returncode == 1


def test_bad_variable_is_wrong_usage(run_sonde, one_error_line):
    done = run_sonde("run", "--", "true", env={"SONDE_PROFILE_WITH_STACK": "maybe"})
    one_error_line(done, 2, "SONDE_PROFILE_WITH_STACK", "'maybe'")


def test_broken_installation_is_reported(run_sonde, one_error_line):
    done = run_sonde("run", "--", "true", env={"SONDE_HOME": "/nowhere"})
    one_error_line(done, 1, "SONDE_HOME", "/nowhere")


def test_full_standard_output_is_a_failure(sonde):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sonde, "--version"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr == "sonde: error: cannot write to standard output: is the disk full?\n"


def test_start_up_loads_no_database(run_sonde):
    """What makes a start slow is the large library; only commands that need it open it."""
    for command in ("--help", "--version", "run", "view"):
        words = (command,) if command.startswith("-") else (command, "--help")
        loaded = run_sonde(*words, env={"LD_DEBUG": "files"}).stderr
        assert "libc.so" in loaded and "duckdb" not in loaded
