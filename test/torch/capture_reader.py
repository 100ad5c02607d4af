"""Reads a capture folder from the description in src/capture/format.h, for tests only.

Written apart from the importer, so that the two check each other. Everything is held in memory;
checksums are not looked at. Rings that a process left behind are read to their end.
"""

import struct
from dataclasses import dataclass, field
from pathlib import Path

RANGE, OP, FRAMEWORK, BACKWARD, USER, MODULE, PYTHON, STEP = range(1, 9)
COLLECTIVE, COLLECTIVE_WORK, GC, OPTIMIZER, DATALOADER, COMPILED = range(9, 15)
MARK, COUNTER, SPAN_BEGIN, SPAN_END, MEMORY = 32, 33, 36, 37, 38
USES = (39, 40)  # of processors: no events
NO_ARGS = (COUNTER, 34, 35)  # a value or an id lies there
UNFINISHED = (1 << 48) - 1


@dataclass
class Record:
    """One range or instant with its names resolved."""

    kind: int
    name: str
    thread: int
    ticks: int
    dur: int
    domain: int
    args: dict
    link: int
    sequence: int

    @property
    def end(self):
        return self.ticks + self.dur


@dataclass
class Memory:
    """One allocation (size > 0) or release."""

    thread: int
    ticks: int
    device_type: int
    pointer: int
    size: int
    total: int
    reserved: int


@dataclass
class Capture:
    """Everything in one capture."""

    records: list = field(default_factory=list)
    memory: list = field(default_factory=list)
    stacks: dict = field(default_factory=dict)  # id -> [(function, file, line)], innermost first
    threads: dict = field(default_factory=dict)  # index -> (tid, framework number, name)
    issues: list = field(default_factory=list)
    metadata: dict = field(default_factory=dict)
    domains: dict = field(default_factory=dict)
    dropped: int = 0

    def of(self, *kinds):
        return [r for r in self.records if r.kind in kinds]

    def named(self, name):
        return [r for r in self.records if r.name == name]


def _decode_input(data, at):
    tag = data[at]
    at += 1
    if tag == 1:
        dtype, dims = data[at], data[at + 1]
        sizes = list(struct.unpack_from(f"<{dims}q", data, at + 2))
        return (dtype, sizes), at + 2 + 8 * dims
    if tag == 2:
        (count,) = struct.unpack_from("<H", data, at)
        at += 2
        items = []
        for _ in range(count):
            item, at = _decode_input(data, at)
            items.append(item)
        return items, at
    if tag == 9:
        return ("opaque", data[at]), at + 1
    names = {0: None, 3: "int", 4: "double", 5: "bool", 6: "list", 7: "string", 8: "other"}
    return names[tag], at


def decode_inputs(data):
    (count,) = struct.unpack_from("<H", data, 0)
    at = 2
    inputs = []
    for _ in range(count):
        item, at = _decode_input(data, at)
        inputs.append(item)
    return inputs


def _decode_args(data, names):
    args = {}
    at = 0
    while at < len(data):
        key, kind, _, length = struct.unpack_from("<IHHI", data, at)
        at += 12
        value = data[at : at + length]
        at += (length + 3) // 4 * 4
        if kind == 1:
            args[names[key]] = struct.unpack("<q", value)[0]
        elif kind == 2:
            args[names[key]] = struct.unpack("<d", value)[0]
        elif kind == 3:
            args[names[key]] = names[struct.unpack("<I", value)[0]]
        elif kind in (4, 5):
            args[names[key]] = value.decode()
        elif kind == 6:
            args[names[key]] = list(struct.unpack(f"<{length // 8}q", value))
        elif kind == 7:
            args[names[key]] = decode_inputs(value)
    return args


def _entries(data):
    at = 64
    while at + 16 <= len(data):
        _, kind, _, number, length = struct.unpack_from("<IHHII", data, at)
        yield kind, number, data[at + 16 : at + 16 + length]
        at += 16 + (length + 7) // 8 * 8


def _slots(data):
    at = 64
    while at + 64 <= len(data):
        _, thread, first, count, _, dropped, _, _ = struct.unpack_from("<IIQIIQQQ", data, at)
        at += 64
        yield thread, first + count, dropped, data[at : at + 32 * count]
        at += 32 * count


