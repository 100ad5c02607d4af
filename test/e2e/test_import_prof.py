"""PROF_* folders that nobody exported: what a description says was recorded is what is read."""

import csv
import io
import shutil
import struct

import prof_writer as prof
import pytest
from prof_writer import ACL, COMMUNICATION, NODE, Call, Counters, Run, Task, utc_ns

MATMUL = Call(
    10_000,
    30_000,
    ACL,
    "aclnnMatmul",
    calls=[
        Call(
            12_000,
            20_000,
            NODE,
            "launch",
            "MatMulV2_1",
            basic=("MatMulV2_1", 0, "MatMulV2", 24, 0, 1),
            inputs=[(2, 1, (32, 64)), (29, 1, (64, 16)), (2, 3, ())],
            outputs=[(2, 1, (32, 16))],
            tasks=[Task(15_000, 7, 3, "KERNEL_AICORE", (40_000, 65_000))],
        )
    ],
)
ADD = Call(
    32_000,
    36_000,
    NODE,
    "launch",
    "Add_2",
    basic=("Add_2", 2, "Add", 40, 0, 0),
    is_dynamic=True,
    inputs=[(2, 0, (4, 5))] * 6,
    outputs=[(2, 0, (4, 5))],
    tasks=[Task(34_000, 7, 4, "KERNEL_AIVEC", (70_000, 71_000), 2, blocks=(48, 2))],
)
COPY = Call(
    38_000,
    39_000,
    ACL,
    "aclrtMemcpyAsync",
    copy=(4096, 4096, 1),
    tasks=[Task(38_500, 9, 5, "MEMCPY_ASYNC", (72_000, 74_000), 11)],
)
FUSED = Call(
    40_000,
    44_000,
    NODE,
    "launch",
    "Fused_1",
    basic=("Fused_1", 5, "Fused", 8, 2, 0),
    contexts=[0, 1, 2],
    tasks=[
        Task(41_000, 7, 6, "FFTS_PLUS", (80_000, 90_000), 0,
             sub_tasks={0: (6, 80_000, 84_000), 1: (1, 84_000, 86_000), 2: (8, 86_000, 90_000)})
    ],
)  # fmt: skip


def transfer(item, size, plane=0):
    return {"item": item, "group": "group_name_586", "src": 0, "dst": 1, "ranks": 2,
            "plane": plane, "notify": 77, "size": size, "type": 4, "link": 1,
            "transport": 0}  # fmt: skip


ALL_REDUCE = Call(
    50_000,
    58_000,
    NODE,
    "hcom_allReduce",
    "hcom_allReduce_",
    basic=("hcom_allReduce_", 9, "hcom_allReduce_", 0, 0, 0),
    operation=(4, "MESH-RING", 1024, "group_name_586"),
    calls=[
        Call(51_000, 52_000, COMMUNICATION, "master", transfer=transfer("Notify_Wait", 0),
             tasks=[Task(51_500, 11, 7, "NOTIFY_WAIT", (100_000, 101_000), 7)]),
        Call(53_000, 54_000, COMMUNICATION, "slave", transfer=transfer("Memcpy", 4000, 1),
             tasks=[Task(53_500, 12, 8, "MEMCPY_ASYNC", (100_500, 102_500), 11)]),
        Call(55_000, 56_000, COMMUNICATION, "master", transfer=transfer("Memcpy", 4000),
             tasks=[Task(55_500, 11, 9, "MEMCPY_ASYNC", (103_000, 104_000), 11)]),
    ],
)  # fmt: skip
EVENT = Task(60_000, 7, 10, "EVENT_RECORD", (110_000, 110_100), 4)
ALL = [MATMUL, ADD, COPY, FUSED, ALL_REDUCE, EVENT]


@pytest.fixture(name="write")
def make_writer(tmp_path):
    def write(run):
        return prof.write(
            run, tmp_path / "given" / "PROF_000001_20250109081616713_0004200ABCDEFGHA"
        )

    return write


