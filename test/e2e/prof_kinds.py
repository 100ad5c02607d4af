"""Records of the kinds that lie beside calls, tasks and counters, as files for Run.extra.

Each function gives {(part, name): bytes}; what a reader must find stands in the tests, in the
numbers that are written here. Texts that records name by number are in TEXTS, for Run.texts.
"""

import struct

import prof_writer as prof
from prof_writer import MODEL, NODE, RUNTIME, Task, device_ticks, host_ticks, is_v6, text_hash

TEXTS = ["TrainGraph", "FusedConv", "Conv", "Relu", "Buffer_1", "DynamicParent", "MatMulV2_9",
         "MatMulV2", "transpose:true", "ReduceSum_2", "ReduceSum"]  # fmt: skip
TID = 4242


def additional(level, at, data, kind=0):
    """A record of 256 bytes."""
    head = struct.pack("<HHIIIQ", 0x5A5A, level, kind, TID, len(data), host_ticks(at))
    return head + data.ljust(232, b"\0")


def compact(level, at, data):
    """A record of 64 bytes."""
    head = struct.pack("<HHIIIQ", 0x5A5A, level, 0, TID, len(data), host_ticks(at))
    return head + data.ljust(40, b"\0")


def models(at):
    """A model's name, a fused operator recorded in its call at `at`, memory of its operators."""
    names = struct.pack("<QII", text_hash("TrainGraph"), 3, 0)
    sizes = (1024, 2048, 512, 0, 3584)
    fused = struct.pack("<QI5Q2Q", text_hash("FusedConv"), 2, *sizes, text_hash("Conv"),
                        text_hash("Relu"))  # fmt: skip
    memory = [
        struct.pack("<qQQQQQI", 4096, text_hash("Buffer_1"), 2, 0xFFFFFFFE, 8192, 0, 5),
        struct.pack("<qQQQQQI", 1536, 0, 0, 9, 8192, text_hash("DynamicParent"), 5),
    ]
    files = {
        "graph_id_map": additional(MODEL, at, names),
        "fusion_op_info": additional(MODEL, at, fused),
        "static_op_mem": b"".join(additional(NODE, at, data) for data in memory),
    }
    return {("host", f"unaging.additional.{name}"): content for name, content in files.items()}


def pairs():
    """Streams of the device that a stream of a model became, threads that belong to one."""
    streams = struct.pack("<II2I", 3, 2, 7, 8)
    threads = struct.pack("<I2I", 2, 4243, 4244)
    return {
        ("host", "unaging.additional.logic_stream_info"): additional(MODEL, 10_000, streams) * 2,
        ("host", "unaging.additional.Multi_Thread"): additional(NODE, 10_000, threads),
    }


def operator_memory():
    """Two blocks of the graph engine: one is freed, one lives on; one was there before."""
    changes = [  # at, address, size, operator, allocated, reserved
        (10_000, 0x1000, 512, "Conv", 512, 4096),
        (11_000, 0x2000, 256, "Relu", 768, 4096),
        (14_000, 0x1000, -512, "Conv", 256, 4096),
        (15_000, 0x9000, -64, "Conv", 192, 4096),
    ]
    content = b"".join(
        additional(NODE, at, struct.pack("<QqQQQII", address, size, text_hash(name), allocated,
                                         reserved, 0, 0))
        for at, address, size, name, allocated, reserved in changes)  # fmt: skip
    return {("host", "unaging.additional.task_memory_info"): content}


