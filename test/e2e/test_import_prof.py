"""PROF_* folders that nobody exported: the described records are what is read."""

import csv
import shutil
import struct

import prof_writer as prof
import pytest
from prof_runs import ADD, ALL, COPY, EVENT, MATMUL, issues, mark
from prof_writer import NODE, Call, Run, Task, utc_ns

TASKS = "SELECT name, ts, dur, stream_id, queue_number FROM device_task ORDER BY ts, dur"


@pytest.mark.parametrize("events", [False, True])
@pytest.mark.parametrize("slice_bytes", [100, 1 << 20])
def test_tasks_and_their_descriptions(write_prof, ask, events, slice_bytes):
    """However the streams are cut, and however calls were recorded."""
    folder = write_prof(Run(ALL, events=events, slice_bytes=slice_bytes))
    assert issues(ask, folder) == {}
    found = ask(folder, "SELECT name, task_type, core, op_type, ts, dur, stream_id, queue_number, "
                "context_id FROM device_task ORDER BY ts, dur")  # fmt: skip

    def task(name, kind, core, op_type, ran, stream, number, context=""):
        begin, end = ran
        return [name, kind, core, op_type, *map(str, (utc_ns(begin), end - begin, stream, number)),
                str(context)]  # fmt: skip

    assert found == [
        task("MatMulV2_1", "KERNEL_AICORE", "AI_CORE", "MatMulV2", (40_000, 65_000), 7, 3),
        task("Add_2", "KERNEL_AIVEC", "AI_VECTOR_CORE", "Add", (70_000, 71_000), 7, 4),
        task("MEMCPY_ASYNC", "MEMCPY_ASYNC", "", "", (72_000, 74_000), 9, 5),
        task("Fused_1", "MIX_AIC", "MIX_AIV", "Fused", (80_000, 84_000), 7, 6, 0),
        task("AI_CORE", "AI_CORE", "", "", (80_000, 90_000), 7, 6),
        task("Fused_1", "AIV", "MIX_AIV", "Fused", (84_000, 86_000), 7, 6, 1),
        task("Fused_1", "SDMA", "MIX_AIV", "Fused", (86_000, 90_000), 7, 6, 2),
        task("Notify_Wait", "NOTIFY_WAIT", "", "", (100_000, 101_000), 11, 7),
        task("Memcpy", "MEMCPY_ASYNC", "", "", (100_500, 102_500), 12, 8),
        task("Memcpy", "MEMCPY_ASYNC", "", "", (103_000, 104_000), 11, 9),
        task("EVENT_RECORD", "EVENT_RECORD", "", "", (110_000, 110_100), 7, 10),
    ]


def test_shapes_and_cores(write_prof, ask):
    folder = write_prof(Run(ALL))
    columns = ("block_num, mix_block_num, input_formats, input_types, input_shapes, output_shapes, "
               "op_state, hf32")  # fmt: skip
    statement = (
        f"SELECT DISTINCT name, {columns} FROM device_task WHERE op_type IS NOT NULL ORDER BY 1"
    )
    assert ask(folder, statement) == [
        ["Add_2", "48", "96", ";".join(["ND"] * 6), ";".join(["FLOAT"] * 6), ";".join(["4,5"] * 6),
         "4,5", "dynamic", "NO"],
        ["Fused_1", "8", "16", "", "", "", "", "static", "NO"],
        ["MatMulV2_1", "24", "0", "ND;FRACTAL_NZ;ND", "FLOAT16;FLOAT16;INT32", "32,64;64,16;",
         "32,16", "static", "YES"],
    ]  # fmt: skip


def test_calls_lead_to_their_tasks(write_prof, ask):
    folder = write_prof(Run(ALL))
    arrows = ask(folder, "SELECT o.name, i.name FROM flow JOIN slice o ON slice_out = o.slice_id "
                 "JOIN slice i ON slice_in = i.slice_id ORDER BY i.ts, i.dur, 1")  # fmt: skip
    assert arrows == [
        ["launch", "MatMulV2_1"], ["launch", "Add_2"], ["aclrtMemcpyAsync", "MEMCPY_ASYNC"],
        ["launch", "Fused_1"], ["launch", "AI_CORE"], ["launch", "Fused_1"], ["launch", "Fused_1"],
        ["hcom_allReduce", "Notify_Wait"], ["hcom_allReduce", "hcom_allReduce__586_0_1"],
        ["hcom_allReduce", "Memcpy"], ["hcom_allReduce", "Memcpy"],
    ]  # fmt: skip
    levels = ask(folder, "SELECT level, count(*) FROM api_call GROUP BY 1 ORDER BY 1")
    assert levels == [["acl", "2"], ["communication", "3"], ["node", "4"]]
    tied = "SELECT count(*) FROM device_task t JOIN api_call c USING (connection_id)"
    assert ask(folder, tied) == [["10"]], "all but the event outside of every call"


