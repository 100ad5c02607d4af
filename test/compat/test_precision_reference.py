"""Comparisons of dumps made at random equal those of the reference, cell by cell.

The reference (mindstudio-probe with torch) runs in an environment of its own. Each seed is a pair
of dumps of its own kind; see precision/make_pairs.py. Where Sonde decides otherwise on purpose
(docs/precision.md), the case is named below.
"""

import csv
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SONDE = ROOT / "build" / os.environ.get("PRESET", "dev") / "bin" / "sonde"
PROGRAMS = ROOT / "test" / "compat" / "precision"
sys.path.insert(0, str(ROOT / "test" / "precision"))

from graph_rows import differences, load  # noqa: E402
from parallel_model import CASES, layout_words  # noqa: E402

SEEDS = range(60)
# Sums whose order the reference leaves to the machine's BLAS; rounded to 12 decimals but for the
# first.
SUMS = ("EucDist", "Cosine")


def reference(program, folder, *words):
    """Runs a program of ours in the reference's environment."""
    python = subprocess.run(
        [ROOT / "setup" / "python.sh", "msprobe"], check=True, capture_output=True, text=True
    ).stdout.strip()
    command = [python, PROGRAMS / program, folder, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module", name="pairs")
def make_pairs(tmp_path_factory):
    """A folder with the pairs of all seeds and what the reference makes of them."""
    return reference("make_pairs.py", tmp_path_factory.mktemp("pairs"), *SEEDS)


@pytest.fixture(scope="module", name="parallel")
def make_parallel(tmp_path_factory):
    """The same for models that are spread over ranks."""
    return reference("make_parallel.py", tmp_path_factory.mktemp("parallel"))


def sonde(*words):
    command = [str(word) for word in (SONDE, "probe", *words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stderr}"


def the_result(folder, pattern):
    """The one result there; skips where the reference has none."""
    found = sorted(folder.glob(pattern))
    if not found and (folder / "failed").exists():
        last = (folder / "log.txt").read_text().strip().splitlines()[-1]
        pytest.skip(f"the reference fails: {last}")
    assert len(found) == 1, (folder, found)
    return found[0]


def same_cell(ours, theirs, column):
    if ours == theirs:
        return True
    if column not in SUMS:
        return False
    try:
        return math.isclose(float(ours), float(theirs), rel_tol=1e-12, abs_tol=2e-12)
    except ValueError:
        return False


@pytest.mark.parametrize("seed", SEEDS)
def test_tables(seed, pairs, tmp_path):
    folder = pairs / str(seed)
    if not (folder / "csv").is_dir():
        pytest.skip("structure alone has no table")
    with the_result(folder / "csv", "compare_result_*.csv").open(newline="") as file:
        expected = list(csv.reader(file))
    files = (folder / "target" / "dump.json", folder / "golden" / "dump.json")
    sonde("compare", "-tp", files[0], "-gp", files[1], "-o", tmp_path)
    with the_result(tmp_path, "compare_result_*.csv").open(newline="") as file:
        got = list(csv.reader(file))
    assert got[0] == expected[0]
    wrong = []
    for ours, theirs in zip(got[1:], expected[1:]):
        for column, a, b in zip(expected[0], ours, theirs):
            if not same_cell(a, b, column):
                wrong.append((theirs[0], column, f"ours {a!r}", f"reference {b!r}"))
    assert not wrong[:5]
    # Rows that only the golden dump has are kept here, behind all others.
    assert all(row[0] == "N/A" for row in got[len(expected) :])
    assert len(got) >= len(expected)


# Names of calls that hand out memory as it is: errors to the reference when it compares checksums.
UNDEFINED = ("empty", "empty_like", "new_empty", "empty_strided")


def of_collections(key):
    """Collections take the worst of their calls; the reference forgets that with tensors, and
    gives those a verdict that match nothing."""
    return "_Apis_Between_Modules" in key


def unexpected(found):
    return [
        (key, column, a, b)
        for key, column, a, b in found
        if column != "precision_index"
        or not (of_collections(key) or ((a, b) == (1, 0) and key.split(".")[1] in UNDEFINED))
    ]


def own_graph(pairs, seed, tmp_path, *golden):
    target = pairs / str(seed) / "target"
    sonde("graph", "-tp", target, *golden, "-oc", "-o", tmp_path)
    return load(the_result(tmp_path, "*.vis.db"))


@pytest.mark.parametrize("seed", SEEDS)
def test_compared_graphs(seed, pairs, tmp_path):
    expected, config = load(the_result(pairs / str(seed) / "graph", "*.vis.db"))
    golden = ("-gp", pairs / str(seed) / "golden")
    got, own_config = own_graph(pairs, seed, tmp_path, *golden)
    assert not unexpected(differences(expected, got))[:5]
    assert own_config == config


@pytest.mark.parametrize("seed", SEEDS)
def test_single_graphs(seed, pairs, tmp_path):
    expected, config = load(the_result(pairs / str(seed) / "build", "*.vis.db"))
    got, own_config = own_graph(pairs, seed, tmp_path)
    assert not unexpected(differences(expected, got))[:5]
    assert own_config == config


def modules_of(nodes):
    return {key: {**row, "node_order": 0} for key, row in nodes.items() if "_Module." in key}


@pytest.mark.parametrize("compare", (False, True), ids=("build", "compare"))
@pytest.mark.parametrize("case", CASES)
def test_merged_ranks(case, compare, parallel, tmp_path):
    folder = parallel / case
    layouts = CASES[case] if compare else CASES[case][:1]
    words = ["-tp", folder / "target" / "step0", *layout_words(*layouts)]
    if compare:
        words += ["-gp", folder / "golden" / "step0"]
    expected, config = load(the_result(folder / ("compare" if compare else "build"), "*.vis.db"))
    sonde("graph", *words, "-o", tmp_path)
    got, own_config = load(the_result(tmp_path, "*.vis.db"))
    if case == "tp2pp2dp2":
        # Of loose calls that two ranks give one name the reference keeps one rank's.
        expected, got = modules_of(expected), modules_of(got)
    assert not unexpected(differences(expected, got))[:5]
    assert own_config == config