@pytest.fixture(name="ask")
def make_query(run_sonde):
    def ask(folder, statement):
        done = run_sonde("query", folder, statement, "--format", "csv")
        assert done.returncode == 0, done.stderr
        return list(csv.reader(io.StringIO(done.stdout)))[1:]

    return ask


def issues(ask, folder):
    return dict(
        ask(folder, "SELECT code, sum(count)::BIGINT FROM import_issue GROUP BY 1 ORDER BY 1")
    )


TASKS = "SELECT name, ts, dur, stream_id, queue_number FROM device_task ORDER BY ts, dur"


@pytest.mark.parametrize("events", [False, True])
@pytest.mark.parametrize("slice_bytes", [100, 1 << 20])
def test_tasks_and_their_descriptions(write, ask, events, slice_bytes):
    """However the streams are cut, and however calls were recorded."""
    folder = write(Run(ALL, events=events, slice_bytes=slice_bytes))
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


def test_shapes_and_cores(write, ask):
    folder = write(Run(ALL))
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


def test_calls_lead_to_their_tasks(write, ask):
    folder = write(Run(ALL))
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


def test_communication(write, ask):
    """An operation lasts from the first to the last of its main tasks."""
    folder = write(Run(ALL))
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


def test_numbers_of_tasks_begin_anew(write, ask):
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
    folder = write(Run(calls, flips=[(105_000, 7, 1, 0)]))
    assert issues(ask, folder) == {}
    assert ask(folder, TASKS) == [
        ["Op_1", str(utc_ns(100_000)), "1000", "7", "65534"],
        ["Op_2", str(utc_ns(110_000)), "1000", "7", "0"],
        ["Op_3", str(utc_ns(130_000)), "1000", "7", "65534"],
    ]


def test_what_else_the_scheduler_recorded_is_counted(write, ask):
    folder = write(Run([MATMUL, ADD, COPY]))
    step = struct.pack("<BBHIQ", 0, 10, 0, 0, 1).ljust(40, b"\0")
    (folder / "device_0/data").mkdir(exist_ok=True)
    (folder / "device_0/data/ts_track.data.0.slice_0").write_bytes(2 * step)
    (folder / "device_0/data/ts_track.data.0.slice_0.done").write_bytes(b"")
    assert issues(ask, folder) == {"raw_track_record": "2"}


def test_newer_chips_number_tasks_throughout(write, ask):
    """Their log holds no stream: that of the host."""
    folder = write(Run([MATMUL, ADD, COPY], chip=15))
    assert issues(ask, folder) == {}
    assert ask(folder, TASKS) == [
        ["MatMulV2_1", str(utc_ns(40_000)), "25000", "7", "3"],
        ["Add_2", str(utc_ns(70_000)), "1000", "7", "4"],
        ["MEMCPY_ASYNC", str(utc_ns(72_000)), "2000", "9", "5"],
    ]


def test_task_without_a_host_and_host_without_a_task(write, ask):
    lost = Task(15_000, 7, 3, "KERNEL_AICORE")
    alone = Task(61_000, 20, 40, "KERNEL_AICORE", (120_000, 121_000), 0, device=0)
    run = Run([Call(12_000, 20_000, NODE, "launch", "Lost", basic=("Lost", 0, "L", 1, 0, 0),
                    tasks=[lost]), EVENT])  # fmt: skip
    folder = write(run)
    stars = folder / "device_0/data/stars_soc.data.0.slice_0"
    extra = prof.stars_record(run, alone, 0, 120_000) + prof.stars_record(run, alone, 1, 121_000)
    stars.write_bytes(extra)
    for path in stars.parent.glob("stars_soc*slice_[1-9]*"):
        path.unlink()
    assert ask(folder, "SELECT name, connection_id FROM device_task") == [["AI_CORE", ""]]


