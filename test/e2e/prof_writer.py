"""Writes PROF_* folders in the layout of the collector of Ascend's profilers, from a description.

The description is a `Run`: what the host called and launched, and when the device ran it, in
nanoseconds from the start. `write` gives the folder; what a reader must find in it are the values
of the description themselves. Shares no code with the reader. All numbers are little-endian.
"""

import json
import struct
from dataclasses import dataclass, field
from pathlib import Path

WALL_US = 1_700_000_000_000_000  # when recording began
MONO_NS = 5_000_000_000_000
HOST_TICKS = 70_000_000
DEVICE_TICKS = 900_000_000
HOST_MHZ = 100
DEVICE_MHZ = 50
NONE = 0xFFFFFFFF

NODE, MODEL, ACL, COMMUNICATION, RUNTIME = 10000, 15000, 20000, 5500, 5000
LEVELS = {NODE: "node", MODEL: "model", ACL: "acl", COMMUNICATION: "communication"}
RUNTIME_TYPES = {
    "MAINTENANCE": 6,
    "FLIP_TASK": 98,
    "KERNEL_AICORE": 200,
    "KERNEL_AIVEC": 201,
    "KERNEL_AICPU": 202,
    "FFTS_PLUS": 203,
    "MEMCPY_ASYNC": 204,
    "NOTIFY_WAIT": 205,
    "EVENT_RECORD": 206,
    "KERNEL_MIX_AIC": 207,
}
OTHER_TYPES = {
    (NODE, "launch"): 5,
    (MODEL, "ModelExecute"): 1,
    (COMMUNICATION, "master"): 0x10001,
    (COMMUNICATION, "slave"): 0x10002,
    (ACL, "aclnnMatmul"): 0x50001,
    (ACL, "aclrtMemcpyAsync"): 0x30002,
}


def utc_ns(offset):
    """The moment of the Unix epoch that the reader must find."""
    return WALL_US * 1000 + offset


@dataclass
class Counters:
    """Hardware counters of a task, or of a block of its other kind of cores."""

    end: int
    cycles: int
    slots: list
    context: int | None = None  # of a sub-task of FFTS+
    kind: int = 0  # of sub-task: 0 cube, 1 vector, 6 and 7 mixed
    is_block: bool = False
    # Of chips 15 and 16:
    begin: int = 0
    is_vector: bool = False
    is_other: bool = False  # of the other kind of cores than the task's own
    is_overflown: bool = False


@dataclass
class Task:
    """A launch at `at` on the host; `ran`: begin and end on the device, None: its log is lost."""

    at: int
    stream: int
    number: int
    type: str
    ran: tuple | None = None
    queue_type: int = 0
    kernel: str = ""
    blocks: tuple | None = None  # (number, ratio of the secondary kind)
    sub_tasks: dict = field(default_factory=dict)  # context -> (sub-task type, begin, end)
    flip: int = 0
    pmu: list = field(default_factory=list)  # Counters
    device: int = 0


@dataclass
class Call:
    """A call of the vendor's library [begin, end] with what lies in it."""

    begin: int
    end: int
    level: int
    type: str
    item: str = ""
    calls: list = field(default_factory=list)
    tasks: list = field(default_factory=list)
    basic: tuple | None = None  # (name, task type, op type, blocks, ratio, hf32)
    is_dynamic: bool = False
    inputs: list = field(default_factory=list)  # (format, type, shape)
    outputs: list = field(default_factory=list)
    operation: tuple | None = None  # (data type, algorithm, count, group)
    transfer: dict | None = None  # of hccl_info
    contexts: list | None = None
    copy: tuple | None = None  # (bytes, largest, direction) of the first task
    attributes: str = ""


@dataclass
class Run:
    """What was recorded."""

    calls: list
    tid: int = 4242
    pid: int = 4200
    chip: int = 5
    flips: list = field(default_factory=list)  # (at, stream, flip, task) on the device
    extra: dict = field(default_factory=dict)  # more files: (part, name) -> bytes
    sample: dict = field(default_factory=dict)  # sample.json of the devices
    slice_bytes: int = 100  # a slice is cut there, within a record
    events: bool = False  # calls as two ends
    texts: list = field(default_factory=list)  # more of the dictionary
    cann: str = "8.5.0"
    info: dict = field(default_factory=dict)  # more of info.json


def text_hash(text):
    """The collector's number of a text."""
    high = low = 0
    for byte in text.encode():
        value = byte - 256 if byte > 127 else byte
        high = (high * 29 + value) & NONE
        low = (low * 131 + value) & NONE
    return (high << 32) | low if text else 2**64 - 1


