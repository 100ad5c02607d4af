"""A program in GRAPH mode against the same one in PyNative mode, by the values of both."""

import csv
import json
import shutil
import subprocess

import numpy
import pytest
from conftest import all_of_its_kind, clean_environment


@pytest.fixture(scope="module", name="dumped")
def make_dumped(run, tmp_path_factory):
    """dumped(mode, level, task): the folder of the dump of one step, made once."""
    known = {}

    def dumped(mode, level, task):
        if (mode, level, task) not in known:
            folder = tmp_path_factory.mktemp(f"{mode}_{level}_{task}")
            config = {"task": task, "level": level, "step": [0], "dump_path": str(folder / "dump")}
            (folder / "config.json").write_text(json.dumps(config))
            run("decoder.py", mode, 1, options=("--dump-config", str(folder / "config.json")))
            known[mode, level, task] = folder / "dump"
        return known[mode, level, task]

    return dumped


@pytest.fixture(name="compare")
def make_compare(sonde, tmp_path):
    """compare(target, golden, words...): the finished command, and its rows by name."""

    def compare(target, golden, *words):
        command = [sonde, "probe", "compare", "-tp", target, "-gp", golden, "-o", tmp_path / "out"]
        done = subprocess.run([*command, *words], capture_output=True, text=True, check=False,
                              timeout=120, env=clean_environment())  # fmt: skip
        found = {}
        for path in (tmp_path / "out").glob("step0/compare_result_*.csv"):
            with path.open(newline="") as file:
                found = {row["NPU Name"]: row for row in csv.DictReader(file)}
        return done, found

    return compare


@pytest.mark.parametrize(
    "level, task, least",
    [
        ("mix", "statistics", 60),
        pytest.param("L0", "statistics", 10, marks=all_of_its_kind),
        pytest.param("mix", "tensor", 40, marks=all_of_its_kind),
        pytest.param("L1", "statistics", 40, marks=all_of_its_kind),
    ],
)
def test_graph_and_pynative_agree(level, task, least, dumped, compare):
    """Inference is the same to the last bit in both modes: so is whatever is joined."""
    graph = dumped("graph", "mix", "tensor")
    done, found = compare(graph, dumped("pynative", level, task), "--fail-if", "first_difference")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "values are joined with" in done.stderr
    column = "MaxAbsErr" if task == "tensor" else "Max diff"
    numbers = {name: float(row[column]) for name, row in found.items() if is_number(row[column])}
    assert {name: number for name, number in numbers.items() if number != 0} == {}
    assert len([name for name in numbers if ".output" in name]) >= least
    if level != "L1":
        # The block's sum has the scope of its norm in the graph.
        assert "Cell.layers.0.Block.forward.0.output.0" in numbers


def is_number(text):
    """Whether a cell has one."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_gradient(name):
    return ".backward" in name or ".parameters_grad" in name


@all_of_its_kind
def test_training_agrees(dumped, compare):
    """Values of the forward pass, and what is joined of the backward pass."""
    done, found = compare(
        dumped("graph_train", "mix", "tensor"), dumped("train", "mix", "statistics")
    )
    assert done.returncode == 0, done.stdout + done.stderr
    numbers = {name: (float(row["Max diff"]), abs(float(row["Bench max"])))
               for name, row in found.items()
               if is_number(row["Max diff"]) and is_number(row["Bench max"])}  # fmt: skip
    forward = [diff for name, (diff, _) in numbers.items()
               if ".output" in name and not is_gradient(name)]  # fmt: skip
    assert len(forward) > 40 and max(map(abs, forward)) < 1e-5
    wrong = {name: pair for name, pair in numbers.items()
             if is_gradient(name) and abs(pair[0]) > 1e-3 * pair[1]}  # fmt: skip
    assert wrong == {}
    assert len([name for name in numbers if is_gradient(name)]) > 120
    of_parameters = {name for name in numbers if ".parameters_grad" in name}
    assert len(of_parameters) == 14  # all of them


@all_of_its_kind
def test_a_wrong_gradient_is_named(dumped, compare, tmp_path):
    graph = tmp_path / "graph"
    shutil.copytree(dumped("graph_train", "mix", "tensor"), graph)
    (folder,) = graph.glob("rank_0/Net/*/0")
    (path,) = folder.glob("SigmoidGrad.*.output.0*.npy")
    change_everywhere(folder, numpy.load(path))
    done, found = compare(graph, dumped("train", "mix", "statistics"))
    assert done.returncode == 0, done.stdout + done.stderr
    wrong = [
        name
        for name, row in found.items()
        if is_number(row["Max diff"])
        and is_number(row["Bench max"])
        and abs(float(row["Max diff"])) > 0.1 * abs(float(row["Bench max"]))
    ]
    assert "Functional.sigmoid.0.backward.output.0" in wrong
    assert any(name.endswith("layers.0.up.Dense.backward.0.input.0") for name in wrong)
    assert all(is_gradient(name) for name in wrong)
    assert not [name for name in wrong if "parameters_grad" in name]


def change_everywhere(folder, right):
    """The value where it is given and where it is taken."""
    for each in folder.glob("*.Float32.npy"):
        values = numpy.load(each)
        if values.size == right.size and (values.ravel() == right.ravel()).all():
            each.chmod(0o600)
            numpy.save(each, values * numpy.float32(1.5))


def test_a_wrong_kernel_is_named(dumped, compare, tmp_path):
    """One kernel of the graph gives other values, and what takes them gets them."""
    graph = tmp_path / "graph"
    shutil.copytree(dumped("graph", "mix", "tensor"), graph)
    (folder,) = graph.glob("rank_0/Net/*/0")
    (path,) = folder.glob("Sigmoid.Default_layers-CellList_0-Block_Sigmoid-op0*.output.0*.npy")
    change_everywhere(folder, numpy.load(path))
    done, _ = compare(graph, dumped("pynative", "mix", "statistics"), "--fail-if",
                      "first_difference")  # fmt: skip
    assert done.returncode == 3, done.stdout + done.stderr
    assert "Functional.sigmoid.0.forward" in done.stdout.splitlines()[0]
