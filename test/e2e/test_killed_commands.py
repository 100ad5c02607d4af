"""Commands that are killed right before any call that changes files: nothing recorded is lost.

After each kill a query and an analysis of the same capture must give all its rows, and the next
analysis takes away what the killed one left. SOAK=1 kills at every call, else at a sample.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / os.environ.get("PRESET", "dev")
ROWS = "SELECT (SELECT count(*) FROM slice) + (SELECT count(*) FROM memory_event)"
SAMPLE = 12


@pytest.fixture(scope="module", name="recorded")
def record(tmp_path_factory):
    """A span folder that was recorded by the C interface, not analysed."""
    folder = tmp_path_factory.mktemp("recorded")
    words = [sys.executable, ROOT / "test" / "store" / "record_program.py"]
    library = BUILD / "lib" / "libsonde_record.so"
    subprocess.run([*words, library, folder], check=True, timeout=60)
    return folder / "small_ascend_pt"


@pytest.fixture(scope="module", name="killer")
def build_killer(tmp_path_factory):
    library = tmp_path_factory.mktemp("killer") / "kill_at.so"
    source = Path(__file__).parent / "programs" / "kill_at.c"
    command = ["cc", "-O1", "-fPIC", "-shared", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True, timeout=60)
    return library


def rows_in(run_sonde, span):
    done = run_sonde("query", span, ROWS, "--format", "csv")
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1])


def kills(count, last=8):
    """Numbers of calls: all of a soak, else the last ones (removal) and a sample of the rest."""
    if os.environ.get("SOAK"):
        return range(1, count + 1)
    early = range(1, count - last, max(1, (count - last) // (SAMPLE - last // 2)))
    return [*early, *range(count - last, count + 1, 2)]


@pytest.mark.parametrize("words", [("--data-simplification",), ("--no-data-simplification",)])
def test_no_kill_of_an_analysis_loses_rows(run_sonde, recorded, killer, tmp_path, words):
    whole = tmp_path / "whole"
    shutil.copytree(recorded, whole)
    env = {"LD_PRELOAD": str(killer), "KILL_COUNT": str(tmp_path / "count")}
    done = run_sonde("analyse", whole, *words, env=env)
    assert done.returncode == 0, done.stderr
    count = int((tmp_path / "count").read_text())
    expected = rows_in(run_sonde, whole)
    assert expected > 1000
    for number in kills(count):
        span = tmp_path / f"killed_{number}"
        shutil.copytree(recorded, span)
        # Analysed before, so that a finished store may be lost, too.
        if number % 2:
            assert run_sonde("analyse", span).returncode == 0
        env = {"LD_PRELOAD": str(killer), "KILL_AT": str(number)}
        killed = run_sonde("analyse", span, *words, env=env)
        assert rows_in(run_sonde, span) == expected, (number, killed.returncode)
        again = run_sonde("analyse", span)
        assert again.returncode == 0, (number, again.stderr)
        assert rows_in(run_sonde, span) == expected, number
        left = [path for path in span.rglob("*") if ".partial" in path.name]
        assert left == [], number
        assert not (span / "SONDE" / "records_removed").exists()
        shutil.rmtree(span)
