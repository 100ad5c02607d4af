"""Graph databases equal those of the reference, row by row and field by field.

Not compared: dump_data_dir (the reference's machine) and the texts of tool_tip, which changed
between its releases. EucDist is a sum of squares whose order the reference leaves to the machine's
BLAS, so its last digits are compared as numbers.
"""

import gzip
import json
import math
import sqlite3

import pytest

COMPARED = {
    "resnet50": (
        "precision/resnet50_gpu_mix_reference_result/*.vis.db",
        "precision/resnet50_gpu_mix/step0/proc*",
        "precision/resnet50_gpu_mix/step1/proc*",
    )
}
for group, name in (
    ("precision/qwen_like", "L0_statistics_statistics_b1"),
    ("precision/qwen_like", "mix_statistics_md5_b0"),
    ("precision/qwen_like", "mix_statistics_statistics_b0"),
    ("precision/qwen_like", "mix_tensor_statistics_b0"),
    ("precision_26_2/torch", "L0_tensor_statistics_b1"),
    ("precision_26_2/torch", "mix_statistics_statistics_b1"),
    ("precision_26_2/mindspore", "L0_tensor_statistics_b1"),
):
    COMPARED[f"{group.rsplit('/', 1)[1]}-{name}"] = (
        f"{group}/{name}/reference_result/*.vis.db*",
        f"{group}/{name}/target/step0/proc*",
        f"{group}/{name}/golden/step0/proc*",
    )
NOT_COMPARED = {"dump_data_dir", "stack_id"}


def the_one(folder, pattern):
    found = sorted(folder.glob(pattern))
    assert len(found) == 1, (pattern, found)
    return found[0]


def load(path):
    """{node id: row}, with the stack's text and decoded data; the configuration."""
    database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    database.row_factory = sqlite3.Row
    stacks = dict(database.execute("SELECT id, stack_info FROM tb_stack"))
    nodes = {}
    for row in database.execute("SELECT * FROM tb_nodes"):
        node = {key: row[key] for key in row.keys() if key not in NOT_COMPARED}
        node["stack"] = stacks[row["stack_id"]]
        for column in ("input_data", "output_data"):
            node[column] = json.loads(row[column])
        nodes[row["id"]] = node
    config = dict(database.execute("SELECT * FROM tb_config").fetchone())
    del config["tool_tip"]
    return nodes, config


def reference(folder, pattern, scratch):
    path = the_one(folder, pattern)
    if path.suffix != ".gz":
        return load(path)
    plain = scratch / "reference.vis.db"
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    return load(plain)


def equal_fields(expected, got):
    """Field names, their order and values; EucDist as a number."""
    if list(expected) != list(got):
        return False
    for name, fields in expected.items():
        if list(fields) != list(got[name]):
            return False
        for key, value in fields.items():
            other = got[name][key]
            if value == other:
                continue
            if key != "EucDist" or not math.isclose(float(value), float(other), rel_tol=1e-12):
                return False
    return True


def differences(expected, got, ignored=()):
    found = []
    assert expected.keys() == got.keys()
    for key, row in expected.items():
        for column, value in row.items():
            if column in ignored:
                continue
            if column in ("input_data", "output_data"):
                same = equal_fields(value, got[key][column])
            else:
                same = value == got[key][column]
            if not same:
                found.append((key, column, value, got[key][column]))
    return found


@pytest.mark.parametrize("name", COMPARED)
def test_compared_graphs(name, shared_data, probe, tmp_path):
    pattern, target, golden = COMPARED[name]
    expected, config = reference(shared_data, pattern, tmp_path)
    out = tmp_path / "out"
    probe(
        *("graph", "-tp", the_one(shared_data, target), "-gp", the_one(shared_data, golden)),
        *("-o", out),
    )
    got, own_config = load(the_one(out, "compare_*.vis.db"))
    assert not differences(expected, got)[:3]
    assert own_config == config
    if name == "resnet50":
        sides = [row["data_source"] for row in got.values()]
        assert (sides.count("NPU"), sides.count("Bench")) == (929, 767)


def test_overflow_levels(shared_data, probe, tmp_path):
    folder = shared_data / "precision_26_2/torch/overflow_mix_statistics"
    expected, config = reference(folder, "reference_result/*.vis.db", tmp_path)
    out = tmp_path / "out"
    done = probe("graph", "-tp", the_one(folder, "dump/step0/proc*"), "-oc", "-o", out)
    got, own_config = load(the_one(out, "build_*.vis.db"))
    assert not differences(expected, got)[:3]
    assert own_config == config
    assert "3 critical, 20 high, 2 medium" in done.stdout


def test_across_frameworks(shared_data, probe, tmp_path):
    """Matches and numbers are the reference's; verdicts are not: it compares dtypes as texts."""
    folder = shared_data / "precision_26_2/mindspore/cross_mix_statistics_statistics_b1"
    expected, _ = reference(folder, "reference_result/graph_lm/*.vis.db.gz", tmp_path)
    out = tmp_path / "out"
    probe(
        *("graph", "-tp", the_one(folder, "target/step0/proc*")),
        *("-gp", the_one(folder, "golden/step0/proc*"), "-lm", "-o", out),
    )
    got, _ = load(the_one(out, "compare_*.vis.db"))
    for nodes in (expected, got):
        for row in nodes.values():
            for column in ("input_data", "output_data"):
                for fields in row[column].values():
                    fields.pop("Result", None)
                    fields.pop("Err_message", None)
    assert not differences(expected, got, ignored=("precision_index",))[:3]


def test_schema_is_the_references(shared_data, probe, tmp_path):
    pattern, target, _ = COMPARED["resnet50"]
    probe("graph", "-tp", the_one(shared_data, target), "-o", tmp_path / "out")
    query = "SELECT name FROM sqlite_master WHERE type = 'index' AND name NOT LIKE 'sqlite%'"
    shapes = []
    for path in (the_one(shared_data, pattern), the_one(tmp_path / "out", "build_*.vis.db")):
        database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        shape = {}
        for table in ("tb_nodes", "tb_stack", "tb_config"):
            shape[table] = [row[1:6] for row in database.execute(f"PRAGMA table_info({table})")]
        for (index,) in database.execute(query).fetchall():
            shape[index] = [row[2] for row in database.execute(f"PRAGMA index_info({index})")]
        shapes.append(shape)
    assert shapes[0] == shapes[1]
