"""PROF_* folders with the kinds of records that lie beside calls, tasks and their counters."""

import csv
import struct

import prof_kinds as kinds
import pytest
from prof_runs import ADD, MATMUL, issues, mark
from prof_writer import MODEL, NODE, Call, Run, Task, utc_ns

SPAN = 1 << 20  # larger than any stream: one slice
LAYERS = (
    "SELECT category, s.ts, s.dur, t.name, s.name, "
    "string_agg(key || '=' || value, '; ' ORDER BY key) FROM slice s JOIN track t "
    "USING (track_id) LEFT JOIN args USING (args_id) "
    "WHERE t.kind = 'device_layer' AND category <> 'kfc_turn' GROUP BY ALL ORDER BY category, s.ts"
)


def moment(offset):
    return str(utc_ns(offset))


def counter(ask, folder, name):
    """[(nanoseconds since the start, value)]"""
    found = ask(folder, "SELECT ts, value FROM counter JOIN track USING (track_id) "
                f"WHERE name = '{name}' ORDER BY ts")  # fmt: skip
    return [(int(ts) - utc_ns(0), float(value)) for ts, value in found]


@pytest.fixture(name="tables")
def written_tables(run_sonde, tmp_path):
    """What the exporters write of a folder: {name without its time: rows}"""

    def write(folder, form="mindstudio"):
        output = tmp_path / f"out_{form}"
        done = run_sonde("analyse", folder, "--export-type", form, "-o", output)
        assert done.returncode == 0, done.stderr
        found = {}
        for path in output.rglob("*.csv"):
            name = path.stem.rpartition("_")[0] if form == "mindstudio" else path.stem
            with open(path, newline="") as file:
                found[name] = list(csv.reader(file))
        return found

    return write


@pytest.mark.parametrize("slice_bytes", [100, SPAN])
def test_models_and_fused_operators(write_prof, ask, tables, slice_bytes):
    """A fused operator belongs to the model in whose call it was recorded."""
    model = Call(10_000, 20_000, MODEL, "ModelExecute", "")
    run = Run([model, MATMUL], extra=kinds.models(15_000), texts=kinds.TEXTS,
              slice_bytes=slice_bytes)  # fmt: skip
    folder = write_prof(run)
    assert issues(ask, folder) == {}
    written = tables(folder)
    assert written["fusion_op"] == [
        ["Device_id", "Model Name", "Model ID", "Fusion Op", "Original Ops", "Memory Input(KB)",
         "Memory Output(KB)", "Memory Weight(KB)", "Memory Workspace(KB)", "Memory Total(KB)"],
        ["host", "TrainGraph", "0", "FusedConv", "Conv;Relu", "1.0", "2.0", "0.5", "0.0", "3.5"],
    ]  # fmt: skip
    assert written["static_op_mem"][1:] == [
        ["host", "Buffer_1", "0", "5", "2", "4294967295", "4.0"],
        ["host", "TOTAL", "DynamicParent", "5", "0", "9", "1.5"],
    ]


def test_streams_of_models_and_groups_of_threads(write_prof, ask):
    """Facts, each once."""
    folder = write_prof(Run([MATMUL], extra=kinds.pairs()))
    assert issues(ask, folder) == {}
    facts = ask(folder, "SELECT key, value FROM metadata WHERE key IN "
                "('logic_stream', 'thread_group') ORDER BY key")  # fmt: skip
    assert facts == [["logic_stream", "[[3,7],[3,8]]"],
                     ["thread_group", "[[4242,4243],[4242,4244]]"]]  # fmt: skip


def test_fused_operator_outside_of_every_model(write_prof, ask):
    folder = write_prof(Run([MATMUL], extra=kinds.models(15_000), texts=kinds.TEXTS))
    assert issues(ask, folder) == {"raw_no_interface": "1"}


