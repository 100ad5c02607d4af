"""``events()`` and ``key_averages()``: what captures hold, as objects of torch's own classes.

Attributes, sort keys and tables are thus those of the torch that the program runs with. Read from
the trace in the form of torch's profiler; for large captures ``sonde query`` is the faster way.
Times are microseconds since the first event of the capture, made from whole nanoseconds. A torch
older than a field does without it.
"""

import bisect
import contextlib
import functools
import gc
import inspect
import itertools
import json
import math
import operator
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Optional

from sonde.session import _export
from sonde.session._export import nanoseconds

_CALLS = ("cpu_op", "user_annotation")
_RUNTIME = ("cuda_runtime", "cuda_driver")
_DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset")
_PYTHON = "python_function"
_MEMORY = "[memory]"
_ACCUMULATE = "torch::autograd::AccumulateGrad"
_PYTHON_NUMBERS = (
    ("python_id", "Python id"),
    ("python_parent_id", "Python parent id"),
    ("python_module_id", "Python module id"),
)
_HOST_TYPES = (0, 2, 5)  # torch's numbers of devices whose memory is the host's
_BACKWARD, _USER = 1, 7  # torch's numbers of scopes


@dataclass(frozen=True)
class Shown:
    """What the program asked to see; the capture may hold more."""

    shapes: bool = False
    memory: bool = False
    stacks: bool = False
    flops: bool = False
    device: Optional[str] = None  # torch's name, None for the CPU


class NoOperators(list[Any]):
    """What a process without torch gets: it calls no operator."""

    def key_averages(self, *_: Any, **__: Any) -> "NoOperators":
        """No sums."""
        return self

    def table(self, *_: Any, **__: Any) -> str:
        """No text."""
        return ""


def none() -> Any:
    """A list of no events."""
    util = _classes()
    return NoOperators() if util is None else _event_list(util, [], Shown())


def read(spans: list[str], shown: Shown) -> Any:
    """Events of captures, as an ``EventList``: those of the last first, as torch accumulates them.

    Raises ``NativeError`` where a capture cannot be parsed.
    """
    util = _classes()
    if util is None:
        return NoOperators()
    events = None
    for span in reversed(spans):
        folder = tempfile.mkdtemp(prefix="sonde_events_")
        try:
            trace = _export.kineto_trace(span, folder)
            with _no_collection():
                found = _read_trace(util, trace, shown)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if events is None:
            events = found
        else:
            events.extend(found)
    return none() if events is None else events


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """While objects are made by the hundred thousand, none of them garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _classes() -> Any:
    """torch's module of tables, None in a process without torch."""
    if "torch" not in sys.modules:
        return None
    from torch.autograd import profiler_util

    return profiler_util


def _event_list(util: Any, events: list[Any], shown: Shown) -> Any:
    """torch's list, with nesting, self times and the stacks of backward operators worked out."""
    result = util.EventList(
        events, use_device=shown.device, profile_memory=shown.memory, with_flops=shown.flops
    )
    result._build_tree()
    for event in result:  # operators within an operator were called from the same line
        parent = event.cpu_parent
        if not event.stack and parent is not None and not _is_annotation(parent):
            event.stack = parent.stack
    return result


def _is_annotation(event: Any) -> bool:
    return bool(event.scope == _USER)


def _lists_python(util: Any) -> bool:
    """Whether this torch lists Python functions beside operators; older ones do not."""
    return "is_python_function" in inspect.signature(util.FunctionEvent.__init__).parameters


def _read_trace(util: Any, path: str, shown: Shown) -> Any:
    kinds = (*_CALLS, _PYTHON) if shown.stacks and _lists_python(util) else _CALLS
    with open(path, "rb") as file:
        trace = file.read()
    calls = _complete(trace, kinds if shown.device is None else (*kinds, *_RUNTIME))
    works = [] if shown.device is None else _complete(trace, _DEVICE_WORK)
    hidden = {name for name in {row["name"] for row in calls} if util._filter_name(name)}
    if hidden:
        calls = [row for row in calls if row["name"] not in hidden]
    memory = _Memory(_rows(trace, ['"ph":"i"']) if shown.memory else [])
    del trace
    for row in (*calls, *works):
        row["ts"] = nanoseconds(row["ts"])
    origin_ns = min([*(row["ts"] for row in calls), *memory.times[:1]], default=0)
    builder = _Builder(util, shown, memory, origin_ns)
    builder.find_forward_threads(calls)
    events = [builder.call(row) for row in calls]
    launchers = {event.id: event for row, event in zip(calls, events) if row["cat"] in _CALLS}
    events += builder.works(works, launchers)
    last = max((event.id for event in events), default=0)
    events += [
        builder.allocation(last + 1 + i, index) for i, index in enumerate(memory.unclaimed())
    ]
    # By start, then the longest first.
    events.sort(key=operator.attrgetter("time_range.end"), reverse=True)
    events.sort(key=operator.attrgetter("time_range.start"))
    return _event_list(util, events, shown)


