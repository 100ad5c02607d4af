"""Dumps of MindSpore programs against those of msProbe 26.2.0 on the same programs."""

import json
import math
import subprocess

import numpy
import pytest
from conftest import PROGRAMS, clean_environment

# (set, side, level, task, perturbed)
SETS = [
    ("L0_tensor_statistics_b1", "golden", "L0", "tensor", 0),
    ("cross_mix_statistics_statistics_b1", "target", "mix", "statistics", 1),
]


def dump_of(folder):
    (path,) = folder.glob("step0/*/dump.json")
    return json.loads(path.read_text()), json.loads((path.parent / "construct.json").read_text())


def differences(ours, theirs, place="", scale=0.0):
    """Where two records differ; numbers as floats are equal within 1e-6 of the larger, or of the
    largest value of their tensor (`scale`): the sets were made on another processor, which adds in
    another order."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        if list(ours) != list(theirs):
            yield place, list(ours), list(theirs)
        extremes = [theirs.get(name) for name in ("Max", "Min")]
        scale = max((abs(each) for each in extremes if isinstance(each, float)), default=0.0)
        for key in ours.keys() & theirs.keys():
            yield from differences(ours[key], theirs[key], f"{place}.{key}", scale)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for i, (a, b) in enumerate(zip(ours, theirs)):
            yield from differences(a, b, f"{place}.{i}")
    elif isinstance(ours, float) and isinstance(theirs, float):
        if not math.isclose(ours, theirs, rel_tol=1e-6, abs_tol=max(1e-9, 1e-6 * scale)):
            yield place, ours, theirs
    elif ours != theirs:
        yield place, ours, theirs


@pytest.mark.parametrize("name, side, level, task, perturbed", SETS)
def test_as_msprobe_has_it(name, side, level, task, perturbed, release, run, shared_data, tmp_path):
    if release < (2, 10):
        pytest.skip("the sets were made with 2.10; 2.7 has no split on a CPU")
    data = shared_data / "precision_26_2" / "mindspore"
    run("dumped.py", data / "example", level, task, "statistics", perturbed, tmp_path / "dump",
        options=("--provide", "msprobe"))  # fmt: skip
    ours, our_parents = dump_of(tmp_path / "dump")
    theirs, their_parents = dump_of(data / name / side)
    assert list(ours["data"]) == list(theirs["data"])
    assert list(differences(ours["data"], theirs["data"])) == []
    assert our_parents == their_parents
    assert {**ours, "data": 0, "dump_data_dir": 0} == {**theirs, "data": 0, "dump_data_dir": 0}
    if task == "tensor":
        theirs_at = next((data / name / side).glob("step0/*/dump_tensor_data"))
        ours_at = next((tmp_path / "dump").glob("step0/*/dump_tensor_data"))
        names = sorted(path.name for path in theirs_at.iterdir())
        assert sorted(path.name for path in ours_at.iterdir()) == names and len(names) == 95
        for name in names:
            mine, other = numpy.load(ours_at / name), numpy.load(theirs_at / name)
            assert (mine.dtype, mine.shape) == (other.dtype, other.shape), name
            largest = numpy.abs(other).max(initial=0)
            numpy.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6 * largest, err_msg=name)


def test_types_as_arguments_are_texts():
    from sonde.mindspore.precision._collector import Collector

    for given, shown in ((None, None), (numpy.float16, str(numpy.float16))):
        record = Collector._keyword(None, "dtype", given, "Mint.zeros.0.forward")
        assert record == {"type": "mindspore.dtype", "value": shown}


def config_in(folder, **more):
    path = folder / "config.json"
    config = {"task": "statistics", "level": "mix", "dump_path": str(folder / "dump"), **more}
    path.write_text(json.dumps(config))
    return path


def test_a_program_and_its_graphs_are_dumped(run, tmp_path):
    """What is not compiled by the probe, what is by MindSpore itself; results stay the same."""
    config = config_in(tmp_path, step=[0])
    done = run("decoder.py", "graph", 2, options=("--dump-config", str(config)))
    plain = run("decoder.py", "graph", 2, options=None)
    assert done.results == plain.results
    assert "dumped: " in done.stderr
    dump = tmp_path / "dump"
    iterations = {path.name for path in dump.glob("rank_0/Net/*/*")}
    assert iterations == {"0"}
    assert list(dump.glob("rank_0/Net/*/0/MatMul.Default_layers-CellList_0-Block*output*.npy"))


def test_steps_of_training_are_dumped(run, tmp_path):
    config = config_in(tmp_path, step=[1])
    done = run("decoder.py", "train", 3, options=("--dump-config", str(config)))
    (folder,) = (tmp_path / "dump").glob("step*/*")
    assert folder.parent.name == "step1"
    entries = json.loads((folder / "dump.json").read_text())["data"]
    assert any(name.endswith(".backward") for name in entries)
    assert any(".parameters_grad." in name for name in entries)
    assert len(done.results) == 3


@pytest.fixture(name="wrong_config")
def make_wrong_config(tmp_path):
    """A configuration of MindSpore's dump that it refuses at the first compilation."""
    common = {"dump_mode": 9, "path": "/tmp/x", "net_name": "Net", "iteration": "all",
              "input_output": 0, "kernels": [], "support_device": [0]}  # fmt: skip
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps({"common_dump_settings": common, "e2e_dump_settings": {}}))
    return str(path)


WRONG = "dump_mode 9 must be one of 0, 1, 2"  # other faults: test_dump_config.py


def test_a_wrong_configuration_of_mindspore_is_refused(wrong_config, tmp_path, sonde, python):
    """Before the program starts."""
    command = [sonde, "run", "--dump-config", config_in(tmp_path), "--", python,
               PROGRAMS / "decoder.py", "graph", "1"]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False,
                          env=clean_environment(MINDSPORE_DUMP_CONFIG=wrong_config))  # fmt: skip
    assert done.returncode == 2 and WRONG in done.stderr
    assert "result" not in done.stdout


def test_a_wrong_configuration_is_reported_where_sonde_does_not_dump(
    wrong_config, tmp_path, sonde, python
):
    """The program goes on: one that compiles nothing never reads it."""
    command = [sonde, "run", "--", python, "-c", "import mindspore; print('goes on')"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False,
                          env=clean_environment(MINDSPORE_DUMP_CONFIG=wrong_config))  # fmt: skip
    assert done.returncode == 0 and "goes on" in done.stdout
    assert done.stderr.count(WRONG) == 1
