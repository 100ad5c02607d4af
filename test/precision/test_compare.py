"""`sonde probe compare` end to end: matching, mappings, logs, calibration, numbers computed
manually."""

import csv
import json
import zipfile

import pytest
from test_bad_input import TENSOR, call, words, write_rank
from test_kernels import npy

FORWARD = "Torch.mm.0.forward"


def tensor(**fields):
    return {**TENSOR, **fields}


def rows_of(folder, pattern="compare_result_*.csv"):
    (path,) = folder.glob(pattern)
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(name="compare")
def make_compare(probe, tmp_path):
    """compare(target data, golden data, words...): the rows, and what was printed."""

    def run(target, golden, *options, headers=({}, {})):
        write_rank(tmp_path / "target", target, **headers[0])
        write_rank(tmp_path / "golden", golden, **headers[1])
        pair = (tmp_path / "target", tmp_path / "golden")
        done = probe(*words("compare", pair), "-o", tmp_path / "out", *options)
        return rows_of(tmp_path / "out"), done.stdout

    return run


@pytest.mark.parametrize(
    ("ours", "theirs", "difference", "relative"),
    (
        (3.0, 2.0, "1.0", "50.0%"),
        (-1.0, 2.0, "-3.0", "150.0%"),
        (2.0, 0.0, "2.0", "inf"),  # nothing to divide by
        (0.0, 2.0, "-2.0", "100.0%"),
        (0.0, 0.0, "0", "0"),
        (0, 0.0, "0.0", "inf"),  # other texts, and still nothing to divide by
        (3, 3.0, "0.0", "0.0%"),
        (float("nan"), 1.0, "Nan", "Nan"),
        (1.0, float("nan"), "Nan", "Nan"),
        (float("nan"), float("nan"), "0", "0"),
        (float("inf"), 1.0, "inf", "inf"),
        (float("-inf"), float("inf"), "-inf", "-inf"),
        (1.0, float("inf"), "-inf", "-inf"),
        (1.0, float("-inf"), "inf", "inf"),
        (None, 1.0, "Diff", "Diff"),
        (None, None, "0", "0"),
        (True, 1.0, "Diff", "Diff"),
    ),
)
def test_statistics_computed_manually(ours, theirs, difference, relative, compare):
    rows, _ = compare({FORWARD: call(Mean=ours)}, {FORWARD: call(Mean=theirs)})
    assert (rows[0]["Mean diff"], rows[0]["MeanRelativeErr"]) == (difference, relative)
    assert (rows[0]["Max diff"], rows[0]["MaxRelativeErr"]) == ("0", "0")


def test_what_is_no_pair_is_kept(compare):
    target = {FORWARD: call(), "Torch.add.0.forward": call(dtype="torch.int64")}
    golden = {
        "Torch.add.0.forward": call(dtype="torch.int32"),
        "Torch.sub.0.forward": call(),
        FORWARD: call(dtype="torch.float64", shape=[3]),
    }
    rows, shown = compare(target, golden)
    first, added, only = rows[0], rows[2], [r for r in rows if r["NPU Name"] == "N/A"]
    assert json.loads(first["Err_message"]) == [
        "error: The dtype of NPU and Bench are inconsistent.",
        "error: The shape of NPU and Bench are inconsistent.",
    ]
    assert (added["Bench Name"], added["Result"], added["Err_message"]) == ("N/A", "pass", "[]")
    assert [r["Bench Name"] for r in only] == [
        "Torch.add.0.forward.input.0",
        "Torch.sub.0.forward.input.0",
        "Torch.sub.0.forward.output.0",
    ]
    assert {r["Result"] for r in only} == {"unmatched"}
    assert "rows       4 (3 matched, 1 without a match), 3 more only in the golden dump" in shown