def captured(form):
    """A graph of two operators on stream 20: its tasks are outside every call, and run twice."""
    tensor = struct.pack("<III8I", 0, 2, 1, 4, 8, *[0] * 6)
    out = struct.pack("<III8I", 1, 2, 1, 4, *[0] * 7)
    operators = [
        (100, "MatMulV2_9", "MatMulV2", 0, 24, "transpose:true", 1, [tensor, out]),
        (101, "ReduceSum_2", "ReduceSum", 2, 40 | 2 << 16, "", 0, [tensor] * 4 + [out]),
    ]
    content = b""
    for task, name, op_type, kind, blocks, attributes, flag, tensors in operators:
        if form == "additional":
            tensors = tensors[:3]
        data = struct.pack("<6I4QII", 7, 0, 20, task, kind, blocks, text_hash(name),
                           text_hash(op_type), text_hash(attributes) if attributes else 0, 0, flag,
                           len(tensors)) + b"".join(tensors)  # fmt: skip
        if form == "additional":
            content += additional(NODE, 1000, data)
        else:
            head = struct.pack("<HHIIIQ", 0x5A5A, NODE, 0, TID, len(data), host_ticks(1000))
            content += head + data
    streams = [(0, 20, 7, 7, 900), (1, 0xFFFF, 0xFFFF, 7, 900_000)]
    life = b"".join(compact(RUNTIME, at, struct.pack("<5H", status, stream, original, model, 0))
                    for status, stream, original, model, at in streams)  # fmt: skip
    return {("host", f"unaging.{form}.capture_op_info"): content,
            ("host", "unaging.compact.capture_stream_info"): life}  # fmt: skip


def captured_calls():
    """Their launches, at the time of capture."""
    return [Task(2_000, 20, 100, "KERNEL_AICORE"), Task(3_000, 20, 101, "KERNEL_AIVEC")]


def replays(run, rounds):
    """The device's log of the graph's tasks, once a round: begin of each."""
    records = b""
    for begin in rounds:
        for number, kind in ((100, 0), (101, 2)):
            task = Task(0, 20, number, "", queue_type=kind)
            at = begin + (number - 100) * 3000
            records += prof.stars_record(run, task, 0, at) + prof.stars_record(
                run, task, 1, at + 2000
            )
    return {("device_0", "stars_soc.data.0"): records}


def step(at, index, model, tag, stream=7, task=9, chip=5):
    """A moment that the firmware saw pass."""
    head = struct.pack("<BBHIQQQ", 0, 10, 0, 0, device_ticks(at), index, model)
    if not is_v6(chip):
        return head + struct.pack("<HHHH", stream, task, tag, 0)
    return head + struct.pack("<HHI", tag, stream, task)


def iterations(chip=5):
    """Two iterations of model 3; a step that the program marked."""
    moments = [(200_000, 0), (210_000, 2), (240_000, 3), (260_000, 4),
               (270_000, 2), (300_000, 3), (330_000, 4), (331_000, 1)]  # fmt: skip
    content = b"".join(step(at, 0, 3, tag, chip=chip) for at, tag in moments)
    content += step(400_000, 12, 4_294_967_295, 60000, chip=chip)
    content += step(450_000, 12, 4_294_967_295, 60001, chip=chip)
    return {("device_0", "ts_track.data.0"): content}


def ai_cpu(stream=9, task=50, chip=5):
    """A kernel of the AI CPU, a data queue, a preprocessing action, turns of a fused kernel."""
    ticks = device_ticks
    place = (stream, task) if not is_v6(chip) else (task & 0xFFFF, task >> 16)
    node = struct.pack("<HHIQQQQQQQII4QIIIHB", *place, 0, 5, ticks(120_000), 1_000, 1_400, 1_900,
                       7, ticks(180_000), 0, 0, ticks(100_000), ticks(110_000), ticks(119_000),
                       ticks(190_000), 0, 55, 90, 0, 1)  # fmt: skip
    queue = struct.pack("<IIQQQ", 1, 0, 17, ticks(200_000), ticks(230_000))
    action = b"Last queue push".ljust(16, b"\0") + b"loader".ljust(64, b"\0")
    action += struct.pack("<QQ", 3, 77)
    turn = struct.pack("<7QQIHHBBB", *(ticks(300_000 + 1000 * k) for k in range(7)), 0, 0, *place,
                       0, 1, 2)  # fmt: skip
    compute = struct.pack("<3QQIHHBBB", *(ticks(310_000 + 2000 * k) for k in range(3)), 0, 0,
                          *place, 0, 1, 2)  # fmt: skip
    content = b"".join(
        struct.pack("<HHIIIQ", 0x5A5A, 6000, kind, TID, len(data), prof.MONO_NS + 240_000)
        + data.ljust(232, b"\0")
        for kind, data in ((0, node), (3, queue), (1, action), (4, turn), (5, compute))
    )
    return {("device_0", "aicpu.data.0"): content}


