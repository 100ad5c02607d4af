"""Text deliverables of Ascend's profilers: the store equals an independent reading (more as cases:
cases/import_text.txt)."""

import json
import os
import shutil
from collections import Counter
from decimal import Decimal

import ascend_reader as reader
import pytest

THOROUGH = os.environ.get("SONDE_THOROUGH") == "1"
SETS = [
    "ascend_pt/text/level0/rank0_ascend_pt",
    "ascend_pt/text/level0/rank1_ascend_pt",
    "ascend_pt/text/level1/rank0_ascend_pt",
    "ascend_pt/text/level1/rank1_ascend_pt",
    # The ranks of a job have the same files: the first and the last stand for the others.
    *(
        f"ascend_pt/qwen3_tp1_pp2/rank_{rank}_ascend_pt"
        for rank in (range(4) if THOROUGH else (0, 3))
    ),
    "ascend_pt/raw/text_level1_rank0_ascend_pt",
    "ascend_pt/raw/text_level0_rank1_ascend_pt",
    "golden/torch_npu-2.14.0/text_level1_rank0",
    "golden/torch_npu-2.14.0/text_level0_rank1",
]
FLOW_KINDS = {
    "fwdbwd": "forward_backward",
    "HostToDevice": "host_to_device",
    "async_task_queue": "enqueue_dequeue",
    "async_npu": "operator_to_device",
}


@pytest.fixture(scope="module", name="span", params=SETS)
def copy_span(request, shared_data, tmp_path_factory):
    span = reader.copy_of(
        shared_data / request.param, tmp_path_factory.mktemp("text") / "span_ascend_pt"
    )
    # Raw records of the framework would be a part of the trace.
    shutil.rmtree(span / "FRAMEWORK", ignore_errors=True)
    return span


def only(span, *patterns):
    for pattern in patterns:
        found = [p for p in span.rglob(pattern) if "golden" not in p.name]
        if found:
            return found[0]
    pytest.skip(f"no {patterns[0]}")


@pytest.fixture(name="events")
def read_events(span):
    return reader.read_json(only(span, "trace_view.json", "msprof_*.json"))


def csv_rows(span, *names):
    return reader.read_csv(only(span, *names))


def test_slices(events, query):
    expected = reader.sums((e["name"], reader.ns(e["dur"])) for e in events if e["ph"] == "X")
    found = query("SELECT coalesce(name, ''), count(*), sum(dur)::BIGINT FROM slice GROUP BY 1")
    assert {name: (int(count), int(dur)) for name, count, dur in found} == expected
    expected = sorted(reader.ns(e["ts"]) for e in events if e["ph"] == "X")
    assert [int(row[0]) for row in query("SELECT ts FROM slice ORDER BY ts")] == expected


def test_flows(events, query):
    begins = {(e["cat"], e["name"], str(e["id"])) for e in events if e["ph"] == "s"}
    expected = Counter(
        FLOW_KINDS[e["cat"]]
        for e in events
        if e["ph"] == "f" and (e["cat"], e["name"], str(e["id"])) in begins
    )
    found = query("SELECT kind, count(*) FROM flow GROUP BY 1")
    assert {kind: int(count) for kind, count in found} == expected
    # Both ends are at the places in the file.
    ends = {(e["cat"], str(e["id"])): e for e in events if e["ph"] == "f"}
    for key, ts in query(
        "SELECT f.key, s.ts FROM flow f JOIN slice s ON s.slice_id = f.slice_in "
        "WHERE f.kind = 'operator_to_device'"
    ):
        assert reader.ns(ends["async_npu", key]["ts"]) == int(ts)


def test_counters(events, query):
    expected = sorted(
        (reader.ns(e["ts"]), float(value))
        for e in events
        if e["ph"] == "C"
        for key, value in e["args"].items()
        if not key.endswith("_id")  # names one of several counters
    )
    found = query(
        "SELECT ts, value FROM counter JOIN track USING (track_id) "
        "WHERE name NOT LIKE 'NPU Module%'"
    )
    assert sorted((int(ts), float(value)) for ts, value in found) == expected