def test_the_first_cause_comes_first(compare, tmp_path):
    """Not the first row that a threshold calls bad, which here is behind it."""
    weight = tensor(Norm=1.25, Max=0.75)
    linear = {**call(), "input_args": [dict(TENSOR), dict(TENSOR)]}
    changed = {**linear, "input_args": [dict(TENSOR), weight], "output": [tensor(Norm=1.1)]}
    behind = {**call(Norm=1.1), "output": [tensor(Norm=9.0)]}
    target = {"Functional.linear.0.forward": changed, FORWARD: behind}
    golden = {"Functional.linear.0.forward": linear, FORWARD: call()}
    _, shown = compare(target, golden)
    lines = [line.strip() for line in shown.splitlines()]
    at = lines.index("first      changed weight: Functional.linear.0.forward.input.1")
    assert lines[at + 1] == "target  [2] torch.float32  Max 0.75  Min 0.0  Mean 0.5  Norm 1.25"
    assert lines[at + 2] == "golden  [2] torch.float32  Max 1.0  Min 0.0  Mean 0.5  Norm 1.0"
    assert "it is the first call of the run" in lines[at + 4]
    assert "advice     Compare checkpoint, initialisation and seeds" in shown
    (tmp_path / "out").rename(tmp_path / "first")
    _, shown = compare(target, golden, "--reference-summary")
    assert f"first bad  {FORWARD}.output.0" in shown and "changed weight" not in shown


def test_what_cannot_be_read_does_not_pass(probe, tmp_path):
    pair = tensor_pair(tmp_path, [1.0, 2.0], [1.0, 2.0])
    file = pair[0] / "dump_tensor_data" / f"{FORWARD}.input.0.npy"
    file.write_bytes(file.read_bytes()[:-1])
    shown = probe(*words("compare", pair), "-o", tmp_path / "out").stdout
    (row,) = (r for r in rows_of(tmp_path / "out") if "input" in r["NPU Name"])
    assert (row["Cosine"], row["Result"]) == ("unsupported", "error")
    assert "cannot be read: nothing was compared" in row["Err_message"]
    assert "unreadable 1 row" in shown


def test_the_first_bad_place_comes_first(probe, tmp_path):
    module = "Module.m.Linear.forward.0"
    bad = call()
    bad["output"] = [tensor(Norm=9.0)]
    data = {FORWARD: call(), "Torch.add.0.forward": call(), module: call()}
    for side, of_side in (("target", {**data, "Torch.add.0.forward": bad}), ("golden", data)):
        write_rank(tmp_path / side, of_side, {**dict.fromkeys(data), "Torch.add.0.forward": module})
    pair = (tmp_path / "target", tmp_path / "golden")
    shown = probe(*words("compare", pair), "-o", tmp_path / "out", "--reference-summary").stdout
    rows = rows_of(tmp_path / "out")
    assert "first bad  Torch.add.0.forward.output.0" in shown
    assert "error: The NormRelativeErr of output is greater than 0.5." in shown
    assert f"module     {module}" in shown
    assert "advice     This is a forward API computation error." in shown
    advice = next((tmp_path / "out").glob("advisor_*.txt")).read_text()
    line = [row["NPU Name"] for row in rows].index("Torch.add.0.forward.output.0") + 2
    assert advice.splitlines()[:2] == [
        f"Line: {line}",
        "Suspect Nodes: Torch.add.0.forward.output.0",
    ]


def test_shapes_that_differ_are_shown(compare):
    shapes = ({FORWARD: call(shape=[9])}, {FORWARD: call(shape=[1])})
    rows, shown = compare(*shapes, "--reference-summary")
    assert rows[0]["Result"] == "error"
    lines = [line.split() for line in shown.splitlines() if line.startswith("    ")]
    at = next(i for i, line in enumerate(lines) if line[0] == "parameter")
    header, first = lines[at], lines[at + 1]
    assert header[:3] == ["parameter", "NPU", "shape"] and first[1:3] == ["[9]", "[1]"]
    assert "module     none, the call is outside all modules" in shown
    assert "compare the same request, batch and step" in shown


