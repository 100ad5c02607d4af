"""Reads a trace of events on its own, to check the store's rows of it.

Shares no code with the importer: the standard library's JSON reader, decimals kept as such. Times
become nanoseconds by rounding half to even.
"""

import collections
import gzip
import json
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction


def to_ns(microseconds):
    """Exact: text or number of the file -> integer nanoseconds."""
    return int((Decimal(microseconds) * 1000).to_integral_value(ROUND_HALF_EVEN))


class Events:
    """What the file holds: slices, flows, counters, instants, keys of arguments."""

    def __init__(self, path):
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        document = json.loads(data, parse_float=Decimal)
        events = document if isinstance(document, list) else document["traceEvents"]
        self.is_kineto = isinstance(document, dict)
        self.base_ns = 0
        if isinstance(document, dict):
            self.base_ns = int(document.get("baseTimeNanoseconds", 0))
        self.slices = collections.defaultdict(lambda: [0, 0, 0])  # count, sum of dur, sum of ts
        self.intervals = collections.defaultdict(set)  # (begin, end) by thread
        self.argument_counts = collections.Counter()
        self.integer_sums = collections.Counter()
        self.series = collections.defaultdict(list)
        self.instants = collections.Counter()
        self.flow_ends = collections.defaultdict(list)
        self.too_long = 0
        for event in events:
            self.take(event)

    def take(self, event):
        phase = event.get("ph")
        if phase == "X":
            self.take_slice(event)
        elif phase == "C":
            # Identifiers distinguish series, and are no measurement.
            named = {key: value for key, value in event["args"].items() if key.endswith("_id")}
            name = event["name"]
            if named and len(named) < len(event["args"]):
                name += "[" + ", ".join(f"{key} {value}" for key, value in named.items()) + "]"
            for key, value in event["args"].items():
                if key not in named or len(named) == len(event["args"]):
                    self.series[f"{name} {key}"].append(float(value))
        elif phase == "i":
            self.instants[event["name"]] += 1
        elif phase in ("s", "t", "f"):
            key = (event.get("cat"), event.get("name"), str(event["id"]))
            self.flow_ends[key].append((self.base_ns + to_ns(event["ts"]), phase))

    def take_slice(self, event):
        dur = to_ns(event["dur"])
        if dur > 10**18:
            self.too_long += 1
            return
        begin = self.base_ns + to_ns(event["ts"])
        entry = self.slices[event["name"]]
        entry[0] += 1
        entry[1] += dur
        entry[2] += begin
        for key, value in event.get("args", {}).items():
            self.argument_counts[key] += 1
            if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
                self.integer_sums[key] += value

    def flows(self):
        """Pairs (time of the begin, time of the end), by category, as sorted lists."""
        pairs = collections.defaultdict(list)
        for (category, _, _), ends in self.flow_ends.items():
            order = {"s": 0, "t": 1, "f": 2}
            ends.sort(key=lambda end: (end[0], order[end[1]]))
            starts = [ts for ts, phase in ends if phase == "s"]
            if not starts:
                continue
            begin = starts[0]
            for ts, phase in ends:
                if phase != "s":
                    pairs[category].append((begin, ts))
                if phase != "f":
                    begin = ts
        return {category: sorted(list_) for category, list_ in pairs.items()}


def exact_sum(values):
    """Of floating-point numbers, without rounding."""
    return sum(map(Fraction, values))
