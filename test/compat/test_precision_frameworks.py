"""Comparisons of MindSpore's dumps, across frameworks, and of older dumps, beside the reference.

Random dumps of every kind (precision/make_frameworks.py), cell by cell. Across frameworks the
reference calls every matched tensor an error, since the texts of its dtype and requires_grad
differ; Sonde compares families of dtypes (docs/precision.md), so those two messages do not count.
"""

import csv
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "precision"))

from test_precision_reference import (  # noqa: E402
    differences,
    load,
    reference,
    same_cell,
    sonde,
    the_result,
    unexpected,
)

SEEDS = range(40)
# Kinds of make_pairs.py by the seed modulo 5; the cases of each kind as make_frameworks.CASES.
ALL_KINDS = ("mindspore", "cell_names", "older")
STATISTICS_ONLY = ("cell_map", "api", "layers", "data")
PAIRS = [
    f"{case}_{seed}"
    for seed in SEEDS
    for case in ALL_KINDS * (seed % 5 < 3) + STATISTICS_ONLY * (seed % 5 == 0)
]


@pytest.fixture(scope="module", name="frameworks")
def make_frameworks(tmp_path_factory):
    return reference("make_frameworks.py", tmp_path_factory.mktemp("frameworks"), *SEEDS)


def rows_of(path):
    with path.open(newline="") as file:
        head, *rows = csv.reader(file)
    return head, [dict(zip(head, row)) for row in rows]


def family(dtype):
    name = dtype.removeprefix("torch.").rstrip("0123456789").lower()
    return {"uint": "int", "bfloat": "float"}.get(name, name)


def corrected(row):
    """The reference's row without its remarks on names of dtypes."""
    messages = json.loads(row["Err_message"])
    messages = [text for text in messages if "Required_Grad" not in text]
    if family(row["NPU Dtype"]) == family(row["Bench Dtype"]):
        messages = [text for text in messages if "The dtype of" not in text]
    worst = [level for level in ("error", "warning") if any(m.startswith(level) for m in messages)]
    verdict = worst[0] if worst else "pass"
    return {**row, "Err_message": json.dumps(messages), "Result": verdict}


@pytest.mark.parametrize("pair", PAIRS)
def test_tables(pair, frameworks, tmp_path):
    folder = frameworks / pair
    head, expected = rows_of(the_result(folder / "csv", "compare_result_*.csv"))
    words = json.loads((folder / "arguments.json").read_text())
    files = (folder / "target" / "dump.json", folder / "golden" / "dump.json")
    sonde("compare", "-tp", files[0], "-gp", files[1], "-o", tmp_path, *words)
    own_head, got = rows_of(the_result(tmp_path, "compare_result_*.csv"))
    assert own_head == head
    if not pair.startswith(("mindspore", "older")) and "Err_message" in head:
        expected = [corrected(row) for row in expected]
    wrong = [
        (theirs["NPU Name"], column, ours[column], theirs[column])
        for ours, theirs in zip(got, expected)
        for column in head
        if not same_cell(ours[column], theirs[column], column)
    ]
    assert not wrong[:5]
    assert all(row["NPU Name"] == "N/A" for row in got[len(expected) :])
    assert len(got) >= len(expected)


GRAPHS = [pair for pair in PAIRS if pair.split("_")[0] in ("mindspore", "layers", "older")]


def numbers_alone(nodes):
    """Takes the verdicts out, in place: across frameworks Sonde decides otherwise."""
    for row in nodes.values():
        row["precision_index"] = None
        for values in (row["input_data"], row["output_data"]):
            for record in (values or {}).values():
                record.pop("Result", None)
                record.pop("Err_message", None)


@pytest.mark.parametrize("pair", GRAPHS)
def test_graphs(pair, frameworks, tmp_path):
    folder = frameworks / pair
    expected, config = load(the_result(folder / "graph", "*.vis.db"))
    words = json.loads((folder / "arguments.json").read_text())
    sides = ("-tp", folder / "target", "-gp", folder / "golden")
    sonde("graph", *sides, *words, "-o", tmp_path)
    got, own_config = load(the_result(tmp_path, "*.vis.db"))
    if pair.startswith("layers"):
        for side in (expected, got):
            numbers_alone(side)
    assert not unexpected(differences(expected, got))[:5]
    assert own_config == config