def test_fuzzy_match_really_matches(compare):
    target = {f"Torch.mm.{i}.forward": call(Max=float(i)) for i in (1, 3, 4)}
    golden = {f"Torch.mm.{i}.forward": call(Max=float(i)) for i in (0, 1, 2)}
    rows, _ = compare(target, golden, "-fm")
    pairs = [(r["NPU Name"], r["Bench Name"]) for r in rows if r["NPU Name"].endswith("input.0")]
    assert pairs == [
        ("Torch.mm.1.forward.input.0", "Torch.mm.0.forward.input.0"),
        ("Torch.mm.3.forward.input.0", "Torch.mm.1.forward.input.0"),
        ("Torch.mm.4.forward.input.0", "Torch.mm.2.forward.input.0"),
    ]
    assert [r["Max diff"] for r in rows if r["NPU Name"].endswith("input.0")] == [
        "1.0",
        "2.0",
        "2.0",
    ]


def test_fuzzy_match_of_checksums(compare):
    rows, _ = compare(
        {"Torch.mm.7.forward": call(md5="0000000a")},
        {"Torch.mm.0.forward": call(md5="0000000b")},
        "-fm",
    )
    assert (rows[0]["NPU MD5"], rows[0]["BENCH MD5"]) == ("0000000a", "0000000b")
    assert rows[0]["Result"] == "error"


def mindspore(**fields):
    record = call(dtype="Float32", type="mindspore.Tensor", **fields)
    record["output"] = [tensor(dtype="Float32", type="mindspore.Tensor")]
    for part in (record["input_args"][0], record["output"][0]):
        del part["requires_grad"]
    return record


CROSS = ({"framework": "mindspore"}, {"framework": "pytorch"})


def partners(rows):
    return {r["NPU Name"]: r["Bench Name"] for r in rows if r["NPU Name"] != "N/A"}


def test_cells_meet_modules(compare, tmp_path):
    target = {"Cell.net.Dense.forward.0": mindspore(), "Cell.x.A.forward.0": mindspore()}
    golden = {"Module.net.Dense.forward.0": call(), "Module.y.B.forward.0": call()}
    rows, _ = compare(target, golden, "-cm", headers=CROSS)
    assert (
        partners(rows)["Cell.net.Dense.forward.0.input.0"] == "Module.net.Dense.forward.0.input.0"
    )
    assert partners(rows)["Cell.x.A.forward.0.input.0"] == "N/A"
    # Dtypes of one family are no difference, nor is requires_grad that one framework lacks.
    assert rows[0]["Result"] == "pass"
    mapping = tmp_path / "cells.yaml"
    mapping.write_text("x.A: y.B\n")
    (tmp_path / "out").rename(tmp_path / "first")
    rows, _ = compare(target, golden, "-cm", mapping, headers=CROSS)
    assert partners(rows)["Cell.x.A.forward.0.input.0"] == "Module.y.B.forward.0.input.0"


def test_a_call_more_in_one_cell_shifts_no_other(tmp_path, probe):
    """Numbers count over the whole program: those of one cell pair with its module's alone."""
    ours = {
        "Cell.a.A.forward.0": None,
        "Functional.relu.0.forward": "Cell.a.A.forward.0",
        "Cell.b.B.forward.0": None,
        "Functional.relu.1.forward": "Cell.b.B.forward.0",
    }
    theirs = {
        "Module.a.A.forward.0": None,
        "Functional.relu.0.forward": "Module.a.A.forward.0",
        "Functional.relu.1.forward": "Module.a.A.forward.0",
        "Module.b.B.forward.0": None,
        "Functional.relu.2.forward": "Module.b.B.forward.0",
    }
    for side, tree, make, header in zip(("target", "golden"), (ours, theirs), (mindspore, call),
                                        CROSS):  # fmt: skip
        write_rank(tmp_path / side, {name: make() for name in tree}, tree, **header)
    pair = (tmp_path / "target", tmp_path / "golden")
    done = probe(*words("compare", pair), "-cm", "-o", tmp_path / "out")
    found = partners(rows_of(tmp_path / "out"))
    assert found["Functional.relu.0.forward.input.0"] == "Functional.relu.0.forward.input.0"
    assert found["Functional.relu.1.forward.input.0"] == "Functional.relu.2.forward.input.0"
    note = "-cm: 1 call only in the golden run's modules (the first: Functional.relu.1.forward)"
    assert note in done.stdout