def host_ticks(offset):
    """Ticks of the host's counter."""
    return HOST_TICKS + offset * HOST_MHZ // 1000


def device_ticks(offset):
    """Ticks of the device's counter."""
    return DEVICE_TICKS + offset * DEVICE_MHZ // 1000


def is_v6(chip):
    """Whether its records are those of the 950."""
    return chip in (15, 16)


def is_hwts(chip):
    """Whether its scheduler is the one before STARS: 310, 910A, 310P."""
    return chip in range(5)


def hwts_record(task, function, at, counter=0):
    """Begin (0) or end (1) of a task in the log of such a device."""
    return struct.pack("<BBHHHQI", function | (counter & 15) << 4, task.queue_type, 0, 0,
                       task.number, device_ticks(at), task.stream).ljust(64, b"\0")  # fmt: skip


def stars_record(run, task, function, at, counter=0):
    """Begin (0) or end (1) of a task in the device's log."""
    header = function | (counter & 15) << 6 | task.queue_type << 10
    if not is_v6(run.chip):
        record = struct.pack("<HHHHQ", header, 0x6BD3, task.stream, task.number, device_ticks(at))
        return record.ljust(64, b"\0")
    return struct.pack("<HHIQ", header, 0x6BD3, task.number, device_ticks(at)).ljust(32, b"\0")