def test_operators(events, query):
    expected = sorted(
        (e["name"], reader.ns(e["ts"]), e["args"].get("Sequence number", -1),
         e["args"].get("Input Dims", "").replace("\r\n", ""),
         len(e["args"]["Call stack"].split(";\r\n")) if "Call stack" in e["args"] else 0)
        for e in events if e["ph"] == "X" and e.get("cat") == "cpu_op"
    )  # fmt: skip
    found = query(
        "SELECT s.name, s.ts, coalesce(o.sequence_number, -1), coalesce(o.input_shapes, ''), "
        "(SELECT count(*) FROM callstack c WHERE c.stack_id = o.stack_id) "
        "FROM framework_op o JOIN slice s USING (slice_id) WHERE o.scope <> 4"
    )
    assert sorted((r[0], int(r[1]), int(r[2]), r[3], int(r[4])) for r in found) == expected


def test_launches(events, query):
    """Each arrow from an operator to the device, by the operator that is open then."""
    begins = {e["id"] for e in events if e.get("cat") == "async_npu" and e["ph"] == "s"}
    expected = sum(
        1 for e in events if e.get("cat") == "async_npu" and e["ph"] == "f" and e["id"] in begins
    )
    found = query(
        "SELECT (SELECT count(*) FROM device_task WHERE launch_slice_id IS NOT NULL) + "
        "(SELECT count(*) FROM communication_op WHERE launch_slice_id IS NOT NULL)"
    )
    assert int(found[0][0]) == expected


def is_communication(row):
    core = row.get("Accelerator Core", row.get("Task Type"))
    name = row.get("Name", row.get("Op Name"))
    return core in ("COMMUNICATION", "HCCL") or (core == "N/A" and name.startswith("hcom_"))


def test_kernels(span, query):
    rows = csv_rows(span, "kernel_details.csv", "op_summary_*.csv")
    expected = sorted(
        (reader.ns(r.get("Start Time(us)", r.get("Task Start Time(us)"))),
         r.get("Name", r.get("Op Name")), r.get("Type", r.get("OP Type")).replace("N/A", ""),
         r.get("Input Shapes", "").strip('"').replace("N/A", ""), r.get("Step Id", ""),
         r.get("Block Num", r.get("Block Dim", "")))
        for r in rows if not is_communication(r)
    )  # fmt: skip
    found = query(
        "SELECT d.ts, d.name, coalesce(op_type, ''), coalesce(input_shapes, ''), "
        "coalesce(step_id::VARCHAR, ''), block_num FROM device_task d "
        "WHERE core IS NOT NULL"
    )
    assert sorted((int(r[0]), *r[1:]) for r in found) == expected
    expected = sorted(
        (reader.ns(r.get("Start Time(us)", r.get("Task Start Time(us)"))),
         r.get("Name", r.get("Op Name")))
        for r in rows if is_communication(r)
    )  # fmt: skip
    found = sorted((int(ts), name) for ts, name in query("SELECT ts, name FROM communication_op"))
    assert [name for _, name in found] == [name for _, name in expected]
    # Timeline and table come from one number that was rounded twice.
    assert all(abs(a - b) <= 1 for (a, _), (b, _) in zip(found, expected))


def test_hardware_counters(span, query):
    rows = csv_rows(span, "kernel_details.csv", "op_summary_*.csv")
    if "aicore_time(us)" not in rows[0]:
        pytest.skip("no counters")
    expected = {}
    for row in rows:
        if is_communication(row):
            continue
        behind = False
        for name, cell in row.items():
            if behind and cell not in ("", "N/A"):
                expected.setdefault(name, []).append(float(cell))
            behind |= name == "Context ID"
    found = {}
    for name, value in query("SELECT metric, value FROM device_task_pmu"):
        found.setdefault(name, []).append(float(value))
    assert {k: sorted(v) for k, v in found.items()} == {k: sorted(v) for k, v in expected.items()}


