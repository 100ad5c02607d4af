"""Shared by the end-to-end tests: the built command and how to run it.

PRESET chooses the build folder (default dev). The tests run under a Python that has torch.
"""

import csv
import io
import os
import subprocess
from pathlib import Path

import prof_writer
import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / os.environ.get("PRESET", "dev")
SONDE = BUILD / "bin" / "sonde"


@pytest.fixture(scope="session", name="sonde")
def find_sonde():
    """Path of the built command."""
    assert SONDE.is_file(), f"{SONDE} is missing: make build"
    return SONDE


@pytest.fixture(scope="session", name="cache_home")
def make_cache_home(tmp_path_factory):
    """The user's cache folder of the tested commands: no store that another build made is in it."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(name="run_sonde")
def make_runner(sonde, tmp_path, cache_home):
    """run_sonde("run", "--", ...) returns the finished process with its output as text.

    It runs in an empty folder, with a cache folder of the tests, and without SONDE_... variables
    of ours; ``env`` adds some.
    """

    def run(*words, env=None, cwd=tmp_path, timeout=120, **options):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("SONDE_")}
        environment["XDG_CACHE_HOME"] = str(cache_home)
        environment.update(env or {})
        return subprocess.run(
            [str(word) for word in (sonde, *words)],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            **options,
        )

    return run


@pytest.fixture(name="one_error_line")
def make_error_check():
    """Asserts that a finished process printed exactly one clear line and ended with ``status``."""

    def check(done, status, *parts):
        lines = done.stderr.splitlines()
        assert (done.returncode, len(lines)) == (status, 1), (done.returncode, done.stderr)
        assert lines[0].startswith("sonde: error: ")
        for part in parts:
            assert part in lines[0], lines[0]

    return check


@pytest.fixture(name="query")
def make_query(run_sonde, span):
    """query(sql) returns the rows, as texts, of the trace in the module's fixture ``span``."""

    def query(sql):
        done = run_sonde("query", span, sql, "--format", "csv")
        assert done.returncode == 0, done.stderr
        return [tuple(row) for row in csv.reader(io.StringIO(done.stdout, newline=""))][1:]

    return query


@pytest.fixture(name="write_prof")
def make_writer(tmp_path):
    """write_prof(run) returns a PROF_* folder of what is described (prof_writer)."""

    def write(run):
        return prof_writer.write(
            run, tmp_path / "given" / "PROF_000001_20250109081616713_0004200ABCDEFGHA"
        )

    return write


@pytest.fixture(name="ask")
def make_asker(run_sonde):
    """ask(folder, sql) returns rows of texts."""

    def ask(folder, statement):
        done = run_sonde("query", folder, statement, "--format", "csv")
        assert done.returncode == 0, done.stderr
        return list(csv.reader(io.StringIO(done.stdout)))[1:]

    return ask


@pytest.fixture(scope="session", name="shared_data")
def find_shared_data():
    """Folder with data written by other tools; tests that need it are skipped without."""
    folder = Path(os.environ.get("SONDE_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"needs data: there is none at {folder} (SONDE_SHARED_DATA)")
    return folder
