"""A compiled MindSpore graph against a run that was not compiled, as a graph, and its overflows."""

import csv
import json
import sqlite3
import struct

import pytest

# A small program: y = norm(linear(x)) + linear(x), whose sum has the scope of the norm, as
# MindSpore gives it to operators that several cells share.
LINEAR = "Default/linear-Dense/MatMul-op0"
SQUARE, SCALE = "Default/norm-RMSNorm/Mul-op0", "Default/norm-RMSNorm/Mul-op1"
SUM = "Default/norm-RMSNorm/Add-op0"
X, HIDDEN = [1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 0.5, -3.0]
SQUARED, SCALED = [4.0, 1.0, 0.25, 9.0], [1.0, 0.5, 0.25, -1.5]
RESULT = [3.0, 1.5, 0.75, -4.5]
ORDER = "execution_order/ms_execution_order_graph_0.csv"


def npy(values, shape):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    data = struct.pack(f"<{len(values)}f", *values)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


def statistics(values):
    mean, norm = sum(values) / len(values), sum(v * v for v in values) ** 0.5
    return {"Max": max(values), "Min": min(values), "Mean": mean, "Norm": norm}


class Kernels:
    """A dump of kernels in the form of MindSpore's."""

    def __init__(self, root, rank=0, step=0):
        self.rank = root / f"rank_{rank}"
        self.folder = self.rank / "Net" / "0" / str(step)
        self.folder.mkdir(parents=True)
        self.scopes, self.time = [], 100

    def add(self, scope, inputs, outputs, task=0, stream=0):
        kind = scope.rsplit("/", 1)[-1].split("-")[0]
        self.scopes.append(scope)
        for direction, tensors in (("input", inputs), ("output", outputs)):
            for slot, (values, shape) in enumerate(tensors):
                self.time += 1
                name = f"{kind}.{scope.replace('/', '_')}.{task}.{stream}.{self.time}.{direction}"
                path = self.folder / f"{name}.{slot}.DefaultFormat.Float32.npy"
                path.write_bytes(npy(values, shape))
        path = self.rank / ORDER
        path.parent.mkdir(exist_ok=True)
        path.write_text("NodeExecutionOrder-FullNameWithScope\n" + "\n".join(self.scopes) + "\n")


def kernels_of_program(root, result=RESULT, scaled=SCALED):
    kernels = Kernels(root)
    flat, rows = (4,), (2, 2)
    kernels.add(LINEAR, [(X, rows)], [(HIDDEN, flat)])  # the compiler dropped a reshape
    kernels.add(SQUARE, [(HIDDEN, rows), (HIDDEN, rows)], [(SQUARED, rows)])
    kernels.add(SCALE, [(HIDDEN, rows)], [(scaled, rows)])
    kernels.add(SUM, [(scaled, rows), (HIDDEN, rows)], [(result, rows)])
    return kernels


def record(values, name=None):
    out = {"type": "mindspore.Tensor", "dtype": "Float32", "shape": [2, 2], **statistics(values)}
    return out | ({"data_name": name + ".npy"} if name else {})


def calls_of_program(root, task="statistics"):
    """The dump of the same program, not compiled."""
    folder = root / "step0" / "rank0"
    (folder / "dump_tensor_data").mkdir(parents=True)
    data, tree = {}, {}

    def call(name, parent, inputs, outputs):
        tree[name] = parent
        entry = {"input_args": [], "input_kwargs": {}, "output": []}
        for key, place, each in (("input_args", "input", inputs), ("output", "output", outputs)):
            for i, values in enumerate(each):
                file = f"{name}.{place}.{i}" if task == "tensor" else None
                entry[key].append(record(values, file))
                if file:
                    path = folder / "dump_tensor_data" / f"{file}.npy"
                    path.write_bytes(npy(values, (2, 2)))
        data[name] = entry

    linear, norm = "Cell.linear.Dense.forward.0", "Cell.norm.RMSNorm.forward.0"
    call("Primitive.matmul.MatMul.0.forward", linear, [X], [HIDDEN])
    call(linear, None, [X], [HIDDEN])
    call("Tensor.__mul__.0.forward", norm, [HIDDEN, HIDDEN], [SQUARED])
    call("Tensor.__mul__.1.forward", norm, [HIDDEN], [SCALED])
    call(norm, None, [HIDDEN], [SCALED])
    call("Tensor.__add__.0.forward", None, [SCALED, HIDDEN], [RESULT])
    dump = {"task": task, "level": "mix", "framework": "mindspore", "dump_data_dir": None}
    (folder / "dump.json").write_text(json.dumps({**dump, "data": data}))
    (folder / "construct.json").write_text(json.dumps(tree))
    (folder / "stack.json").write_text("{}")
    return folder


