"""``events()`` and ``key_averages()``: what captures hold, as objects of torch's own classes.

Attributes, sort keys and tables are thus those of the torch that the program runs with. Read from
the trace in the form of torch's profiler; for large captures ``sonde query`` is the faster way.
Times are microseconds since the first event of the capture, made from whole nanoseconds. A torch
older than a field does without it.
"""

import bisect
import contextlib
import gc
import inspect
import itertools
import json
import math
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Optional

from sonde.torch import _export
from sonde.torch._export import nanoseconds

_CALLS = ("cpu_op", "user_annotation")
_PYTHON = "python_function"
_MEMORY = "[memory]"
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
        if not event.stack and parent is not None and not parent.is_user_annotation:
            event.stack = parent.stack
    return result


def _read_trace(util: Any, path: str, shown: Shown) -> Any:
    with open(path, encoding="utf-8") as file:
        rows = json.load(file, parse_float=str)["traceEvents"]  # a double has too few digits
    kinds = (*_CALLS, _PYTHON) if shown.stacks else _CALLS
    calls = [row for row in rows if row.get("cat") in kinds and not util._filter_name(row["name"])]
    memory = _Memory(rows if shown.memory else [])
    times = [nanoseconds(row["ts"]) for row in calls] + memory.times
    builder = _Builder(util, shown, memory, min(times, default=0))
    builder.find_forward_threads(calls)
    events = [builder.call(row) for row in calls]
    last = max((event.id for event in events), default=0)
    events += [
        builder.allocation(last + 1 + i, index) for i, index in enumerate(memory.unclaimed())
    ]
    events.sort(key=lambda event: (event.time_range.start, -event.time_range.end))
    return _event_list(util, events, shown)


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
        self._fields = set(inspect.signature(self._event.__init__).parameters)
        self._util = util
        self._shown = shown
        self._memory = memory
        self._origin_ns = origin_ns
        self._forward_threads: dict[int, Any] = {}  # by sequence number

    def find_forward_threads(self, calls: list[Any]) -> None:
        """Learns on which thread each numbered operator went forward."""
        for row in calls:
            args = row.get("args") or {}
            number = args.get("Sequence number", -1)
            if number >= 0 and row["cat"] == "cpu_op" and not args.get("Fwd thread id"):
                self._forward_threads.setdefault(number, row["tid"])

    def call(self, row: Any) -> Any:
        """Of an operator, an annotation or a Python function."""
        args = row.get("args") or {}
        kind, name, thread = row["cat"], row["name"], row["tid"]
        start_ns = nanoseconds(row["ts"])
        end_ns = start_ns + nanoseconds(row.get("dur", 0))
        is_user = kind == "user_annotation"
        number = -1 if is_user else args.get("Sequence number", -1)
        is_backward = bool(args.get("Fwd thread id")) or name == "torch::autograd::AccumulateGrad"
        dims = args.get("Input Dims") or []
        host, device = self._memory.within(start_ns, end_ns)
        scope = _USER if is_user else _BACKWARD if is_backward else 0
        return self._make(
            id=args.get("External id", 0),
            name=self._util._rewrite_name(name=name, with_wildcard=True),
            trace_name=self._util._rewrite_name(name=name, with_wildcard=False),
            overload_name="",
            thread=thread,
            start_ns=start_ns,
            end_ns=end_ns,
            fwd_thread=self._forward_threads.get(number, thread) if is_backward else 0,
            scope=scope,
            sequence_nr=number,
            flops=_flops(name, dims) if self._shown.flops else 0,
            cpu_memory_usage=host,
            device_memory_usage=device,
            is_user_annotation=is_user,
            is_python_function=kind == _PYTHON,
            activity_type=kind,
            device_index=row["pid"],
            flow_id=0,
            flow_type=0,
            flow_start=False,
            external_id=args.get("External id", 0),
            **self._inputs(args, dims),
            **(self._python(args) if kind == _PYTHON else {}),
        )

    def allocation(self, number: int, index: int) -> Any:
        """Of an allocation or release outside of every call."""
        time_ns, thread = self._memory.times[index], self._memory.threads[index]
        host, device = self._memory.between(index, index + 1)
        return self._make(
            id=number,
            name=_MEMORY,
            trace_name=None,
            overload_name="",
            thread=thread,
            start_ns=time_ns,
            end_ns=time_ns,
            fwd_thread=thread,
            input_shapes=[],
            stack=[],
            cpu_memory_usage=host,
            device_memory_usage=device,
        )

    def _inputs(self, args: dict[str, Any], dims: list[Any]) -> dict[str, Any]:
        """Shapes, types and the call stack, empty where they were not asked for."""
        shapes = dims if self._shown.shapes else []
        types = (args.get("Input type") or []) if self._shown.shapes else []
        stack = (args.get("Call stack") or "").split(";") if self._shown.stacks else []
        keep = self._util._filter_stack_entry
        return {
            # A list of tensors has no shape of its own.
            "input_shapes": [[] if _is_nested(shape) else shape for shape in shapes],
            "structured_input_shapes": shapes,
            "structured_input_strides": [],
            "input_dtypes": ["" if kind == "None" else kind for kind in types],
            "concrete_inputs": [],
            "kwinputs": {},
            "stack": [entry.strip() for entry in stack if entry.strip() and keep(entry)],
        }

    def _python(self, args: dict[str, Any]) -> dict[str, int]:
        """Numbers of Python functions, -1 for none."""
        names = {
            "python_id": "id",
            "python_parent_id": "parent id",
            "python_module_id": "module id",
        }
        found = {field: args.get(f"Python {name}") for field, name in names.items()}
        return {field: -1 if value is None else value for field, value in found.items()}

    def _make(self, *, thread: Any, start_ns: int, end_ns: int, **fields: Any) -> Any:
        fields["use_device"] = self._shown.device
        fields["device_resource_id"] = thread
        return self._event(
            thread=thread,
            start_us=(start_ns - self._origin_ns) / 1000,
            end_us=(end_ns - self._origin_ns) / 1000,
            **{name: value for name, value in fields.items() if name in self._fields},
        )


def _is_nested(shape: Any) -> bool:
    return bool(shape) and isinstance(shape[0], list)


def _flops(name: str, dims: list[Any]) -> int:
    """By torch's formulas, as far as the shapes of the inputs tell: not those of ``conv2d``."""
    if name in ("aten::add", "aten::mul"):
        return math.prod(dims[0]) if dims else 0
    first = {"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::baddbmm": 1}.get(name)
    if first is None or len(dims) < first + 2:
        return 0
    left, right = dims[first : first + 2]
    if len(left) < 2 or len(right) < 2:
        return 0
    return 2 * math.prod(left) * right[-1]