def test_memory_of_operators(write_prof, ask):
    """A release ends the block of its operator at its address."""
    folder = write_prof(Run([MATMUL], extra=kinds.operator_memory(), texts=kinds.TEXTS))
    assert issues(ask, folder) == {}
    events = ask(folder, "SELECT ts, pointer, size_bytes, total_allocated, total_reserved, "
                 "component FROM memory_event ORDER BY ts")  # fmt: skip
    assert events == [
        [moment(10_000), "4096", "512", "512", "4096", "GE"],
        [moment(11_000), "8192", "256", "768", "4096", "GE"],
        [moment(14_000), "4096", "-512", "256", "4096", "GE"],
        [moment(15_000), "36864", "-64", "192", "4096", "GE"],
    ]
    blocks = ask(folder, "SELECT name, size_bytes, alloc_ts, free_ts, alloc_total_allocated, "
                 "free_total_allocated FROM memory_block ORDER BY alloc_ts")  # fmt: skip
    assert blocks == [
        ["Conv", "512", moment(10_000), moment(14_000), "512", "256"],
        ["Relu", "256", moment(11_000), "", "768", ""],
    ]


def test_attributes_of_operators(write_prof, ask, run_sonde, tmp_path):
    """In the tables, and in databases."""
    call = Call(12_000, 20_000, NODE, "launch", "M", basic=("M", 0, "MatMulV2", 1, 0, 0),
                attributes="transpose_x1:true", tasks=[Task(15_000, 7, 3, "KERNEL_AICORE",
                                                            (40_000, 65_000))])  # fmt: skip
    folder = write_prof(Run([call, ADD]))
    statement = (
        "SELECT t.name, value FROM device_task t JOIN slice s USING (slice_id) "
        "LEFT JOIN args a ON a.args_id = s.args_id AND key = 'attributes' ORDER BY t.ts"
    )
    assert ask(folder, statement) == [["M", "transpose_x1:true"], ["Add_2", ""]]
    done = run_sonde("analyse", folder, "--export-type", "db", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    (again,) = (tmp_path / "out").glob("PROF_*")
    assert ask(again, statement) == [["M", "transpose_x1:true"], ["Add_2", ""]]


@pytest.mark.parametrize("form", ["additional", "variable"])
def test_captured_graphs(write_prof, ask, form):
    """Launched once and run twice; operators and graph of their tasks come from the capture."""
    run = Run(kinds.captured_calls(), slice_bytes=SPAN, texts=kinds.TEXTS)
    run.extra = kinds.captured(form) | kinds.replays(run, (40_000, 50_000))
    folder = write_prof(run)
    assert issues(ask, folder) == {}
    found = ask(folder, "SELECT t.name, op_type, core, block_num, mix_block_num, input_shapes, "
                "output_shapes, hf32, value, model_id, t.ts, t.dur FROM device_task t "
                "JOIN slice s USING (slice_id) LEFT JOIN args a ON a.args_id = s.args_id "
                "AND key = 'attributes' ORDER BY t.ts")  # fmt: skip
    matmul = [
        "MatMulV2_9",
        "MatMulV2",
        "AI_CORE",
        "24",
        "0",
        "4,8",
        "4",
        "YES",
        "transpose:true",
        "7",
    ]
    inputs = ";".join(["4,8"] * (4 if form == "variable" else 3))
    output = "4" if form == "variable" else ""
    total = [
        "ReduceSum_2",
        "ReduceSum",
        "AI_VECTOR_CORE",
        "40",
        "80",
        inputs,
        output,
        "NO",
        "",
        "7",
    ]
    assert found == [
        [*matmul, moment(40_000), "2000"], [*total, moment(43_000), "2000"],
        [*matmul, moment(50_000), "2000"], [*total, moment(53_000), "2000"],
    ]  # fmt: skip


def test_captured_graph_that_is_cut_off(write_prof, ask):
    """Operators before are known."""
    run = Run(kinds.captured_calls(), slice_bytes=SPAN, texts=kinds.TEXTS)
    files = kinds.captured("variable")
    key = ("host", "unaging.variable.capture_op_info")
    run.extra = files | {key: files[key][:-9]} | kinds.replays(run, (40_000,))
    folder = write_prof(run)
    assert issues(ask, folder) == {"raw_truncated": "1"}
    assert ask(folder, "SELECT name FROM device_task ORDER BY ts") == [
        ["MatMulV2_9"],
        ["ReduceSum_2"],
    ]


@pytest.mark.parametrize("chip", [5, 15])
def test_iterations_of_models(write_prof, ask, tables, chip):
    """From the end of one to the end of the next; steps of the program have both ends."""
    folder = write_prof(Run([MATMUL], chip=chip, extra=kinds.iterations(chip)))
    assert issues(ask, folder) == {}
    slices = ask(
        folder,
        "SELECT t.name, s.name, s.ts, s.dur FROM slice s JOIN track t "
        "USING (track_id) WHERE category LIKE 'step_trace%' ORDER BY s.ts, s.dur DESC",
    )
    assert slices == [
        ["Step Trace 3", "Iteration 1", moment(200_000), "60000"],
        ["Step Trace 3", "FP_BP Time", moment(210_000), "30000"],
        ["Step Trace 3", "Iteration Refresh", moment(240_000), "20000"],
        ["Step Trace 3", "Iteration 2", moment(260_000), "70000"],
        ["Step Trace 3", "FP_BP Time", moment(270_000), "30000"],
        ["Step Trace 3", "Iteration Refresh", moment(300_000), "30000"],
        ["Step Trace 4294967295", "Iteration 12", moment(400_000), "50000"],
    ]
    header, *rows = tables(folder)["step_trace"]
    assert header[:5] == ["Device_id", "Iteration ID", "FP Start(us)", "BP End(us)",
                          "Iteration End(us)"]  # fmt: skip

    def us(offset):
        return f"{utc_ns(offset) // 1000}.000"

    assert [[cell.rstrip("\t") for cell in row] for row in rows] == [
        ["0", "1", us(210_000), us(240_000), us(260_000), "60.000", "30.000", "20.000", "N/A", "3"],
        ["0", "2", us(270_000), us(300_000), us(330_000), "70.000", "30.000", "30.000", "10.000",
         "3"],
        ["0", "12", "N/A", "N/A", us(450_000), "50.000", "N/A", "N/A", "N/A", "4294967295"],
    ]  # fmt: skip


@pytest.mark.parametrize(("cann", "tag"), [("8.5.0", 11), ("9.1.0-beta.0", 12)])
def test_marks_on_the_device(write_prof, ask, cann, tag):
    """A range has two records of its number; before CANN 9.1 only that distinguished it from a
    mark."""
    track = b"".join([kinds.step(70_000, 1, 0, 11), kinds.step(30_000, 2, 0, tag),
                      kinds.step(95_000, 2, 0, tag)])  # fmt: skip
    marks = mark(0, "note", 35_000, 35_000, 1) + mark(2, "range", 34_000, 37_000, 2)
    extra = {("device_0", "ts_track.data.0"): track,
             ("host", "unaging.additional.msproftx"): marks}  # fmt: skip
    folder = write_prof(Run([MATMUL], extra=extra, cann=cann))
    assert issues(ask, folder) == {}
    found = ask(folder, "SELECT name, ts, dur, stream_id, connection_id FROM device_task "
                "WHERE task_type = 'MsTx' ORDER BY ts")  # fmt: skip
    assert found == [
        ["range", moment(30_000), "65000", "7", "4000000003"],
        ["note", moment(70_000), "0", "7", "4000000002"],
    ]
    assert ask(folder, "SELECT o.name, i.name, i.ts FROM flow "
               "JOIN slice o ON slice_out = o.slice_id JOIN slice i ON slice_in = i.slice_id "
               "WHERE flow.kind = 'user'") == [
        ["range", "range", moment(30_000)]
    ]  # fmt: skip


@pytest.mark.parametrize("chip", [5, 15])
def test_ai_cpu(write_prof, ask, tables, chip):
    """Its kernels have the name of their task's operator; its turns are a layer of their own."""
    node = Call(100_000, 110_000, NODE, "launch", "Unique_1",
                basic=("Unique_1", 1, "Unique", 1, 0, 0),
                tasks=[Task(105_000, 9, 50, "KERNEL_AICPU", (115_000, 195_000), 1)])  # fmt: skip
    turns = Task(106_000, 9, 51, "KERNEL_AICPU", (290_000, 320_000), 1)
    folder = write_prof(Run([node, turns], chip=chip, extra=kinds.ai_cpu(chip=chip)))
    assert issues(ask, folder) == {}
    assert ask(folder, LAYERS) == [
        ["aicpu", moment(120_000), "60000", "AI CPU Stream 9", "Unique_1",
         "Compute_time(us)=400; Dispatch_time(us)=55; Memcpy_time(us)=500; Stream ID=9; "
         "Task ID=50; Total_time(us)=90.0"],
        ["aicpu_mi", moment(200_000), "30000", "Data queue", "GetNext_dequeue_wait",
         "Queue Size=17"],
        ["dp", moment(240_000), "0", "Data preprocessing", "Last queue push",
         "Cached Buffer Size=77; Source=loader"],
    ]  # fmt: skip
    written = tables(folder)
    assert [cell.rstrip("\t") for cell in written["aicpu"][1]] == [
        "0", f"{utc_ns(120_000) // 1000}.000", "Unique_1", "400", "500", "60.000", "55",
        "90.0", "9", "50"]  # fmt: skip
    assert len(written["dp"]) == len(written["aicpu_mi"]) == 2
    slices = ask(folder, "SELECT name, ts, dur FROM slice WHERE category = 'kfc_turn' ORDER BY ts")
    names = ["StartServer", "TaskWaitRequest", "TaskOrchestration", "TaskLaunch", "TaskExecute",
             "Finalize"]  # fmt: skip
    assert slices == [
        [f"{name} 2", moment(300_000 + 1000 * k), "1000"] for k, name in enumerate(names)
    ] + [["WaitCompute 2", moment(310_000), "2000"], ["Compute 2", moment(312_000), "2000"]]


@pytest.mark.parametrize("slice_bytes", [100, 1 << 20])
@pytest.mark.parametrize("is_text", [False, True])
def test_older_files_of_preprocessing(write_prof, ask, tables, is_text, slice_bytes):
    """Records or lines; the name of a record's action ends after 16 bytes."""
    extra = kinds.preprocessing(is_text)
    folder = write_prof(Run([MATMUL], extra=extra, slice_bytes=slice_bytes))
    assert issues(ask, folder) == {}
    action = "Last queue dequeue" if is_text else "Last queue deque"
    assert ask(folder, LAYERS) == [
        ["dp", moment(240_000), "0", "Data preprocessing", action,
         "Cached Buffer Size=131; Source=iterator_default"],
        ["dp", moment(250_000), "0", "Data preprocessing", action,
         "Cached Buffer Size=0; Source=iterator_1"],
    ]  # fmt: skip
    assert len(tables(folder)["dp"]) == 3


@pytest.mark.parametrize("is_text", [False, True])
def test_damage_in_older_files_of_preprocessing(write_prof, ask, is_text):
    """A line without its moment or size, and a record of another tag, are counted."""
    content = b"Last queue dequeue, source:a, size:1\n[x] Last queue dequeue, size:1\n"
    content += b"[5] Last queue dequeue, source:a\n[-5] Last queue dequeue, size:1\n"
    if not is_text:
        content = kinds.preprocessing(False)["device_0", "DATA_PREPROCESS.DP.0"]
        content = content[:2] + b"c" + content[3:]
    folder = write_prof(Run([MATMUL], extra={("device_0", "DATA_PREPROCESS.DP.0"): content}))
    assert issues(ask, folder) == {"raw_bad_record": "3" if is_text else "1"}


def test_tables_beside_those_of_the_framework(write_prof, tables):
    """The framework's folder has some, under its own names."""
    run = Run([MATMUL, ADD], extra=kinds.ai_cpu() | kinds.caches(), sample=kinds.CACHE)
    written = tables(write_prof(run), "text")
    assert {"data_preprocess", "l2_cache", "soc_pmu"} <= written.keys()
    assert not {"aicpu", "dp", "page_fault"} & written.keys()


@pytest.mark.parametrize("chip", [5, 15])
def test_rates_of_caches(write_prof, ask, tables, chip):
    """Of the cache the rate of victims, of the memory unit's translations both."""
    sample = kinds.CACHE if chip == 5 else kinds.CACHE_V6
    folder = write_prof(Run([MATMUL, ADD], chip=chip, extra=kinds.caches(chip), sample=sample))
    assert issues(ask, folder) == {}
    written = tables(folder)
    victims = "0.1" if chip == 5 else "0.1"
    assert written["l2_cache"] == [
        ["Device_id", "Stream Id", "Task Id", "Hit Rate", "Victim Rate", "Op Name"],
        ["0", "7", "3", "N/A", victims, "MatMulV2_1"],
        *([["0", "7", "4", "N/A", victims, "Add_2"]] if chip == 5 else []),
    ]  # fmt: skip
    assert written["soc_pmu"] == [
        ["Device_id", "Stream Id", "Task Id", "TLB Hit Rate", "TLB Miss Rate", "Op Name"],
        ["0", "7", "3", "0.8", "0.07", "MatMulV2_1"],
    ]
    assert written["page_fault"][1:] == [["0", "7", "4", "5", "Add_2"]]


@pytest.mark.parametrize(
    ("chip", "events", "hits", "victims"),
    [(1, "0x59,0x5b,0x5c", "0.3", "0.1"), (4, "0x78,0x6a,0x71,0x79", "0.15", "0.05")],
)
def test_rates_of_caches_before_stars(write_prof, ask, tables, chip, events, hits, victims):
    """Of hits, too."""
    record = struct.pack("<HHHH8Q", 0, 7, 3, 0, 200, 60, 20, 200, *[0] * 4)
    folder = write_prof(Run([MATMUL], chip=chip, extra={("device_0", "l2_cache.data.0"): record},
                            sample={"l2CacheTaskProfilingEvents": events}))  # fmt: skip
    assert issues(ask, folder) == {}
    assert tables(folder)["l2_cache"][1:] == [["0", "7", "3", hits, victims, "MatMulV2_1"]]


def test_caches_without_their_events(write_prof, ask):
    folder = write_prof(Run([MATMUL, ADD], extra=kinds.caches()))
    assert issues(ask, folder) == {"raw_cache_events": "3"}


def test_network_device(write_prof, ask):
    """Changes since the line before; of bytes a rate, too."""
    folder = write_prof(Run([MATMUL], extra=kinds.network()))
    assert issues(ask, folder) == {}
    assert counter(ask, folder, "Network device mac tx pfc packets") == [
        (2_000_000, 10),
        (3_000_000, 0),
    ]
    assert counter(ask, folder, "Network device mac tx bytes") == [(2_000_000, 12), (3_000_000, 0)]
    assert counter(ask, folder, "Network device mac tx") == [(2_000_000, 12e3), (3_000_000, 0)]
    assert counter(ask, folder, "Network device nic rx") == [(2_000_000, 24e3), (3_000_000, 0)]


def test_links_and_voltage(write_prof, ask):
    folder = write_prof(Run([MATMUL], extra=kinds.links()))
    assert issues(ask, folder) == {}
    for name, found in (
        ("PA Link Rx 3", [(10_000, 11)]), ("PA Link Tx 3", [(10_000, 12)]),
        ("PCIE Write Bandwidth 2", [(11_000, 21)]), ("PCIE Read Bandwidth 2", [(11_000, 22)]),
        ("Aicore Voltage mV", [(0, 850), (20_000, 870)]),
        ("Bus Voltage mV", [(0, 900), (30_000, 780)]),
    ):  # fmt: skip
        assert counter(ask, folder, name) == found, name


def test_links_of_newer_chips(write_prof, ask):
    folder = write_prof(Run([MATMUL], chip=15, extra=kinds.links(15)))
    assert issues(ask, folder) == {}
    for name, found in (
        ("PCIE Write Bandwidth U-Die1", [(10_000, 21)]),
        ("PCIE Read Bandwidth U-Die1", [(10_000, 22)]),
        ("AI Core Freq 1 MHz", [(12_000, 1650)]),
        ("UB Port 5 rx", [(1_000_000, 30)]), ("UB Port 5 tx", [(1_000_000, 40)]),
    ):  # fmt: skip
        assert counter(ask, folder, name) == found, name


@pytest.mark.parametrize("chip", [1, 4, 5, 15])
def test_samples_of_cores(write_prof, ask, chip):
    """Cycles since the sample before, as a share of what the core could have done."""
    run = Run([MATMUL], chip=chip, extra=kinds.sampled_cores(chip), sample=kinds.SAMPLED_CORES,
              slice_bytes=SPAN)  # fmt: skip
    folder = write_prof(run)
    assert issues(ask, folder) == {}
    assert counter(ask, folder, "AI Core 2 AIC total_cycles") == [
        (1_000_000, 500),
        (2_000_000, 825_000),
    ]
    assert counter(ask, folder, "AI Core 2 AIC usage %") == [(2_000_000, 50)]
    assert counter(ask, folder, "AI Core 30 AIV MHz") == [(1_000_000, 1650)]
    assert counter(ask, folder, "AI Core 30 AIV usage %") == []


@pytest.mark.parametrize("chip", [1, 4, 5])
def test_image_units(write_prof, ask, chip):
    """What an engine did in all, by the process, and last; some chips number their units."""
    has_number = chip != 4
    folder = write_prof(Run([MATMUL], chip=chip, extra=kinds.image_units(has_number)))
    assert issues(ask, folder) == {}
    label = f"DVPP {int(has_number)} VDEC 3"
    assert counter(ask, folder, f"{label} all utilization %") == [
        (1_000_000, 1.5),
        (2_000_000, 2.5),
    ]
    assert counter(ask, folder, f"{label} process frames") == [(1_000_000, 11), (2_000_000, 21)]
    assert counter(ask, folder, f"{label} last time us") == [(1_000_000, 7), (2_000_000, 7)]


def write_launched(write_prof, calls, chip=5, **more):
    run = Run(calls, chip=chip, slice_bytes=SPAN, texts=kinds.LAUNCHED_TEXTS)
    run.extra = kinds.launched(**more)
    run.extra[("device_0", "stars_soc.data.0")] = kinds.logs(run, kinds.launched_tasks())
    return write_prof(run)


KERNEL = Task(53_000, 30, 60, "KERNEL_AICPU", (100_000, 200_000), 1)
OPERATIONS = ("SELECT name, group_name, op_type, ts, dur, data_type, algorithm, count, rank_size "
              "FROM communication_op")  # fmt: skip
PLANES = ("SELECT t.name, s.name, s.ts, s.dur FROM slice s JOIN track t USING (track_id) "
          "WHERE t.kind = 'communication_plane' ORDER BY s.ts")  # fmt: skip


def test_communication_within_a_fused_operator(write_prof, ask):
    """Its group has a name of its own; it lasts as long as the tasks of its main stream."""
    name = "MatmulAllReduceAicpuKernel"
    call = Call(50_000, 58_000, NODE, "launch", name,
                basic=(name, 1, "MatmulAllReduce", 1, 0, 0), tasks=[KERNEL])  # fmt: skip
    folder = write_launched(write_prof, [call], is_expanded=False)
    assert issues(ask, folder) == {}
    assert ask(folder, OPERATIONS) == [
        [f"{name}_586_0_1", "group_name_586 Aicpu", "matmulallreduce", moment(110_000), "20000", "",
         "", "", ""]
    ]  # fmt: skip
    assert ask(folder, PLANES) == [
        ["Plane 0", "Notify_Wait", moment(110_000), "2000"],
        ["Plane 0", "Memcpy", moment(120_000), "10000"],
        ["Plane 1", "Memcpy", moment(121_000), "10000"],
    ]
    transits = ask(folder, "SELECT transport, size_bytes, packet_count FROM communication_transit")
    assert transits == [["HCCS", "8192", "2"]]
    assert ask(folder, "SELECT count(*) FROM device_task") == [["5"]]


def test_communication_that_the_ai_cpu_expands(write_prof, ask):
    """It is the operation of the call around the kernel's; a first wait is not of its time."""
    kernel = Call(52_000, 56_000, NODE, "launch", "allreduceAicpuKernel",
                  basic=("allreduceAicpuKernel", 1, "AicpuKernel", 1, 0, 0),
                  tasks=[KERNEL])  # fmt: skip
    call = Call(50_000, 58_000, NODE, "hcom_allReduce", "hcom_allReduce_", calls=[kernel])
    folder = write_launched(write_prof, [call], is_expanded=True)
    assert issues(ask, folder) == {}
    assert ask(folder, OPERATIONS) == [
        ["hcom_allReduce__586_0_1", "group_name_586", "allreduce", moment(120_000), "10000", "FP32",
         "MESH-RING", "1024", "2"]
    ]  # fmt: skip
    assert ask(folder, PLANES) == [
        ["Plane 1", "Notify_Wait", moment(110_000), "2000"],
        ["Plane 1", "Memcpy", moment(120_000), "10000"],
    ]


def test_communication_without_details(write_prof, ask):
    """At level 0 the AI CPU records nothing of its tasks; the queue of the main stream is known."""
    name = "MatmulAllReduceAicpuKernel"
    call = Call(50_000, 58_000, NODE, "launch", name,
                basic=(name, 1, "MatmulAllReduce", 1, 0, 0), tasks=[KERNEL])  # fmt: skip
    folder = write_launched(write_prof, [call], is_expanded=False, with_transfers=False)
    assert issues(ask, folder) == {}
    assert [row[3:5] for row in ask(folder, OPERATIONS)] == [[moment(110_000), "20000"]]
    assert ask(folder, PLANES) == []
