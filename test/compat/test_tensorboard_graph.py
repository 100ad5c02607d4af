"""TensorBoard's graph viewer (tb-graph-ascend) opens the databases of `sonde probe graph`.

The viewer answers most mistakes with an empty list and HTTP 200, so every answer is compared with
what the database holds.
"""

import json
import os
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SONDE = ROOT / "build" / os.environ.get("PRESET", "dev") / "bin" / "sonde"
LAYERS = 3
sys.path.insert(0, str(ROOT / "test" / "precision"))

from parallel_model import layout_words, write_side  # noqa: E402


def tensor(maximum, norm=1.0):
    record = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 3], "Max": maximum}
    return {**record, "Min": -1.0, "Mean": 0.25, "Norm": norm, "requires_grad": False}


def call(value, **kwargs):
    return {"input_args": [tensor(1.0)], "input_kwargs": kwargs, "output": [tensor(value, value)]}


def write_rank(folder, rank, error):
    """A model of a few layers, forward and backward; `error` goes into the last layer."""
    group = {"type": "torch.ProcessGroup", "group_ranks": [0, 1], "group_id": "g"}
    data, tree = {}, {"Module.m.Model.forward.0": None}
    for layer in range(LAYERS):
        value = 2.0 + (error if layer == LAYERS - 1 else 0.0)
        module = f"Module.m.layers.{layer}.Layer.forward.0"
        tree[module] = "Module.m.Model.forward.0"
        tree[f"Torch.mm.{layer}.forward"] = module
        data[f"Torch.mm.{layer}.forward"] = call(value)
        data[module] = {**call(value), "parameters": {"weight": tensor(1.0)}}
    data["Module.m.Model.forward.0"] = call(3.0)
    for name in ("Torch.add.0.forward", "Torch.sum.0.forward"):
        tree[name], data[name] = None, call(float("inf") if error else 1.0)
    reduce = "Distributed.all_reduce.0.forward"
    tree["Module.loss.Loss.forward.0"], tree[reduce] = None, "Module.loss.Loss.forward.0"
    data[reduce] = call(1.0, group=group)
    tree["Module.m.Model.backward.0"] = None
    for layer in reversed(range(LAYERS)):
        backward = f"Module.m.layers.{layer}.Layer.backward.0"
        tree[backward] = "Module.m.Model.backward.0"
        data[backward] = {"input": [tensor(1.0)], "output": [tensor(1.0)]}
        data[f"Module.m.layers.{layer}.Layer.parameters_grad.0"] = {"weight": [tensor(0.5)]}
    folder.mkdir(parents=True)
    header = {"task": "statistics", "level": "mix", "framework": "pytorch"}
    dump = {**header, "dump_data_dir": None, "data": data}
    (folder / "dump.json").write_text(json.dumps(dump))
    (folder / "construct.json").write_text(json.dumps(tree))
    stack = {"0": [list(data), [f"File train.py, line {rank}, in main, \n model(x)"]]}
    (folder / "stack.json").write_text(json.dumps(stack))


@pytest.fixture(scope="module", name="graphs")
def make_graphs(tmp_path_factory):
    """A log folder with a compared graph, a single one, and one of merged ranks."""
    folder = tmp_path_factory.mktemp("graphs")
    for rank in range(2):
        write_rank(folder / f"target/step0/rank{rank}", rank, 1.0)
        write_rank(folder / f"golden/step0/rank{rank}", rank, 0.0)
    target, golden = folder / "target/step0", folder / "golden/step0"
    for name, words in (("compared", ["-gp", golden, "-oc"]), ("single", [])):
        command = [SONDE, "probe", "graph", "-tp", target, *words, "-o", folder / "log" / name]
        subprocess.run([str(word) for word in command], check=True, capture_output=True)
    layouts = ((2, 2, 1, 1), (1, 2, 1, 1))
    for side, layout in zip(("many", "few"), layouts):
        write_side(folder / side, layout)
    sides = ("-tp", folder / "many/step0", "-gp", folder / "few/step0")
    command = [SONDE, "probe", "graph", *sides, *layout_words(*layouts)]
    command += ["-oc", "-o", folder / "log" / "merged"]
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    return folder / "log"