def test_communication(write_prof, ask):
    """An operation lasts from the first to the last of its main tasks."""
    folder = write_prof(Run(ALL))
    statement = ("SELECT name, op_type, ts, dur, group_name, data_type, algorithm, count, "
                 "size_bytes, rank_size FROM communication_op")  # fmt: skip
    assert ask(folder, statement) == [
        ["hcom_allReduce__586_0_1", "allreduce", str(utc_ns(100_000)), "4000", "group_name_586",
         "FP32", "MESH-RING", "1024", "4096", "2"]
    ]  # fmt: skip
    transits = ask(folder, "SELECT transport, src_rank, dst_rank, size_bytes, duration_ns, "
                   "packet_count FROM communication_transit")  # fmt: skip
    assert transits == [["HCCS", "0", "1", "8000", "3000", "2"]]
    bandwidth = ask(folder, "SELECT s.name, value FROM args JOIN slice s USING (args_id) "
                    "WHERE key = 'bandwidth(GB/s)' ORDER BY ts")  # fmt: skip
    assert [[name, float(value)] for name, value in bandwidth] == [
        ["Notify_Wait", 0.0], ["Memcpy", 2.0], ["Memcpy", 4.0]
    ]  # fmt: skip


def test_numbers_of_tasks_restart(write_prof, ask):
    """The same number names two tasks of a stream, before and behind a flip."""

    def launch(k, number, ran):
        begin = 10_000 * k
        return Call(begin, begin + 5000, NODE, "launch", f"Op_{k}",
                    basic=(f"Op_{k}", 0, "Op", 1, 0, 0),
                    tasks=[Task(begin + 2000, 7, number, "KERNEL_AICORE", ran)])  # fmt: skip

    # Sent between two tasks, the flip is recorded behind the first one of the new round (number 0).
    calls = [launch(1, 65_534, (100_000, 101_000)), launch(2, 0, (110_000, 111_000)),
             Task(27_000, 7, 1, "FLIP_TASK", flip=1),
             launch(3, 65_534, (130_000, 131_000))]  # fmt: skip
    folder = write_prof(Run(calls, flips=[(105_000, 7, 1, 0)]))
    assert issues(ask, folder) == {}
    assert ask(folder, TASKS) == [
        ["Op_1", str(utc_ns(100_000)), "1000", "7", "65534"],
        ["Op_2", str(utc_ns(110_000)), "1000", "7", "0"],
        ["Op_3", str(utc_ns(130_000)), "1000", "7", "65534"],
    ]


def test_what_else_the_scheduler_recorded_is_counted(write_prof, ask):
    folder = write_prof(Run([MATMUL, ADD, COPY]))
    step = struct.pack("<BBHIQ", 0, 12, 0, 0, 1).ljust(40, b"\0")
    (folder / "device_0/data").mkdir(exist_ok=True)
    (folder / "device_0/data/ts_track.data.0.slice_0").write_bytes(2 * step)
    (folder / "device_0/data/ts_track.data.0.slice_0.done").write_bytes(b"")
    assert issues(ask, folder) == {"raw_track_record": "2"}


def test_newer_chips_number_tasks_throughout(write_prof, ask):
    """Their log holds no stream: that of the host."""
    folder = write_prof(Run([MATMUL, ADD, COPY], chip=15))
    assert issues(ask, folder) == {}
    assert ask(folder, TASKS) == [
        ["MatMulV2_1", str(utc_ns(40_000)), "25000", "7", "3"],
        ["Add_2", str(utc_ns(70_000)), "1000", "7", "4"],
        ["MEMCPY_ASYNC", str(utc_ns(72_000)), "2000", "9", "5"],
    ]