def preprocessing(is_text):
    """Two actions as older collectors wrote them: (ns, action, source, size) as records or lines.
    Other lines hold no data."""
    actions = [(240_000, "Last queue dequeue", "iterator_default", 131),
               (250_000, "Last queue dequeue", "iterator_1", 0)]  # fmt: skip
    if is_text:
        lines = [f"[{prof.MONO_NS + at}] {action}, source:{source}, index:{i}, size:{size}\n\0"
                 for i, (at, action, source, size) in enumerate(actions)]  # fmt: skip
        content = "".join([lines[0], "[17] Queue is empty\n\0", lines[1]]).encode()
    else:
        content = b"".join(
            struct.pack("<HHIQ16s64sQQ16x", 0x5A5A, 100, 0, prof.MONO_NS + at, action.encode(),
                        source.encode(), i, size)
            for i, (at, action, source, size) in enumerate(actions)
        )  # fmt: skip
    return {("device_0", "DATA_PREPROCESS.DP.0"): content}


CACHE = {
    "l2CacheTaskProfilingEvents": "0xF6,0xFB,0xFC,0xBF,0x90,0x91,0x9C,0x9D",
    "npuEvents": "SMMU:0x2,0x8a,0x8b,0x8c,0x8d",
}
CACHE_V6 = {
    "l2CacheTaskProfilingEvents": "0x00,0x81,0x82,0x83,0x74,0x75",
    "npuEvents": "SMMU:0x2,0x8a,0x8b,0x8c,0x8d;HA:0x00,0x81,0x82,0x83,0x74,0x75",
}


def caches(chip=5):
    """Rates of two tasks of stream 7 (numbers 3 and 4); sample.json has CACHE or CACHE_V6."""
    cache = (1, 120, 80, 4, 90, 60, 20, 8) if not is_v6(chip) else (200, 10, 10, 10, 10, 10, 0, 0)
    smmu = (7, 100, 1, 50, 30, 0, 0, 0)
    files = {}

    def soc(kind, task, slots):
        if not is_v6(chip):
            head = struct.pack("<QHHHH", 0, 0, 7, task, kind)
        else:
            head = struct.pack("<6sHHHI", b"", kind, 0, 7, task)
        return head + struct.pack("<8Q", *slots)

    if not is_v6(chip):
        files["l2_cache.data.0"] = b"".join(struct.pack("<HHHH8Q", 0, 7, task, 0, *cache)
                                            for task in (3, 4))  # fmt: skip
        files["socpmu.data.0"] = soc(2, 3, smmu) + soc(4, 4, (5, *[0] * 7))
    else:
        files["socpmu.data.0"] = soc(1, 3, cache) + soc(2, 3, smmu) + soc(4, 4, (5, *[0] * 7))
    return {("device_0", name): content for name, content in files.items()}


def network():
    """Three lines of a network device's running counters, the last of which restarts."""
    lines = [
        (prof.MONO_NS + 1_000_000, *range(100, 115)),
        (prof.MONO_NS + 2_000_000, *range(110, 140, 2)),
        (prof.MONO_NS + 2_000_000, *[999] * 15),  # its time does not go on
        (prof.MONO_NS + 3_000_000, *[0] * 15),
    ]
    text = "".join(" ".join(map(str, line)) + "\n" for line in lines)
    return {("device_0", "netdev_stats.data.0"): text.encode()}


