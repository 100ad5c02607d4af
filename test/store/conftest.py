"""Shared by the tests of the store: the built command, asked with SQL."""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / os.environ.get("PRESET", "dev")


@pytest.fixture(scope="session", name="recorder")
def find_recorder():
    """Path of the recorder's library."""
    library = BUILD / "lib" / "libsonde_record.so"
    assert library.is_file(), f"{library} is missing: make build"
    return library


@pytest.fixture(scope="session", name="query")
def make_query():
    """query(path, sql) returns the rows as dictionaries."""
    command = BUILD / "bin" / "sonde"
    assert command.is_file(), f"{command} is missing: make build"

    def query(path, sql):
        words = [str(command), "query", str(path), sql, "--format", "json"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return query
