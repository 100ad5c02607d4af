"""Files that a program asks for by path, made from the deliverables of one capture.

The capture is parsed when it has not been yet. Times are microseconds as in the deliverables,
sizes bytes. Errors: ``NativeError``.
"""

import base64
import csv
import gzip
import io
import json
import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any, Optional

from sonde import _analyse, _native
from sonde._new_file import create_new
from sonde.session import _console

_STACK_METRICS = {
    "self_cpu_time_total": "Host Self Duration(us)",
    "self_npu_time_total": "Device Self Duration(us)",
}
_CATEGORIES = 8
_CATEGORY_NAMES = (
    "Parameter",
    "Optimizer state",
    "Input",
    "Temporary",
    "Activation",
    "Gradient",
    "Autograd detail",
    "Unknown",
)
_CATEGORY_COLOURS = (
    "darkgreen",
    "goldenrod",
    "black",
    "mediumpurple",
    "red",
    "mediumblue",
    "royalblue",
    "grey",
)
_UNKNOWN = 7  # index of the category of bytes that nobody claims


def _deliverable(span: str, name: str) -> str:
    """Path of a text deliverable; parses the capture if it is not there."""
    if not span:
        raise _native.NativeError("Invalid profiling path.")
    path = os.path.join(span, _analyse.OUTPUT_FOLDER, name)
    if not os.path.exists(path):
        _analyse.run([span], ["text"], quiet=True)
    if not os.path.exists(path):
        raise _native.NativeError(f"the capture {span} gave no {name}")
    return path


def trace_view(span: str) -> str:
    """Path of ``trace_view.json`` of a capture."""
    return _deliverable(span, "trace_view.json")


def chrome_trace(span: str, output_path: str) -> None:
    """Copies the timeline to ``output_path``, compressed where that ends in ``.gz``."""
    copy(trace_view(span), output_path)


def kineto_trace(span: str, folder: str) -> str:
    """Path of the trace in the form of torch's profiler, made below ``folder``."""
    if not span:
        raise _native.NativeError("Invalid profiling path.")
    _analyse.run([span], ["kineto"], quiet=True, output=folder)
    for place, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".pt.trace.json"):
                return os.path.join(place, name)
    raise _native.NativeError(f"the capture {span} gave no trace")


def copy(source: str, output_path: str) -> None:
    """Copies a file, compressed where ``output_path`` ends in ``.gz``; whole or not at all."""
    _make_parent(output_path)
    partial = f"{output_path}.{os.getpid()}.part"
    if output_path.endswith(".gz"):
        with open(source, "rb") as reader, open(partial, "wb", opener=create_new) as file:
            with gzip.GzipFile(output_path, "wb", compresslevel=1, fileobj=file) as writer:
                shutil.copyfileobj(reader, writer, 1 << 20)
    else:
        with open(source, "rb") as reader, open(partial, "wb", opener=create_new) as writer:
            shutil.copyfileobj(reader, writer, 1 << 20)
    os.replace(partial, output_path)


def log_name(output_path: Any) -> str:
    """The name as torch_npu makes it: always a log file."""
    name = os.fspath(output_path)
    if not name.endswith(".log"):
        _console.warning("Input file is not log file. Change to log file.")
        name = os.path.splitext(name)[0] + ".log"
    return name


def stacks(span: str, output_path: str, metric: str) -> None:
    """Writes one line for each operator call: frames from the outermost, blank, time."""
    if metric not in _STACK_METRICS:
        _console.warning(
            "Metric should be self_cpu_time_total or self_npu_time_total."
            "Here it is presumed to be self_cpu_time_total."
        )
        metric = "self_cpu_time_total"
    lines = []
    for row in _rows(_deliverable(span, "operator_details.csv")):
        frames = [frame.strip() for frame in (row.get("Call Stack") or "").split(";")]
        frames = [frame for frame in frames if frame]
        duration_us = int(_number(row.get(_STACK_METRICS[metric])))
        if frames and duration_us > 0:
            lines.append(f"{';'.join(reversed(frames))} {duration_us}")
    _write_text(output_path, "\n".join(lines))