def _complete(trace: bytes, kinds: tuple[str, ...]) -> list[Any]:
    return _rows(trace, [f'"ph":"X","cat":"{kind}"' for kind in kinds])


def _rows(trace: bytes, beginnings: list[str]) -> list[Any]:
    """The events that begin so: each has a line, and most lines are of no use here. Times are
    text, since a double has too few digits."""
    choice = "|".join(map(re.escape, beginnings))
    lines = re.findall(rb"^\{(?:%b)[,}].*$" % choice.encode(), trace, re.MULTILINE)
    return json.loads(b"[%b]" % b"".join(lines).rstrip(b","), parse_float=str)


class _Memory:
    """Allocations and releases of a trace in order of time: signed bytes."""

    def __init__(self, rows: list[Any]) -> None:
        found = [row for row in rows if row.get("name") == _MEMORY and row.get("ph") == "i"]
        found.sort(key=lambda row: nanoseconds(row["ts"]))
        self.times = [nanoseconds(row["ts"]) for row in found]
        self.threads = [row.get("tid") for row in found]
        sizes = [_sizes(row.get("args") or {}) for row in found]
        self._host = [0, *itertools.accumulate(host for host, _ in sizes)]
        self._device = [0, *itertools.accumulate(device for _, device in sizes)]
        self._claims = [0] * (len(found) + 1)  # changes of the number of calls around each

    def within(self, start_ns: int, end_ns: int) -> tuple[int, int]:
        """Bytes of host and device in a time; like torch's, whichever thread they came from."""
        if not self.times:
            return 0, 0
        begin = bisect.bisect_left(self.times, start_ns)
        end = bisect.bisect_right(self.times, end_ns)
        if begin == end:
            return 0, 0
        self._claims[begin] += 1
        self._claims[end] -= 1
        return self.between(begin, end)

    def between(self, begin: int, end: int) -> tuple[int, int]:
        """Bytes of host and device of some records."""
        return self._host[end] - self._host[begin], self._device[end] - self._device[begin]

    def unclaimed(self) -> list[int]:
        """Records that no call was around of."""
        around = list(itertools.accumulate(self._claims))
        return [index for index in range(len(self.times)) if around[index] == 0]


def _sizes(args: dict[str, Any]) -> tuple[int, int]:
    size = int(args.get("Bytes", 0))
    return (size, 0) if args.get("Device Type", 0) in _HOST_TYPES else (0, size)