def test_apis_meet_apis(compare, tmp_path):
    target = {"Mint.add.0.forward": mindspore(), "Functional.own.0.forward": mindspore()}
    golden = {"Torch.add.0.forward": call(), "Torch.other.0.forward": call()}
    rows, _ = compare(target, golden, "-am", headers=CROSS)
    assert partners(rows)["Mint.add.0.forward.input.0"] == "Torch.add.0.forward.input.0"
    assert partners(rows)["Functional.own.0.forward.input.0"] == "N/A"
    mapping = tmp_path / "apis.yaml"
    mapping.write_text(
        "- ms_api: Functional.own\n  pt_api: Torch.other\n  ms_args: [0]\n  pt_args: [0]\n"
        "  ms_outputs: [0]\n  pt_outputs: [0]\n"
    )
    (tmp_path / "out").rename(tmp_path / "first")
    rows, _ = compare(target, golden, "-am", mapping, headers=CROSS)
    assert partners(rows)["Functional.own.0.forward.input.0"] == "Torch.other.0.forward.input.0"
    assert partners(rows)["Functional.own.0.forward.output.0"] == "Torch.other.0.forward.output.0"


def test_single_parameters_meet(compare, tmp_path):
    mapping = tmp_path / "data.yaml"
    mapping.write_text("Torch.mm.0.forward.input.0: Torch.add.0.forward.output.0\n")
    rows, _ = compare({FORWARD: call()}, {"Torch.add.0.forward": call()}, "-dm", mapping)
    assert partners(rows) == {
        "Torch.mm.0.forward.input.0": "Torch.add.0.forward.output.0",
        "Torch.mm.0.forward.output.0": "N/A",
    }


def test_layers_meet(compare, tmp_path, probe):
    mapping = tmp_path / "layers.yaml"
    mapping.write_text("TopLayer:\n  net: model\nNet:\n  old: new\n")
    sides = (
        {"Cell.net.Net.forward.0": None, "Cell.net.old.Dense.forward.0": "Cell.net.Net.forward.0"},
        {
            "Module.model.Net.forward.0": None,
            "Module.model.new.Linear.forward.0": "Module.model.Net.forward.0",
        },
    )
    for side, tree, make, header in zip(("target", "golden"), sides, (mindspore, call), CROSS):
        write_rank(tmp_path / side, {name: make() for name in tree}, tree, **header)
    pair = (tmp_path / "target", tmp_path / "golden")
    probe(*words("compare", pair), "-lm", mapping, "-o", tmp_path / "out")
    rows = rows_of(tmp_path / "out")
    assert partners(rows)["Cell.net.old.Dense.forward.0.input.0"] == (
        "Module.model.new.Linear.forward.0.input.0"
    )
    (pairs,) = (tmp_path / "out").glob("data_mapping_*.yaml")
    assert "Cell.net.old.Dense.forward.0.output.0: Module.model.new.Linear" in pairs.read_text()
    probe(*words("graph", pair), "-lm", mapping, "-o", tmp_path / "graph")
    done = probe(*words("graph", pair), "-o", tmp_path / "graph", good=False)
    assert done.returncode == 1 and "-lm" in done.stderr


def tensor_pair(tmp_path, ours, theirs):
    for side, values in (("target", ours), ("golden", theirs)):
        folder = write_rank(
            tmp_path / side,
            {FORWARD: call(data_name=f"{FORWARD}.input.0.npy", shape=[len(values)])},
            task="tensor",
        )
        (folder / "dump_tensor_data").mkdir()
        (folder / "dump_tensor_data" / f"{FORWARD}.input.0.npy").write_bytes(npy(values))
    return tmp_path / "target", tmp_path / "golden"


