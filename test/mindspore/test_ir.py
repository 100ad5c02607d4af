"""`sonde probe ir` on what MindSpore writes of five kinds of models, and on the shared sets."""

import csv
import json
import re
import subprocess

import pytest
from conftest import all_of_its_kind

KINDS = [
    "decoder",
    *(pytest.param(k, marks=all_of_its_kind) for k in ("conv", "loop", "rnn", "train")),
]


@pytest.fixture(name="ir")
def make_ir(sonde, tmp_path):
    """ir(path, options...) gives the rows of its table."""

    def ir(path, *options):
        words = [sonde, "probe", "ir", path, *options, "-o", tmp_path / "tables"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        table = re.search(r"written +(\S+)", done.stdout)[1]
        with open(table, encoding="utf-8") as file:
            return list(csv.DictReader(file))

    return ir


@pytest.mark.parametrize("kind", KINDS)
def test_every_node_is_read(kind, run, ir, tmp_path):
    """As many as MindSpore itself counts, in every pass."""
    run("compiled.py", kind, options=None, MS_DEV_SAVE_GRAPHS="1",
        MS_DEV_SAVE_GRAPHS_PATH=str(tmp_path / "ir"))  # fmt: skip
    files = ir(tmp_path / "ir")
    assert len(files) > 20
    assert all(row["CNodes"] == row["CNodes read"] for row in files if row["CNodes"])
    assert {"type_inference", "validate", "execute"} <= {row["Pass"] for row in files}


def test_nodes_values_and_times_are_joined(run, ir, tmp_path, rows):
    dump = tmp_path / "dump"
    (tmp_path / "config.json").write_text(
        json.dumps({
            "common_dump_settings": {
                "dump_mode": 0, "path": str(dump), "net_name": "Net",
                "iteration": "0", "saved_data": "tensor", "input_output": 2, "kernels": [],
                "support_device": [0],
            },
            "e2e_dump_settings": {"enable": True, "trans_flag": True},
        })
    )  # fmt: skip
    done = run("decoder.py", "graph", 2, SONDE_PROFILE_ANALYSE="0",
               MINDSPORE_DUMP_CONFIG=str(tmp_path / "config.json"))  # fmt: skip
    (span,) = done.spans()
    (graph,) = dump.glob("rank_0/graphs/*.ir")
    nodes = ir(graph, "--values", dump, "--times", span)
    launched = {
        row["name"]: (str(row["n"]), row["ns"])
        for row in rows(
            span, "SELECT name, count(*) AS n, sum(dur) AS ns FROM device_task GROUP BY 1"
        )
    }
    joined = {row["Scope"]: row for row in nodes if row["Launches"]}
    assert joined.keys() == launched.keys() & {row["Scope"] for row in nodes}
    assert len(joined) > 30
    for scope, row in joined.items():
        assert row["Launches"] == launched[scope][0]
        assert abs(float(row["Time(us)"]) - launched[scope][1] / 1000) < 0.001
        assert row["Norm"] and row["Value"] == "output 0"
    softmax = next(row for row in nodes if row["Type"] == "Softmax")
    assert re.search(r"decoder\.py:\d+  weights = ops\.softmax", softmax["Source"])
    assert softmax["Shape"] == "[2, 2, 8, 8]" and float(softmax["Max"]) <= 1


def test_search_and_difference(ir, shared_data):
    folder = shared_data / "mindspore_cpu" / "ir" / "graph"
    found = ir(folder / "21_validate_0076.ir", "--find", "attn-Attention/Softmax")
    assert [row["Type"] for row in found] == ["Softmax"]
    differ = ir(folder / "21_validate_0076.ir", "--against", folder / "01_type_inference_0001.ir")
    assert any(row["Type"] == "call" for row in differ)
    types = ir(folder / "trace_code_graph_0095", "--types")
    assert {row["Type"]: row["Nodes"] for row in types}["MatMul"] == "5"


def test_a_file_of_another_kind_is_refused(sonde, tmp_path):
    (tmp_path / "a.ir").write_text("words\n")
    done = subprocess.run([sonde, "probe", "ir", tmp_path / "a.ir"], capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.returncode != 0 and "is no text of MindSpore's IR" in done.stderr