RING_DATA = 4096 + 1024 * 32
OPEN_RANGES = 4096


def _ring(data, drained):
    """Thread of a ring and what it holds beyond the segments: its last slots, its open ranges."""
    if not data:  # killed between making the file and sizing it
        return 0, b""
    magic, _, thread = struct.unpack_from("<QII", data, 0)
    if magic == 0:
        return 0, b""
    capacity = struct.unpack_from("<Q", data, 32)[0]
    head, _, open_depth = struct.unpack_from("<QQI", data, 64)
    first = max(struct.unpack_from("<Q", data, 128)[0], drained.get(thread, 0))
    slots = [RING_DATA + 32 * (slot % capacity) for slot in range(first, head)]
    last = b"".join(data[at : at + 32] for at in slots)
    open_ranges = b""
    for at in range(OPEN_RANGES, OPEN_RANGES + 32 * min(open_depth, 1024), 32):
        ticks, dur_kind = struct.unpack_from("<QQ", data, at)
        has_ended = dur_kind & UNFINISHED == head != 0
        if dur_kind >> 48 & 0xFF != 0 and not has_ended:
            unfinished = struct.pack("<QQ", ticks, dur_kind | UNFINISHED)
            open_ranges += unfinished + data[at + 16 : at + 32]
    return thread, last + open_ranges


def read(folder):
    """The capture in <folder> or in its subfolder SONDE."""
    folder = Path(folder)
    if (folder / "SONDE").is_dir():
        folder = folder / "SONDE"
    capture = Capture()
    names = {0: ""}
    args = {0: {}}
    raw_args, frames, raw_stacks = {}, {}, {}
    for path in sorted(folder.glob("dictionary_*.sonde")):
        for kind, number, payload in _entries(path.read_bytes()):
            if kind == 1:
                names[number] = payload.decode()
            elif kind == 2:
                capture.domains[number] = payload.decode()
            elif kind == 3:
                raw_args[number] = payload
            elif kind == 4:
                frames[number] = struct.unpack("<III", payload)
            elif kind == 5:
                raw_stacks[number] = struct.unpack(f"<{len(payload) // 4}I", payload)
            elif kind == 6:
                tid, framework = struct.unpack_from("<II", payload)
                capture.threads[number] = (tid, framework, payload[8:].decode())
            elif kind == 7:
                capture.metadata[number] = payload.decode()
            elif kind == 11:
                capture.issues.append(payload.decode())
    capture.metadata = {names[key]: value for key, value in capture.metadata.items()}
    args.update({number: _decode_args(data, names) for number, data in raw_args.items()})
    for number, ids in raw_stacks.items():
        capture.stacks[number] = [
            (names[frames[i][0]], names[frames[i][1]], frames[i][2]) for i in ids
        ]
    dropped, drained = {}, {}
    for path in sorted(folder.glob("events_*.sonde")):
        for thread, end, lost, data in _slots(path.read_bytes()):
            dropped[thread], drained[thread] = lost, end
            _read_slots(data, thread, names, args, capture)
    for path in sorted(folder.glob("ring_*.sonde")):
        thread, data = _ring(path.read_bytes(), drained)
        _read_slots(data, thread, names, args, capture)
    capture.dropped = sum(dropped.values())
    return capture


def _read_slots(data, thread, names, args, capture):
    at = 0
    while at < len(data):
        ticks, dur_kind = struct.unpack_from("<QQ", data, at)
        kind = dur_kind >> 48 & 0xFF
        if kind == MEMORY:
            pointer, size, total, reserved = struct.unpack_from("<QqqQ", data, at + 16)
            device = dur_kind >> 8 & 0xFF
            capture.memory.append(Memory(thread, ticks, device, pointer, size, total, reserved))
            at += 64
            continue
        if kind in USES:
            at += 32
            continue
        name, arg, link, sequence = struct.unpack_from("<IIIi", data, at + 16)
        capture.records.append(
            Record(
                kind,
                names[name],
                thread,
                ticks,
                dur_kind & UNFINISHED,
                dur_kind >> 56,
                {} if kind in NO_ARGS else args[arg],
                link,
                sequence,
            )
        )
        at += 32