def table(folder):
    (path,) = folder.glob("**/compare_result_*.csv")
    with path.open(newline="") as file:
        return {row["NPU Name"]: row for row in csv.DictReader(file)}


@pytest.mark.parametrize("side", ("target", "golden"))
def test_a_graph_against_its_program(side, probe, tmp_path):
    kernels_of_program(tmp_path / "graph")
    calls_of_program(tmp_path / "calls")
    paths = {"target": ("graph", "calls"), "golden": ("calls", "graph")}[side]
    done = probe("compare", "-tp", paths[0], "-gp", paths[1], "-o", "out")
    assert "5 of 5 values are joined with 4 kernels" in done.stderr
    rows = table(tmp_path / "out")
    assert len(rows) == 14
    assert {float(row["Max diff"]) for row in rows.values()} == {0.0}
    assert list((tmp_path / "out").glob("kernels_*/target/step0/rank0/dump.json"))


def test_where_a_graph_differs_first(probe, tmp_path):
    wrong = [1.0, 0.5, 0.25, -7.5]
    kernels_of_program(tmp_path / "graph", scaled=wrong, result=[3.0, 1.5, 0.75, -10.5])
    calls_of_program(tmp_path / "calls")
    words = (
        "compare",
        "-tp",
        "graph",
        "-gp",
        "calls",
        "-o",
        "out",
        "--fail-if",
        "first_difference",
    )
    done = probe(*words, good=False)
    assert done.returncode == 3, done.stderr
    assert "Tensor.__mul__.1.forward" in done.stdout.splitlines()[0]


def test_tensors_are_compared_where_both_have_them(probe, tmp_path):
    kernels_of_program(tmp_path / "graph")
    calls_of_program(tmp_path / "calls", task="tensor")
    done = probe("compare", "-tp", "graph", "-gp", "calls/step0/rank0/dump.json", "-o", "out")
    assert "mode       tensor" in done.stdout
    rows = table(tmp_path / "out")
    assert rows["Tensor.__add__.0.forward.output.0"]["Cosine"] == "1.0"
    assert rows["Tensor.__mul__.0.forward.output.0"]["MaxAbsErr"] == "0.0"


def test_what_cannot_be_joined_is_refused(probe, tmp_path):
    kernels = kernels_of_program(tmp_path / "graph")
    folder = calls_of_program(tmp_path / "calls")
    words = ("compare", "-tp", "graph", "-gp", "calls", "-o", "out")
    done = probe(*words, "-cm", good=False)
    assert done.returncode == 1 and "leave -fm, -cm, -am, -dm" in done.stderr
    (kernels.rank / ORDER).rename(tmp_path / "order.csv")
    done = probe(*words, good=False)
    assert done.returncode == 1 and "ms_execution_order_graph_0.csv is missing" in done.stderr
    (tmp_path / "order.csv").rename(kernels.rank / ORDER)
    (folder / "construct.json").unlink()
    dump = json.loads((folder / "dump.json").read_text())
    for entry in dump["data"].values():
        for each in (*entry["input_args"], *entry["output"]):
            each["shape"] = [3]
    (folder / "dump.json").write_text(json.dumps(dump))
    done = probe(*words, good=False)
    assert done.returncode == 1 and "is found among the 4 kernels" in done.stderr
    assert not list((tmp_path / "out").glob("kernels_*"))


def nodes(folder):
    (path,) = folder.glob("*.vis.db")
    with sqlite3.connect(path) as db:
        return dict(db.execute("SELECT node_name, up_node FROM tb_nodes").fetchall())


def test_kernels_as_a_graph(probe, tmp_path):
    kernels_of_program(tmp_path / "graph")
    probe("graph", "-tp", "graph", "-o", "out")
    found = nodes(tmp_path / "out")
    assert found["Primitive.norm.Mul-op1.0.forward"] == "Cell.norm.RMSNorm.forward.0"
    assert found["Primitive.linear.MatMul-op0.0.forward"] == "Cell.linear.Dense.forward.0"


def test_two_graphs_and_a_graph_against_its_program(probe, tmp_path):
    kernels_of_program(tmp_path / "graph")
    kernels_of_program(tmp_path / "other", result=[30.0, 15.0, 7.5, -45.0])
    calls_of_program(tmp_path / "calls")
    done = probe("graph", "-tp", "other", "-gp", "graph", "-o", "two")
    assert "first bad  Primitive.norm.Add-op0.0.forward" in done.stdout
    done = probe("graph", "-tp", "graph", "-gp", "calls", "-o", "joined")
    assert "0 warning, 0 error" in done.stdout
    assert "Cell.norm.RMSNorm.forward.0" in nodes(tmp_path / "joined")


