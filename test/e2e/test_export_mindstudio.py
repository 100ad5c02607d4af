"""What the device tool leaves in mindstudio_profiler_output, made from the tables of a trace."""

import csv
import json
import shutil
import struct

import ascend_reader as reader
import prof_writer as prof
import pytest
from prof_runs import ADD, ALL_REDUCE, COPY, EVENT, FUSED, MATMUL
from prof_writer import Run

# Rows of older tools; of communication at level 0 they knew no type.
NEWER = {("HCCL", "COMMUNICATION"), ("hccl", "communication"), ("N/A", "hcom_allReduce_")}
RAW = ["text_level1_rank0_ascend_pt", "text_level0_rank1_ascend_pt"]


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def export(run_sonde, folder, output):
    """{name without its time: file}, and standard error."""
    done = run_sonde("analyse", folder, "--export-type", "mindstudio", "-o", output)
    assert done.returncode == 0, done.stderr
    (made,) = output.rglob("mindstudio_profiler_output")
    return {path.name.rpartition("_")[0]: path for path in made.iterdir()}, done.stderr


def same(theirs, ours):
    """Cells: texts, or numbers, which the tool makes of doubles."""
    if theirs == ours or (theirs, ours) in NEWER:
        return True
    try:
        return abs(float(theirs) - float(ours)) <= max(0.0031, 1e-5 * float(theirs))
    except ValueError:
        return False


@pytest.mark.parametrize("name", RAW)
@pytest.mark.parametrize("table", ["op_summary", "op_statistic", "api_statistic"])
def test_tables_are_those_of_the_tool(shared_data, tmp_path, run_sonde, name, table):
    """Column by column; rows of equal totals may stand in another order."""
    span = reader.copy_of(shared_data / "ascend_pt/raw" / name, tmp_path / "given" / name)
    files, _ = export(run_sonde, span, tmp_path / "out")
    golden = list(span.glob(f"PROF_*/mindstudio_profiler_output/{table}_2*.csv"))
    if not golden:
        assert table != "op_summary"
        assert "level0" in name
        return
    theirs, ours = rows_of(golden[0]), rows_of(files[table])
    assert ours[0] == theirs[0]
    assert len(ours) == len(theirs) > 10
    if table != "op_summary":
        theirs, ours = (
            [rows[0], *sorted(rows[1:], key=lambda row: (row[2], row[1].replace("hccl", "comm")))]
            for rows in (theirs, ours)
        )
    for row, mine in zip(theirs, ours, strict=True):
        for column, cell, my_cell in zip(theirs[0], row, mine, strict=True):
            assert same(cell, my_cell), (column, row, mine)


def test_generated_tasks(write_prof, run_sonde, tmp_path):
    """Of a task in parts the first one stands for all; what is no kernel has no name."""
    run = Run([MATMUL, ADD, COPY, FUSED, ALL_REDUCE, EVENT])
    files, errors = export(run_sonde, write_prof(run), tmp_path / "out")
    assert set(files) == {"msprof", "op_summary", "op_statistic", "api_statistic", "task_time"}
    assert {path.stem.rpartition("_")[2] for path in files.values()} == {"20231114221320"}
    assert "has no place" not in errors
    header, *rows = rows_of(files["task_time"])
    assert header == ["Device_id", "kernel_name", "kernel_type", "stream_id", "task_id",
                      "task_time(us)", "task_start(us)", "task_stop(us)"]  # fmt: skip
    base = prof.WALL_US
    found = [[*row[:5], float(row[5]), round((float(row[6]) - base) * 1000)] for row in rows]
    assert found == [
        ["0", "MatMulV2_1", "AI_CORE", "7", "3", 25, 40_000],
        ["0", "Add_2", "AI_VECTOR_CORE", "7", "4", 1, 70_000],
        ["0", "N/A", "MEMCPY_ASYNC", "9", "5", 2, 72_000],
        ["0", "Fused_1", "MIX_AIC", "7", "6", 4, 80_000],
        ["0", "N/A", "NOTIFY_WAIT", "11", "7", 1, 100_000],
        ["0", "N/A", "MEMCPY_ASYNC", "12", "8", 2, 100_500],
        ["0", "N/A", "MEMCPY_ASYNC", "11", "9", 1, 103_000],
        ["0", "N/A", "EVENT_RECORD", "7", "10", 0.1, 110_000],
    ]  # fmt: skip
    for row in rows:
        assert row[6].endswith("\t") and row[7].endswith("\t")
    layers = {event["args"]["name"] for event in json.loads(files["msprof"].read_text())
              if event["name"] == "process_name"}  # fmt: skip
    assert layers == {"CANN", "Ascend Hardware", "Communication", "Overlap Analysis"}