class Viewer:
    """The plug-in's routes; answers that are no success fail the test."""

    def __init__(self, port, run, tag):
        self.base = f"http://localhost:{port}/data/plugin/graph_ascend"
        self.meta = {"run": run, "tag": tag, "type": "db", "lang": "en", "microStep": -1}

    def open(self):
        query = urllib.parse.urlencode(self.meta)
        with urllib.request.urlopen(f"{self.base}/loadGraphData?{query}", timeout=30) as answer:
            assert answer.read() == b"success"
        self.config = self.post("loadGraphConfigInfo")

    def post(self, route, rank=0, **body):
        body["metaData"] = {**self.meta, "step": 0, "rank": rank}
        request = urllib.request.Request(
            f"{self.base}/{route}",
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            result = json.loads(answer.read())
        assert result.get("success"), (route, body, result)
        return result.get("data")


@pytest.fixture(scope="module", name="port")
def serve(graphs, tmp_path_factory):
    python = subprocess.run(
        [ROOT / "setup" / "python.sh", "tensorboard"], check=True, capture_output=True, text=True
    ).stdout.strip()
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "tensorboard.log"
    command = [python, "-m", "tensorboard.main", "--logdir", graphs, "--port", port]
    with log.open("wb") as output:
        server = subprocess.Popen(
            [str(word) for word in (*command, "--load_fast=false")],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        for _ in range(300):
            assert server.poll() is None, log.read_text()
            try:
                url = f"http://localhost:{port}/data/plugin/graph_ascend/load_meta_dir"
                with urllib.request.urlopen(url, timeout=5) as answer:
                    runs = json.loads(answer.read())["data"]
                break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.2)
        assert set(runs) == {"compared", "merged", "single"}
        yield port
    finally:
        server.terminate()
        server.wait()


def connect(graphs, port, run):
    (path,) = (graphs / run).glob("*.vis.db")
    viewer = Viewer(port, run, path.name[: -len(".vis.db")])
    viewer.open()
    database = sqlite3.connect(path)
    database.row_factory = sqlite3.Row
    return viewer, database


def nodes_of(database, source, rank):
    query = "SELECT * FROM tb_nodes WHERE data_source = ? AND step = 0 AND rank = ?"
    return {row["node_name"]: row for row in database.execute(query, (source, rank))}


def expand_everything(viewer, nodes, graph_type, rank):
    """Opens every node that has children; each must show exactly those of the database."""
    shown = viewer.post(
        "changeNodeExpandState", rank, nodeInfo={"nodeName": "root", "nodeType": graph_type}
    )
    opened = {"DefaultModel"}
    while True:
        inner = [name for name in shown if nodes[name]["sub_nodes"] and name not in opened]
        if not inner:
            break
        opened.add(inner[0])
        node = {"nodeName": inner[0], "nodeType": graph_type}
        shown = viewer.post("changeNodeExpandState", rank, nodeInfo=node)
    assert set(shown) == set(nodes)
    for name, row in nodes.items():
        children = {child for child, node in shown.items() if node["parentNode"] == name}
        assert children == set(json.loads(row["sub_nodes"] or "[]")), name


@pytest.mark.parametrize("rank", (0, 1))
def test_every_node_expands(graphs, port, rank):
    for run, sides in (("compared", ("NPU", "Bench")), ("single", ("Single",))):
        viewer, database = connect(graphs, port, run)
        for side in sides:
            nodes = nodes_of(database, "NPU" if side == "Single" else side, rank)
            expand_everything(viewer, nodes, side, rank)


def test_every_node_shows_details_and_its_match(graphs, port):
    viewer, database = connect(graphs, port, "compared")
    nodes = nodes_of(database, "NPU", 0)
    for name, row in nodes.items():
        details = viewer.post("getNodeInfo", nodeInfo={"nodeName": name, "nodeType": "NPU"})
        assert details["npu"]["input_data"] == json.loads(row["input_data"]), name
        query = "SELECT stack_info FROM tb_stack WHERE id = ?"
        (stack,) = database.execute(query, (row["stack_id"],)).fetchone()
        assert details["npu"]["stack_info"] == json.loads(stack)
        assert details["bench"]["node_name"] == json.loads(row["matched_node_link"])[-1]
    relations = viewer.post("loadGraphAllNodeList")
    assert relations["npuMatchNodes"] == {name: name for name in nodes}
    assert not relations["npuUnMatchNodes"]


def test_search_answers_with_what_the_database_holds(graphs, port):
    viewer, database = connect(graphs, port, "compared")
    nodes = nodes_of(database, "NPU", 0)
    leaves = {name: row for name, row in nodes.items() if not row["sub_nodes"]}
    for bounds, wanted in (([0, 0.3], 0), ([0.3, 0.6], 0.5), ([0.6, 1], 1)):
        found = viewer.post("screen", type="precision", values=[bounds])
        assert set(found) == {n for n, row in leaves.items() if row["precision_index"] == wanted}
    for level in ("medium", "high", "critical"):
        found = viewer.post("screen", type="overflow", values=[level])
        assert set(found) == {n for n, row in leaves.items() if row["overflow_level"] == level}
    errors = [row for row in nodes.values() if row["precision_index"] == 1]
    assert errors
    assert any(row["overflow_level"] == "critical" for row in nodes.values())


def test_communication_names_the_other_rank(graphs, port):
    viewer, _ = connect(graphs, port, "compared")
    name = "Distributed.all_reduce.0.forward"
    node = {"nodeName": "root", "nodeType": "NPU"}
    viewer.post("changeNodeExpandState", nodeInfo=node)
    node["nodeName"] = "Module.loss.Loss.forward.0"
    shown = viewer.post("changeNodeExpandState", nodeInfo=node)
    link = shown[name]["matchedDistributed"]
    assert link["communications_type"] == "send_receive"
    assert link["nodes_info"]["1"][1] == name


def test_configuration_and_changes(graphs, port):
    viewer, database = connect(graphs, port, "compared")
    assert viewer.config["isSingleGraph"] is False
    assert viewer.config["overflowCheck"] is True
    single, _ = connect(graphs, port, "single")
    assert single.config["isSingleGraph"] is True
    viewer.open()
    name = "Torch.mm.0.forward"
    pair = {"npuNodeName": name, "benchNodeName": name}
    viewer.post("deleteMatchNodes", **pair, isUnMatchChildren=False)
    viewer.post("addMatchNodes", **pair, isMatchChildren=False)
    row = nodes_of(database, "NPU", 0)[name]
    assert json.loads(row["matched_node_link"])[-1] == name
    assert row["modified"] == 1
    assert row["precision_index"] == 0


def test_merged_ranks_expand_and_match(graphs, port):
    viewer, database = connect(graphs, port, "merged")
    assert viewer.config["isSingleGraph"] is False
    for side in ("NPU", "Bench"):
        nodes = nodes_of(database, side, 0)
        expand_everything(viewer, nodes, side, 0)
    nodes = nodes_of(database, "NPU", 0)
    relations = viewer.post("loadGraphAllNodeList")
    links = {name: json.loads(row["matched_node_link"]) for name, row in nodes.items()}
    assert relations["npuMatchNodes"] == {n: link[-1] for n, link in links.items() if link}
    assert set(relations["npuUnMatchNodes"]) == {n for n, link in links.items() if not link}
    merged = [name for name, row in nodes.items() if row["parallel_merge_info"]]
    assert merged
    for name in merged[:5]:
        details = viewer.post("getNodeInfo", nodeInfo={"nodeName": name, "nodeType": "NPU"})
        lines = details["npu"]["parallel_merge_info"]
        assert lines == json.loads(nodes[name]["parallel_merge_info"])


def test_what_is_shown_can_be_asked_again(graphs, port):
    viewer, database = connect(graphs, port, "compared")
    for side in ("NPU", "Bench"):
        node = {"nodeName": "root", "nodeType": side}
        shown = viewer.post("changeNodeExpandState", nodeInfo=node)
        assert viewer.post("updateHierarchyData", graphType=side).keys() == shown.keys()
    # A micro step shows its own nodes only.
    viewer.meta["microStep"] = 0
    names = viewer.post("loadGraphAllNodeList")
    rows = nodes_of(database, "NPU", 0)
    of_step = {name for name, row in rows.items() if row["micro_step_id"] == 0}
    assert set(names["npuNodeList"]) == of_step


def test_matches_are_saved_and_read_again(graphs, port):
    viewer, database = connect(graphs, port, "compared")
    name = "Torch.mm.1.forward"
    pair = {"npuNodeName": name, "benchNodeName": name}
    viewer.post("deleteMatchNodes", **pair, isUnMatchChildren=False)
    assert json.loads(nodes_of(database, "NPU", 0)[name]["matched_node_link"]) == []
    viewer.post("addMatchNodes", **pair, isMatchChildren=False)
    saved = viewer.post("saveMatchedRelations")
    assert json.loads((graphs / "compared" / saved).read_text())[name] == name
    viewer.post("deleteMatchNodes", **pair, isUnMatchChildren=False)
    viewer.open()
    viewer.post("addMatchNodesByConfig", configFile=saved)
    assert json.loads(nodes_of(database, "NPU", 0)[name]["matched_node_link"])[-1] == name


def test_verdicts_of_chosen_statistics(graphs, port):
    """The viewer computes again from the numbers that the database holds."""
    viewer, _ = connect(graphs, port, "compared")
    viewer.post("updatePrecisionError", filterValue=["0", "1", "2", "3"])
    colours = {"#FFFCF3": {"value": [0, 0.5], "description": "x"},
               "#FF704D": {"value": [0.5, 1], "description": "y"}}  # fmt: skip
    viewer.post("updateColors", colors=json.dumps(colours))
    viewer.open()
    assert set(viewer.config["colors"]) == set(colours)
