"""MindSpore programs below `sonde run`: results, launches, cells, steps, memory, stacks."""

import csv
import re
from collections import Counter

import pytest
from conftest import all_of_its_kind

OTHERS = ("pynative", "jit", "graph_train", "jit_train")
MODES = ["train", "graph", *(pytest.param(mode, marks=all_of_its_kind) for mode in OTHERS)]
ALL = ("--profile-with-memory", "--profile-with-stack", "--profile-record-shapes")
STEPS = 3
OF_LEVEL_1 = {
    "api_statistic.csv", "kernel_details.csv", "memory_record.csv", "op_statistic.csv",
    "operator_memory.csv", "step_trace_time.csv", "trace_view.json",
}  # fmt: skip


@pytest.fixture(scope="module", name="recorded")
def make_recorded(run):
    """recorded(mode): the program with MindSpore's own runtime profiler beside Sonde, once."""
    known = {}

    def recorded(mode):
        if mode not in known:
            variables = {"COUNTED": "1", "MS_ENABLE_RUNTIME_PROFILER": "1"}
            known[mode] = run("decoder.py", mode, STEPS, options=ALL, **variables,
                              SONDE_PROFILE_ANALYSE="0")  # fmt: skip
        return known[mode]

    return recorded


def launches_of(folder):
    """{type of operator: launches} by MindSpore's runtime profiler."""
    text = "".join(path.read_text() for path in folder.glob("rank_0/RuntimeProfilerDetail*.csv"))
    pattern = r"module:\w+, event:(KernelLaunch|LaunchTask), op:(.*?), start_time"
    return Counter(
        re.sub(r"-op\d+$", "", name.rpartition("/")[2]) for _, name in re.findall(pattern, text)
    )


@pytest.mark.parametrize("mode", MODES)
def test_results_are_the_same_bits(mode, recorded, run):
    plain = run("decoder.py", mode, STEPS, options=None)
    assert len(plain.results) == STEPS and recorded(mode).results == plain.results


@pytest.mark.parametrize("mode", MODES)
def test_every_launch_is_a_task_of_the_cpu(mode, recorded, rows):
    done = recorded(mode)
    (span,) = done.spans()
    counted = launches_of(done.folder)
    assert sum(counted.values()) > 30 * STEPS
    everything = rows(span, "SELECT op_type, count(*) AS n FROM device_task GROUP BY 1")
    assert {row["op_type"]: row["n"] for row in everything} == counted
    assert rows(span, "SELECT DISTINCT core FROM device_task") == [{"core": "CPU"}]


@pytest.mark.parametrize("mode", MODES)
def test_steps_are_found(mode, recorded, rows):
    (span,) = recorded(mode).spans()
    steps = rows(span, "SELECT step_id FROM step ORDER BY ts")
    assert [step["step_id"] for step in steps] == list(range(STEPS))


@pytest.mark.parametrize("mode", MODES)
def test_cells_are_ranges(mode, recorded, rows):
    (span,) = recorded(mode).spans()
    found = rows(span, "SELECT s.name AS name, count(*) AS n FROM slice s WHERE category = "
                       "'module' GROUP BY 1")  # fmt: skip
    cells = {re.sub(r"^(network\.)?net\.", "", row["name"]): row["n"] for row in found}
    if mode.startswith("jit"):  # of a function that is compiled, MindSpore's kernels name no cell
        kernels = rows(span, "SELECT DISTINCT name FROM device_task")
        assert not any("Dense" in row["name"] for row in kernels) and "layers.0" not in cells
        return
    names = {"embed", "layers.0", "layers.0.attn", "layers.0.attn.qkv", "layers.0.norm1", "head"}
    assert names <= cells.keys()
    assert all(cells[name] >= STEPS for name in names)
    inside = rows(span, "SELECT module, count(*) AS n FROM framework_op JOIN device_task USING "
                        "(slice_id) WHERE op_type = 'MatMul' GROUP BY 1")  # fmt: skip
    by_cell = {re.sub(r"^(network\.)?net\.", "", row["module"] or ""): row["n"] for row in inside}
    assert by_cell.get("layers.0.attn.qkv", 0) >= STEPS


@pytest.mark.parametrize("mode", MODES)
def test_operators_are_launched_by_their_calls(mode, recorded, rows):
    (span,) = recorded(mode).spans()
    launches = rows(span, "SELECT op_type, l.name AS call, d.ts - l.ts AS behind FROM device_task "
                          "d JOIN slice l ON l.slice_id = launch_slice_id")  # fmt: skip
    assert all(launch["behind"] >= 0 for launch in launches)
    if mode == "train":
        calls = {row["call"].rpartition("::")[2] for row in launches if row["op_type"] == "MatMul"}
        assert calls == {"MatMul"}


def test_memory_ends_where_it_began(recorded, rows):
    (span,) = recorded("train").spans()
    events = rows(span, "SELECT size_bytes, total_allocated, total_reserved FROM memory_event "
                        "ORDER BY ts")  # fmt: skip
    assert len(events) > 100
    # The pool's own totals, and the sum of what it gave out and took back.
    first = events[0]["total_allocated"] - events[0]["size_bytes"]
    assert first + sum(event["size_bytes"] for event in events) == events[-1]["total_allocated"]
    assert all(event["total_reserved"] >= event["total_allocated"] for event in events)


