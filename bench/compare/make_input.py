"""Inputs of the comparison's benchmark: a long Ascend database, traces of many operators."""

import json
import shutil
import sqlite3

# Tables that are repeated; times move on, and so does what ties rows to each other.
MOMENTS = ("startNs", "endNs")
TABLES = ("PYTORCH_API", "CANN_API", "TASK", "COMMUNICATION_OP", "STEP_TIME", "COMPUTE_TASK_INFO",
          "COMMUNICATION_TASK_INFO", "CONNECTION_IDS")  # fmt: skip
TIES = ("connectionId", "globalTaskId", "sequenceNumber", "opId", "id")
UNSET = 4294967295  # what stands for no connection
STRIDE = 10_000_000  # beyond the numbers of one step


def repeat_step(source, target, times):
    """A copy of a rank's folder whose one step is there `times` times, one after the other."""
    shutil.copytree(source, target)
    for path in target.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (path,) = target.rglob("ascend_pytorch_profiler_*.db")
    database = sqlite3.connect(path)
    begin, end = database.execute("SELECT min(startNs), max(endNs) FROM PYTORCH_API").fetchone()
    period = int(1.01 * (int(end) - int(begin)))
    for table in TABLES:
        names = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        moved = {}
        for name in names:
            if name in MOMENTS:
                moved[name] = f"{name} + {period} * n"
            elif name in TIES:
                stride = 1 if table == "STEP_TIME" else STRIDE
                moved[name] = (
                    f"CASE WHEN {name} < {UNSET} THEN {name} + {stride} * n ELSE {name} END"
                )
        database.execute(f"CREATE TABLE more AS SELECT * FROM {table}")
        values = ", ".join(moved.get(name, name) for name in names)
        database.execute(
            "WITH RECURSIVE turns(n) AS"
            f" (SELECT 1 UNION ALL SELECT n + 1 FROM turns WHERE n + 1 < {times})"
            f" INSERT INTO {table} SELECT {values} FROM turns, more ORDER BY n, more.rowid"
        )
        database.execute("DROP TABLE more")
    database.commit()
    database.execute("VACUUM")
    database.close()
    return path.stat().st_size


def write_trace(path, operators, slower=1.0, steps=10):
    """A trace as the PyTorch profiler writes it: `operators` operators on the host, a
    quarter of them with a kernel; one kind of kernel takes `slower` times as long."""
    kinds = [("aten::mm", 40), ("aten::add", 6), ("aten::layer_norm", 12), ("aten::relu", 5)]
    thread = {"ph": "X", "pid": 1, "tid": 1}
    ts, number = 1000.0, 0
    with path.open("w") as file:
        file.write('{"schemaVersion":1,"traceEvents":[\n')
        for step in range(steps):
            begin = ts
            for _ in range(operators // steps // 4):
                name, usual = kinds[number % len(kinds)]
                number += 1
                dur = usual * (slower if name == "aten::mm" else 1.0)
                host = {**thread, "cat": "cpu_op"}
                ids = {"External id": number, "Sequence number": number}
                launch = {"correlation": number}
                inner = [
                    {**host, "name": f"{name}_{depth}", "ts": ts + depth * 0.5, "dur": 7.5 - depth,
                     "args": {"External id": number}}
                    for depth in (1, 2, 3)
                ]  # fmt: skip
                events = [
                    {**host, "name": name, "ts": ts, "dur": 8.0, "args": ids}, *inner,
                    {**thread, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": ts + 2.5,
                     "dur": 1.0, "args": launch},
                    {"ph": "X", "pid": 0, "tid": 7, "cat": "kernel", "name": f"kernel_{name[6:]}",
                     "ts": ts + 6, "dur": dur, "args": {**launch, "stream": 7, "device": 0}},
                ]  # fmt: skip
                file.write("".join(json.dumps(event) + ",\n" for event in events))
                ts += dur + 9
            event = {**thread, "cat": "user_annotation", "name": f"ProfilerStep#{step}",
                     "ts": begin, "dur": ts - begin - 0.5}  # fmt: skip
            file.write(json.dumps(event) + (",\n" if step + 1 < steps else "\n"))
        file.write("]}\n")