def test_memory(span, query):
    rows = csv_rows(span, "operator_memory.csv", "operator_memory_*.csv")
    expected = sorted(
        (reader.ns(r["Allocation Time(us)"]), r["Name"], int(Decimal(r["Size(KB)"]) * 1024))
        for r in rows
    )
    found = query("SELECT alloc_ts, name, size_bytes FROM memory_block")
    assert sorted((int(r[0]), r[1], int(r[2])) for r in found) == expected
    rows = csv_rows(span, "memory_record.csv", "memory_record_*.csv")
    column, unit = next(
        (c, u) for c, u in (("Total Allocated(MB)", 1 << 20), ("Total Allocated(KB)", 1024))
        if c in rows[0]
    )  # fmt: skip
    expected = sorted(
        (reader.ns(r["Timestamp(us)"]), r["Component"],
         round(Decimal(r[column]) * unit) if r[column] else -1)
        for r in rows if r["Component"] != "PTA+GE"
    )  # fmt: skip
    found = query("SELECT ts, component, coalesce(total_allocated, -1) FROM memory_event")
    assert sorted((int(r[0]), r[1], int(r[2])) for r in found) == expected


def test_communication_times(span, query):
    with open(only(span, "communication.json"), encoding="utf-8") as file:
        text = json.load(file, parse_float=Decimal)
    expected = {}
    for kinds in text.values():
        for operations in kinds.values():
            for key, parts in operations.items():
                if "@" not in key:
                    continue
                times = parts["Communication Time Info"]
                expected[key] = [
                    reader.ns(times[f"{what} Time(ms)"] * 1000)
                    for what in ("Transit", "Wait", "Synchronization", "Idle")
                ]
    found = {
        f"{name}@{int(group) % (1 << 64)}": [int(value) for value in values]
        for name, group, *values in query(
            "SELECT name, group_hash, coalesce(transit_ns, -1), coalesce(wait_ns, -1), "
            "coalesce(synchronization_ns, -1), coalesce(idle_ns, -1) FROM communication_op"
        )
    }
    assert set(expected) <= set(found)
    for key, values in expected.items():
        # Numbers in the file are doubles: the last nanosecond is theirs.
        assert all(abs(a - b) <= 1 for a, b in zip(values, found[key])), key


def test_kernels_waited(span, query):
    kernels = csv_rows(span, "kernel_details.csv")
    expected = [
        reader.ns(row["Wait Time(us)"].strip())
        for row in kernels
        if row["Accelerator Core"] not in ("HCCL", "COMMUNICATION")
    ]
    found = [int(row[0]) for row in query("SELECT wait_ns FROM device_task WHERE core IS NOT NULL")]
    assert sum(expected) > 0
    assert len(found) == len(expected)
    # Begins of some sets are doubles: they are a tenth of a microsecond off.
    assert abs(sum(found) - sum(expected)) <= sum(expected) / 1000


def test_steps(span, query):
    steps = {row["Step"] for row in csv_rows(span, "step_trace_time.csv") if row["Step"]}
    if not list(span.rglob("trace_view.json")):
        pytest.skip("no timeline")
    found = {row[0] for row in query("SELECT step_id FROM step")}
    assert steps <= found


