"""Traces of other tools: the store against an independent reading of every shared trace."""

import os
from pathlib import Path

import pytest
from read_events import Events, exact_sum

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SONDE_SHARED_DATA", ROOT.parent / "shared" / "data"))

FLOW_KINDS = {
    "fwdbwd": "forward_backward",
    "ac2g": "host_to_device",
    "async_cpu_to_gpu": "host_to_device",
    "async": "host_to_device",
}


def traces():
    """Files by a short name."""
    patterns = (
        "kineto/**/*.json.gz",
        "vllm_cpu/kineto/**/*.json.gz",
        "mindspore_cpu/**/trace_view.json",
        "mindspore_cpu/**/RuntimeProfilerJson*.json",
        "ascend_pt/text/**/trace_view.json",
        "ascend_pt/raw/**/msprof_*.json",
    )
    return sorted(path for pattern in patterns for path in DATA.glob(pattern))


if not traces():
    pytest.skip(f"needs data: no traces of other tools in {DATA}", allow_module_level=True)


@pytest.fixture(name="trace", params=traces(), ids=lambda path: str(path.relative_to(DATA)))
def open_trace(request, tmp_path, monkeypatch):
    """(independent reading, path to ask); a name that only describes the content."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / ("events.json.gz" if request.param.suffix == ".gz" else "events.json")
    path.symlink_to(request.param)
    return Events(request.param), path


def test_slices_counters_flows_arguments(trace, query):
    events, path = trace
    check_slices(events, path, query)
    check_arguments(events, path, query)
    check_counters(events, path, query)
    check_flows(events, path, query)
    instants = query(path, "SELECT message AS name, count(*) AS n FROM mark GROUP BY 1")
    found = {row["name"]: row["n"] for row in instants}
    memory = query(path, "SELECT count(*) AS n FROM memory_event")[0]["n"]
    if memory:
        found["[memory]"] = memory
    assert found == dict(events.instants)


def check_slices(events, path, query):
    rows = query(
        path,
        "SELECT name, count(*) AS n, sum(dur)::BIGINT AS dur, sum(ts)::VARCHAR AS ts "
        "FROM slice GROUP BY 1",
    )
    found = {row["name"]: [row["n"], row["dur"], int(row["ts"])] for row in rows}
    assert found == dict(events.slices)
    lost = query(path, "SELECT sum(count)::BIGINT AS n FROM import_issue WHERE code LIKE '%bad%'")
    assert (lost[0]["n"] or 0) == events.too_long
    # Slices of a track nest: each lies within its parent, and none overlaps its left neighbour.
    broken = query(
        path,
        "SELECT count(*) AS n FROM (SELECT *, lag(ts + dur) OVER (PARTITION BY track_id, depth "
        "ORDER BY slice_id) AS before FROM slice) s LEFT JOIN slice p ON p.slice_id = s.parent_id "
        "WHERE s.before > s.ts OR p.ts > s.ts OR p.ts + p.dur < s.ts + s.dur",
    )
    assert broken[0]["n"] == 0


def check_arguments(events, path, query):
    rows = query(
        path,
        "SELECT key, count(*) AS n, sum(int_value)::VARCHAR AS total "
        "FROM slice JOIN args USING (args_id) GROUP BY 1",
    )
    assert {row["key"]: row["n"] for row in rows} == dict(events.argument_counts)
    totals = {row["key"]: int(row["total"]) for row in rows if row["total"] is not None}
    assert totals == {key: events.integer_sums[key] for key in totals}


def check_counters(events, path, query):
    rows = query(
        path, "SELECT t.name AS name, value FROM counter JOIN track t USING (track_id) ORDER BY ts"
    )
    found = {}
    for row in rows:
        found.setdefault(row["name"], []).append(row["value"])
    assert {name: len(values) for name, values in found.items()} == {
        name: len(values) for name, values in events.series.items()
    }
    for name, values in found.items():
        assert exact_sum(values) == exact_sum(events.series[name]), name


def check_flows(events, path, query):
    rows = query(
        path,
        "SELECT f.kind AS kind, o.ts AS out_ts, o.dur AS out_dur, i.ts AS in_ts, i.dur AS in_dur "
        "FROM flow f LEFT JOIN slice o ON o.slice_id = f.slice_out "
        "LEFT JOIN slice i ON i.slice_id = f.slice_in ORDER BY flow_id",
    )
    expected = []
    for category, pairs in events.flows().items():
        kind = FLOW_KINDS.get(category, "user") if events.is_kineto else "user"
        expected += [(kind, *pair) for pair in pairs]
    if not any(kind == "host_to_device" for kind, *_ in expected):
        # A file without arrows from calls to their work: these are found by correlation.
        rows = [row for row in rows if row["kind"] != "host_to_device"]
    if not any(kind == "forward_backward" for kind, *_ in expected):
        # The same of arrows to the backward pass: by the number of the framework.
        rows = [row for row in rows if row["kind"] != "forward_backward"]
    assert len(rows) == len(expected)
    by_kind = {}
    for row in rows:
        by_kind.setdefault(row["kind"], []).append(row)
    wanted = {}
    for kind, begin, end in sorted(expected, key=lambda flow: flow[1]):
        wanted.setdefault(kind, []).append((begin, end))
    assert {k: len(v) for k, v in by_kind.items()} == {k: len(v) for k, v in wanted.items()}
    # Flows are in the order of their begin, as those expected: each begin lies in its slice.
    for kind, pairs in wanted.items():
        for row, (begin, _) in zip(by_kind[kind], pairs):
            if row["out_ts"] is not None:
                assert row["out_ts"] <= begin <= row["out_ts"] + max(row["out_dur"], 0)