def test_a_line_a_tensor(probe, tmp_path):
    pair = tensor_pair(tmp_path, [1.0, 2.0, 3.5], [1.0, 2.0, 3.0])
    line = (
        f"[{FORWARD}.input.0] Compare result: Cosine 0.997408650736, EucDist 0.5, MaxAbsErr 0.5, "
        "MaxRelativeErr 0.166666671634, One Thousandth Err Ratio 0.666666666667, "
        "Five Thousandths Err Ratio 0.666666666667, []"
    )
    done = probe(*words("compare", pair), "-tensor_log", "-o", tmp_path / "out")
    assert line in done.stdout.splitlines()
    assert "Compare result" not in probe(*words("compare", pair), "-o", tmp_path / "out2").stdout
    done = probe(*words("graph", pair), "-tensor_log", "-o", tmp_path / "graph")
    assert f"[{FORWARD}.input.0] Compare result: cosine 0.997408650736, euc_dist 0.5" in done.stdout


def test_tensors_are_calibrated_first(probe, tmp_path):
    pair = tensor_pair(tmp_path, [1.0, 2.0], [2.0, 1.0])
    matrix = tmp_path / "swap.npy"
    matrix.write_bytes(npy([0.0, 1.0, 1.0, 0.0], (2, 2)))
    config = tmp_path / "config.yaml"
    config.write_text(
        f"right_matmul:\n  target_tensor_map:\n    {matrix}: [{FORWARD}.input.0.npy]\nunknown: 1\n"
    )
    done = probe(*words("compare", pair), "--config", config, "-o", tmp_path / "out")
    (row,) = (r for r in rows_of(tmp_path / "out") if "input" in r["NPU Name"])
    assert (row["Cosine"], row["MaxAbsErr"]) == ("1.0", "0.0")
    assert "unknown" in done.stdout + done.stderr
    # A matrix that does not fit leaves the tensor as it is, and reports it.
    matrix.write_bytes(npy([1.0] * 9, (3, 3)))
    done = probe(*words("compare", pair), "--config", config, "-o", tmp_path / "again")
    (row,) = (r for r in rows_of(tmp_path / "again") if "input" in r["NPU Name"])
    assert row["MaxAbsErr"] == "1.0"
    assert str(matrix) in done.stdout + done.stderr


def test_missing_tensor_files_are_unsupported(probe, tmp_path):
    pair = tensor_pair(tmp_path, [1.0], [1.0])
    (pair[1] / "dump_tensor_data" / f"{FORWARD}.input.0.npy").unlink()
    done = probe(*words("compare", pair), "-o", tmp_path / "out")
    rows = rows_of(tmp_path / "out")
    assert [row["Cosine"] for row in rows] == ["unsupported", "unsupported"]
    assert rows[1]["Data_name"] == "['-1', '-1']"
    assert "unreadable 1 row" in done.stdout


def test_all_ranks_and_steps_by_number(probe, tmp_path):
    for side, ranks in (("target", (0, 1, 10)), ("golden", (0, 10, 2))):
        for rank in ranks:
            for step in (0, 1):
                write_rank(tmp_path / side / f"step{step}" / f"rank{rank}")
    done = probe(
        "compare", "-tp", tmp_path / "target", "-gp", tmp_path / "golden", "-o", tmp_path / "out"
    )
    names = sorted(
        f"{path.parent.name}/{path.name.split('_')[2]}"
        for path in (tmp_path / "out").glob("*/compare_result_*.csv")
    )
    assert names == [f"step{s}/rank{r}" for s in (0, 1) for r in (0, 10)]
    assert "rank1" in done.stderr and "rank2" in done.stderr


def test_a_weight_of_a_later_step_may_have_been_changed_by_earlier_ones(probe, tmp_path):
    """Whoever dumped step 3 of a training alone cannot know what changed the weights before it."""
    weight = {"input_args": [TENSOR, tensor(Max=0.5)], "input_kwargs": {}, "output": [TENSOR]}
    other = {**weight, "input_args": [TENSOR, tensor(Max=0.75)]}
    gradient = {"Functional.linear.0.backward": call()}

    def printed(name, step, more):
        for side, data in (("target", other), ("golden", weight)):
            write_rank(
                tmp_path / name / side / step / "rank0",
                {"Functional.linear.0.forward": data, **more},
            )
        pair = (tmp_path / name / "target", tmp_path / name / "golden")
        done = probe("compare", "-tp", pair[0], "-gp", pair[1], "-o", tmp_path / name / "out")
        assert "changed weight: Functional.linear.0.forward.input.1" in done.stdout
        return done.stdout

    assert "step 3 is the first one compared" in printed("training", "step3", gradient)
    assert "first one compared" not in printed("first", "step0", gradient)
    assert "first one compared" not in printed("inference", "step3", {})


