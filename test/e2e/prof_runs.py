"""Descriptions of runs that several tests write as folders of records (prof_writer)."""

import struct

import prof_writer as prof
from prof_writer import ACL, COMMUNICATION, NODE, Call, Counters, Run, Task

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


PIPES_V6 = PIPES | {
    "ai_core_metrics": "PipeUtilization",
    "ai_core_profiling_events": "0x501,0x301,0x1,0x701,0x202,0x203,0x34,0x35,0x714",
    "aiv_profiling_events": "0x501,0x301,0x1,0x701,0x202,0x203,0x34,0x35,0x714",
}


def sampled():
    """Files of what a device samples: memory and links, two milliseconds and more."""
    hbm = b"".join(struct.pack("<QQII", us, 1_000_000 * us // 1000, event, memory)
                   for us in (1000, 2000, 4000)
                   for event in (0, 1) for memory in range(4))  # fmt: skip
    memory = struct.pack("<IIQQQ", 500, 0, 0, 64, 128) + struct.pack("<IIQQQ", 500, 1, 0, 0, 256)
    modules = struct.pack("<IIQQ", 3, 0, prof.host_ticks(50_000), 1 << 20)
    pcie = struct.pack("<QI21I", 77 + 3_000_000, 0, *range(1, 22))
    hccs = b"timestamp tx rx\n0:1000077 0 0\n0:2000077 1048576 2097152\n0:3000077 5 5\n"
    port = b"1000077 100000 1 2 3 4 5 6 7 8 9 10 11 12 4\n"
    files = {"hbm.data.0": hbm, "npu_mem.app.0": memory, "npu_module_mem.data.0": modules,
             "pcie.data.0": pcie, "hccs.data.0": hccs, "nic.data.0": port,
             "roce.data.0": port}  # fmt: skip
    return {("device_0", name): content for name, content in files.items()}


SOC = {"llc_profiling": "read", "qosEvents": "OTHERS,SDMA"}


def soc():
    """What a chip counts beside its cores; sample.json has SOC."""

    def record(function, at, rest, accelerator=0):
        head = struct.pack("<HHIQHH", function, 0x6BD3, 0, prof.device_ticks(at), 0, accelerator)
        return (head + rest).ljust(64, b"\0")

    empty = b"\0" * 12
    accelerator = record(0b011010, 10_000, empty + struct.pack("<4Q", 11, 12, 13, 14), 5)
    levels = record(0b011100, 20_000, empty + struct.pack("<H", 3 | 9 << 3))
    dies = b"".join(record(0b011001, at, empty + struct.pack("<8I", *range(k, k + 8)), 1)
                    for at, k in ((100_000, 50), (1_100_000, 100)))  # fmt: skip
    unknown = record(0b011101, 30_000, b"")
    qos = struct.pack("<IIQQ10I", 0, 0, 0, prof.device_ticks(40_000), 7, 9, *[0] * 8)
    events = (0x00, 0x01, 0x02, 0x13, 0x20, 0x22, 0x34, 0x36)
    counts = (30, 2, 50, 60, 40, 70, 80, 30)
    llc = b"".join(struct.pack("<QQII", us, count, event, 1)
                   for us in (1000, 2000) for event, count in zip(events, counts))  # fmt: skip
    files = {"stars_soc_profile.data.0": accelerator + levels + dies + unknown,
             "qos.data.0": qos, "llc.data.0": llc}  # fmt: skip
    return {("device_0", name): content for name, content in files.items()}


def mark(kind, message, begin, end, number, segment=0, domain=0, is_extended=True):
    """A record of mstx (or, not extended, of msproftx)."""
    data = struct.pack("<HHIHHIIIIiQQQQQi", is_extended, segment, 0, 0x5A5A, 0, 4200, 4242, 0, kind,
                       0, 0, prof.host_ticks(begin), prof.host_ticks(end), number, domain,
                       0) + message.encode().ljust(156, b"\0")  # fmt: skip
    head = struct.pack("<HHIIIQ", 0x5A5A, 20500, 0, 4242, len(data), prof.host_ticks(end))
    return head + data


def frequency(*changes):
    """lpmFreqConv: (nanoseconds since the start, MHz)."""
    record = struct.pack("<II", len(changes), 0)
    for at, mhz in changes:
        record += struct.pack("<QII", prof.device_ticks(at), mhz, 0)
    return {("device_0", "lpmFreqConv.data.0"): record.ljust(888, b"\0")}


def counted(chip):
    """Kernels of each kind of cores with their counters, behind the others of this file."""
    if prof.is_hwts(chip):
        return counted_before_stars(chip)
    cube = [792, 792, 3960, 7920, 19_800, 396, 1000, 25, 77]
    late = [100, 200, 300, 400, 500, 600, 700, 80, 90]
    of_mixed = [330, 100]
    others = [165, 0, 330]
    if chip == 5:
        blocks = [Counters(264_000 + k, 1650, others, 0, 6, True) for k in range(4)]
        mixed = Task(252_000, 7, 26, "FFTS_PLUS", (260_000, 270_000),
                     sub_tasks={0: (6, 260_000, 270_000)},
                     pmu=[Counters(266_000, 3300, of_mixed, 0, 6), *blocks])  # fmt: skip
    else:
        pmu = [Counters(266_000, 3300, of_mixed, None, 6, begin=261_000),
               Counters(267_000, 1650, others, None, 6, begin=262_000, is_vector=True,
                        is_other=True)]  # fmt: skip
        mixed = Task(252_000, 7, 26, "KERNEL_MIX_AIC", (260_000, 270_000), pmu=pmu)
    vector = Counters(306_000, 33_000, [330, 0, 660, 0, 990, 1320, 100, 50], None, 1,
                      begin=301_000, is_vector=True)  # fmt: skip
    return [
        kernel("Cube", 23, (48, 0), 240_000, [Counters(245_000, 79_200, cube, begin=242_000)]),
        Call(250_000, 256_000, NODE, "launch", "Mixed", basic=("Mixed", 4, "Mixed", 2, 2, 0),
             contexts=[0] if chip == 5 else None, tasks=[mixed]),
        kernel("Late", 24, (1, 0), 280_000, [Counters(285_000, 1650, late, begin=281_000)]),
        Call(290_000, 296_000, NODE, "launch", "Vec", basic=("Vec", 2, "Vec", 40, 0, 0),
             tasks=[Task(292_000, 7, 28, "KERNEL_AIVEC", (300_000, 310_000), 2, pmu=[vector])]),
    ]  # fmt: skip


PIPES_HWTS = PIPES | {
    "ai_core_metrics": "PipeUtilization",
    "ai_core_profiling_events": "0x8,0xa,0x9,0xb,0xc,0xd,0x54,0x55",
}


def counted_before_stars(chip):
    """Vector cores of their own are there from chip 2 on."""
    first = [16_500, 792, 3960, 7920, 19_800, 396, 1000, 25]
    cubes = [
        kernel("Cube", 23, (48, 0), 240_000, [Counters(0, 79_200, first)]),
        kernel("Small", 24, (1, 0), 280_000, [Counters(0, 1650, [330, 165, *[0] * 6])]),
    ]
    vector = Counters(0, 33_000, [330, 0, 660, 0, 990, 1320, 100, 50], is_vector=True)
    alone = Call(
        290_000,
        296_000,
        NODE,
        "launch",
        "Vec",
        basic=("Vec", 2, "Vec", 40, 0, 0),
        tasks=[Task(292_000, 7, 28, "KERNEL_AIVEC", (300_000, 310_000), 2, pmu=[vector])],
    )
    return [*cubes, *([alone] if chip > 1 else [])]


def whole(chip):
    """A run with everything that is described here and a chip has."""
    calls = [call for call in ALL if chip == 5 or call is not FUSED]  # others have no FFTS+
    if prof.is_hwts(chip):
        return Run([*calls, *counted(chip)], chip=chip, slice_bytes=1 << 20,
                   sample=PIPES_HWTS | SOC, extra=sampled())  # fmt: skip
    extra = sampled() | frequency((0, 1000), (260_000, 800)) | (soc() if chip == 5 else {})
    sample = (PIPES if chip == 5 else PIPES_V6) | SOC
    return Run([*calls, *counted(chip)], chip=chip, slice_bytes=1 << 20, sample=sample, extra=extra)


def issues(ask, folder):
    """Counts by code."""
    return dict(
        ask(folder, "SELECT code, sum(count)::BIGINT FROM import_issue GROUP BY 1 ORDER BY 1")
    )


LAUNCH = Call(12_000, 20_000, NODE, "launch", "Op_1", basic=("Op_1", 0, "Op", 1, 0, 0),
              tasks=[Task(15_000, 7, 3, "KERNEL_AICORE", (40_000, 65_000))])  # fmt: skip
QUEUES = (0, 1, 7, 9, 10, 11)


def queues_run():
    """Before STARS: tasks of these queues that no host launched, a record that is neither begin nor
    end, and a task of a vector core."""
    records = b""
    for k, queue in enumerate(QUEUES):
        task = Task(0, 2047, 100 + k, "", queue_type=queue)
        for end in (0, 1):
            records += prof.hwts_record(task, end, 200_000 + 1000 * k + 500 * end)
    neither = bytes([2]) + records[1:64]
    vector = Task(0, 3, 9, "", queue_type=2)
    of_vector = b"".join(prof.hwts_record(vector, end, 300_000 + end) for end in (0, 1))
    return Run([MATMUL], chip=4, extra={("device_0", "hwts.data.0"): records + neither,
                                        ("device_0", "hwts.aiv_data.0"): of_vector})  # fmt: skip


def lost_run():
    """A launch that did not run, and a task that nobody launched."""
    lost = Call(12_000, 20_000, NODE, "launch", "Lost", basic=("Lost", 0, "L", 1, 0, 0),
                tasks=[Task(15_000, 7, 3, "KERNEL_AICORE")])  # fmt: skip
    run = Run([lost])
    alone = Task(61_000, 20, 40, "KERNEL_AICORE", (120_000, 121_000), 0, device=0)
    run.extra = {("device_0", "stars_soc.data.0"): b"".join(
        prof.stars_record(run, alone, end, at) for end, at in enumerate(alone.ran))}  # fmt: skip
    return run


def unpaired_run(in_order):
    """Begins and ends of four tasks that do not alternate: (number, is end, microseconds)."""
    run = Run([])
    logged = [(1, 0, 0), (1, 0, 10), (1, 1, 20), (1, 1, 30),
              (2, 1, 5), (2, 0, 15), (2, 1, 25),
              (3, 0, 2), (3, 0, 12), (3, 1, 22),
              (4, 0, 1), (4, 1, 2), (4, 0, 3), (4, 1, 4)]  # fmt: skip
    logged.sort(key=lambda log: log[2] if in_order else 0)
    run.extra = {("device_0", "stars_soc.data.0"): b"".join(
        prof.stars_record(run, Task(0, 20, number, "KERNEL_AICORE"), end, 100_000 + us * 1000)
        for number, end, us in logged)}  # fmt: skip
    return run


def repeated_run():
    """Before STARS: a task that was launched once and ran three times, with counters of four."""
    call = kernel("Cube", 23, (1, 0), 240_000, [Counters(0, 1000 + k, []) for k in range(4)])
    again = Task(0, 7, 23, "")
    log = b"".join(prof.hwts_record(again, end, at + end * 1000)
                   for at in (300_000, 400_000) for end in (0, 1))  # fmt: skip
    return Run([call], chip=1, sample=PIPES_HWTS, extra={("device_0", "hwts.data.0"): log})
