"""What the profiler's own tables say is shown, or named where other files give something else."""

import json

import ascend_reader as reader
import pytest

WHOLE = [
    "ascend_pt/text/level0/rank0_ascend_pt",
    "ascend_pt/text/level1/rank1_ascend_pt",
    "ascend_pt/db/level0/rank1_ascend_pt",
    "ascend_pt/db/level1/rank0_ascend_pt",
    "ascend_pt/qwen3_tp1_pp2/rank_0_ascend_pt",
    "ascend_pt/qwen3_tp1_pp2/rank_2_ascend_pt",
]
QWEN = [f"ascend_pt/qwen3_tp1_pp2/rank_{rank}_ascend_pt" for rank in range(4)]


@pytest.fixture(name="ask")
def make_ask(run_sonde):
    """ask(path, sql) returns the rows as dictionaries."""

    def asked(path, sql):
        done = run_sonde("query", path, sql, "--format", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return asked


DIFFERING = "SELECT subject, value, limit_value, message FROM finding WHERE rule = 'delivered'"


@pytest.mark.parametrize("name", WHOLE)
def test_whole_sets_differ_nowhere(shared_data, ask, name):
    if not (shared_data / name).exists():
        pytest.skip(f"needs data: no {name}")
    assert ask(shared_data / name, DIFFERING) == []


def test_files_that_were_cut_off(shared_data, tmp_path, ask, run_sonde):
    """Computing comes out shorter than the profiler told: both are named, and which is shown."""
    name = "ascend_pt/text/level1/rank0_ascend_pt"
    span = reader.copy_of(shared_data / name, tmp_path / "span_ascend_pt")
    timeline = span / "ASCEND_PROFILER_OUTPUT" / "trace_view.json"
    events = json.loads(timeline.read_text(encoding="utf-8"))
    layers = {
        event["pid"]: event["args"]["name"]
        for event in events
        if event["ph"] == "M" and event["name"] == "process_name"
    }
    device = ("Ascend Hardware", "Overlap Analysis")
    kept = [
        event for i, event in enumerate(events)
        if event["ph"] != "X" or layers.get(event["pid"]) not in device or i % 2
    ]  # fmt: skip
    timeline.write_text(json.dumps(kept), encoding="utf-8")
    kernels = timeline.with_name("kernel_details.csv")
    lines = kernels.read_bytes().splitlines(keepends=True)
    kernels.write_bytes(b"".join(lines[: len(lines) // 3]))
    found = {row["subject"]: row for row in ask(span, DIFFERING)}
    (given,) = reader.read_csv(span / "ASCEND_PROFILER_OUTPUT" / "step_trace_time.csv")
    assert found["computing"]["limit_value"] == pytest.approx(float(given["Computing"]) / 1e3)
    (shown,) = ask(span, "SELECT computing_ns FROM step_trace")
    assert found["computing"]["value"] == pytest.approx(shown["computing_ns"] / 1e6)
    assert "step_trace_time.csv says" in found["computing"]["message"]
    assert "which is shown" in found["computing"]["message"]


@pytest.mark.parametrize("name", QWEN)
def test_delivered_matrix(shared_data, ask, name):
    """Links of communication_matrix.json are in the table of that name, in bytes."""
    path = shared_data / name / "ASCEND_PROFILER_OUTPUT" / "communication_matrix.json"
    if not path.exists():
        pytest.skip(f"needs data: no {path}")
    expected = sorted(
        (int(step.removeprefix("step")), key.split("@")[0], *map(int, ranks.split("-")),
         link["Transport Type"], round(float(link["Transit Size(MB)"]) * 1e6))
        for step, kinds in reader.read_json(path).items()
        for entries in kinds.values()
        for key, links in entries.items()
        for ranks, link in links.items()
    )  # fmt: skip
    rows = ask(shared_data / name, "SELECT step_id, name, src_rank, dst_rank, transport, "
               "size_bytes FROM communication_matrix")  # fmt: skip
    found = sorted(tuple(row.values()) for row in rows)
    assert found == expected
    assert max(row["size_bytes"] for row in rows) > 10_000_000
