"""Records of the units that chips 15 and 16 have beside their queues, and of DPUs, as files for
Run.extra; expectations are in the tests. Texts that they name by number are in TEXTS.
"""

import struct

import prof_kinds as kinds
import prof_writer as prof
from prof_writer import COMMUNICATION, RUNTIME, device_ticks, host_ticks, text_hash

TEXTS = ["ccu_allreduce", "group_name_586", "DpuReduce", "Send"]
TASK = 3 | 1 << 16  # a number of more than 16 bits
DPU = 1 << 12  # of the kind of a device


def mission(*, wait=0, ends=(), instruction=0, loop=(0, 0, 0)):
    """A record of the communication unit; times in nanoseconds, `ends` by rank after `wait`."""
    after = [0] * 16
    for rank, ns in ends:
        after[15 - rank] = ns * prof.DEVICE_MHZ // 1000 // 4
    begin, end, loop_instruction = loop
    return struct.pack("<16HQHQQ3H", *after, device_ticks(wait) if wait else 0, instruction,
                       device_ticks(end) if end else 0, device_ticks(begin) if begin else 0,
                       loop_instruction, TASK & 0xFFFF, TASK >> 16)  # fmt: skip


def channels(at, delays):
    """Delays in nanoseconds of packages: {channel: (average, least, most)}."""
    numbers = [0] * 704
    steps = ([5] * 11 + [9]) * 10 + [11, 5, 5, 11] * 2
    for channel, values in delays.items():
        place = sum(steps[:channel]) + (6 if channel in (120, 124) else 0)
        ticks = device_ticks(at)
        numbers[place : place + 2] = ticks & 0xFFFFFFFF, ticks >> 32
        for k, ns in enumerate(values):
            numbers[place + 2 + k] = ns * prof.DEVICE_MHZ // 1000
    return struct.pack("<704I", *numbers)


def communication_unit():
    """A loop and a wait of one task, with the host's records of both, and two channels."""
    place = struct.pack("<HHI", 7, 0, TASK)  # stream, unused, task
    head = struct.pack("<BBHIQQII", 1, 0, 0, 0, text_hash("ccu_allreduce"),
                       text_hash("group_name_586"), 0, 2)  # fmt: skip
    task = head + place + struct.pack("<BBH", 1, 2, 9)
    longer = struct.pack("<BBHIQQIIBBHI", 1, 0, 0, 0, text_hash("ccu_allreduce"),
                         text_hash("group_name_586"), 0, 2, 0, 0, 7, TASK)  # fmt: skip
    group = longer + struct.pack("<BBHBBBBQ16H16I", 1, 0, 21, 2, 0, 4, 4, 65536,
                                 *[0xFFFF] * 16, *[0xFFFFFFFF] * 16)  # fmt: skip
    wait = longer + struct.pack("<BBHB3xII16H16I", 1, 0, 34, 2, 5, 0x0C, 3,
                                *[0xFFFF] * 15, 1, *[0xFFFFFFFF] * 15)  # fmt: skip
    host = {"ccu_task_info": task, "ccu_group_info": group, "ccu_wait_signal_info": wait}
    files = {
        ("host", f"unaging.additional.{name}"): kinds.additional(COMMUNICATION, 16_000, data)
        for name, data in host.items()
    }
    instructions = mission(loop=(41_000, 45_000, 21))
    instructions += mission(wait=46_000, instruction=34, ends=[(1, 800), (4, 4000), (5, 1600)])
    files["device_0", "ccu0.instr.0"] = instructions + mission()  # the last did nothing
    files["device_0", "ccu1.stat.0"] = channels(
        50_000, {0: (4000, 1000, 8000), 11: (40, 40, 40), 120: (20, 20, 20), 127: (0, 0, 0)}
    )
    return files


def block(at, is_end, core, number, is_vector=0, task=TASK):
    """Begin or end of a block on a core."""
    return struct.pack("<HHIQBBHBBHHHI", 0b100100 | is_end, 0x6BD3, task, device_ticks(at), 0, 0, 0,
                       is_vector, core, 0, 0, number, 0)  # fmt: skip


def blocks():
    """Two blocks one after the other on a cube core, one on a vector core, one without its end."""
    records = [(41_000, 0, 5, 0), (43_000, 1, 5, 0), (43_500, 0, 5, 24), (44_000, 1, 5, 24),
               (42_000, 0, 5, 1, 1), (47_000, 1, 5, 1, 1), (48_000, 0, 6, 2)]  # fmt: skip
    content = b"".join(block(*record) for record in records)
    return {("device_0", "stars_block.data.0"): content}