def test_operators_have_the_stack_of_their_call(recorded, rows):
    """Though they run on another thread."""
    (span,) = recorded("train").spans()
    found = rows(span, "SELECT DISTINCT frame FROM framework_op o JOIN device_task USING (slice_id)"
                       " JOIN callstack USING (stack_id) WHERE op_type = 'Softmax'")  # fmt: skip
    frames = [row["frame"] for row in found]
    assert any("decoder.py" in frame and frame.endswith(": construct") for frame in frames)


def test_operators_have_the_shapes_of_their_inputs(recorded, rows, release):
    """Of the decoder: 2 x 8 tokens, width 32, two heads, 64 words."""
    if release < (2, 8):
        assert "not recorded: shapes of operators" in recorded("train").stderr
        return
    (span,) = recorded("train").spans()
    found = rows(span, "SELECT op_type, o.input_shapes AS shapes, o.input_types AS types, count(*) "
                       "AS n FROM device_task d JOIN framework_op o USING (slice_id) WHERE "
                       "o.input_shapes IS NOT NULL GROUP BY ALL")  # fmt: skip
    of_type = {}
    for row in found:
        of_type.setdefault(row["op_type"], set()).add((row["shapes"], row["types"]))
    assert ("2,2,8,8", "float") in of_type["Softmax"]
    assert ("16,32;96,32", "float;float") in of_type["MatMul"]
    launched = rows(span, "SELECT count(*) AS n FROM device_task")[0]["n"]
    assert sum(row["n"] for row in found) > launched / 2


@all_of_its_kind
def test_graphs_that_were_compiled_before_the_recording_have_shapes(run, rows):
    steps = ("--profile-step-start", "2", "--profile-step-end", "4")
    done = run("decoder.py", "graph", 5, options=(*ALL, *steps), SONDE_PROFILE_ANALYSE="0")
    (span,) = done.spans()
    found = rows(span, "SELECT count(*) AS n, count(input_types) AS known FROM device_task")
    assert found[0]["n"] == found[0]["known"] > 60


@pytest.mark.parametrize("mode", ["graph", pytest.param("graph_train", marks=all_of_its_kind)])
def test_kernels_of_graphs_have_shapes(mode, run, rows):
    """Every kernel, though none reports its inputs: by the text of the compiled graph, which leaves
    nothing behind in the program's folder."""
    done = run("decoder.py", mode, STEPS, options=ALL, SONDE_PROFILE_ANALYSE="0")
    (span,) = done.spans()
    without = "SELECT name FROM device_task WHERE input_types IS NULL OR output_types IS NULL"
    assert rows(span, without) == []
    found = rows(span, "SELECT input_shapes AS i, input_types AS t, input_formats AS f, "
                       "output_shapes AS o, output_types AS u, count(*) AS n FROM device_task "
                       "WHERE name LIKE '%Default/%layers-CellList/0-Block/attn-Attention/"
                       "qkv-Dense/MatMul-op_' AND name NOT LIKE 'Gradients/%' "
                       "GROUP BY ALL")  # fmt: skip
    (row,) = found
    # Then two flags, whether either is transposed.
    assert (row["i"], row["t"], row["f"]) == (
        "16,32;96,32;;",
        "float;float;bool;bool",
        "ND;ND;ND;ND",
    )
    assert (row["o"], row["u"], row["n"]) == ("16,96", "float", STEPS)
    assert not list(done.folder.rglob("trace_code_graph*"))


@all_of_its_kind
def test_graphs_that_the_user_saves_stay(run, rows, tmp_path):
    variables = {"MS_DEV_SAVE_GRAPHS": "1", "MS_DEV_SAVE_GRAPHS_PATH": str(tmp_path / "ir")}
    done = run("decoder.py", "graph", 1, options=("--profile-record-shapes",), **variables,
               SONDE_PROFILE_ANALYSE="0")  # fmt: skip
    assert list((tmp_path / "ir").rglob("*validate*.ir"))
    assert list((tmp_path / "ir").rglob("trace_code_graph*"))
    (span,) = done.spans()
    assert rows(span, "SELECT name FROM device_task WHERE input_types IS NULL") == []


def test_the_profiler_of_the_program_decides(run, rows):
    done = run("profiled.py", "out", options=("--profile-save-path", "own"))
    spans = done.spans("out")
    assert len(spans) == 2
    assert "its settings apply from here on" in done.stderr
    for span, step in zip(spans, (2, 5)):
        assert rows(span, "SELECT step_id FROM step") == [{"step_id": step}]
        output = span / "ASCEND_PROFILER_OUTPUT"
        assert OF_LEVEL_1 <= {path.name for path in output.iterdir()}
        with open(output / "kernel_details.csv", encoding="utf-8") as file:
            assert len(list(csv.DictReader(file))) > 30
        assert (span / "profiler_metadata.json").exists()
    assert re.search(r"\[\d+\] Parsing: \[#{20}\] 3/3 Done", done.stdout)


@all_of_its_kind
def test_steps_of_the_command_line(run, rows):
    options = ("--profile-step-start", "1", "--profile-step-end", "3")
    done = run("decoder.py", "graph", 5, options=options, SONDE_PROFILE_ANALYSE="0")
    (span,) = done.spans()
    assert [s["step_id"] for s in rows(span, "SELECT step_id FROM step ORDER BY 1")] == [1, 2]