def test_the_graph_of_a_real_dump(probe, shared_data, tmp_path):
    folder = shared_data / "mindspore_cpu" / "dump" / "dump_all"
    probe("graph", "-tp", folder, "-o", "out")
    order = (folder / "rank_0" / ORDER).read_text().split()[1:]
    kernels = [name for name in nodes(tmp_path / "out") if name.startswith("Primitive.")]
    assert len(kernels) == len(order) == 71


# Overflows.


def test_values_that_overflow(probe, tmp_path):
    infinite = [float("inf"), 0.5, 0.25, -1.5]
    kernels_of_program(tmp_path / "graph", scaled=infinite, result=infinite)
    done = probe("overflow_check", "-i", "graph", "-o", "out")
    assert f"rank 0 step 0: {SCALE} (finite inputs, infinities or NaN in output 0)" in done.stdout
    (path,) = (tmp_path / "out").glob("overflow_kernels_*.csv")
    with path.open(newline="") as file:
        assert [row["Kernel"] for row in csv.DictReader(file)] == [
            SCALE
        ]  # the sum only passes it on
    kernels_of_program(tmp_path / "good")
    done = probe("overflow_check", "-i", "good", "-o", "none")
    assert "no kernel has an overflow record" in done.stdout and not (tmp_path / "none").exists()


def unit(task=0, stream=0, status=0):
    addresses = {"pc_start": "0x0", "para_base": "0x0"}
    return {"model_id": 0, "stream_id": stream, "task_id": task, "task_type": 0, **addresses,
            "status": status}  # fmt: skip


def test_records_of_a_device(probe, tmp_path):
    kernels = Kernels(tmp_path / "graph")
    kernels.add(LINEAR, [(X, (2, 2))], [(HIDDEN, (2, 2))], task=7, stream=3)
    kernels.add(SCALE, [(HIDDEN, (2, 2))], [(SCALED, (2, 2))], task=8, stream=3)
    units = {"DHA Atomic Add": unit(), "L2 Atomic Add": unit(), "AI Core": unit(8, 3, 32)}
    record_path = kernels.folder / "Opdebug.Node_OpDebug.9.1.500.output.0.json"
    record_path.write_text(json.dumps(units))
    done = probe("overflow_check", "-i", "graph", "-o", "out")
    assert (
        "Default_norm-RMSNorm_Mul-op1 (the device's record: status 0x20 of AI Core)" in done.stdout
    )
    # A record that is not converted is reported, a garbled one ends the search.
    (kernels.folder / "Opdebug.Node_OpDebug.9.1.600").write_bytes(b"\x00\x01")
    done = probe("overflow_check", "-i", "graph", "-o", "out")
    assert "1 overflow record in CANN's binary form" in done.stderr
    record_path.write_text('{"AI Core": {"status"')
    done = probe("overflow_check", "-i", "graph", "-o", "out", good=False)
    assert done.returncode == 1 and record_path.name in done.stderr


def test_kernels_that_a_device_dumped_for_their_overflow(probe, tmp_path):
    kernels = kernels_of_program(tmp_path / "graph")
    metadata = kernels.rank / ".dump_metadata"
    metadata.mkdir()
    settings = {"common_dump_settings": {"op_debug_mode": 3}}
    (metadata / "data_dump.json").write_text(json.dumps(settings))
    (metadata / "config.json").write_text(json.dumps({"device_target": "Ascend"}))
    done = probe("overflow_check", "-i", "graph", "-o", "out")
    assert f"{LINEAR} (MindSpore dumped it for its overflow)" in done.stdout
    # A CPU dumps all kernels in this mode.
    (metadata / "config.json").write_text(json.dumps({"device_target": "CPU"}))
    done = probe("overflow_check", "-i", "graph", "-o", "out")
    assert "no kernel has an overflow record" in done.stdout


def test_calls_of_mindspore_that_overflow(probe, tmp_path):
    folder = calls_of_program(tmp_path / "calls")
    dump = json.loads((folder / "dump.json").read_text())
    dump["data"]["Tensor.__mul__.1.forward"]["output"][0]["Max"] = float("inf")
    (folder / "dump.json").write_text(json.dumps(dump))
    done = probe("overflow_check", "-i", "calls/step0", "-o", "out")
    assert "rank 0: Tensor.__mul__.1.forward" in done.stdout