PIPELINES = ["SU", "VEC", "CUBE", "MTE1", "MTE2", "MTE3", "FIXP"]


def stamp(at, block_number):
    """The moment in four words, and the block that runs from then on."""
    ticks = device_ticks(at)
    blocks = (block_number & 0xFF, block_number >> 8, 0, 0)
    return b"".join(struct.pack("<HH", ticks >> 16 * k & 0xFFFF, 14 << 12 | blocks[k])
                    for k in range(4))  # fmt: skip


def state(cycles, *working):
    """So many cycles after the previous word these pipelines work."""
    return struct.pack("<HH", cycles, 15 << 12 | sum(1 << PIPELINES.index(one) for one in working))


def checkpoint(cycles, pipeline, number):
    return struct.pack("<HH", cycles, PIPELINES.index(pipeline) << 12 | number)


INSTRUCTION_END = b"\xff\xff\xff\xef" + b"\xdd" * 8


def instructions():
    """Of a cube core: three pipelines in two blocks, and a checkpoint. 1650 cycles are 1 us."""
    return (
        stamp(41_000, 3) + state(0, "MTE2") + state(1650, "MTE2", "CUBE")
        + checkpoint(330, "CUBE", 77) + state(1320, "CUBE") + state(3300) + INSTRUCTION_END
        + stamp(50_000, 259) + state(165, "SU") + state(165)
    )  # fmt: skip


def fused(kind, begin, end):
    """The part of a fused task of a kind (0 CPU, ... 4 the second die of the unit)."""
    return b"".join(
        struct.pack("<HHIQHH", function, 0x6BD3, TASK, device_ticks(at), 1 << kind, 0).ljust(
            32, b"\0"
        )
        for function, at in ((0b010110, begin), (0b010111, end))
    )


def dpu():
    """A task of a DPU, named by its launch, and a transfer."""
    launch = struct.pack("<HHIQQ", DPU | 2, 5, 70, prof.RUNTIME_TYPES["KERNEL_AICPU"],
                         text_hash("DpuReduce"))  # fmt: skip
    task = struct.pack("<HHIIIQ", DPU | 2, 5, 70, 1, 0, host_ticks(20_000))
    sent = struct.pack("<QQQIIIIQQdQQQIIHHHH8B", text_hash("Send"), 0, text_hash("group_name_586"),
                       0, 3, 4, 0, 0, host_ticks(22_000), 0.0, 0, 0, 4096, 71, 0, 5, 0, 0, DPU | 2,
                       0, 4, 1, 0, 0, 0, 0, 0)  # fmt: skip
    return {
        ("host", "unaging.compact.task_track"): kinds.compact(RUNTIME, 14_000, launch),
        ("host", "unaging.compact.dpu_track"): kinds.compact(4000, 21_500, task),
        ("host", "unaging.additional.dpu_hccl_info"): kinds.additional(4000, 25_000, sent),
    }


KERNEL = prof.Call(12_000, 20_000, prof.NODE, "launch", "MatMulV2_1",
                   basic=("MatMulV2_1", 0, "M", 24, 0, 1),
                   tasks=[prof.Task(15_000, 7, TASK, "KERNEL_AICORE",
                                    (40_000, 65_000))])  # fmt: skip


def fused_run():
    """Two parts of fused tasks at one time, within the log of another run of the task."""
    run = prof.Run([KERNEL], chip=15, extra={})
    own = [prof.stars_record(run, KERNEL.tasks[0], end, at)
           for end, at in ((0, 100_000), (1, 110_000))]  # fmt: skip
    parts = fused(2, 101_000, 105_000) + fused(4, 102_000, 109_000)
    run.extra["device_0", "stars_soc.data.0"] = own[0] + parts + own[1]
    return run


def pipelines():
    """Of a cube core whole, of a vector core with damage."""
    vector = (state(5, "VEC") + stamp(60_000, 1)[:8] + state(5, "VEC")
              + stamp(61_000, 1) + state(1650, "VEC") + b"\0\0\0\x90")  # fmt: skip
    return {("device_0", "instr.biu_perf_group0_aic.0"): instructions(),
            ("device_0", "instr.biu_perf_group12_aiv1.0"): vector}  # fmt: skip


def of_other_chips():
    """What chips before 15 do not write."""
    return blocks() | {("device_0", "ccu0.instr.0"): mission(),
                       ("device_0", "instr.biu_perf_group0_aic.0"): stamp(0, 0)}  # fmt: skip
