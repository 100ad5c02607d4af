"""``events()`` and ``key_averages()``: operator calls of a capture as Python objects.

Read from ``trace_view.json``; for large captures ``sonde query`` is the faster way. Times are
microseconds.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Optional

_SORT_KEYS = {
    "cpu_time_total": "cpu_time_total",
    "self_cpu_time_total": "self_cpu_time_total",
    "count": "count",
    "cpu_time": "cpu_time",
}
_NAME_WIDTH = 55


class Event:
    """One call of an operator."""

    __slots__ = ("name", "thread", "start_us", "cpu_time_total", "self_cpu_time_total", "shapes")

    def __init__(
        self, name: str, thread: Any, start_us: float, cpu_time_total: float, shapes: str
    ) -> None:
        self.name = name
        self.thread = thread
        self.start_us = start_us
        self.cpu_time_total = cpu_time_total
        self.self_cpu_time_total = cpu_time_total
        self.shapes = shapes

    @property
    def key(self) -> str:
        """Name, as torch calls it."""
        return self.name


class Average:
    """All calls of one operator (with one set of input shapes where asked for)."""

    __slots__ = ("key", "shapes", "count", "cpu_time_total", "self_cpu_time_total")

    def __init__(self, key: str, shapes: str) -> None:
        self.key = key
        self.shapes = shapes
        self.count = 0
        self.cpu_time_total = 0.0
        self.self_cpu_time_total = 0.0

    @property
    def cpu_time(self) -> float:
        """Mean time of a call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def add(self, event: Event) -> None:
        """Counts one call."""
        self.count += 1
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total


class AverageList(list[Average]):
    """Sums by operator."""

    def table(self, sort_by: Optional[str] = None, row_limit: int = 100, **_: Any) -> str:
        """Text table, largest first where ``sort_by`` names a column."""
        rows = list(self)
        if sort_by is not None:
            # Where the CPU is the device, its time stands for every device's.
            key = sort_by.replace("npu", "cpu").replace("cuda", "cpu").replace("device", "cpu")
            if key not in _SORT_KEYS:
                raise ValueError(f"sort_by={sort_by}: must be one of {', '.join(_SORT_KEYS)}")
            rows.sort(key=lambda row: getattr(row, key), reverse=True)
        if row_limit > 0:
            rows = rows[:row_limit]
        return _text(rows, sum(row.self_cpu_time_total for row in self))


class EventList(list[Event]):
    """Calls in the order of their start."""

    def key_averages(self, group_by_input_shape: bool = False, **_: Any) -> AverageList:
        """Sums by name, and by input shapes where asked for."""
        sums: dict[tuple[str, str], Average] = {}
        for event in self:
            shapes = event.shapes if group_by_input_shape else ""
            average = sums.get((event.name, shapes))
            if average is None:
                average = sums[(event.name, shapes)] = Average(event.name, shapes)
            average.add(event)
        return AverageList(sums.values())

    def table(self, **options: Any) -> str:
        """Text table of the sums by name."""
        return self.key_averages().table(**options)


def read_events(trace_path: str) -> EventList:
    """Operator calls of a ``trace_view.json``."""
    with open(trace_path, encoding="utf-8") as file:
        trace = json.load(file)
    rows = trace["traceEvents"] if isinstance(trace, dict) else trace
    lanes: dict[Any, list[Event]] = defaultdict(list)
    for row in rows:
        if row.get("ph") == "X" and row.get("cat") == "cpu_op":
            shapes = (row.get("args") or {}).get("Input Dims", "")
            event = Event(
                row["name"], row.get("tid"), float(row["ts"]), float(row["dur"]), str(shapes)
            )
            lanes[(row.get("pid"), row.get("tid"))].append(event)
    events = EventList()
    for lane in lanes.values():
        events.extend(_without_repeats(lane))
    events.sort(key=lambda event: event.start_us)
    return events


def _without_repeats(lane: list[Event]) -> list[Event]:
    """The calls of one thread with their self times, from their nesting.

    Like torch, counts an operator that does nothing but call another overload of its own name once.
    """
    lane.sort(key=lambda event: (event.start_us, -event.cpu_time_total))
    parents: list[Optional[int]] = []
    children = [0] * len(lane)
    open_calls: list[int] = []
    for index, event in enumerate(lane):
        while open_calls and _end_us(lane[open_calls[-1]]) <= event.start_us:
            open_calls.pop()
        parents.append(open_calls[-1] if open_calls else None)
        if open_calls:
            children[open_calls[-1]] += 1
        open_calls.append(index)
    kept = []
    outermost = list(range(len(lane)))  # of a row of repeats
    for index, event in enumerate(lane):
        parent = parents[index]
        if parent is not None:
            parent_call = lane[outermost[parent]]
            if children[parent] == 1 and lane[parent].name == event.name:
                outermost[index] = outermost[parent]
                continue
            parent_call.self_cpu_time_total -= event.cpu_time_total
        kept.append(event)
    return kept


def _end_us(event: Event) -> float:
    return event.start_us + event.cpu_time_total


def _text(rows: Iterable[Average], total_us: float) -> str:
    header = ("Name", "Self CPU %", "Self CPU", "CPU total", "CPU time avg", "# of Calls")
    cells = [header]
    for row in rows:
        share = 100 * row.self_cpu_time_total / total_us if total_us else 0.0
        name = row.key if not row.shapes else f"{row.key} {row.shapes}"
        if len(name) > _NAME_WIDTH:
            name = name[: _NAME_WIDTH - 3] + "..."
        cells.append(
            (
                name,
                f"{share:.2f}%",
                _duration(row.self_cpu_time_total),
                _duration(row.cpu_time_total),
                _duration(row.cpu_time),
                str(row.count),
            )
        )
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    rule = "  ".join("-" * width for width in widths)
    lines = [rule, _line(cells[0], widths), rule]
    lines += [_line(row, widths) for row in cells[1:]]
    return "\n".join([*lines, rule, f"Self CPU time total: {_duration(total_us)}", ""])


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    cells = [row[0].ljust(widths[0])]
    cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
    return "  ".join(cells)


def _duration(time_us: float) -> str:
    for unit, scale in (("s", 1e6), ("ms", 1e3)):
        if time_us >= scale:
            return f"{time_us / scale:.3f}{unit}"
    return f"{time_us:.3f}us"
