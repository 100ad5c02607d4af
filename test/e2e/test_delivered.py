"""Values of the profiler's own tables are shown, or named where other files give something else."""

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
    """Computing comes out shorter than the profiler reported: both are named, and which is
    shown."""
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
    assert "step_trace_time.csv reports" in found["computing"]["message"]
    assert "the value shown here" in found["computing"]["message"]


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


# The result that shows what a delivered file holds.
SHOWN_IN = {
    "api_statistic.csv": "api_statistic",
    "communication.json": "communication",
    "communication_matrix.json": "communication_matrix",
    "kernel_details.csv": "kernel_details",
    "memory_record.csv": "memory_record",
    "npu_module_mem.csv": "memory_record",
    "op_statistic.csv": "op_statistic",
    "operator_details.csv": "operator_details",
    "operator_memory.csv": "operator_memory",
    "step_trace_time.csv": "step_trace",
}
LEFT = ["", "trace_view.json", "trace_view.json kernel_details.csv", "communication.json"]


@pytest.mark.parametrize("without", LEFT)
@pytest.mark.parametrize("name", [name for name in WHOLE if "/db/" not in name])
def test_no_file_is_left_out_in_silence(shared_data, tmp_path, ask, name, without):
    """Whichever files of a folder are left: what they hold is in a result, or they are named."""
    if not (shared_data / name).exists():
        pytest.skip(f"needs data: no {name}")
    span = reader.copy_of(shared_data / name, tmp_path / "span_ascend_pt")
    output = span / "ASCEND_PROFILER_OUTPUT"
    for file in without.split():
        (output / file).unlink(missing_ok=True)
    given = [file for file in SHOWN_IN if (output / file).exists() and has_rows(output / file)]
    assert given
    counts = ", ".join(f'(SELECT count(*) FROM {SHOWN_IN[f]}) AS "{f}"' for f in given)
    (shown,) = ask(span, f"SELECT {counts}")
    issues = ask(span, "SELECT source, count FROM import_issue WHERE code = 'sums_without_rows'")
    named = {issue["source"].rpartition("/")[2] for issue in issues}
    assert {file for file in given if not shown[file]} == named


def has_rows(path):
    if path.suffix == ".json":
        return "size" in path.read_text(encoding="utf-8").lower()
    return len(reader.read_csv(path)) > 0


def test_sums_of_calls_that_are_in_no_file(shared_data, ask):
    """Calls of the host's interface of which the profiler gave nothing but their sums."""
    name = QWEN[0]
    if not (shared_data / name).exists():
        pytest.skip(f"needs data: no {name}")
    given = reader.read_csv(shared_data / name / "ASCEND_PROFILER_OUTPUT" / "api_statistic.csv")
    shown = ask(shared_data / name, "FROM api_statistic")
    assert len(shown) == len(given)
    by_name = {(row["level"], row["name"]): row for row in shown}
    for row in given:
        level = "communication" if row["Level"] == "hccl" else row["Level"]
        found = by_name[level, row["API Name"]]
        assert found["count"] == int(row["Count"])
        assert found["total_ns"] == round(float(row["Time(us)"]) * 1000)
        assert found["average_ns"] == round(float(row["Avg(us)"]) * 1000)
        assert found["min_ns"] == round(float(row["Min(us)"]) * 1000)
        assert found["max_ns"] == round(float(row["Max(us)"]) * 1000)
        assert found["variance_us2"] == float(row["Variance"])


def test_the_terminal_says_that_figures_differ(shared_data, tmp_path, run_sonde):
    """Who reads nothing but the summary learns that its times are not all that was measured."""
    name = "ascend_pt/text/level1/rank0_ascend_pt"
    span = reader.copy_of(shared_data / name, tmp_path / "span_ascend_pt")
    for file in ("trace_view.json", "kernel_details.csv"):
        (span / "ASCEND_PROFILER_OUTPUT" / file).unlink()
    done = run_sonde("analyse", span, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "step_trace_time.csv reports 8.9 ms of computing in step 50" in done.stdout
    assert "rows of a table are kept, but no analysis shows them" in done.stdout
