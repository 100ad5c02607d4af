"""Tables of cluster modes in SQL: what a statement gets is what `sonde cluster` writes."""

import json
import re
import shutil
import sqlite3
from collections import defaultdict

import pytest
from conftest import ROOT

SYNTH = "ascend_pt/synth8_tp_pp_dp"
RANKS = {
    "synthetic": SYNTH,
    "texts": "ascend_pt/text/level1",
    "databases": "ascend_pt/db/level1",
    "kineto": "kineto/trace_diff/control",
}
# Of two runs.
COMPARING = {
    "cluster_time_compare_summary",
    "cluster_compare_baseline",
    "trace_diff",
    "calibrate_npu_gpu",
}


def declared():
    """Of docs/reference/cluster-tables.md: by mode, (name, name in the database, columns)."""
    text = (ROOT / "docs" / "reference" / "cluster-tables.md").read_text()
    tables = defaultdict(list)
    for section in text.split("\n## ")[1:]:
        mode, reference = re.search(r"Mode `(\w+)` \((\w+)\)\.", section).groups()
        columns = re.findall(r"^\| `\w+` \((.*?)\) \|", section, re.MULTILINE)
        tables[mode].append((section.split("\n")[0], reference, columns))
    return tables


def in_statements(run_sonde, path, names, *options):
    """The rows of each table; none where they cannot be made."""
    statements = "".join(f"SELECT * FROM {name};\n" for name in names)
    done = run_sonde("query", path, "--format", "json", *options, input=statements)
    if done.returncode != 0:
        return None
    tables = {}
    text = done.stdout
    for name in names:
        rows, end = json.JSONDecoder().raw_decode(text)
        tables[name] = [list(row.values()) for row in rows]
        text = text[end:].lstrip()
    assert not text
    return tables


def in_database(out, table, columns):
    database = sqlite3.connect(out / "cluster_analysis_output" / "cluster_analysis.db")
    names = [name for (name,) in database.execute("SELECT name FROM sqlite_master")]
    rows = None
    if table in names:
        listed = ", ".join(f'"{column}"' for column in columns)
        rows = [
            [None if cell == "NA" else cell for cell in row]
            for row in database.execute(f'SELECT {listed} FROM "{table}"')
        ]
    database.close()
    return rows


def test_all_of_them_are_declared_and_listed(run_sonde):
    tables = declared()
    assert sum(len(of_mode) for of_mode in tables.values()) > 50
    schema = run_sonde("query", "--schema").stdout
    for of_mode in tables.values():
        for name, _, columns in of_mode:
            assert columns
            assert f"\n{name}: result: " in schema


@pytest.mark.parametrize("ranks", RANKS)
def test_a_statement_gets_what_a_mode_writes(ranks, shared_data, run_sonde, tmp_path):
    path = shared_data / RANKS[ranks]
    made, compared = {}, 0
    for mode, of_mode in declared().items():
        if mode in COMPARING:
            continue
        (tmp_path / mode).mkdir()
        words = ("-m", mode, "-d", path, "-o", tmp_path / mode, "--export_type", "db")
        if run_sonde("cluster", *words).returncode == 0:
            made[mode] = of_mode
        else:
            assert in_statements(run_sonde, path, [name for name, _, _ in of_mode]) is None, mode
    every = [(mode, *table) for mode, of_mode in made.items() for table in of_mode]
    tables = in_statements(run_sonde, path, [name for _, name, _, _ in every])
    for mode, name, reference, columns in every:
        written = in_database(tmp_path / mode, reference, columns)
        if written is None:  # a table for each rank, or a text only
            continue
        assert tables[name] == written, name
        compared += len(written)
    assert compared > 50


def test_runs_are_compared_with_a_baseline(shared_data, run_sonde, tmp_path):
    path = shared_data / SYNTH
    for mode in ("cluster_time_compare_summary", "trace_diff"):
        out = tmp_path / mode
        out.mkdir()
        done = run_sonde("cluster", "-m", mode, "-d", path, "--bp", path, "-o", out)
        assert done.returncode == 0, done.stderr
        for name, reference, columns in declared()[mode]:
            tables = in_statements(run_sonde, path, [name], "--baseline", path)
            assert tables[name]
            assert tables[name] == in_database(out, reference, columns)


def test_impossible_output_is_one_line(shared_data, run_sonde):
    statement = "SELECT * FROM cluster_time_compare_summary"
    done = run_sonde("query", shared_data / SYNTH, statement)
    assert done.returncode == 1
    assert "name the other one with --baseline" in done.stderr.splitlines()[-1]
    done = run_sonde("query", shared_data / "kineto", "SELECT * FROM ep_tokens_summary")
    assert done.returncode == 1
    assert "ep_load_balance: " in done.stderr.splitlines()[-1]


def test_a_store_by_itself_is_a_rank(shared_data, run_sonde, tmp_path):
    path = next((shared_data / SYNTH).glob("*_ascend_pt"))
    done = run_sonde("query", path, "SELECT 1", env={"XDG_CACHE_HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    store = next(tmp_path.rglob("*.duckdb"))
    names = ["hccl_all_rank_stats", "kernel_time"]
    own = in_statements(run_sonde, store, names)
    assert all(own.values())
    assert own == in_statements(run_sonde, path, names)


def test_a_rank_that_cannot_be_read_is_named(shared_data, run_sonde, tmp_path):
    path = shutil.copytree(shared_data / RANKS["databases"], tmp_path / "ranks")
    next(path.rglob("ascend_pytorch_profiler_0.db")).write_bytes(b"no database")
    sql = "SELECT DISTINCT rank FROM hccl_per_rank_stats"
    done = run_sonde("query", path, sql, "--format", "json")
    assert (done.returncode, json.loads(done.stdout)) == (1, [{"rank": 1}]), done.stderr
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("sonde: error: ")]
    assert "rank0_ascend_pt" in error and "it is missing from the tables of hccl_sum" in error
