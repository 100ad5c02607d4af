"""PROF_* folders that nobody exported: the timeline that is made of them."""

import json

import prof_writer as prof
from prof_runs import ALL_REDUCE, COPY, FUSED, MATMUL
from prof_writer import NODE, Call, Run, Task


def timeline(run_sonde, folder, output):
    """Slices of the timeline that is made of a folder, by layer: [name, begin, duration, row]."""
    done = run_sonde("analyse", folder, "-o", output)
    assert done.returncode == 0, done.stderr
    (path,) = output.rglob("trace_view.json")
    content = json.loads(path.read_text())
    layers = {e["pid"]: e["args"]["name"] for e in content if e["name"] == "process_name"}
    slices = {name: [] for name in layers.values()}
    for event in content:
        if event["ph"] == "X":
            begin = round((float(event["ts"]) - prof.WALL_US) * 1000)
            row = [event["name"], begin, event["dur"], event["tid"], event.get("args", {})]
            slices[layers[event["pid"]]].append(row)
    return slices


def test_timeline_of_tasks(write_prof, run_sonde, tmp_path):
    """Of a task in parts these are shown; what lies on planes stands here by its type."""
    layers = timeline(run_sonde, write_prof(Run([FUSED, ALL_REDUCE])), tmp_path / "out")
    tasks = [[*row[:4], row[4]["Task Id"], row[4]["Subtask Id"]]
             for row in layers["Ascend Hardware"]]  # fmt: skip
    whole = 4294967295
    assert tasks == [
        ["Fused_1", 80_000, 4.0, 7, 6, 0], ["Fused_1", 84_000, 2.0, 7, 6, 1],
        ["Fused_1", 86_000, 4.0, 7, 6, 2], ["NOTIFY_WAIT", 100_000, 1.0, 11, 7, whole],
        ["MEMCPY_ASYNC", 100_500, 2.0, 12, 8, whole],
        ["MEMCPY_ASYNC", 103_000, 1.0, 11, 9, whole],
    ]  # fmt: skip
    assert sorted(row[:4] for row in layers["Communication"]) == [
        ["Memcpy", 100_500, 2.0, 2], ["Memcpy", 103_000, 1.0, 1],
        ["Notify_Wait", 100_000, 1.0, 1], ["hcom_allReduce__586_0_1", 100_000, 4.0, 0],
    ]  # fmt: skip


def test_parts_that_run_in_parallel(write_prof, ask, run_sonde, tmp_path):
    """None is cut off where the next one begins."""
    launch = Task(41_000, 7, 6, "FFTS_PLUS", (80_000, 95_000), 0,
                  sub_tasks={0: (8, 80_000, 90_000), 1: (3, 82_000, 95_000)})  # fmt: skip
    call = Call(40_000, 44_000, NODE, "launch", "F", basic=("F", 5, "F", 8, 2, 0),
                contexts=[0, 1], tasks=[launch])  # fmt: skip
    layers = timeline(run_sonde, write_prof(Run([call])), tmp_path / "out")
    assert [row[1:3] for row in layers["Ascend Hardware"]] == [
        [80_000, 10.0], [82_000, 13.0]
    ]  # fmt: skip


def test_timeline_of_calls(write_prof, run_sonde, tmp_path):
    layers = timeline(run_sonde, write_prof(Run([MATMUL, COPY, ALL_REDUCE])), tmp_path / "out")
    calls = [[row[0], *(row[4][key] for key in ("Mode", "level", "id", "item_id"))]
             for row in layers["CANN"]]  # fmt: skip
    assert calls == [
        ["AscendCL@aclnnMatmul", "ACL_NN", "acl", "aclnnMatmul", "0"],
        ["Node@launch", "launch", "node", "0", "MatMulV2_1"],
        ["AscendCL@aclrtMemcpyAsync", "ACL_RTS", "acl", "aclrtMemcpyAsync", "0"],
        ["Node@hcom_allReduce", "hcom_allReduce", "node", "0", "hcom_allReduce_"],
        ["Communication@master", "master", "communication", "0", "0"],
        ["Communication@slave", "slave", "communication", "0", "0"],
        ["Communication@master", "master", "communication", "0", "0"],
    ]