def test_missing_slices_and_ends_are_counted(write, ask):
    folder = write(Run(ALL))
    data = folder / "device_0/data"
    (data / "stars_soc.data.0.slice_2").unlink()
    (data / "stars_soc.data.0.slice_1.done").unlink()
    found = issues(ask, folder)
    assert found["raw_slice_missing"] == "1"
    assert found["raw_not_closed"] == "1"
    assert int(found["raw_part_of_record"]) > 0
    assert int(found["raw_task_unpaired"]) > 0
    assert len(ask(folder, TASKS)) == 9


def test_deleted_head_and_killed_writer(write, ask):
    """Whichever end of a stream lacks a part of a record, the others are whole."""
    folder = write(Run(ALL))
    tracks = sorted((folder / "host/data").glob("*task_track.slice_*[0-9]"))
    tracks[0].write_bytes(tracks[0].read_bytes()[20:])  # aging deletes from the head
    assert issues(ask, folder)["raw_part_of_record"] == "44"
    assert ask(folder, TASKS)[0][0] == "AI_CORE", "its launch is lost"
    assert ask(folder, TASKS)[1][0] == "Add_2"


def test_no_dictionary(write, ask):
    folder = write(Run([MATMUL, EVENT]))
    for path in (folder / "host/data").glob("*hash_dic*"):
        path.unlink()
    (kernel, event) = ask(folder, TASKS)
    assert kernel[0] == str(prof.text_hash("MatMulV2_1"))
    assert event[0] == "EVENT_RECORD"
    assert int(issues(ask, folder)["raw_unknown_hash"]) > 0


@pytest.mark.parametrize("name", ["info.json.0", "host_start.log.0", "dev_start.log.0"])
def test_device_without_a_clock(write, ask, name):
    folder = write(Run(ALL))
    (folder / "device_0" / name).unlink()
    assert issues(ask, folder)["raw_no_device_clock"] == "1"
    assert ask(folder, TASKS) == []
    assert ask(folder, "SELECT count(*) FROM api_call") == [["9"]]


def test_cut_off_and_garbled(write, ask, run_sonde, tmp_path):
    """Every file of a small folder, cut at some byte or with other bytes: never the end."""
    folder = write(Run([MATMUL], slice_bytes=1 << 20))
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


def test_deliverables(write, run_sonde, tmp_path):
    """A folder that nobody exported has the files of one that was."""
    folder = write(Run(ALL))
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


PIPES = {
    "ai_core_metrics": "PipeUtilizationExct",
    "ai_core_profiling_events": "0x416,0x417,0x9,0x302,0xc,0x303,0x54,0x55",
    "aiv_metrics": "PipeUtilization",
    "aiv_profiling_events": "0x8,0xa,0x9,0xb,0xc,0xd,0x54,0x55",
    "ai_core_profiling_mode": "task-based",
}


def kernel(name, number, blocks, begin, pmu, **more):
    launch = Task(
        begin - 1000, 7, number, "KERNEL_AICORE", (begin, begin + 10_000), pmu=pmu, **more
    )
    return Call(begin - 3000, begin - 500, NODE, "launch", name,
                basic=(name, 0, name, *blocks, 0), tasks=[launch])  # fmt: skip


def metrics(ask, folder, name):
    found = ask(folder, "SELECT metric, value FROM device_task_pmu JOIN device_task USING (task_id)"
                f" WHERE name = '{name}'")  # fmt: skip
    return {metric: float(value) for metric, value in found}


def test_counters_of_pipes(write, ask):
    """1 650 cycles are a microsecond; 48 blocks on 24 cores run in two rounds."""
    cube = kernel(
        "Cube",
        3,
        (48, 0),
        40_000,
        [Counters(45_000, 79_200, [792, 792, 3960, 7920, 19_800, 396, 1000, 25])],
    )
    folder = write(Run([cube], sample=PIPES))
    assert issues(ask, folder) == {}
    found = metrics(ask, folder, "Cube")
    expected = {
        "aicore_time(us)": 2.0, "aic_total_cycles": 79_200, "aic_mac_ratio": 0.02,
        "aic_mac_time(us)": 0.04, "aic_scalar_ratio": 0.05, "aic_mte1_ratio": 0.1,
        "aic_mte2_ratio": 0.25, "aic_mte2_time(us)": 0.5, "aic_fixpipe_ratio": 0.005,
        "aic_icache_miss_rate": 0.025, "aiv_time(us)": 0, "aiv_vec_ratio": 0,
        "cube_utilization(%)": 79_200 * 100 / (1650 * 24 * 10),
    }  # fmt: skip
    assert {key: found[key] for key in expected} == pytest.approx(expected, rel=1e-12)
    assert "aic_vec_ratio" not in found
    assert "aiv_mac_ratio" not in found


