"""The first line of `sonde probe compare`: one for all steps and ranks."""

import csv
import json

from test_overflow_check import tensor


def write_run(root, epsilon, steps=2, ranks=2, result=3.0):
    """A norm and what it gives, with the line of the program that calls it."""
    name = "Functional.layer_norm.0.forward"
    for step in range(steps):
        for rank in range(ranks):
            folder = root / f"step{step}" / f"rank{rank}"
            folder.mkdir(parents=True)
            number = {"type": "float", "value": epsilon}
            data = {
                name: {
                    "input_args": [tensor(1.0), number],
                    "input_kwargs": {},
                    "output": [tensor(result)],
                }
            }
            dump = {"task": "statistics", "level": "mix", "framework": "pytorch", "data": data}
            (folder / "dump.json").write_text(json.dumps(dump))
            (folder / "construct.json").write_text(json.dumps({name: None}))
            frames = [
                "File /v/site-packages/torch/nn/functional.py, line 9, in layer_norm, \n x",
                "File /w/modeling.py, line 60, in forward, \n y",
            ]
            (folder / "stack.json").write_text(json.dumps({"0": [[name], frames]}))


def test_one_line_for_all_steps_and_ranks(probe, tmp_path):
    write_run(tmp_path / "target", 0.01, result=2.0)
    write_run(tmp_path / "golden", 1e-06)
    done = probe("compare", "-tp", "target", "-gp", "golden", "-o", "out")
    lines = done.stdout.splitlines()
    assert lines[0] == (
        "first: step 0, all ranks, argument differs at Functional.layer_norm.0.forward.input.1: "
        "0.01 against 1e-06 (modeling.py:60); later steps show the same. "
        "Compare the configurations of both runs."
    )
    assert not [line for line in lines if line.startswith("also:")]


def test_many_pairs_are_one_page(probe, tmp_path):
    write_run(tmp_path / "target", 0.01, steps=20, ranks=4, result=2.0)
    write_run(tmp_path / "golden", 1e-06, steps=20, ranks=4)
    done = probe("compare", "-tp", "target", "-gp", "golden", "-o", "out")
    assert len(done.stdout.splitlines()) < 40


def test_a_pipeline_fails_by_the_first_difference(probe, tmp_path):
    for side in ("golden", "same"):
        write_run(tmp_path / side, 1e-06, steps=1, ranks=1)
    write_run(tmp_path / "target", 0.01, steps=1, ranks=1, result=2.0)
    words = ("-gp", "golden", "-o", "out", "--fail-if", "first_difference")
    done = probe("compare", "-tp", "target", *words, good=False)
    assert done.returncode == 3
    assert "first_difference: argument differs" in done.stderr
    same = probe("compare", "-tp", "same", *words)
    assert same.stdout.startswith("first: none: all compared values are equal")


def test_the_same_as_json(probe, tmp_path):
    write_run(tmp_path / "target", 0.01, steps=1, ranks=1, result=2.0)
    write_run(tmp_path / "golden", 1e-06, steps=1, ranks=1)
    done = probe("compare", "-tp", "target", "-gp", "golden", "-o", "out", "--format", "json")
    found = json.loads(done.stdout)
    assert found["differs"] is True
    (pair,) = found["pairs"]
    assert pair["cause"] == "argument differs" and pair["source"] == "modeling.py:60"
    assert pair["detail"] == "0.01 against 1e-06"


def test_causes_have_a_table_of_their_own(probe, tmp_path):
    write_run(tmp_path / "target", 0.01, steps=1, ranks=1, result=2.0)
    write_run(tmp_path / "golden", 1e-06, steps=1, ranks=1)
    probe("compare", "-tp", "target", "-gp", "golden", "-o", "out", "--store")
    (path,) = (tmp_path / "out").rglob("compare_cause_*.csv")
    first, behind = csv.DictReader(path.open())
    assert first["NPU Name"] == "Functional.layer_norm.0.forward.input.1"
    assert first["cause"] == "argument differs"
    assert behind["NPU Name"] == "Functional.layer_norm.0.forward.output.0"
    assert behind["cause"] == "behind the first difference"
