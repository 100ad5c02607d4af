"""`sonde probe overflow_check` on the reference's data and on small dumps."""

import json


def write_rank(folder, data, framework="pytorch"):
    folder.mkdir(parents=True)
    dump = {"task": "statistics", "level": "mix", "framework": framework, "data": data}
    (folder / "dump.json").write_text(json.dumps(dump))
    tree = {name: "Module.a.A.forward.0" for name in data}
    (folder / "construct.json").write_text(json.dumps({"Module.a.A.forward.0": None, **tree}))
    (folder / "stack.json").write_text(json.dumps({"0": [list(data), ["File a.py, line 1"]]}))


def tensor(maximum):
    record = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": maximum}
    return {**record, "Min": 0.0, "Mean": 0.0, "Norm": 1.0, "requires_grad": False}


def call(maximum_in, maximum_out, **arguments):
    return {
        **{"input_args": [tensor(maximum_in)], "input_kwargs": arguments},
        **{"output": [tensor(maximum_out)]},
    }


def test_the_references_result(shared_data, probe, tmp_path):
    folder = shared_data / "precision_26_2/torch/overflow_mix_statistics"
    (expected,) = (folder / "reference_result").glob("anomaly_analyze_*.json")
    probe("overflow_check", "-i", folder / "dump/step0", "-o", tmp_path / "out")
    (got,) = (tmp_path / "out").glob("anomaly_analyze_*.json")
    assert got.read_text() == expected.read_text()


def test_nothing_found_writes_nothing(probe, tmp_path):
    write_rank(tmp_path / "step0/rank0", {"Torch.add.0.forward": call(1.0, 2.0)})
    done = probe("overflow_check", "-i", "step0", "-o", "out")
    assert "no call" in done.stdout
    assert not (tmp_path / "out").exists()


def test_bad_inputs_are_not_the_first(probe, tmp_path):
    bad = float("inf")
    write_rank(
        tmp_path / "step0/rank0",
        {
            "Torch.empty.0.forward": call(1.0, bad),
            "Torch.add.0.forward": call(bad, bad),
            "Torch.mul.0.forward": call(1.0, float("nan")),
        },
    )
    done = probe("overflow_check", "-i", "step0", "-o", "out")
    assert "rank 0: Torch.mul.0.forward" in done.stdout


def test_the_earlier_rank_in_the_communication_phase(probe, tmp_path):
    group = {"type": "torch.ProcessGroup", "group_ranks": [0, 1], "group_id": "g"}
    reduce = call(1.0, 1.0, group=group)
    good, wrong = call(1.0, 1.0), call(1.0, float("inf"))
    write_rank(
        tmp_path / "step0/rank0",
        {
            "Distributed.all_reduce.0.forward": reduce,
            "Torch.add.0.forward": good,
            "Torch.mul.0.forward": wrong,
            "Distributed.all_reduce.1.forward": reduce,
        },
    )
    write_rank(
        tmp_path / "step0/rank1",
        {
            "Distributed.all_reduce.0.forward": reduce,
            "Torch.div.0.forward": wrong,
            "Distributed.all_reduce.1.forward": reduce,
        },
    )
    done = probe("overflow_check", "-i", "step0", "-o", "out")
    assert "rank 1: Torch.div.0.forward" in done.stdout
    assert "rank 0" not in done.stdout