def test_what_has_no_place_is_counted(shared_data, tmp_path, run_sonde):
    """Operators of the framework are no matter of the device tool, and no arrow lacks an end."""
    span = shared_data / "ascend_pt/text/level1/rank0_ascend_pt"
    files, errors = export(run_sonde, span, tmp_path / "out")
    assert "the form 'mindstudio' has no place for all of the trace" in errors
    assert "operators of the framework" in errors
    flows = {}
    for event in json.loads(files["msprof"].read_text()):
        if event["ph"] in "sf":
            flows.setdefault((event["cat"], str(event["id"])), []).append(event["ph"])
    assert flows
    assert {category for category, _ in flows} == {"HostToDevice"}
    assert all(sorted(ends) == ["f", "s"] for ends in flows.values())


def test_the_same_again(write_prof, run_sonde, tmp_path):
    """Again into the same folder: the same files with the same bytes, and no others."""
    folder = write_prof(Run([MATMUL, COPY]))
    first, _ = export(run_sonde, folder, tmp_path / "out")
    before = {path.name: path.read_bytes() for path in first.values()}
    again, _ = export(run_sonde, folder, tmp_path / "out")
    assert {path.name: path.read_bytes() for path in again.values()} == before


def test_database_of_the_tool(write_prof, run_sonde, ask, tmp_path):
    """Beside its folder, without the framework; read again it is the trace that it was made of."""
    folder = write_prof(Run([MATMUL, ADD, COPY, ALL_REDUCE]))
    export(run_sonde, folder, tmp_path / "out")
    (database,) = (tmp_path / "out").rglob("msprof_*.db")
    assert database.name == "msprof_20231114221320.db"
    assert (database.parent / "mindstudio_profiler_output").is_dir()
    tables = {row[0] for row in reader.open_db(database).execute("SELECT name FROM sqlite_master")}
    assert {"TASK", "COMPUTE_TASK_INFO", "COMMUNICATION_OP", "CANN_API"} <= tables
    assert not {"PYTORCH_API", "STEP_TIME", "MEMORY_RECORD"} & tables
    for statement in (
        "SELECT name, ts, dur, stream_id, queue_number FROM device_task ORDER BY ts",
        "SELECT name, ts, dur, group_name FROM communication_op",
        "SELECT level, count(*) FROM api_call GROUP BY 1 ORDER BY 1",
    ):
        assert ask(database, statement) == ask(folder, statement)


def operator(name, begin, end):
    """A record of FRAMEWORK/torch.op_range, by the host's ticks."""
    fixed = struct.pack("<qqqQQQQBB", prof.host_ticks(begin), prof.host_ticks(end), -1, 4200, 4242,
                        4242, 0, 0, 0)  # fmt: skip
    value = fixed + struct.pack("<HI", 2, len(name)) + name.encode()
    return struct.pack("<HI", 1, len(value)) + value


def test_framework_beside_texts_of_the_device(write_prof, run_sonde, tmp_path, ask):
    """Texts hold nothing of the framework: where all records are there, these are read, joined."""
    folder = write_prof(Run([MATMUL, ADD]))
    export(run_sonde, folder, tmp_path / "out")
    (made,) = (tmp_path / "out").rglob("mindstudio_profiler_output")
    span = tmp_path / "both/a_20231114221320000_ascend_pt"
    both = reader.copy_of(folder, span / folder.name)
    reader.copy_of(made, both / made.name)
    (span / "FRAMEWORK").mkdir()
    (span / "FRAMEWORK/torch.op_range").write_bytes(operator("aten::mm", 9_000, 31_000))
    tasks = "SELECT ts, dur, name FROM device_task ORDER BY ts"
    assert ask(span, tasks) == ask(folder, tasks)
    launches = (
        "SELECT t.name, s.name FROM device_task t LEFT JOIN slice s "
        "ON s.slice_id = t.launch_slice_id ORDER BY t.ts"
    )
    assert ask(span, launches) == [["MatMulV2_1", "aten::mm"], ["Add_2", ""]]
    assert "not analysed" not in run_sonde("query", span, tasks).stderr
    shutil.rmtree(both / "host/data")  # the texts know more then, and lead to the same
    assert ask(span, tasks) == ask(folder, tasks)
    assert ask(span, launches) == [["MatMulV2_1", "aten::mm"], ["Add_2", ""]]
    assert "not read" not in run_sonde("query", span, tasks).stderr


