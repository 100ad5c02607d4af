"""`sonde analyse` of every shared set in every form: each is written, whole, and can be read."""

import json
import sqlite3

import ascend_reader as reader
import pytest

SETS = [
    "ascend_pt/text/level0/rank0_ascend_pt",
    "ascend_pt/text/level1/rank1_ascend_pt",
    "ascend_pt/db/level0/rank1_ascend_pt",
    "ascend_pt/db/level1/rank0_ascend_pt",
    "ascend_pt/qwen3_tp1_pp2/rank_0_ascend_pt",
    "ascend_pt/qwen3_tp1_pp2/rank_1_ascend_pt",
    "ascend_pt/synth8_tp_pp_dp/node1_1004_20250109081616713_ascend_pt",
    "ascend_pt/raw/text_level1_rank0_ascend_pt",
    "ascend_pt/raw/db_level1_rank1_ascend_pt",
    "golden/torch_npu-2.14.0/framework_only_text_level1_rank0",
    "kineto/cpu_only",
    "kineto/nccl_parser_config",
    "kineto/ns_resolution_trace",
    "kineto/timeline_analysis",
    "kineto/trace_diff/test",
    "kineto/triton_example",
    "vllm_cpu/kineto/tp1_stack_on",
    "mindspore_cpu/op_range/pynative",
    "mindspore_cpu/profiler/graph_mem",
    "mindspore_cpu/profiler/pynative_sched",
    "mindspore_cpu/runtime_profiler/graph",
]
FORMS = ("text", "db", "kineto", "mindstudio", "parquet")


def rows_of_database(path):
    """Rows by table; fails where the file is damaged."""
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)], path
        tables = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {name: db.execute(f'SELECT * FROM "{name}"').fetchall() for name in tables}
    db.close()
    return rows


def count_events(path):
    content = json.loads(path.read_text(encoding="utf-8"))
    return len(content["traceEvents"] if isinstance(content, dict) else content)


@pytest.mark.parametrize("name", SETS)
def test_all_forms(shared_data, tmp_path, run_sonde, name):
    def number(sql):
        done = run_sonde("query", shared_data / name, sql, "--format", "csv", "--read-files")
        assert done.returncode == 0, done.stderr
        return int(done.stdout.split()[1])

    done = run_sonde(
        "analyse", shared_data / name, "--export-type", ",".join(FORMS), "-o", tmp_path / "out"
    )
    assert done.returncode == 0, done.stderr
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert [path for path in files if ".tmp" in path.name] == []
    slices = number("SELECT count(*) FROM slice")
    for path in files:
        if path.name == "trace_view.json" or path.name.endswith(".pt.trace.json"):
            assert count_events(path) > 0, path
        elif path.suffix == ".json":
            json.loads(path.read_text(encoding="utf-8"))
    assert any(path.name.endswith(".pt.trace.json") for path in files)
    # A text set without a timeline is given back as it was.
    assert name.startswith("ascend_pt/qwen3") or any(p.name == "trace_view.json" for p in files)
    databases = [
        path for path in files if path.name.startswith(("ascend_pytorch_profiler", "msprof_"))
        and path.suffix == ".db"
    ]  # fmt: skip
    assert databases
    for path in databases:
        assert any(rows_of_database(path).values()), path
    tables = [path for path in files if path.name == "slice.parquet"]
    found = [number(f"SELECT count(*) FROM read_parquet('{path}')") for path in tables]
    assert sum(found) == slices


@pytest.mark.parametrize("forms", ["db", "text", "text,db", "db,text"])
def test_analysis_of_a_text_set(shared_data, tmp_path, run_sonde, forms):
    """analysis.db lies beside text files too: every form gives it back, and none a computed one."""
    span = reader.copy_of(
        shared_data / "ascend_pt/qwen3_tp1_pp2/rank_0_ascend_pt", tmp_path / "span_ascend_pt"
    )
    done = run_sonde("analyse", span, "--export-type", forms, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    (before,) = span.rglob("analysis.db")
    (after,) = (tmp_path / "out").rglob("analysis.db")
    assert rows_of_database(after) == rows_of_database(before)