class _Builder:
    """Makes torch's events of one trace. Threads have the system's numbers."""

    def __init__(self, util: Any, shown: Shown, memory: _Memory, origin_ns: int) -> None:
        self._event = util.FunctionEvent
        self._known = set(inspect.signature(self._event.__init__).parameters)
        self._unknown: dict[str, list[str]] = {}  # by kind: fields that this torch is without
        self._util = util
        self._shown = shown
        self._memory = memory
        self._origin_ns = origin_ns
        self._forward_threads: dict[int, Any] = {}  # by sequence number
        # Few of them differ, and torch's functions are slow.
        self._names = functools.lru_cache(maxsize=None)(self._both_names)
        self._frames = functools.lru_cache(maxsize=None)(self._kept_frames)

    def find_forward_threads(self, calls: list[Any]) -> None:
        """Learns on which thread each numbered operator went forward."""
        for row in calls:
            args = row.get("args") or {}
            number = args.get("Sequence number", -1)
            if number >= 0 and row["cat"] == "cpu_op" and not args.get("Fwd thread id"):
                self._forward_threads.setdefault(number, row["tid"])

    def call(self, row: Any) -> Any:
        """Of an operator, an annotation or a Python function; its start is in nanoseconds."""
        args = row.get("args") or {}
        kind, thread, start_ns = row["cat"], row["tid"], row["ts"]
        end_ns = start_ns + nanoseconds(row.get("dur", 0))
        is_user = kind == "user_annotation"
        number = -1 if is_user else args.get("Sequence number", -1)
        is_backward = bool(args.get("Fwd thread id")) or row["name"] == _ACCUMULATE
        host, device = self._memory.within(start_ns, end_ns)
        external_id = args.get("External id", 0)
        fields = self._common(external_id, thread, start_ns, end_ns)
        fields["name"], fields["trace_name"] = self._names(row["name"])
        fields["fwd_thread"] = self._forward_threads.get(number, thread) if is_backward else 0
        fields["scope"] = _USER if is_user else _BACKWARD if is_backward else 0
        fields["sequence_nr"] = number
        fields["flops"] = self._flops(row["name"], args)
        fields["cpu_memory_usage"] = host
        fields["device_memory_usage"] = device
        fields["is_user_annotation"] = is_user
        fields["is_python_function"] = kind == _PYTHON
        fields["activity_type"] = kind
        fields["device_index"] = row["pid"]
        fields["flow_id"] = fields["flow_type"] = 0
        fields["flow_start"] = False
        fields["external_id"] = external_id
        self._add_inputs(fields, args)
        if kind == _PYTHON:
            self._add_python(fields, args)
        return self._make(kind, fields)

    def works(self, rows: list[Any], launchers: dict[int, Any]) -> list[Any]:
        """Of kernels, copies and fills of a device. Those that an operator launched are added to
        it, too: torch's classes take the operators' device times from there."""
        found = []
        for row in rows:
            args = row["args"]
            end_ns = row["ts"] + nanoseconds(row.get("dur", 0))
            fields = self._common(args["correlation"], row["tid"], row["ts"], end_ns)
            fields["name"], fields["trace_name"] = self._names(row["name"])
            fields["fwd_thread"] = fields["scope"] = 0
            fields["input_shapes"], fields["stack"] = [], []
            fields["device_type"] = self._util.DeviceType.CUDA
            fields["device_index"] = args["device"]
            fields["sequence_nr"] = -1
            fields["activity_type"] = row["cat"]
            found.append(self._make(row["cat"], fields))
            launcher = launchers.get(args.get("External id"))
            if launcher is not None:
                launcher.append_kernel(found[-1].name, args["device"], (end_ns - row["ts"]) / 1000)
        return found

    def allocation(self, number: int, index: int) -> Any:
        """Of an allocation or release outside of every call."""
        time_ns, thread = self._memory.times[index], self._memory.threads[index]
        fields = self._common(number, thread, time_ns, time_ns)
        fields["name"], fields["trace_name"] = _MEMORY, None
        fields["fwd_thread"] = thread
        fields["input_shapes"], fields["stack"] = [], []
        host, device = self._memory.between(index, index + 1)
        fields["cpu_memory_usage"], fields["device_memory_usage"] = host, device
        return self._make(_MEMORY, fields)

    def _common(self, number: int, thread: Any, start_ns: int, end_ns: int) -> dict[str, Any]:
        return {
            "id": number,
            "overload_name": "",
            "thread": thread,
            "start_us": (start_ns - self._origin_ns) / 1000,
            "end_us": (end_ns - self._origin_ns) / 1000,
            "use_device": self._shown.device,
            "device_resource_id": thread,
        }

    def _add_inputs(self, fields: dict[str, Any], args: dict[str, Any]) -> None:
        """Shapes, types and the call stack, empty where they were not asked for."""
        shapes = (args.get("Input Dims") or []) if self._shown.shapes else []
        types = (args.get("Input type") or []) if self._shown.shapes else []
        # A list of tensors has no shape of its own.
        fields["input_shapes"] = [[] if _is_nested(shape) else shape for shape in shapes]
        fields["structured_input_shapes"] = shapes
        fields["structured_input_strides"] = []
        fields["input_dtypes"] = ["" if kind == "None" else kind for kind in types]
        fields["concrete_inputs"] = []
        fields["kwinputs"] = {}
        stack = args.get("Call stack") if self._shown.stacks else None
        fields["stack"] = list(self._frames(stack)) if stack else []

    def _add_python(self, fields: dict[str, Any], args: dict[str, Any]) -> None:
        """Numbers of Python functions, -1 for none."""
        for field, name in _PYTHON_NUMBERS:
            number = args.get(name)
            fields[field] = -1 if number is None else number

    def _flops(self, name: str, args: dict[str, Any]) -> int:
        return _flops(name, args.get("Input Dims") or []) if self._shown.flops else 0

    def _both_names(self, name: str) -> tuple[str, str]:
        """For sums and for the timeline."""
        rewrite = self._util._rewrite_name
        return rewrite(name=name, with_wildcard=True), rewrite(name=name, with_wildcard=False)

    def _kept_frames(self, stack: str) -> list[str]:
        keep = self._util._filter_stack_entry
        return [entry.strip() for entry in stack.split(";") if entry.strip() and keep(entry)]

    def _make(self, kind: str, fields: dict[str, Any]) -> Any:
        unknown = self._unknown.get(kind)
        if unknown is None:
            unknown = self._unknown[kind] = [name for name in fields if name not in self._known]
        for name in unknown:
            del fields[name]
        return self._event(**fields)


def _is_nested(shape: Any) -> bool:
    return bool(shape) and isinstance(shape[0], list)


def _flops(name: str, dims: list[Any]) -> int:
    """By torch's formulas, as far as the input shapes suffice: not those of ``conv2d``."""
    if name in ("aten::add", "aten::mul"):
        return math.prod(dims[0]) if dims else 0
    first = {"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::baddbmm": 1}.get(name)
    if first is None or len(dims) < first + 2:
        return 0
    left, right = dims[first : first + 2]
    if len(left) < 2 or len(right) < 2:
        return 0
    return 2 * math.prod(left) * right[-1]