def test_counters_of_mixed_cores(write, ask):
    """The task's own cores have one record, the others one a block."""
    blocks = [Counters(44_000 + k, 1650, [165, 0, 330], 0, 6, True) for k in range(4)]
    mixed = Call(
        30_000, 36_000, NODE, "launch", "Mixed", basic=("Mixed", 4, "Mixed", 2, 2, 0), contexts=[0],
        tasks=[Task(32_000, 7, 6, "FFTS_PLUS", (40_000, 50_000),
                    sub_tasks={0: (6, 40_000, 50_000)},
                    pmu=[Counters(46_000, 3300, [330], 0, 6), *blocks])])  # fmt: skip
    folder = write(Run([mixed], sample=PIPES))
    assert issues(ask, folder) == {}
    found = metrics(ask, folder, "Mixed")
    assert found["aic_total_cycles"] == 3300
    assert found["aic_mac_ratio"] == pytest.approx(0.1)
    assert found["aiv_total_cycles"] == 4 * 1650
    assert found["aiv_vec_ratio"] == pytest.approx(0.1)
    assert found["aiv_scalar_ratio"] == pytest.approx(0.2)
    assert found["aiv_time(us)"] == pytest.approx(4 * 1650 / 1650 / 4)


def test_bandwidths_and_frequency(write, ask):
    """Times follow the frequency in force, bandwidths the configured one."""
    sample = PIPES | {
        "ai_core_metrics": "Memory",
        "ai_core_profiling_events": "0x15,0x16,0x31,0x32,0xf,0x10,0x12,0x13",
    }
    entries = [(prof.DEVICE_TICKS - 5, 1000), (prof.device_ticks(60_000), 800)]
    change = struct.pack("<II", 2, 0)
    for ticks, mhz in entries:
        change += struct.pack("<QII", ticks, mhz, 0)
    lpm = {("device_0", "lpmFreqConv.data.0"): change.ljust(888, b"\0")}
    early = kernel(
        "Early", 3, (1, 0), 40_000, [Counters(45_000, 1650, [0, 0, 10, 20, 30, 40, 50, 60])]
    )
    late = kernel("Late", 4, (1, 0), 70_000, [Counters(75_000, 1650, [])])
    folder = write(Run([early, late], sample=sample, extra=lpm))
    found = metrics(ask, folder, "Early")
    assert found["aicore_time(us)"] == pytest.approx(1.65)
    assert found["aic_l1_read_bw(GB/s)"] == pytest.approx(10 * 256 * 16 / 1e-6 / 2**33)
    assert found["aic_l1_write_bw(GB/s)"] == pytest.approx(20 * 128 * 8 / 1e-6 / 2**33)
    assert found["aic_main_mem_write_bw(GB/s)"] == pytest.approx(60 * 64 / 1e-6 / 2**33)
    assert metrics(ask, folder, "Late")["aicore_time(us)"] == pytest.approx(1650 / 800)
    curve = ask(folder, "SELECT ts, value::INTEGER FROM counter JOIN track USING (track_id) "
                "WHERE name = 'AI Core Freq MHz' ORDER BY ts")  # fmt: skip
    assert curve == [[str(utc_ns(0)), "1000"], [str(utc_ns(60_000)), "800"]]