def test_the_older_way_to_name_the_paths(probe, tmp_path):
    pair = [write_rank(tmp_path / side) for side in ("target", "golden")]
    names = tmp_path / "paths.json"
    names.write_text(
        json.dumps(
            {"npu_path": str(pair[0] / "dump.json"), "bench_path": str(pair[1] / "dump.json")}
        )
    )
    probe("compare", "-i", names, "-o", tmp_path / "out")
    assert len(rows_of(tmp_path / "out")) == 2
    names.write_text("{}")
    done = probe("compare", "-i", names, "-o", tmp_path / "out", good=False)
    assert done.returncode == 1 and "'npu_path' is missing" in done.stderr


def differing(norm):
    bad = call()
    bad["output"] = [tensor(Norm=norm)]
    return bad


def test_the_first_difference_of_two_files(compare, tmp_path):
    target = {"Torch.a.0.forward": call(), FORWARD: differing(9.0), "Torch.z.0.forward": call()}
    rows, shown = compare(target, dict.fromkeys(target, call()), "-da")
    assert "first difference  rank 0: Torch.mm.0.forward" in shown
    assert len(rows) == 6  # the table is written, too
    (found,) = (tmp_path / "out").glob("diff_analyze_*.json")
    (entry,) = json.loads(found.read_text())["rank_0"]
    assert entry["op_name"] == FORWARD
    assert set(entry["data_info"]) == {"input", "output"}
    (per_rank,) = (tmp_path / "out").glob("compare_result_rank0_*.json")
    same = {name: api["is_same"] for name, api in json.loads(per_rank.read_text()).items()}
    assert same == {"Torch.a.0.forward": True, FORWARD: False, "Torch.z.0.forward": True}


def test_the_first_difference_over_ranks(probe, tmp_path):
    """A rank that differs only behind a communication got the difference from there."""
    group = {"type": "torch.ProcessGroup", "group_ranks": [0, 1], "group_id": "g"}
    reduce = {**call(), "input_kwargs": {"group": group}}
    for side, bad in (("golden", call()), ("target", differing(9.0))):
        for rank in range(2):
            data = {
                FORWARD: bad if rank == 1 else call(),
                "Distributed.all_reduce.0.forward": reduce,
                "Torch.add.0.forward": bad,
            }
            write_rank(tmp_path / side / "step0" / f"rank{rank}", data)
    pair = (tmp_path / "target" / "step0", tmp_path / "golden" / "step0")
    done = probe(*words("compare", pair), "-da", "-o", tmp_path / "out")
    found = [line for line in done.stdout.splitlines() if line.startswith("first difference")]
    assert found == ["first difference  rank 1: Torch.mm.0.forward"]


def test_no_difference(compare):
    _, shown = compare({FORWARD: call()}, {FORWARD: call()}, "-da")
    assert "first difference  no call differs" in shown


def test_a_workbook_has_colours(probe, tmp_path):
    pair = [
        write_rank(tmp_path / side, {FORWARD: call(), "Torch.z.0.forward": differing(norm)})
        for side, norm in (("target", float("inf")), ("golden", 1.0))
    ]
    target = pair[0] / "dump.json"
    target.write_text(target.read_text().replace('"Max": 1.0', '"Max": NaN', 1))
    probe(*words("compare", pair), "--xlsx", "-o", tmp_path / "out")
    (path,) = (tmp_path / "out").glob("compare_result_*.xlsx")
    with zipfile.ZipFile(path) as book:
        assert "FFFF0000" in book.read("xl/styles.xml").decode()
        assert 'name="Sheet1"' in book.read("xl/workbook.xml").decode()
        text = book.read("xl/worksheets/sheet1.xml").decode()
    assert "Five Thousandths" not in text and "NormRelativeErr" in text
