"""The command line: help of every command, a full disk, and how little a start loads."""

import subprocess

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
