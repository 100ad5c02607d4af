"""`sonde probe graph` on small dumps: granularity, broken ranks, communication, structure."""

import json
import re
import sqlite3

import pytest
from test_bad_input import call, words, write_rank

GROUP = {"type": "torch.ProcessGroup", "group_ranks": [0, 1], "group_id": "g"}


def open_graph(folder):
    (path,) = folder.glob("*.vis.db")
    database = sqlite3.connect(path)
    database.row_factory = sqlite3.Row
    return database


def node(database, name, rank=0, source="NPU"):
    query = "SELECT * FROM tb_nodes WHERE node_name = ? AND rank = ? AND data_source = ?"
    return database.execute(query, (name, rank, source)).fetchone()


def link(database, name, rank):
    return json.loads(node(database, name, rank)["matched_distributed"])


def test_steps_and_ranks_go_into_one_database(probe, tmp_path):
    for step in (0, 3):
        for rank in range(2):
            write_rank(tmp_path / f"target/step{step}/rank{rank}")
            write_rank(tmp_path / f"golden/step{step}/rank{rank}")
    done = probe(*words("graph", (tmp_path / "target", tmp_path / "golden")), "-o", "out")
    assert "nodes      8 and 8, 8 matched" in done.stdout
    config = open_graph(tmp_path / "out").execute("SELECT * FROM tb_config").fetchone()
    assert (config["step_list"], config["rank_list"]) == ("[0, 3]", "[0, 1]")
    assert (config["graph_type"], config["task"]) == ("compare", "summary")


def test_matching_without_a_second_run_is_reported(probe, tmp_path):
    write_rank(tmp_path / "rank0")
    for option in ("-lm", "-fm"):
        done = probe("graph", "-tp", "rank0", "-o", "out", option)
        assert (
            "-lm and -fm set how two runs are matched: they have no effect without -gp"
            in done.stderr
        )
    assert "no effect" not in probe("graph", "-tp", "rank0", "-o", "out").stderr
    pair = (tmp_path / "rank0", tmp_path / "rank0")
    assert "no effect" not in probe(*words("graph", pair), "-o", "out", "-fm").stderr


def test_a_broken_rank_is_named_and_left_out(probe, tmp_path):
    for rank in range(3):
        write_rank(tmp_path / f"step0/rank{rank}")
    (tmp_path / "step0/rank1/dump.json").write_text("{")
    done = probe("graph", "-tp", "step0", "-o", "out")
    assert re.search(r"rank1 is left out: .*dump.json", done.stderr)
    config = open_graph(tmp_path / "out").execute("SELECT * FROM tb_config").fetchone()
    assert config["rank_list"] == "[0, 2]"


def test_progress_lines(probe, tmp_path):
    write_rank(tmp_path / "rank0")
    done = probe("graph", "-tp", "rank0", "-o", "out", "-progress_log")
    lines = [json.loads(line[10:]) for line in done.stdout.splitlines() if "PROGRESS: " in line]
    assert lines[0]["current_progress"] == 0
    assert lines[-1] == {"current_progress": 100, "process_running": False, "error_msg": []}


def test_a_failure_leaves_no_database(probe, tmp_path):
    write_rank(tmp_path / "rank0", tree={})
    assert probe("graph", "-tp", "rank0", "-o", "out", good=False).returncode != 0
    assert not list(tmp_path.glob("out/*"))


def operation(op, peer):
    tensor = call()["output"][0]
    fields = {"class_type": "torch.distributed.P2POp", "op": op, "tensor": tensor, "peer": peer}
    return {**fields, "tag": 0, "group_id": "g"}


def test_communication_across_ranks(probe, tmp_path):
    def integer(value):
        return {"type": "int", "value": value}

    for rank in range(2):
        peer = 1 - rank
        batch = call()
        batch["input_args"] = [[operation("isend", peer), operation("irecv", peer)]]
        batch["output"] = [[operation("isend", peer), operation("irecv", peer)]]
        point = call()
        point["input_kwargs"] = {"dst" if rank == 0 else "src": integer(peer)}
        reduce, broadcast = call(), call()
        reduce["input_kwargs"] = {"group": GROUP}
        broadcast["input_args"].append(integer(0))
        broadcast["input_kwargs"] = {"group": GROUP}
        data = {
            "Distributed.batch_isend_irecv.0.forward": batch,
            f"Distributed.{'send' if rank == 0 else 'recv'}.0.forward": point,
            "Distributed.all_reduce.0.forward": reduce,
            "Distributed.broadcast.0.forward": broadcast,
        }
        write_rank(tmp_path / f"step0/rank{rank}", data)
    probe("graph", "-tp", "step0", "-o", "out")
    database = open_graph(tmp_path / "out")
    batch = "Distributed.batch_isend_irecv.0.forward"
    assert link(database, batch, 0) == {
        "communications_type": "send_receive",
        "nodes_info": {"1": ["Nan", batch]},
    }
    assert link(database, "Distributed.send.0.forward", 0) == {
        "communications_type": "send",
        "nodes_info": {"1": ["Nan", "Distributed.recv.0.forward"]},
    }
    kinds = [
        link(database, f"Distributed.{name}.0.forward", rank)["communications_type"]
        for name, rank in (("recv", 1), ("all_reduce", 0), ("broadcast", 0), ("broadcast", 1))
    ]
    assert kinds == ["receive", "send_receive", "send", "receive"]


@pytest.mark.parametrize("name", ("Torch.mm.0.forward", "Torch.empty.0.forward"))
def test_structure_alone_says_only_what_matches(name, probe, tmp_path):
    tensor = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2]}
    data = {name: {"input_args": [tensor], "input_kwargs": {}, "output": []}}
    pair = [write_rank(tmp_path / side, data, task="structure") for side in ("a", "b")]
    probe(*words("graph", pair), "-o", "out")
    database = open_graph(tmp_path / "out")
    row = node(database, name)
    assert row["precision_index"] == (0 if "empty" in name else None)
    assert json.loads(row["matched_node_link"]) == ["DefaultModel", name]
    assert json.loads(row["input_data"]) == {f"{name}.input.0": {"value": "null"}}
    assert database.execute("SELECT task FROM tb_config").fetchone()[0] == "structure"