def links(chip=5):
    """Between chips and to the host; on newer chips power and the unified bus, too."""

    def record(function, at, upper, rest, number=0, values=16):
        head = struct.pack("<HHIQ", function | upper << 10, 0x6BD3, 0, device_ticks(at))
        head = head + struct.pack("<HH", 0, number) if values > 16 else head
        return (head.ljust(values, b"\0") + rest).ljust(64, b"\0")

    if not is_v6(chip):
        content = record(0b011011, 10_000, 63, struct.pack("<QQ", 11, 12), 3, 32)
        content += record(0b011011, 11_000, 34, struct.pack("<QQ", 21, 22), 2, 32)
        voltage = struct.pack("<II", 2, 1) + struct.pack("<QIIQII", device_ticks(-1000), 850, 0,
                                                         device_ticks(20_000), 870, 0)  # fmt: skip
        bus = struct.pack("<II", 1, 2) + struct.pack("<QII", device_ticks(30_000), 780, 0)
        levels = voltage.ljust(888, b"\0") + bus.ljust(888, b"\0")
        files = {"stars_soc_profile.data.0": content, "lpmInfoConv.data.0": levels}
    else:
        content = record(0b011011, 10_000, 1, struct.pack("<QQ", 21, 22))
        content += record(0b011011, 11_000, 1, struct.pack("<QQ", 2**64 - 1, 2**64 - 1))
        power = [0] * 20
        power[11] = 1650  # the first value of the software, swapped with its neighbour
        content += record(0b011101, 12_000, 1, struct.pack("<20H", *power), values=24)
        bus = struct.pack("<4H15Q", 0, 0, 5, 0, 1000, 30, 40, *[0] * 12)
        files = {"stars_soc_profile.data.0": content, "ub.data.0": bus}
    return {("device_0", name): content for name, content in files.items()}


SAMPLED_CORES = {"ai_core_profiling_mode": "sample-based", "ai_core_metrics": "PipeUtilization",
                 "ai_core_profiling_events": "0x8,0xa,0x9,0xb,0xc,0xd,0x54,0x55",
                 "aicore_sampling_interval": 10}  # fmt: skip


def sampled_cores(chip=5):
    """Two samples of a cube core, one of a vector core; before STARS each kind has a file."""

    def sample(ns, cycles, core):
        time = (
            77 + ns if not is_v6(chip) else device_ticks(ns)
        )  # the device's own clock begins at 77
        events = [0] * (8 if not is_v6(chip) else 10)
        return struct.pack(f"<BBHHH{len(events)}QQQBB6x", 1, 0, 0, 0, 0, *events, cycles, time, 8,
                           core)  # fmt: skip

    cube = sample(1_000_000, 500, 2) + sample(2_000_000, 825_000, 2)
    vector = sample(1_000_000, 9, 30)
    if prof.is_hwts(chip):
        return {("device_0", "aicore.data.0"): cube, ("device_0", "aiVectorCore.data.0"): vector}
    return {("device_0", "ffts_profile.data.0"): cube + vector}


def image_units(has_number):
    """Two samples of an engine for images."""
    number = "1 " if has_number else ""
    text = "timestamp dvppId engine_type engine_id all_time all_frame\n" + "".join(
        f"0:{77 + ns} {number}VDEC 3 {k}00 {k}0 {k}.5% {k} {k}1 0% 7 8\n"
        for k, ns in ((1, 1_000_000), (2, 2_000_000)))  # fmt: skip
    return {("device_0", "dvpp.data.0"): text.encode()}


LAUNCHED_TEXTS = ["group_name_586", "Notify_Wait", "Memcpy", "MESH-RING"]


def ai_cpu_record(at, kind, data):
    """One of aicpu.data, at nanoseconds since the start."""
    head = struct.pack("<HHIIIQ", 0x5A5A, 6000, kind, TID, len(data), device_ticks(at))
    return head + data.ljust(232, b"\0")


def transfers(*parts):
    """What one or two tasks move: (item, task, stream, source, destination, bytes)."""
    data = b"".join(
        struct.pack("<QQQIIIIQQdQQQIIHH7B9x", text_hash(item), 0, text_hash("group_name_586"),
                    source, destination, 2, 0, 77, 0, 0.0, 0, 0, size, task, 0, stream, 0, 0, 4, 1,
                    0, 0, 0, 0)
        for item, task, stream, source, destination, size in parts)  # fmt: skip
    return data


