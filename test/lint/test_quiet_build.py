"""tools/quiet_build.py shows a line of progress, and of a build that failed what failed."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "quiet_build.py"
NINJA = """#!/bin/sh
i=1
while [ $i -le 8 ]; do echo "[$i/8] Building CXX object $i"; i=$((i + 1)); done
{end}
"""


def quiet_build(tmp_path, end):
    """Runs quiet_build.py with a cmake that prints eight steps and then does `end`."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "cmake").write_text(NINJA.format(end=end))
    (tmp_path / "bin" / "cmake").chmod(0o755)
    return subprocess.run(
        [sys.executable, str(SCRIPT), ".", "1", "product", "build.log"], cwd=tmp_path, text=True,
        env={**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"},
        capture_output=True, check=False,
    )  # fmt: skip


def test_a_build_shows_a_line_each_quarter(tmp_path):
    done = quiet_build(tmp_path, "exit 0")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[:4] == ["[2/8] built", "[4/8] built", "[6/8] built", "[8/8] built"]
    assert lines[4].endswith("(8 steps); compiler output: build.log")
    assert (tmp_path / "build.log").read_text().count("Building") == 8


def test_a_failed_build_shows_what_failed(tmp_path):
    done = quiet_build(tmp_path, 'echo "FAILED: a.o"; echo "a.cc:1: error: x"; exit 1')
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "FAILED: a.o",
        "a.cc:1: error: x",
        "the build failed; all of its output is in build.log",
    ]
