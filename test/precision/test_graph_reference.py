"""Graph databases equal those of the reference, row by row and field by field (graph_rows.py)."""

import gzip
import sqlite3

import pytest
from graph_rows import differences, load

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


def the_one(folder, pattern):
    found = sorted(folder.glob(pattern))
    assert len(found) == 1, (pattern, found)
    return found[0]


def reference(folder, pattern, scratch):
    path = the_one(folder, pattern)
    if path.suffix != ".gz":
        return load(path)
    plain = scratch / "reference.vis.db"
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    return load(plain)


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
