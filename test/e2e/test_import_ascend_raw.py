"""Raw records of Ascend's profilers, read without the vendor's software, beside its own results."""

import json
import os
import struct
import subprocess
from collections import Counter

import ascend_reader as reader
import pytest

GOLDEN = "golden/torch_npu-2.14.0/framework_only_text_level1_rank0"
BESIDE = "ascend_pt/raw/db_level1_rank1_ascend_pt"
SPAN = "ascend_pt/raw/text_level1_rank0_ascend_pt"
COLLECTED = "ascend_pt/raw_torch_npu_2_13/vm_9297_20261125162210406_ascend_pt"


@pytest.fixture(name="framework")
def make_framework(shared_data, tmp_path):
    """The span folder without what the device tool has exported."""
    span = reader.copy_of(shared_data / SPAN, tmp_path / "given" / "span_ascend_pt")
    for prof in span.glob("PROF_*"):
        for path in sorted(prof.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        prof.rmdir()
    return span


@pytest.fixture(name="database", scope="module")
def analyse_beside(shared_data, tmp_path_factory, sonde):
    """Results, as databases, of a span that the device tool has exported as a database."""
    folder = tmp_path_factory.mktemp("beside")
    span = reader.copy_of(shared_data / BESIDE, folder / "span_ascend_pt")
    done = subprocess.run(
        [sonde, "analyse", span, "--export-type", "db", "-o", folder / "out"],
        capture_output=True, text=True, check=False,
        env=os.environ | {"XDG_CACHE_HOME": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (output,) = (folder / "out").rglob("ASCEND_PROFILER_OUTPUT")
    return output


@pytest.fixture(name="output")
def analyse(framework, tmp_path, run_sonde):
    done = run_sonde("analyse", framework, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "out").rglob("ASCEND_PROFILER_OUTPUT")
    return folder


@pytest.mark.parametrize(
    "name", ["operator_details.csv", "memory_record.csv", "operator_memory.csv"]
)
def test_tables_equal_those_of_torch_npu(shared_data, output, name):
    assert (output / name).read_bytes() == (shared_data / GOLDEN / name).read_bytes()


def test_timeline_equals_that_of_torch_npu(shared_data, output):
    """Numbers of Python calls are each tool's own; ours fits durations and rows of such calls, so
    that a viewer shows those that only partly overlap an operator."""

    def events(path):
        counted = Counter()
        for event in json.loads(path.read_text()):
            if event["ph"] == "M":
                continue
            arguments = dict(event.get("args", {}))
            for key in ("Python id", "Python parent id", "Python module id"):
                arguments.pop(key, None)
            if event.get("cat") == "cpu_op":  # "none" is not written by ours
                if arguments.get("Sequence number") == -1:
                    del arguments["Sequence number"]
                if arguments.get("Fwd thread id") == 0:
                    del arguments["Fwd thread id"]
            words = [event["ph"], event["name"], event["cat"], event["pid"]]
            if event["cat"] != "python_function":
                words.append(event["tid"])
            counted[json.dumps([*words, event["ts"], event.get("id"), arguments])] += 1
        return counted

    theirs, ours = (events(f / "trace_view.json") for f in (shared_data / GOLDEN, output))
    assert theirs == ours
    assert sum(ours.values()) == 2832


# Times, threads and texts of what both tools write; numbers that join tables are each tool's own.
DATABASE_ROWS = {
    "PYTORCH_API": "SELECT startNs, endNs, globalTid, n.value, sequenceNumber, fwdThreadId, "
                   "d.value, s.value, type FROM PYTORCH_API LEFT JOIN STRING_IDS n ON name = n.id "
                   "LEFT JOIN STRING_IDS d ON inputDtypes = d.id "
                   "LEFT JOIN STRING_IDS s ON inputShapes = s.id",
    "stacks": "SELECT startNs, v.value, stackDepth FROM PYTORCH_API a "
              "JOIN PYTORCH_CALLCHAINS c ON a.callchainId = c.id JOIN STRING_IDS v ON stack = v.id",
    "kernels": "SELECT a.startNs, t.startNs, k.value FROM PYTORCH_API a "
               "JOIN CONNECTION_IDS c ON a.connectionId = c.id "
               "JOIN TASK t ON t.connectionId = c.connectionId "
               "JOIN COMPUTE_TASK_INFO USING (globalTaskId) "
               "JOIN STRING_IDS k ON COMPUTE_TASK_INFO.name = k.id",
    "communication": "SELECT a.startNs, o.startNs, o.endNs, n.value FROM PYTORCH_API a "
                     "JOIN CONNECTION_IDS c ON a.connectionId = c.id "
                     "JOIN COMMUNICATION_OP o ON o.connectionId = c.connectionId "
                     "JOIN STRING_IDS n ON o.opName = n.id",
    "TASK": "SELECT startNs, endNs, deviceId, connectionId, v.value, contextId, streamId, taskId, "
            "modelId FROM TASK JOIN STRING_IDS v ON taskType = v.id",
    "CANN_API": "SELECT startNs, endNs, type, globalTid, connectionId, v.value FROM CANN_API "
                "JOIN STRING_IDS v ON name = v.id",
    "OP_MEMORY": "SELECT v.value, size, allocationTime, releaseTime, activeReleaseTime, duration, "
                 "streamPtr, deviceId FROM OP_MEMORY JOIN STRING_IDS v ON name = v.id",
    "MEMORY_RECORD": "SELECT v.value, timestamp, totalAllocated, totalReserved, streamPtr, "
                     "deviceId FROM MEMORY_RECORD JOIN STRING_IDS v ON component = v.id",
    "STEP_TIME": "SELECT id, startNs, endNs FROM STEP_TIME",
    "counters": "SELECT timestampNs, bandwidth, hbmId, v.value FROM HBM "
                "JOIN STRING_IDS v ON type = v.id",
}  # fmt: skip


@pytest.mark.parametrize("name", DATABASE_ROWS)
def test_database_beside_records_equals_that_of_torch_npu(database, shared_data, name):
    """What the device tool has exported and the framework's records are one trace."""
    golden = shared_data / "golden/torch_npu-2.14.0/db_level1_rank1"
    theirs, ours = (
        Counter(reader.open_db(path / "ascend_pytorch_profiler_1.db").execute(DATABASE_ROWS[name]))
        for path in (golden, database)
    )
    assert theirs
    assert theirs == ours


def test_steps_of_a_database_beside_records(database, shared_data):
    golden = shared_data / "golden/torch_npu-2.14.0/db_level1_rank1"
    theirs, ours = (reader.open_db(path / "analysis.db").execute("SELECT * FROM StepTraceTime")
                    .fetchall() for path in (golden, database))  # fmt: skip
    assert [row[:2] for row in theirs] == [row[:2] for row in ours]
    assert theirs[0][2:] == pytest.approx(ours[0][2:])


def test_records_beside_a_database_are_part_of_the_trace(shared_data, tmp_path, run_sonde):
    """Nothing is reported to be left out; a change of a record's file is a new trace."""
    span = reader.copy_of(shared_data / BESIDE, tmp_path / "given" / "span_ascend_pt")

    def ask():
        done = run_sonde("query", span, "SELECT count(*) FROM framework_op", "--format", "csv")
        assert "not read" not in done.stderr
        return int(done.stdout.split()[1])

    assert ask() > 400
    printed = run_sonde("query", span, "SELECT advice FROM import_issue", "--format", "csv").stdout
    assert "FRAMEWORK" not in printed
    (span / "FRAMEWORK/torch.op_range").write_bytes(b"")
    assert ask() < 100


def test_folder_as_torch_npu_collected_it(shared_data, run_sonde):
    """Operators and calls that began, all of the records, and nothing to complain of."""
    span = shared_data / COLLECTED
    records = (span / "FRAMEWORK/torch.python_tracer_func").read_bytes()
    kinds = Counter(tag for *_, tag in struct.iter_unpack("<4QB", records))
    assert kinds[0] + kinds[2] == 1948 + 5, "calls of Python and of C"
    operators, rest = 0, (span / "FRAMEWORK/torch.op_range").read_bytes()
    while rest:
        rest = rest[6 + int.from_bytes(rest[2:6], "little") :]
        operators += 1
    assert operators == 100 + 1
    done = run_sonde("query", span, "SELECT category, count(*) FROM slice GROUP BY 1 ORDER BY 1",
                     "--format", "csv")  # fmt: skip
    assert done.stdout.split()[1:] == [
        "cpu_op,100", "module,5", "python_function,1948", "user_annotation,1"
    ]  # fmt: skip
    assert run_sonde("query", span, "FROM import_issue", "--format", "csv").stdout.count("\n") == 1


def test_finished_results_are_used_by_default(shared_data, tmp_path, run_sonde):
    span = reader.copy_of(shared_data / "ascend_pt/text/level1/rank0_ascend_pt", tmp_path / "span")
    raw = shared_data / SPAN / "FRAMEWORK"
    reader.copy_of(raw, span / "FRAMEWORK")
    count = "SELECT count(*) FROM framework_op JOIN slice USING (slice_id) "
    count += "WHERE category IN ('cpu_op', 'user_annotation')"
    tasks = "SELECT count(*) FROM device_task"

    def ask(statement, **env):
        return run_sonde("query", span, statement, "--format", "csv", env=env).stdout.split()[1]

    assert ask(count) == ask(count, SONDE_ASCEND_RAW="1") == "860"
    assert int(ask(tasks)) > 0
    assert ask(tasks, SONDE_ASCEND_RAW="1") == "0"


def test_damage_is_counted(framework, run_sonde):
    path = framework / "FRAMEWORK/torch.op_range"
    path.write_bytes(path.read_bytes()[:-5])
    (framework / "FRAMEWORK/torch.something_new").write_bytes(b"\1\2")
    for info in framework.glob("profiler_info*"):
        info.unlink()
    done = run_sonde("query", framework, "SELECT code FROM import_issue ORDER BY 1",
                     "--format", "csv")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[1:] == ["files_not_read", "raw_no_clock", "raw_truncated"]