def memory_timeline(span: str, output_path: str, device: Optional[str]) -> None:
    """Writes the sum of the bytes in use over time; every byte counts as unknown."""
    events = _memory_events(_deliverable(span, "operator_memory.csv"), device)
    if not events:
        _console.warning("No memory timeline data.")
        return
    if output_path.endswith("raw.json.gz"):
        rows: list[Any] = [
            [time_ns, 1 if size > 0 else 3, size, _UNKNOWN] for time_ns, size in events
        ]
        _write_text(output_path, json.dumps(rows))
    elif output_path.endswith((".json", ".json.gz")):
        times_us, sizes = _running_sums(events)
        _write_text(output_path, json.dumps([times_us, sizes]))
    elif output_path.endswith(".html"):
        page = _memory_page(*_running_sums(events), device)
        if page:
            _write_text(output_path, page)
    else:
        _console.warning(f"{output_path} is not in a valid format.")


def _memory_page(times_us: list[float], sizes: list[list[int]], device: Optional[str]) -> str:
    """A page with one picture; empty, with a warning, where nothing can draw it."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        _console.warning("matplotlib.pyplot was not found.")
        return ""
    figure, axes = pyplot.subplots(figsize=(20, 12))
    seconds = [(time_us - times_us[0]) / 1e6 for time_us in times_us]
    layers = [[row[1 + layer] / 2**30 for row in sizes] for layer in range(_CATEGORIES)]
    axes.stackplot(seconds, layers, labels=_CATEGORY_NAMES, colors=_CATEGORY_COLOURS)
    axes.set_xlabel("Time (s)")
    axes.set_ylabel("Memory (GiB)")
    axes.set_title(f"Memory of {device or 'the device'}, peak {max(map(sum, sizes)):,} bytes")
    axes.legend(loc="upper left")
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    pyplot.close(figure)
    data = base64.b64encode(picture.getvalue()).decode("ascii")
    return (
        '<html><head><meta charset="utf-8"><title>Memory Timeline HTML</title></head>'
        f'<body><img src="data:image/png;base64,{data}"></body></html>\n'
    )


def _running_sums(events: list[tuple[int, int]]) -> tuple[list[float], list[list[int]]]:
    times_us, sizes, total = [], [], 0
    for time_ns, size in events:
        total += size
        row = [0] * (1 + _CATEGORIES)
        row[1 + _UNKNOWN] = total
        times_us.append(time_ns / 1000)
        sizes.append(row)
    return times_us, sizes


def _memory_events(path: str, device: Optional[str]) -> list[tuple[int, int]]:
    """Allocations and releases as (time in ns, signed bytes), in order of time."""
    wanted = (device or "npu:0").lower()
    events: list[tuple[int, int]] = []
    for row in _rows(path):
        shown = (row.get("Device Type") or "").lower()
        # Where the CPU is the device it stands in for the default accelerator.
        if shown != wanted and not (device is None and shown.startswith("cpu")):
            continue
        size = int(_number(row.get("Size(KB)")) * 1024)
        for column, sign in (("Allocation Time(us)", 1), ("Release Time(us)", -1)):
            text = (row.get(column) or "").strip()
            if text:
                events.append((nanoseconds(text), sign * size))
    return sorted(events)


def _rows(path: str) -> Iterator["dict[str, str]"]:
    limit = sys.maxsize if sys.maxsize < 2**31 else 2**31 - 1
    csv.field_size_limit(limit)  # a call stack may be longer than the default allows
    with open(path, newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def nanoseconds(microseconds: Any) -> int:
    """Of the decimal text of a time in microseconds: as a double, one since 1970 loses digits."""
    text = str(microseconds)
    if text[-4:-3] == ".":
        return int(text[:-4] + text[-3:])
    whole, _, part = text.lstrip("-").partition(".")
    value = int(whole or 0) * 1000 + int((part + "000")[:3])
    return -value if text.startswith("-") else value


def _number(text: Optional[str]) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0


def _make_parent(path: str) -> None:
    os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o750, exist_ok=True)


def _write_text(path: str, text: str) -> None:
    _make_parent(path)
    partial = f"{path}.{os.getpid()}.part"
    data = text.encode("utf-8")
    with open(partial, "wb", opener=create_new) as file:
        file.write(gzip.compress(data, compresslevel=1) if path.endswith(".gz") else data)
    os.replace(partial, path)