def test_raw_records_and_their_export_agree(write_prof, run_sonde, tmp_path):
    """A folder that holds both: the export is taken, or the records again by a switch."""
    run = Run([MATMUL, ADD, COPY, ALL_REDUCE])
    folder = write_prof(run)
    export(run_sonde, folder, tmp_path / "out")
    (made,) = (tmp_path / "out").rglob("mindstudio_profiler_output")
    both = reader.copy_of(folder, tmp_path / "both" / folder.name)
    statements = [
        "SELECT ts, dur, stream_id, queue_number FROM device_task ORDER BY ts",
        "SELECT name, op_type, block_num FROM device_task WHERE op_type IS NOT NULL ORDER BY ts",
        "SELECT name, ts, dur FROM communication_op",
        "SELECT op_type, core, count, total_ns FROM op_statistic ORDER BY ALL",
    ]

    def answers(**env):
        found = []
        for statement in statements:
            done = run_sonde("query", both, statement, "--format", "csv", env=env)
            assert done.returncode == 0, done.stderr
            found.append(done.stdout)
        code = "SELECT code FROM import_issue ORDER BY 1"
        return found, run_sonde("query", both, code, "--format", "csv", env=env).stdout.split()[1:]

    raw, issues = answers()
    assert issues == []
    for parts in (["text"], ["db"], ["text", "db"]):
        for name in ("mindstudio_profiler_output", "msprof_20231114221320.db"):
            path = both / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        if "text" in parts:
            reader.copy_of(made, both / made.name)
        if "db" in parts:
            shutil.copy(next((tmp_path / "out").rglob("msprof_*.db")), both)
        found, issues = answers()
        assert found == raw, parts
        found, issues = answers(SONDE_ASCEND_RAW="1")
        assert (found, issues) == (raw, [])


SAMPLED = {
    "npu_mem": "Device_id,event,ddr(KB),hbm(KB),memory(KB),timestamp(us)",
    "npu_module_mem": "Device_id,Component,Timestamp(us),Total Reserved(KB),Device",
    "hbm": "Device_id,Metric,Read(MB/s),Write(MB/s)",
    "ddr": "Device_id,Metric,Read(MB/s),Write(MB/s)",
    "llc_read_write": "Device_id,Mode,Task,Hit Rate(%),Throughput(MB/s)",
    "hccs": "Device_id,Mode,Max,Min,Average",
    "pcie": "Device_id,Mode,Min,Max,Avg",
}


def test_sampled_values_have_the_tables_of_the_tool(shared_data, tmp_path, run_sonde):
    """Means and extremes are those of the samples, which statements name."""
    archive = shared_data / "field2/ascend/prof_counters_gen2.tgz"
    if not archive.exists():
        pytest.skip(f"needs data: no {archive}")
    shutil.unpack_archive(archive, tmp_path / "given")
    (prof_folder,) = (tmp_path / "given").iterdir()
    files, _ = export(run_sonde, prof_folder, tmp_path / "out")
    tables = {name: rows_of(files[name]) for name in (*SAMPLED, "nic", "roce")}
    for name, header in SAMPLED.items():
        assert ",".join(tables[name][0]) == header
        assert len(tables[name]) > 1, name
    assert {row[1] for row in tables["npu_mem"][1:]} == {"APP", "Device"}
    assert [row[1] for row in tables["hccs"][1:]] == ["Tx", "Rx"]
    assert len(tables["pcie"]) == 8 and tables["hbm"][1][1] == "Average"
    done = run_sonde(
        "query", prof_folder, "--format", "csv",
        "SELECT avg(value) / 1048576, max(value) / 1048576, min(value) / 1048576 FROM counter "
        "JOIN track USING (track_id) WHERE name = 'HCCS Tx B/s'",
    )  # fmt: skip
    mean, most, least = map(float, done.stdout.split()[-1].split(","))
    assert [float(cell) for cell in tables["hccs"][1][2:]] == pytest.approx(
        [most, least, mean], abs=0.001
    )
    (timeline,) = (tmp_path / "out").rglob("msprof_*.json")
    counters = {e["name"] for e in json.loads(timeline.read_text()) if e["ph"] == "C"}
    assert not any("Module" in name for name in counters), "they have a table of their own"