class Writer:
    """Collects the bytes of all streams of a run."""

    def __init__(self, run):
        self.run = run
        self.streams = {}
        self.texts = set()
        self.types = {(RUNTIME, name): number for name, number in RUNTIME_TYPES.items()}
        self.counter = 0

    def add(self, part, name, record):
        self.streams.setdefault((part, name), bytearray()).extend(record)

    def hash(self, text):
        if not text:
            return 0
        self.texts.add(text)
        return text_hash(text)

    def head(self, level, number, at, size):
        return struct.pack("<HHIIIQ", 0x5A5A, level, number, self.run.tid, size, host_ticks(at))

    def compact(self, name, level, at, data, size=0):
        record = self.head(level, 0, at, size or len(data)) + data.ljust(40, b"\0")
        self.add("host", f"unaging.compact.{name}", record)

    def additional(self, name, level, at, data):
        record = self.head(level, 0, at, len(data)) + data.ljust(232, b"\0")
        self.add("host", f"unaging.additional.{name}", record)

    def call(self, call):
        number = OTHER_TYPES.setdefault((call.level, call.type), 900 + len(OTHER_TYPES))
        self.types[call.level, call.type] = number
        ends = (
            [(call.begin, None), (call.end, None)] if self.run.events else [(call.begin, call.end)]
        )
        for at, end in ends:
            last = 2**64 - 1 if end is None else host_ticks(end)
            record = self.head(call.level, number, at, 0) + struct.pack(
                "<QQ", last, self.hash(call.item)
            )
            self.add("host", "unaging.api_event.data", record)
        inside = call.begin + 10
        if call.basic:
            self.basic(call, inside)
        if call.operation:
            kind, algorithm, count, group = call.operation
            data = struct.pack("<BBQQQ", 0, kind, self.hash(algorithm), count, self.hash(group))
            self.compact("hccl_op_info", NODE, inside, data)
        if call.transfer:
            self.transfer(call.transfer, inside)
        if call.contexts:
            data = struct.pack("<QI", self.hash(call.item), len(call.contexts))
            data += struct.pack(f"<{len(call.contexts)}I", *call.contexts)
            self.additional("context_id_info", call.level, inside, data)
        for task in call.tasks:
            self.task(task)
        if call.copy:
            data = struct.pack("<QQH", *call.copy)
            self.compact("memcpy_info", RUNTIME, call.tasks[0].at, data)
        for child in call.calls:
            self.call(child)

    def basic(self, call, at):
        name, task_type, op_type, blocks, ratio, hf32 = call.basic
        data = struct.pack("<QIQII", self.hash(name), task_type, self.hash(op_type),
                           blocks | ratio << 16, hf32)  # fmt: skip
        record = self.head(NODE, 0, at, len(data)) + data.ljust(40, b"\0")
        age = "aging" if call.is_dynamic else "unaging"
        self.add("host", f"{age}.compact.node_basic_info", record)
        tensors = [(0, *t) for t in call.inputs] + [(1, *t) for t in call.outputs]
        for i in range(0, len(tensors), 5):
            part = tensors[i : i + 5]
            data = struct.pack("<QI", self.hash(name), len(part))
            for kind, layout, data_type, shape in part:
                data += struct.pack("<III8I", kind, layout, data_type, *shape,
                                    *[0] * (8 - len(shape)))  # fmt: skip
            self.additional("tensor_info", NODE, at, data)
        if call.attributes:
            data = struct.pack("<QIQ", self.hash(name), 0, self.hash(call.attributes))
            self.compact("node_attr_info", NODE, at, data)

    def transfer(self, facts, at):
        data = struct.pack(
            "<QQQIIIIIIQIIdQQQIIIIII",
            self.hash(facts["item"]), 0, self.hash(facts["group"]), facts["src"], facts["dst"],
            facts["ranks"], 0, facts["plane"], facts.get("context", NONE), facts["notify"], 0, 0,
            0.0, 0, 0, facts["size"], 0, facts["type"], facts["link"], facts["transport"], 0, 0,
        )  # fmt: skip
        self.additional("hccl_info", COMMUNICATION, at, data)

    def task(self, task):
        number = task.number if is_v6(self.run.chip) else task.number | task.flip << 16
        data = struct.pack("<HHIQQ", task.device, task.stream, number, RUNTIME_TYPES[task.type],
                           self.hash(task.kernel))  # fmt: skip
        if task.blocks:
            data += struct.pack("<HHB", task.blocks[0], 0, task.blocks[1])
        self.compact("task_track", RUNTIME, task.at, data, 40 if task.blocks else len(data))
        part = f"device_{task.device}"
        for pmu in task.pmu:
            self.counters(part, task, pmu)
        if task.ran:
            for function, at in enumerate(task.ran):
                self.stars(part, task, function, at)
        for context, (kind, begin, end) in task.sub_tasks.items():
            for function, at in ((0b100010, begin), (0b100011, end)):
                header = function | (self.counter & 15) << 6
                self.counter += 1
                record = struct.pack("<HHHHQHHHH", header, 0x6BD3, task.stream, task.number,
                                     device_ticks(at), kind, context, 4 << 13, 0)  # fmt: skip
                self.add(part, f"stars_soc.data.{task.device}", record.ljust(64, b"\0"))

    def counters(self, part, task, pmu):
        if is_v6(self.run.chip) or is_hwts(self.run.chip):
            write = self.counters_v6 if is_v6(self.run.chip) else self.counters_hwts
            write(part, task, pmu)
            return
        function = 0b101001 if pmu.is_block else 0b101000
        is_part = pmu.context is not None
        record = struct.pack("<HHHHQHH", function, 0, task.stream, task.number, 0, pmu.kind,
                             pmu.context or 0)  # fmt: skip
        ffts = 4 if is_part else 0
        record += (
            struct.pack("<BBHQ", 0, ffts << 5, 0, 0)
            if pmu.is_block
            else struct.pack("<HHQ", ffts << 13, 0, 0)
        )
        slots = [*pmu.slots, *[0] * 8][:8]
        record += struct.pack("<QQ8QQQ", pmu.cycles, 0, *slots, 0, device_ticks(pmu.end))
        self.add(part, f"ffts_profile.data.{task.device}", record)

    def counters_hwts(self, part, task, pmu):
        slots = [*pmu.slots, *[0] * 8][:8]
        record = struct.pack("<BBHHHIIQQ8QI", (self.counter & 15) << 4, 0, 0, 0, task.number, 0, 0,
                             pmu.cycles, 0, *slots, task.stream)  # fmt: skip
        name = "aiVectorCore" if pmu.is_vector else "aicore"
        self.add(part, f"{name}.data.{task.device}", record.ljust(128, b"\0"))

    def counters_v6(self, part, task, pmu):
        slots = [*pmu.slots, *[0] * 10][:10]
        flags = (not pmu.is_other) | (pmu.kind in (6, 7)) << 1 | pmu.is_overflown << 2
        record = struct.pack("<HHIQBBHBBHHHI10QQQ", 0b101010, 0, task.number, pmu.cycles, 0, flags,
                             0, pmu.is_vector, 0, 0, 0, 0, 0, *slots, device_ticks(pmu.begin),
                             device_ticks(pmu.end))  # fmt: skip
        self.add(part, f"ffts_profile.data.{task.device}", record)

    def stars(self, part, task, function, at):
        if is_hwts(self.run.chip):
            record, name = hwts_record(task, function, at, self.counter), "hwts"
        else:
            record, name = stars_record(self.run, task, function, at, self.counter), "stars_soc"
        self.counter += 1
        self.add(part, f"{name}.data.{task.device}", record)

    def finish(self):
        for call in self.run.calls:
            self.call(call) if isinstance(call, Call) else self.task(call)
        for at, stream, flip, task in self.run.flips:
            record = struct.pack("<BBHIQHHHH", 0, 14, 0, 0, device_ticks(at), stream, flip, 0, task)
            self.add("device_0", "ts_track.data.0", record.ljust(40, b"\0"))
        self.texts.update(self.run.texts)
        hashes = "".join(f"{text_hash(text)}:{text}\n" for text in sorted(self.texts))
        types = "".join(f"{level}_{n}:{name}\n" for (level, name), n in self.types.items())
        self.add("host", "unaging.additional.hash_dic", hashes.encode())
        self.add("host", "unaging.additional.type_info_dic", types.encode())
        for (part, name), content in self.run.extra.items():
            self.add(part, name, content)
        return self.streams


