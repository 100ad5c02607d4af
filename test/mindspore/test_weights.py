"""Cells that hold several weights of one shape: a compiled graph against a run that was not."""

import csv
import json
import subprocess

import pytest
from conftest import all_of_its_kind, clean_environment


def others(*values):
    return [pytest.param(*each, marks=all_of_its_kind) for each in values]


@pytest.fixture(scope="module", name="dumped")
def make_dumped(run, tmp_path_factory):
    """dumped(cell, mode, level, fault): the folder of the dump of one step, made once."""
    known = {}

    def dumped(cell, mode, level="mix", fault=""):
        key = cell, mode, level, fault
        if key not in known:
            folder = tmp_path_factory.mktemp("_".join(key))
            task = "tensor" if mode.startswith("graph") else "statistics"
            config = {"task": task, "level": level, "step": [0], "dump_path": str(folder / "dump")}
            (folder / "config.json").write_text(json.dumps(config))
            words = [cell, mode, fault] if fault else [cell, mode]
            run("weights.py", *words, options=("--dump-config", str(folder / "config.json")))
            known[key] = folder / "dump"
        return known[key]

    return dumped


@pytest.fixture(name="compare")
def make_compare(sonde, tmp_path):
    """compare(target, golden): the finished command, and its rows by name."""

    def compare(target, golden):
        command = [sonde, "probe", "compare", "-tp", target, "-gp", golden, "-o", tmp_path / "out",
                   "--fail-if", "first_difference"]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120,
                              env=clean_environment())  # fmt: skip
        (path,) = (tmp_path / "out").glob("step0/compare_result_*.csv")
        with path.open(newline="") as file:
            return done, {row["NPU Name"]: row for row in csv.DictReader(file)}

    return compare


def distances(rows):
    """By name, how far the values lie apart, in parts of the larger end."""
    found = {}
    for name, row in rows.items():
        try:
            ends = [abs(float(row[f"{side} {end}"])) for side in ("NPU", "Bench")
                    for end in ("max", "min")]  # fmt: skip
            apart = max(abs(float(row[f"{each} diff"])) for each in ("Max", "Min"))
        except ValueError:
            continue
        found[name] = apart / max(ends) if max(ends) else apart
    return found


@pytest.mark.parametrize(
    "cell, mode, level",
    [
        ("lstm", "train", "mix"),
        *others(
            ("lstm", "pynative", "mix"),
            ("lstm", "pynative", "L1"),
            ("lstm", "pynative", "L0"),
            ("lstm", "train", "L1"),
            ("gru", "train", "mix"),
            ("gru", "pynative", "L1"),
            ("attention", "train", "mix"),
            ("attention", "train", "L1"),
            ("twins", "train", "mix"),
            ("twins", "train", "L1"),
            ("held", "train", "mix"),
            ("held", "train", "L1"),
        ),
    ],
)
def test_nothing_differs(cell, mode, level, dumped, compare):
    graph = dumped(cell, "graph_train" if mode == "train" else "graph")
    done, rows = compare(graph, dumped(cell, mode, level))
    assert done.returncode == 0, done.stdout + done.stderr
    apart = distances(rows)
    assert {name: each for name, each in apart.items() if each > 1e-5} == {}
    weights = [name for name in apart if ".parameters." in name]
    assert bool(weights) == (level != "L1"), "weights are compared, too"
    assert len(apart) >= 4


@pytest.mark.parametrize(
    "cell, mode, fault",
    [
        ("lstm", "pynative", "exchanged"),
        *others(
            *((cell, mode, fault)
              for cell in ("lstm", "gru", "attention", "twins", "held")
              for mode in ("pynative", "train")
              for fault in ("changed", "exchanged")
              if (cell, mode, fault) != ("lstm", "pynative", "exchanged"))
        ),
    ],
)  # fmt: skip
def test_a_planted_fault_is_found(cell, mode, fault, dumped, compare):
    """One weight of one layer is another one, or two of one shape are exchanged."""
    graph = dumped(cell, "graph_train" if mode == "train" else "graph", "mix", fault)
    done, rows = compare(graph, dumped(cell, mode))
    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stdout.startswith("first: changed weight at "), done.stdout
    parts = [name.split(".parameters.") for name, each in distances(rows).items()
             if ".parameters." in name and each > 1e-5]  # fmt: skip
    in_one_cell = cell in ("lstm", "gru", "held")
    wrong = {weight if in_one_cell else call.split(".")[-4] for call, weight in parts}
    expected = {"lstm": ["weight_hh_l0", "weight_hh_l1"], "gru": ["weight_hh_l0", "weight_hh_l1"],
                "attention": ["key", "value"], "twins": ["first", "second"],
                "held": ["left", "right"]}[cell]  # fmt: skip
    assert wrong == set(expected if fault == "exchanged" else expected[:1])