def test_counters_without_a_task_are_counted(write, ask):
    stray = kernel("K", 3, (1, 0), 40_000, [Counters(99_000, 1650, [1])])
    folder = write(Run([stray], sample=PIPES))
    assert issues(ask, folder) == {"raw_counter_without_task": "1"}
    assert metrics(ask, folder, "K") == {}


def curve(ask, folder, name):
    """(nanoseconds since the start, value) of a counter."""
    found = ask(folder, "SELECT ts, value FROM counter JOIN track USING (track_id) "
                f"WHERE name = '{name}' ORDER BY ts")  # fmt: skip
    return [(int(ts) - utc_ns(0), float(value)) for ts, value in found]


def test_sampled_memory(write, ask):
    """Microseconds since the start, and ticks of the host."""
    hbm = b"".join(struct.pack("<QQII", us, 1_000_000 * us // 1000, event, memory)
                   for us in (1000, 2000, 4000)
                   for event in (0, 1) for memory in range(4))  # fmt: skip
    memory = struct.pack("<IIQQQ", 500, 0, 0, 64, 128) + struct.pack("<IIQQQ", 500, 1, 0, 0, 256)
    modules = struct.pack("<IIQQ", 3, 0, prof.host_ticks(50_000), 1 << 20)
    extra = {("device_0", "hbm.data.0"): hbm, ("device_0", "npu_mem.app.0"): memory,
             ("device_0", "npu_module_mem.data.0"): modules}  # fmt: skip
    folder = write(Run([MATMUL], extra=extra))
    assert issues(ask, folder) == {}
    rate = 2_000_000 * 32 * 1000
    assert curve(ask, folder, "HBM 2 read B/s") == [(2_000_000, rate), (4_000_000, rate)]
    assert len(curve(ask, folder, "HBM 3 write B/s")) == 2
    assert curve(ask, folder, "NPU MEM app DDR B") == [(500_000, 64)]
    assert curve(ask, folder, "NPU MEM device HBM B") == [(500_000, 256)]
    assert curve(ask, folder, "NPU Module HCCL B") == [(50_000, 1 << 20)]


def test_sampled_links(write, ask):
    """Nanoseconds of the device's own clock, which begins at 77."""
    pcie = struct.pack("<QI21I", 77 + 3000, 0, *range(1, 22))
    hccs = b"timestamp tx rx\n0:1000077 0 0\n0:2000077 1048576 2097152\n0:3000077 5 5\n"
    port = b"timestamp bandwidth rxPacket/s ...\n1077 100000 1 2 3 4 5 6 7 8 9 10 11 12 4\n"
    extra = {("device_0", "pcie.data.0"): pcie, ("device_0", "hccs.data.0"): hccs,
             ("device_0", "roce.data.0"): port}  # fmt: skip
    folder = write(Run([MATMUL], extra=extra, slice_bytes=1 << 20))
    assert issues(ask, folder) == {}
    assert curve(ask, folder, "PCIe Tx post B/s") == [(3000, 3e6)]
    assert curve(ask, folder, "PCIe Tx nonpost latency min ns") == [(3000, 10)]
    assert curve(ask, folder, "PCIe Rx cpl max B/s") == [(3000, 20e6)]
    assert curve(ask, folder, "HCCS Tx B/s") == [(2_000_000, 1048576e3)]
    assert curve(ask, folder, "HCCS Rx B/s") == [(2_000_000, 2097152e3)]
    assert curve(ask, folder, "RoCE Port 4 rxByteRate") == [(1000, 2)]
    assert curve(ask, folder, "RoCE Port 4 txDropped") == [(1000, 12)]


def test_what_is_not_read_is_named(write, ask):
    extra = {("device_0", "llc.data.0"): b"0" * 24, ("host", "unaging.additional.new_kind"): b"1"}
    folder = write(Run([MATMUL], extra=extra))
    ((code, advice),) = ask(folder, "SELECT code, advice FROM import_issue")
    assert code == "files_not_read"
    assert "device_0/data/llc.data" in advice
    assert "host/data/unaging.additional.new_kind" in advice
