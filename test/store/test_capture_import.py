"""The store's rows of a capture of the real recorder equal an independent reading of it."""

import collections
import os
import subprocess
import sys
from pathlib import Path

import pytest
from read_capture import SPAN_BEGIN, SPAN_END, Capture

TOTALS = (
    "SELECT name, count(*) AS n, sum(dur) AS total FROM slice "
    "WHERE category <> 'span' AND dur >= 0 GROUP BY name"
)
PROGRAM = Path(__file__).with_name("record_program.py")

# What that program does, by counting its loops: two threads of 300 rounds.
RANGES = {"outer": 600, "in\u00e4ner": 900}
MARKS = COUNTERS = SPANS = 60
MEMORY_EVENTS = 900


def record(recorder, folder, clock):
    """A capture of record_program.py; clock "raw": ticks are nanoseconds."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SONDE_")}
    if clock == "raw":
        environment["SONDE_CLOCK"] = "raw"
    words = [sys.executable, str(PROGRAM), str(recorder), str(folder)]
    subprocess.run(words, env=environment, check=True, timeout=120)
    return folder / "small_ascend_pt"


@pytest.fixture(name="raw", scope="module")
def record_raw(recorder, tmp_path_factory):
    span = record(recorder, tmp_path_factory.mktemp("raw"), "raw")
    return span, Capture(span)


def test_counts_and_exact_sums_of_durations(raw, query):
    span, capture = raw
    found = {row["name"]: (row["n"], row["total"]) for row in query(span, TOTALS)}
    assert found == capture.totals()
    assert {name: count for name, (count, _) in found.items()} == RANGES


def test_begins_of_every_range(raw, query):
    span, capture = raw
    found = collections.Counter(
        (row["name"], row["ts"], row["dur"])
        for row in query(span, "SELECT name, ts, dur FROM slice WHERE category <> 'span'")
    )
    expected = collections.Counter(
        (name, capture.nanoseconds(ticks), dur) for name, _, _, ticks, dur in capture.ranges
    )
    assert found == expected
    assert found.total() == sum(RANGES.values())


def test_marks_counters_spans_and_memory(raw, query):
    span, capture = raw
    marks = query(span, "SELECT message, ts FROM mark WHERE kind = 'marker' ORDER BY ts")
    assert sorted((row["message"], row["ts"]) for row in marks) == sorted(
        (name, capture.nanoseconds(ticks)) for name, ticks in capture.marks
    )
    assert len(marks) == MARKS
    counters = query(span, "SELECT t.name, value FROM counter JOIN track t USING (track_id)")
    assert sorted((row["name"], row["value"]) for row in counters) == sorted(capture.counters)
    assert len(counters) == COUNTERS
    spans = query(span, "SELECT dur FROM mark WHERE kind = 'start_end'")
    assert sorted(row["dur"] for row in spans) == sorted(
        ends[SPAN_END][1] - ends[SPAN_BEGIN][1] for ends in capture.spans.values()
    )
    assert len(spans) == SPANS
    memory = query(span, "SELECT ts, size_bytes, total_allocated FROM memory_event")
    assert sorted(tuple(row.values()) for row in memory) == sorted(
        (capture.nanoseconds(ticks), size, total) for ticks, size, total in capture.memory
    )
    assert len(memory) == MEMORY_EVENTS


def test_lanes_do_not_overlap_and_children_lie_inside(raw, query):
    span, _ = raw
    overlaps = query(
        span,
        "SELECT count(*) AS n FROM (SELECT ts, lag(ts + dur) OVER (PARTITION BY track_id, depth "
        "ORDER BY slice_id) AS before FROM slice) WHERE before > ts",
    )
    outside = query(
        span,
        "SELECT count(*) AS n FROM slice c JOIN slice p ON c.parent_id = p.slice_id WHERE "
        "c.ts < p.ts OR c.ts + c.dur > p.ts + p.dur OR c.depth <> p.depth + 1 OR "
        "c.track_id <> p.track_id OR p.slice_id >= c.slice_id",
    )
    assert (overlaps, outside) == ([{"n": 0}], [{"n": 0}])
    children = query(span, "SELECT count(*) AS n FROM slice WHERE parent_id IS NOT NULL")
    assert children == [{"n": RANGES["in\u00e4ner"]}]
    assert query(span, "SELECT code FROM import_issue WHERE severity <> 'info'") == []


def test_counter_of_the_processor_is_right_to_a_nanosecond(recorder, tmp_path, query):
    span = record(recorder, tmp_path, "tsc")
    totals = Capture(span).totals()
    found = {row["name"]: row for row in query(span, TOTALS)}
    assert {name: row["n"] for name, row in found.items()} == RANGES
    for name, (count, total) in totals.items():
        assert found[name]["n"] == count
        assert abs(found[name]["total"] - total) <= count
