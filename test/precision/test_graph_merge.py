"""`sonde probe graph` merges ranks that compute one model together."""

import json
import sqlite3

import pytest
from parallel_model import LAYERS, layout_words, tensor, write_side


def nodes_of(folder, source="NPU"):
    (path,) = folder.glob("*.vis.db")
    database = sqlite3.connect(path)
    database.row_factory = sqlite3.Row
    assert database.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    query = "SELECT * FROM tb_nodes WHERE data_source = ?"
    return {row["node_name"]: row for row in database.execute(query, (source,))}


def test_tensor_parallel_numbers_are_put_together(probe, tmp_path):
    layout = (2, 1, 1, 1)
    write_side(tmp_path / "run", layout)
    probe("graph", "-tp", tmp_path / "run/step0", *layout_words(layout), "-o", tmp_path / "out")
    nodes = nodes_of(tmp_path / "out")
    module = "Module.module.module.decoder.layers.1.mlp.linear_fc1.ColumnParallelLinear.forward.0"
    weight = json.loads(nodes[module]["input_data"])[f"{module}.parameters.weight"]
    parts = [tensor("w1", 1, rank) for rank in range(2)]
    assert float(weight["Max"]) == pytest.approx(max(p["Max"] for p in parts), rel=0.01)
    assert float(weight["Min"]) == pytest.approx(min(p["Min"] for p in parts), rel=0.01)
    assert float(weight["Mean"]) == pytest.approx(sum(p["Mean"] for p in parts) / 2, rel=0.01)
    norm = sum(p["Norm"] ** 2 for p in parts) ** 0.5
    assert float(weight["Norm"]) == pytest.approx(norm, rel=0.01)
    lines = json.loads(nodes[module]["parallel_merge_info"])
    assert lines[0].endswith("the data is merged from rank [0, 1].")
    assert "Apis_Between_Modules_Rank1.0" in nodes["Apis_Between_Modules_All_Ranks.0"]["sub_nodes"]


def test_pipeline_parallel_layers_stand_side_by_side(probe, tmp_path):
    layout = (1, 2, 1, 1)
    write_side(tmp_path / "run", layout)
    probe("graph", "-tp", tmp_path / "run/step0", *layout_words(layout), "-o", tmp_path / "out")
    block = nodes_of(tmp_path / "out")["Module.module.module.decoder.TransformerBlock.forward.0"]
    layers = [name for name in json.loads(block["sub_nodes"]) if "TransformerLayer" in name]
    prefix = "Module.module.module.decoder.layers"
    assert layers == [f"{prefix}.{i}.TransformerLayer.forward.0" for i in range(LAYERS)]


def test_layouts_of_two_runs(probe, tmp_path):
    layouts = ((2, 2, 1, 1), (1, 2, 1, 1))
    for name, layout in zip(("target", "golden"), layouts):
        write_side(tmp_path / name, layout)
    folders = ("-tp", tmp_path / "target", "-gp", tmp_path / "golden")
    done = probe("graph", *folders, *layout_words(*layouts), "-o", tmp_path / "out")
    assert " matched" in done.stdout
    bench = nodes_of(tmp_path / "out", "Bench")
    assert all(row["matched_node_link"] != "[]" for row in bench.values())


@pytest.mark.parametrize(
    ("words", "part"),
    (
        (("--rank_size", "2", "--tp", "2"), "needs --rank_size, --tp and --pp with 1 value"),
        (("--tp", "2"), "needs --rank_size"),
        (("--rank_size", "4", "--tp", "2", "--pp", "1"), "there are 2 rank folders"),
        (("--rank_size", "0", "--tp", "1", "--pp", "1"), "--rank_size must be positive"),
        (("--rank_size", "1", "--tp", "1", "--pp", "1"), "there are 2 rank folders"),
        (("--rank_size", "2", "--tp", "2", "--pp", "2"), "must be a multiple of tp times pp"),
        (("--rank_size", "2", "--tp", "2", "--pp", "1", "--order", "tp-x"), "--order 'tp-x'"),
        (("--rank_size", "2", "--tp", "1", "--pp", "1", "--vpp", "2"), "--vpp above 1 needs"),
    ),
)
def test_wrong_layouts(words, part, probe, tmp_path):
    write_side(tmp_path / "run", (2, 1, 1, 1))
    done = probe("graph", "-tp", tmp_path / "run/step0", *words, "-o", tmp_path / "out", good=False)
    assert done.returncode != 0 and part in done.stderr, done.stderr
    assert not list((tmp_path / "out").glob("*.db")) if (tmp_path / "out").exists() else True


def test_merged_ranks_as_a_dump(probe, tmp_path):
    layout = (2, 1, 1, 1)
    write_side(tmp_path / "run", layout)
    words = ("-tp", tmp_path / "run/step0", *layout_words(layout))
    probe("graph", *words, "--file_type", "json", "-o", tmp_path / "merged")
    folder = tmp_path / "merged/step0/rank0"
    dump = json.loads((folder / "dump.json").read_text())
    assert dump["is_merged"] is True
    module = "Module.module.module.decoder.layers.1.mlp.linear_fc1.ColumnParallelLinear.forward.0"
    parts = [tensor("w1", 1, rank) for rank in range(2)]
    weight = dump["data"][module]["parameters"]["weight"]
    assert weight["Max"] == pytest.approx(max(part["Max"] for part in parts), rel=0.01)
    assert weight["shape"] == parts[0]["shape"]
    assert "parallel_merge_info" in dump["data"][module]
    # It is a dump like any other: its graph is that of the merge.
    probe("graph", *words, "-o", tmp_path / "direct")
    probe("graph", "-tp", folder, "-o", tmp_path / "again")
    direct, again = nodes_of(tmp_path / "direct"), nodes_of(tmp_path / "again")
    assert direct.keys() == again.keys()
    for name, row in direct.items():
        for column in ("up_node", "node_type", "input_data", "output_data"):
            assert row[column] == again[name][column], (name, column)
    probe("compare", "-tp", folder, "-gp", folder, "-o", tmp_path / "out")


def test_dumps_of_merged_ranks_only(probe, tmp_path):
    write_side(tmp_path / "run", (2, 1, 1, 1))
    step = tmp_path / "run/step0"
    words = ("--file_type", "json", "-o", tmp_path / "out")
    done = probe("graph", "-tp", step, "-gp", step, *words, good=False)
    assert done.returncode == 2 and "leave -gp out" in done.stderr
    done = probe("graph", "-tp", step / "rank0", *words)
    assert "a database is written" in done.stderr
    assert list((tmp_path / "out").glob("build_*.vis.db"))