def test_exported_again_is_equal(span, run_sonde, tmp_path):
    done = run_sonde("analyse", span, "--export-type", "text", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    compared = 0
    for path in span.rglob("*"):
        if path.suffix not in (".csv", ".json") or "FRAMEWORK" in path.parts:
            continue
        if path.parent.name == "host":
            continue  # of the device tool, not of the deliverables
        again = tmp_path / "out" / span.name / path.relative_to(span)
        assert again.read_bytes() == path.read_bytes(), path.name
        compared += 1
    assert compared > 3


def test_database_form_of_texts(shared_data, tmp_path, run_sonde):
    """Text deliverables asked for as a database: kernels, counters and host calls by their rows."""
    span = reader.copy_of(shared_data / SETS[2], tmp_path / "span")
    done = run_sonde("analyse", span, "--export-type", "db", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    db = reader.open_db(tmp_path / "out/span/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db")
    texts = reader.strings_of(db)
    kernels = [r for r in csv_rows(span, "kernel_details.csv") if not is_communication(r)]
    tasks = {t[0]: t for t in reader.rows_of(db, "TASK", "globalTaskId", "startNs", "taskId")}
    found = sorted(
        (tasks[k[1]][1], texts[k[0]], texts[k[2]], texts[k[3]], str(tasks[k[1]][2]))
        for k in reader.rows_of(db, "COMPUTE_TASK_INFO", "name", "globalTaskId", "opType",
                                "inputShapes")
    )  # fmt: skip
    assert found == sorted(
        (reader.ns(r["Start Time(us)"]), r["Name"], r["Type"], r["Input Shapes"], r["Task ID"])
        for r in kernels
    )
    times = {t: v for t, n, v in reader.rows_of(db, "TASK_PMU_INFO", "globalTaskId", "name",
             "value") if texts[n] == "aic_total_time"}  # fmt: skip
    assert sorted(round(v) for v in times.values()) == sorted(
        round(float(r["aicore_time(us)"]) * 1000) for r in kernels
        if r["aicore_time(us)"] not in ("", "N/A")
    )  # fmt: skip
    events = reader.read_json(only(span, "trace_view.json"))
    (cann,) = {e["pid"] for e in events if e["ph"] == "M" and e["args"].get("name") == "CANN"}
    calls = [e for e in events if e["ph"] == "X" and e["pid"] == cann]
    expected = sorted(
        (reader.ns(e["ts"]), e["name"].split("@")[-1], (e["pid"] >> 10 << 32) | e["tid"])
        for e in calls
    )
    found = reader.rows_of(db, "CANN_API", "startNs", "name", "globalTid")
    assert sorted((ts, texts[name], tid) for ts, name, tid in found) == expected


def test_bad_tables(shared_data, tmp_path, run_sonde):
    """CR LF and commas in cells, cut off inside a quoted cell, garbled numbers, missing columns."""
    span = reader.copy_of(shared_data / SETS[2], tmp_path / "span")
    output = span / "ASCEND_PROFILER_OUTPUT"
    kernels = (output / "kernel_details.csv").read_bytes()
    lines = kernels.split(b"\r\n")
    lines[3] = lines[3].replace(b"1736408883", b"noon", 1)
    lines[4] = b'50,1,1,1,"a,b""\r\nc",x'
    (output / "kernel_details.csv").write_bytes(b"\r\n".join(lines)[:-7] + b',"open\xff')
    memory = (output / "operator_memory.csv").read_bytes()
    (output / "operator_memory.csv").write_bytes(memory.replace(b"Size(KB)", b"Weight", 1))
    (output / "memory_record.csv").write_bytes(b"")
    (output / "communication.json").write_text('{"step50": [')
    trace = (output / "trace_view.json").read_bytes()
    (output / "trace_view.json").write_bytes(trace[: len(trace) // 2])
    done = run_sonde("query", span, "SELECT code, count FROM import_issue", "--format", "csv")
    assert done.returncode == 0, done.stderr
    found = {line.split(",")[0] for line in done.stdout.split()[1:]}
    assert {"csv_bad_cell", "csv_truncated", "csv_ragged_row", "csv_missing_column", "file_empty",
            "json_garbled"} <= found  # fmt: skip
    done = run_sonde("query", span, "SELECT count(*) FROM device_task", "--format", "csv")
    assert int(done.stdout.split()[1]) > 150
