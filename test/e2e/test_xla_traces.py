"""Lanes of XLA's devices: streams are work, what encloses them is not; other lanes are none."""

import json

import pytest


def write(path, process, lanes):
    """A process with lanes, (name, [(slice, begin, duration)]) each."""
    events = [{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": process}}]
    for tid, (lane, slices) in enumerate(lanes, start=1):
        events.append(
            {"ph": "M", "pid": 1, "tid": tid, "name": "thread_name", "args": {"name": lane}}
        )
        for name, ts, dur in slices:
            events.append({"ph": "X", "pid": 1, "tid": tid, "ts": ts, "dur": dur, "name": name})
    path.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    return path


STEP = ("Steps", [("0", 0, 100)])
OPS = ("XLA Ops", [("fusion.1", 0, 40), ("fusion.2", 50, 40)])
STREAM = ("Stream #13(Compute)", [("input_fusion", 0, 30), ("ncclDevKernel_AllReduce_x", 50, 20)])
BOTH = ["input_fusion GPU 0", "ncclDevKernel_AllReduce_x COMMUNICATION 0"]
CASES = [
    ("/device:GPU:0", [STEP, OPS, STREAM], BOTH),
    ("/device:TPU:1", [STEP, OPS], ["fusion.1 GPU 0", "fusion.2 GPU 0"]),
    ("/device:GPU:0", [STEP, OPS], []),
    ("/host:CPU", [STEP, OPS, STREAM], []),
    ("my /device:GPU:0", [STEP, STREAM], []),
]


@pytest.mark.parametrize(("process", "lanes", "tasks"), CASES)
def test_work_is_what_lies_on_streams(process, lanes, tasks, run_sonde, tmp_path):
    trace = write(tmp_path / "t.trace.json", process, lanes)
    statement = "SELECT name || ' ' || core || ' ' || step_id AS task FROM device_task ORDER BY ts"
    done = run_sonde("query", trace, statement, "--format", "csv")
    assert done.stdout.splitlines()[1:] == tasks
    if not tasks:
        printed = run_sonde("analyse", trace, "-o", tmp_path / "out").stdout
        assert "no work of a device is known in this trace" in printed