@pytest.mark.parametrize("chip", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("slice_bytes", [100, 1 << 20])
def test_chips_before_stars(write_prof, ask, chip, slice_bytes):
    """Their scheduler has a log of its own; names and shapes are those of the host."""
    folder = write_prof(Run([MATMUL, ADD, COPY, EVENT], chip=chip, slice_bytes=slice_bytes))
    assert issues(ask, folder) == {}
    assert ask(folder, TASKS) == [
        ["MatMulV2_1", str(utc_ns(40_000)), "25000", "7", "3"],
        ["Add_2", str(utc_ns(70_000)), "1000", "7", "4"],
        ["MEMCPY_ASYNC", str(utc_ns(72_000)), "2000", "9", "5"],
        ["EVENT_RECORD", str(utc_ns(110_000)), "100", "7", "10"],
    ]
    tied = "SELECT count(*) FROM device_task JOIN api_call USING (connection_id)"
    assert int(ask(folder, tied)[0][0]) >= 3


def test_types_of_tasks_before_stars(write_prof, ask):
    """Without a host they have the names of their queues; vector cores have a log of their own."""
    kinds = [(0, "AI_CORE"), (1, "AI_CPU"), (7, "NOTIFY_WAIT_SQE"), (9, "SDMA_SQE"),
             (10, "MAX_SQE"), (11, "Other")]  # fmt: skip
    records = b""
    for k, (queue, _) in enumerate(kinds):
        task = Task(0, 2047, 100 + k, "", queue_type=queue)
        for end in (0, 1):
            records += prof.hwts_record(task, end, 200_000 + 1000 * k + 500 * end)
    neither = bytes([2]) + records[1:64]  # has no begin and no end
    vector = Task(0, 3, 9, "", queue_type=2)
    run = Run([MATMUL], chip=4)
    run.extra = {("device_0", "hwts.data.0"): records + neither,
                 ("device_0", "hwts.aiv_data.0"): b"".join(
                     prof.hwts_record(vector, end, 300_000 + end) for end in (0, 1))}  # fmt: skip
    folder = write_prof(run)
    assert issues(ask, folder) == {}
    found = ask(folder, "SELECT name, stream_id, dur FROM device_task ORDER BY ts")
    assert found[1:-1] == [[name, "2047", "500"] for _, name in kinds]
    assert found[-1][:2] == ["AIV_SQE", "3"]


def test_numbers_that_restart_before_stars(write_prof, ask):
    """Distinguished by the flips of both sides, as on newer chips."""
    calls = [
        Call(
            at,
            at + 900,
            NODE,
            "launch",
            name,
            basic=(name, 0, name, 1, 0, 0),
            tasks=[Task(at + 500, 7, 3, "KERNEL_AICORE", (ran, ran + 1000), flip=flip)],
        )
        for at, name, ran, flip in ((10_000, "A", 40_000, 0), (30_000, "B", 80_000, 1))
    ]
    flip = Task(20_000, 7, 0, "FLIP_TASK", flip=1)
    folder = write_prof(Run([*calls, flip], chip=1, flips=[(60_000, 7, 0, 0)]))
    assert ask(folder, TASKS) == [["A", str(utc_ns(40_000)), "1000", "7", "3"],
                                  ["B", str(utc_ns(80_000)), "1000", "7", "3"]]  # fmt: skip


def test_an_unknown_chip_is_named(write_prof, ask):
    folder = write_prof(Run([MATMUL], chip=99))
    assert issues(ask, folder) == {"raw_old_chip": "1"}
    assert ask(folder, "SELECT count(*) > 0 FROM api_call") == [["true"]]


def test_task_without_a_host_and_host_without_a_task(write_prof, ask):
    lost = Task(15_000, 7, 3, "KERNEL_AICORE")
    alone = Task(61_000, 20, 40, "KERNEL_AICORE", (120_000, 121_000), 0, device=0)
    run = Run([Call(12_000, 20_000, NODE, "launch", "Lost", basic=("Lost", 0, "L", 1, 0, 0),
                    tasks=[lost]), EVENT])  # fmt: skip
    folder = write_prof(run)
    stars = folder / "device_0/data/stars_soc.data.0.slice_0"
    extra = prof.stars_record(run, alone, 0, 120_000) + prof.stars_record(run, alone, 1, 121_000)
    stars.write_bytes(extra)
    for path in stars.parent.glob("stars_soc*slice_[1-9]*"):
        path.unlink()
    # Tied to no call: also once deliverables have given every task a connection.
    tied = "SELECT name, connection_id IN (SELECT connection_id FROM api_call) FROM device_task"
    assert ask(folder, tied) == [["AI_CORE", "false"]]


def test_missing_slices_and_ends_are_counted(write_prof, ask):
    folder = write_prof(Run(ALL))
    data = folder / "device_0/data"
    (data / "stars_soc.data.0.slice_2").unlink()
    (data / "stars_soc.data.0.slice_1.done").unlink()
    found = issues(ask, folder)
    assert found["raw_slice_missing"] == "1"
    assert found["raw_not_closed"] == "1"
    assert int(found["raw_part_of_record"]) > 0
    assert int(found["raw_task_unpaired"]) > 0
    assert len(ask(folder, TASKS)) == 9


def test_deleted_head_and_killed_writer(write_prof, ask):
    """Whichever end of a stream lacks a part of a record, the others are whole."""
    folder = write_prof(Run(ALL))
    tracks = sorted((folder / "host/data").glob("*task_track.slice_*[0-9]"))
    tracks[0].write_bytes(tracks[0].read_bytes()[20:])  # aging deletes from the head
    assert issues(ask, folder)["raw_part_of_record"] == "44"
    assert ask(folder, TASKS)[0][0] == "AI_CORE", "its launch is lost"
    assert ask(folder, TASKS)[1][0] == "Add_2"


def test_no_dictionary(write_prof, ask):
    folder = write_prof(Run([MATMUL, EVENT]))
    for path in (folder / "host/data").glob("*hash_dic*"):
        path.unlink()
    (kernel, event) = ask(folder, TASKS)
    assert kernel[0] == str(prof.text_hash("MatMulV2_1"))
    assert event[0] == "EVENT_RECORD"
    assert int(issues(ask, folder)["raw_unknown_hash"]) > 0


@pytest.mark.parametrize("name", ["info.json.0", "host_start.log.0", "dev_start.log.0"])
def test_device_without_a_clock(write_prof, ask, name):
    folder = write_prof(Run(ALL))
    (folder / "device_0" / name).unlink()
    assert issues(ask, folder)["raw_no_device_clock"] == "1"
    assert ask(folder, TASKS) == []
    assert ask(folder, "SELECT count(*) FROM api_call") == [["9"]]


def test_cut_off_and_garbled(write_prof, ask, run_sonde, tmp_path):
    """Every file of a small folder, cut at some byte or with other bytes: never the end."""
    folder = write_prof(Run([MATMUL], slice_bytes=1 << 20))
    whole = tmp_path / "whole"
    shutil.copytree(folder, whole)
    for path in sorted(p for p in whole.rglob("*") if p.is_file() and p.suffix != ".done"):
        content = path.read_bytes()
        target = folder / path.relative_to(whole)
        for bad in (content[: len(content) // 2], b"\xff" * len(content), b""):
            target.write_bytes(bad)
            done = run_sonde("query", folder, "SELECT count(*) FROM device_task")
            assert done.returncode == 0, (path, done.stderr)
        target.write_bytes(content)
    assert ask(folder, TASKS)[0][0] == "MatMulV2_1"


def test_deliverables(write_prof, run_sonde, tmp_path):
    """A folder that nobody exported has the files of one that was."""
    folder = write_prof(Run(ALL))
    done = run_sonde("analyse", folder, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    (output,) = (tmp_path / "out").rglob("ASCEND_PROFILER_OUTPUT")
    names = {path.name for path in output.iterdir()}
    assert {"kernel_details.csv", "op_statistic.csv", "api_statistic.csv", "communication.json",
            "trace_view.json"} <= names  # fmt: skip
    with open(output / "kernel_details.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    matmul = next(row for row in rows if row["Name"] == "MatMulV2_1")
    assert matmul["Duration(us)"] == "25.000"
    assert matmul["Input Shapes"] == '"32,64;64,16;"'


def test_marks_of_the_program(write_prof, ask):
    """A long message lies in several records of one number, in any order."""
    domain = prof.text_hash("Add_2")  # a text of the dictionary
    records = [
        mark(2, "behind", 20_000, 26_000, 7, segment=1),
        mark(0, "now", 30_000, 30_000, 8),
        mark(2, "before ", 20_000, 26_000, 7),
        mark(1, "pushed", 40_000, 45_000, 9, domain=domain),
        mark(1, "old", 50_000, 51_000, 0, is_extended=False),
        mark(9, "bad", 1, 2, 10),
    ]
    extra = {("host", "unaging.additional.msproftx"): b"".join(records)}
    folder = write_prof(Run([ADD], extra=extra))
    assert ask(folder, "SELECT ts, dur, kind, message, domain FROM mark ORDER BY ts") == [
        [str(utc_ns(begin)), str(dur), *texts] for begin, dur, *texts in (
            (20_000, 6000, "start_end", "before behind", "default"),
            (30_000, 0, "marker", "now", "default"),
            (40_000, 5000, "push_pop", "pushed", "Add_2"),
            (50_000, 1000, "push_pop", "old", "default"))
    ]  # fmt: skip
    assert issues(ask, folder) == {"raw_bad_record": "1"}
    assert ask(folder, "SELECT name, dur FROM slice WHERE category = 'range' ORDER BY ts") == [
        ["before behind", "6000"], ["pushed", "5000"], ["old", "1000"]
    ]  # fmt: skip


def test_what_is_not_read_is_named(write_prof, ask):
    extra = {
        ("device_0", "tscpu.data.0"): b"0" * 72,
        ("host", "unaging.additional.new_kind"): b"1",
    }
    folder = write_prof(Run([MATMUL], extra=extra))
    ((code, advice),) = ask(folder, "SELECT code, advice FROM import_issue")
    assert code == "files_not_read"
    assert "device_0/data/tscpu.data" in advice
    assert "host/data/unaging.additional.new_kind" in advice