def launched(is_expanded, with_transfers=True):
    """A kernel of the AI CPU on stream 30 that launches three tasks on streams 31 and 32.

    The device's log of the tasks is theirs alone: the host launched none of them.
    """
    streams = struct.pack("<QIIIII2I", text_hash("group_name_586"), 2, 0, 0, 30, 2, 31, 32)
    content = b""
    if is_expanded:
        facts = struct.pack("<BBQQQIHI", 0, 4, text_hash("MESH-RING"), 1024,
                            text_hash("group_name_586"), 2, 30, 0)  # fmt: skip
        content += ai_cpu_record(105_000, 10, facts)
        for at, task, end in ((106_000, 1, 0), (190_000, 2, 1)):
            content += ai_cpu_record(at, 12, struct.pack("<5H", 30, 60, 31, task, end))
    if with_transfers:
        content += ai_cpu_record(107_000, 13, transfers(("Notify_Wait", 1, 31, 0, 1, 0),
                                                        ("Memcpy", 2, 31, 0, 1, 4096)))  # fmt: skip
        content += ai_cpu_record(108_000, 13, transfers(("Memcpy", 3, 32, 0, 1, 4096)))
    files = {("host", "unaging.additional.mc2_comm_info"): additional(NODE, 1000, streams)}
    return files | ({("device_0", "aicpu.data.0"): content} if content else {})


def launched_tasks():
    """What the kernel launched: begin and end on the device, and its queue."""
    return [
        Task(0, 31, 1, "", (110_000, 112_000), 20),
        Task(0, 31, 2, "", (120_000, 130_000), 11),
        Task(0, 32, 3, "", (121_000, 131_000), 11),
        Task(0, 33, 4, "", (122_000, 123_000), 11),  # of no communicator
    ]


def logs(run, tasks):
    """The device's log of tasks that the host did not launch."""
    return b"".join(prof.stars_record(run, task, function, at)
                    for task in tasks for function, at in enumerate(task.ran))  # fmt: skip


def graph_run(form, rounds=(40_000, 50_000), cut=None):
    """A run with a captured graph that is launched once and run each round; `cut`: what is left of
    the capture's bytes at the end."""
    run = prof.Run(captured_calls(), slice_bytes=1 << 20, texts=TEXTS)
    files, key = captured(form), ("host", f"unaging.{form}.capture_op_info")
    run.extra = files | {key: files[key][:cut]} | replays(run, rounds)
    return run


LAUNCHER = Task(53_000, 30, 60, "KERNEL_AICPU", (100_000, 200_000), 1)


def launched_run(calls, **more):
    """A run in which the kernel LAUNCHER launches tasks of its own."""
    run = prof.Run(calls, slice_bytes=1 << 20, texts=LAUNCHED_TEXTS)
    run.extra = launched(**more)
    run.extra["device_0", "stars_soc.data.0"] = logs(run, launched_tasks())
    return run


def reduce_call():
    """A fused operator whose kernel is LAUNCHER."""
    name = "MatmulAllReduceAicpuKernel"
    return prof.Call(50_000, 58_000, NODE, "launch", name,
                     basic=(name, 1, "MatmulAllReduce", 1, 0, 0), tasks=[LAUNCHER])  # fmt: skip


def cache_run(chip, events):
    """Before STARS: of hits, too."""
    record = struct.pack("<HHHH8Q", 0, 7, 3, 0, 200, 60, 20, 200, *[0] * 4)
    return {"chip": chip, "extra": {("device_0", "l2_cache.data.0"): record},
            "sample": {"l2CacheTaskProfilingEvents": events}}  # fmt: skip


def damaged_preprocessing(is_text):
    """Lines without their moment or size; a record of another tag."""
    content = b"Last queue dequeue, source:a, size:1\n[x] Last queue dequeue, size:1\n"
    content += b"[5] Last queue dequeue, source:a\n[-5] Last queue dequeue, size:1\n"
    if not is_text:
        content = preprocessing(False)["device_0", "DATA_PREPROCESS.DP.0"]
        content = content[:2] + b"c" + content[3:]
    return {("device_0", "DATA_PREPROCESS.DP.0"): content}
