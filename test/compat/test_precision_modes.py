"""The rarer modes of comparing give what the reference gives: engines, ATB, logs of verl.

Where Sonde decides otherwise (docs/precision.md) the case is named below.
"""

import csv
import math
import os
import subprocess
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
SONDE = ROOT / "build" / os.environ.get("PRESET", "dev") / "bin" / "sonde"
PROGRAM = ROOT / "test" / "compat" / "precision" / "make_modes.py"
NAMESPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


@pytest.fixture(scope="module", name="cases")
def make_cases(tmp_path_factory):
    """A folder with the inputs of all cases and what the reference makes of them."""
    folder = tmp_path_factory.mktemp("modes")
    python = subprocess.run(
        [ROOT / "setup" / "python.sh", "msprobe"], check=True, capture_output=True, text=True
    ).stdout.strip()
    done = subprocess.run(
        [python, PROGRAM, folder], capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, done.stderr
    return folder


def sonde(*words):
    command = [str(word) for word in (SONDE, "probe", *words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stderr}"


def the_one(folder, pattern):
    found = sorted(folder.glob(pattern))
    log = folder / "log.txt"
    assert len(found) == 1, log.read_text()[-3000:] if log.exists() else found
    return found[0]


def rows_of(path, encoding="utf-8"):
    with path.open(newline="", encoding=encoding) as file:
        return list(csv.reader(file))


def same(ours, theirs):
    if ours == theirs:
        return True
    try:
        return math.isclose(float(ours), float(theirs), rel_tol=1e-6, abs_tol=2e-12)
    except ValueError:
        return False


@pytest.mark.parametrize("backend", ("fsdp", "megatron"))
@pytest.mark.parametrize("task", ("statistics", "tensor"))
def test_engines(backend, task, cases, tmp_path):
    case = cases / f"{backend}_{task}"
    expected = rows_of(the_one(case / "reference", "compare_result_*.csv"))
    sides = ("-tp", case / "training/dump.json", "-gp", case / "inference/dump.json")
    sonde("compare", *sides, "--consistent_check", "--backend", backend, "-o", tmp_path)
    got = rows_of(the_one(tmp_path, "compare_result_*.csv"))
    assert got[0] == expected[0]
    # Rows that only the inference has stand behind all others here, with a verdict of their own.
    both = [row for row in expected[1:] if row[0] != "N/A"]
    only = {row[1] for row in expected[1:] if row[0] == "N/A"}
    assert {row[1] for row in got[1:] if row[0] == "N/A"} == only
    wrong = [
        (theirs[0], column, f"ours {a!r}", f"reference {b!r}")
        for ours, theirs in zip(got[1:], both)
        for column, a, b in zip(expected[0], ours, theirs)
        if not same(a, b)
    ]
    assert not wrong[:5]
    assert len(got) == len(expected)


def sheet_of(path):
    """The cells of the first sheet as texts."""
    with zipfile.ZipFile(path) as book:
        shared = []
        if "xl/sharedStrings.xml" in book.namelist():
            for item in ElementTree.fromstring(book.read("xl/sharedStrings.xml")):
                shared.append("".join(text.text or "" for text in item.iter(f"{NAMESPACE}t")))
        sheet = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml"))
    rows = []
    for row in sheet.iter(f"{NAMESPACE}row"):
        cells = []
        for cell in row:
            value = cell.find(f"{NAMESPACE}v")
            text = "".join(part.text or "" for part in cell.iter(f"{NAMESPACE}t"))
            if cell.get("t") == "s":
                text = shared[int(value.text)]
            elif value is not None:
                text = value.text
            cells.append(text)
        rows.append(cells)
    return rows


def test_atb_statistics(cases, tmp_path):
    case = cases / "atb"
    expected = sheet_of(the_one(case / "reference", "atb_stats_compare_result_*.xlsx"))
    sonde("compare", "-m", "atb", "-tp", case / "target", "-gp", case / "golden", "-o", tmp_path)
    got = sheet_of(the_one(tmp_path, "atb_stats_compare_result_*.xlsx"))
    assert len(got) == len(expected) and got[0] == expected[0]
    for ours, theirs in zip(got, expected):
        assert all(same(a, b) for a, b in zip(ours, theirs)), (ours, theirs)


@pytest.mark.parametrize(
    ("flag", "logs", "folder", "table"),
    (
        ("-vc", ("npu.log", "gpu.log"), "compared", "hyper_params_compare.csv"),
        ("-vv", ("gpu.log",), "verified", "hyper_params_verify.csv"),
    ),
)
def test_verl_logs(flag, logs, folder, table, cases, tmp_path):
    case = cases / "verl"
    sonde("config_check", flag, *(case / log for log in logs), "-o", tmp_path)
    assert rows_of(tmp_path / table) == rows_of(the_one(case / folder, table))
