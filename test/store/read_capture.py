"""Reads a capture on its own, from docs of the format, to check the store's rows of it.

Shares no code with the importer. Whole clean captures only. Times are exact: Fractions between the
clock samples, rounded down to nanoseconds as in the store's reference.
"""

import bisect
import collections
import struct
from fractions import Fraction
from pathlib import Path

RANGE_KINDS = range(1, 16)
MARK, COUNTER, FLOW_OUT, FLOW_IN, SPAN_BEGIN, SPAN_END, MEMORY = range(32, 39)
UNFINISHED = (1 << 48) - 1


class Capture:
    """Records of all threads: ranges, marks, counters, spans, memory events."""

    def __init__(self, folder):
        self.names = {0: None}
        self.clocks = []
        self.ranges = []  # (name, kind, thread, begin ticks, duration ticks or None)
        self.marks = []
        self.counters = []
        self.spans = {}
        self.memory = []
        for path in sorted(Path(folder).glob("SONDE/dictionary_*.sonde")):
            self._read_dictionary(path.read_bytes())
        for path in sorted(Path(folder).glob("SONDE/events_*.sonde")):
            self._read_segment(path.read_bytes())
        assert not list(Path(folder).glob("SONDE/ring_*.sonde")), "not closed cleanly"
        self.clocks.sort()

    def _read_dictionary(self, data):
        at = 64
        while at < len(data):
            _, kind, _, number, length = struct.unpack_from("<IHHII", data, at)
            payload = data[at + 16 : at + 16 + length]
            if kind == 1:
                self.names[number] = payload.decode("utf-8", "replace")
            elif kind == 8:
                ticks, raw, real, width = struct.unpack_from("<Qqqq", payload)
                self.clocks.append((ticks, raw, real, width))
            at += 16 + (length + 7) // 8 * 8

    def _read_segment(self, data):
        at = 64
        while at < len(data):
            _, thread, _, count = struct.unpack_from("<IIQI", data, at)
            slots = [data[at + 64 + 32 * i : at + 96 + 32 * i] for i in range(count)]
            self._read_slots(thread, iter(slots))
            at += 64 + 32 * count

    def _read_slots(self, thread, slots):
        for slot in slots:
            ticks, packed, name, args, link, sequence = struct.unpack("<QQIIIi", slot)
            kind, dur = (packed >> 48) & 255, packed & UNFINISHED
            if kind in RANGE_KINDS:
                length = None if dur == UNFINISHED else dur
                self.ranges.append((self.names[name], kind, thread, ticks, length))
            elif kind == MARK:
                self.marks.append((self.names[name], ticks))
            elif kind == COUNTER:
                self.counters.append((self.names[name], struct.unpack("<d", slot[20:28])[0]))
            elif kind in (SPAN_BEGIN, SPAN_END):
                key = link | (sequence & 0xFFFFFFFF) << 32
                self.spans.setdefault(key, {})[kind] = (self.names[name], ticks)
            elif kind == MEMORY:
                size = struct.unpack_from("<q", slot, 24)[0]
                total = struct.unpack_from("<q", next(slots))[0]
                self.memory.append((ticks, size, total))
            del args

    def nanoseconds(self, ticks):
        """Time since the epoch, rounded down."""
        points = [(t, raw) for t, raw, _, _ in self.clocks]
        offset = min(self.clocks, key=lambda sample: sample[3])
        place = bisect.bisect_right(points, (ticks, 1 << 63)) - 1
        (t0, r0), (t1, r1) = points[min(max(place, 0), len(points) - 2) :][:2]
        exact = r0 + (offset[2] - offset[1]) + Fraction((ticks - t0) * (r1 - r0), t1 - t0)
        return exact.numerator // exact.denominator

    def totals(self):
        """{name: (count, sum of durations in ns)} of the ranges that ended."""
        sums = collections.defaultdict(lambda: [0, 0])
        for name, _, _, ticks, dur in self.ranges:
            if dur is not None:
                sums[name][0] += 1
                sums[name][1] += self.nanoseconds(ticks + dur) - self.nanoseconds(ticks)
        return {name: tuple(pair) for name, pair in sums.items()}