def settings(run, folder):
    """info.json and the records of the clocks."""
    host = folder / "host"
    cpu = {"Id": 0, "Name": "x", "Frequency": f"{HOST_MHZ}.000000", "Logical_CPU_Count": 4,
           "Type": "x"}  # fmt: skip
    info = {"platform_version": str(run.chip), "devices": "", "pid": str(run.pid),
            "pid_name": "python3", "drvVersion": 467732, "version": "1.0", "CPU": [cpu],
            "cannVersion": run.cann,
            "hostname": "h", "hostUid": "0", "memoryTotal": 1 << 20, "netCard": [],
            "netCardNums": 0, "cpuNums": 4, "sysClockFreq": 100, "rank_id": -1}  # fmt: skip
    info |= run.info
    start = {"collectionDateBegin": "2023-11-14 22:13:20.000000",
             "collectionTimeBegin": str(WALL_US), "clockMonotonicRaw": str(MONO_NS),
             "collectionDateEnd": "", "collectionTimeEnd": ""}  # fmt: skip
    end = {"collectionDateEnd": "2023-11-14 22:13:21.000000",
           "collectionTimeEnd": str(WALL_US + 1_000_000),
           "clockMonotonicRaw": str(MONO_NS + 1_000_000_000)}  # fmt: skip
    sample = {"llc_profiling": "", "hbm_profiling_events": "read,write"} | run.sample
    log = f"[Host]\nclock_monotonic_raw: {MONO_NS}\ncntvct: {HOST_TICKS}\ncntvct_diff: 0\n"
    (host / "info.json").write_text(json.dumps(info))
    (host / "sample.json").write_text(json.dumps(sample | {"devices": "64"}))
    (host / "start_info").write_text(json.dumps(start))
    (host / "end_info").write_text(json.dumps(end))
    (host / "host_start.log").write_text(log)
    for device in folder.glob("device_*"):
        number = device.name.removeprefix("device_")
        chip = {"id": int(number), "hwts_frequency": f"{DEVICE_MHZ}.000000",
                "aic_frequency": "1650", "aiv_frequency": "1650", "ai_core_num": 24,
                "aiv_num": 48, "ctrl_cpu": "0", "ai_cpu": "1,2", "ctrl_cpu_core_num": 1,
                "ai_cpu_core_num": 2}  # fmt: skip
        own = info | {"devices": number, "DeviceInfo": [chip]}
        (device / f"info.json.{number}").write_text(json.dumps(own))
        (device / "sample.json").write_text(json.dumps(sample | {"devices": number}))
        (device / f"start_info.{number}").write_text(json.dumps(start))
        (device / f"end_info.{number}").write_text(json.dumps(end))
        (device / f"host_start.log.{number}").write_text(log)
        (device / f"dev_start.log.{number}").write_text(
            f"[Device]\nclock_monotonic_raw: 77\ncntvct: {DEVICE_TICKS}\n"
        )


def write(run, folder):
    """Fills `folder` (a PROF_*), and returns it."""
    return write_streams(run, Writer(run).finish(), folder)


def write_streams(run, streams, folder):
    """The same of streams that are there already."""
    folder = Path(folder)
    for part in {"host", "device_0", *(part for part, _ in streams)}:
        (folder / part / "data").mkdir(parents=True)
    settings(run, folder)
    for (part, name), content in streams.items():
        is_text = name.endswith("_dic")
        size = max(1, len(content)) if is_text else run.slice_bytes
        for k in range(0, max(1, -(-len(content) // size))):
            path = folder / part / "data" / f"{name}.slice_{k}"
            path.write_bytes(content[k * size : (k + 1) * size])
            path.with_name(path.name + ".done").write_text(f"filesize:{path.stat().st_size}\n")
    return folder
