"""Results as tables: `--store` with `sonde query`, and metrics written in SQL."""

import csv
import io
import subprocess

import pytest
from conftest import SONDE
from test_bad_input import call, words, write_rank


def query(path, sql):
    done = subprocess.run(
        [str(SONDE), "query", str(path), sql, "--format", "csv"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


@pytest.fixture(name="steps")
def make_steps(tmp_path):
    """Two ranks; the target of rank 1 has another maximum."""
    for rank in range(2):
        tree = {"Module.a.A.forward.0": None, "Torch.mm.0.forward": "Module.a.A.forward.0"}
        target = {"Torch.mm.0.forward": call(Max=1.0 + rank)}
        write_rank(tmp_path / f"target/step0/rank{rank}", target, tree)
        write_rank(tmp_path / f"golden/step0/rank{rank}", {"Torch.mm.0.forward": call()}, tree)
    return tmp_path / "target", tmp_path / "golden"


def test_rows_of_a_comparison(steps, probe, tmp_path):
    probe(*words("compare", steps), "-o", "out", "--store")
    (path,) = (tmp_path / "out").glob("compare_result_*.duckdb")
    rows = query(path, "SELECT * FROM precision_statistics ORDER BY rank, row")
    assert len(rows) == 4
    assert rows[2]["npu_name"] == "Torch.mm.0.forward.input.0"
    assert rows[2]["module"] == "Module.a.A.forward.0"
    assert (rows[2]["rank"], float(rows[2]["max_diff"])) == ("1", 1.0)
    assert float(rows[2]["max_relative_err"]) == 100.0
    # Equal texts have the word 0, not a percentage.
    assert float(rows[0]["max_relative_err"]) == 0.0


def test_the_first_cause_of_each_pair(steps, probe, tmp_path):
    done = probe(*words("compare", steps), "-o", "out", "--store")
    # The folder stands for the one store in it.
    findings = query(tmp_path / "out", "SELECT * FROM precision_finding ORDER BY first DESC, rank")
    assert [(row["rank"], row["first"]) for row in findings] == [("1", "1"), ("0", "0")]
    first, other = findings
    assert done.stdout.splitlines()[0] == f"first: {first['sentence']}"
    assert first["advice"] and first["evidence"]
    assert (other["cause"], other["row"], other["sentence"]) == ("no difference", "", "")
    marked = query(
        tmp_path / "out",
        "SELECT v.cause, npu_name FROM precision_statistics v "
        "JOIN precision_finding f USING (step, rank, row) WHERE first = 1",
    )
    assert marked == [{"cause": first["cause"], "npu_name": first["place"]}]


def test_a_call_that_only_the_golden_run_has_is_marked(probe, tmp_path):
    """Its rows are in the store, with a metric in SQL, too."""
    relu = {"Torch.relu.0.forward": call(Max=9.0)}
    calls = {"Torch.mm.0.forward": call(), "Torch.add.0.forward": call(Max=3.0)}
    golden = calls | relu | {"Torch.add.0.forward": call(Max=9.0)}
    golden = dict(sorted(golden.items(), key=lambda item: "add" in item[0]))
    for side, data in (("target", calls), ("golden", golden)):
        tree = {"Module.a.A.forward.0": None} | dict.fromkeys(data, "Module.a.A.forward.0")
        write_rank(tmp_path / side, data, tree)
    metric = ("--sql-metric", "gap=abs(npu_max - bench_max)")
    probe("compare", "-tp", "target", "-gp", "golden", "-o", "out", "--store", *metric)
    finding = query(tmp_path / "out", "SELECT place, cause FROM precision_finding")
    assert finding == [
        {"place": "Torch.relu.0.forward", "cause": "order or number of calls differs"}
    ]
    marked = query(
        tmp_path / "out",
        "SELECT npu_name, bench_name, result FROM precision_statistics "
        "WHERE cause = 'order or number of calls differs'",
    )
    assert marked == [
        {"npu_name": "N/A", "bench_name": "Torch.relu.0.forward.input.0", "result": "unmatched"}
    ]


def test_values_of_arguments_are_texts(probe, tmp_path):
    for side, value in (("target", "tanh"), ("golden", "none")):
        made = call(Max=2.0 if side == "target" else 1.0)
        made["input_kwargs"] = {"approximate": {"type": "str", "value": value}}
        write_rank(tmp_path / side, {"Functional.gelu.0.forward": made}, {})
    probe("compare", "-tp", "target", "-gp", "golden", "-o", "out", "--store")
    rows = query(
        tmp_path / "out",
        "SELECT npu_max, npu_max_text, bench_max_text FROM precision_statistics "
        "WHERE npu_name LIKE '%approximate'",
    )
    assert rows == [{"npu_max": "", "npu_max_text": "tanh", "bench_max_text": "none"}]


def test_analyses_take_no_comparison_for_a_trace(steps, probe, tmp_path):
    probe(*words("compare", steps), "-o", "out", "--store")
    for command in (["analyse", "out"], ["cluster", "-d", "out"]):
        done = subprocess.run(
            [str(SONDE), *command], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode != 0
        assert "holds no trace: sonde view and sonde query read it" in done.stderr


def test_the_schema_names_the_columns(steps, probe, tmp_path):
    probe(*words("compare", steps), "-o", "out", "--store")
    (path,) = (tmp_path / "out").glob("compare_result_*.duckdb")
    command = [str(SONDE), "query", str(path), "--schema"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    table = done.stdout[done.stdout.index("precision_statistics: ") :].splitlines()
    columns = dict(line.split()[:2] for line in table[1:])
    assert columns["max_diff"] == "DOUBLE" and columns["npu_name"] == "VARCHAR"


def test_nodes_of_a_graph(steps, probe, tmp_path):
    probe(*words("graph", steps), "-o", "out", "--store")
    (path,) = (tmp_path / "out").glob("compare_*.duckdb")
    rows = query(
        path, "SELECT data_source, count(*) AS n FROM precision_node GROUP BY 1 ORDER BY 1"
    )
    assert rows == [{"data_source": "Bench", "n": "6"}, {"data_source": "NPU", "n": "6"}]
    rows = query(path, "SELECT up_node FROM precision_node WHERE node_name = 'Torch.mm.0.forward'")
    assert {row["up_node"] for row in rows} == {"Module.a.A.forward.0"}


def test_a_metric_in_sql(steps, probe, tmp_path):
    probe(*words("compare", steps), "-o", "out", "--sql-metric", "gap=abs(max_diff) * 2")
    assert not list((tmp_path / "out").rglob("*.duckdb"))
    (path,) = (tmp_path / "out").rglob("compare_result_rank1_*.csv")
    rows = list(csv.DictReader(path.open()))
    assert [row["gap"] for row in rows] == ["2.0", "0.0"]


@pytest.mark.parametrize("text", ("gap", "=1", "gap=", "gap=no_such_column", "Result=1"))
def test_wrong_metrics_in_sql(text, steps, probe):
    done = probe(*words("compare", steps), "-o", "out", "--sql-metric", text, good=False)
    assert done.returncode != 0
    assert done.stderr


def test_odd_bytes_are_kept_out_of_the_store(steps, probe, tmp_path):
    for side in steps:
        path = side / "step0/rank0/dump.json"
        path.write_bytes(path.read_bytes().replace(b"Torch.mm.0", b"Torch.m\xff\xfe.0"))
    probe(*words("compare", steps), "-o", "out", "--store")
    (path,) = (tmp_path / "out").glob("*.duckdb")
    assert len(query(path, "SELECT * FROM precision_statistics")) == 4
