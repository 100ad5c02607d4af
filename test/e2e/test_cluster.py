"""`sonde cluster`: what is reported, options, bad input, and ranks of every kind of trace."""

import hashlib
import json
import re
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest
from cluster_results import tables_of
from conftest import ROOT

DB = "ascend_pt/db/level1"
TEXT = "ascend_pt/text/level1"
SYNTH = "ascend_pt/synth8_tp_pp_dp"


def digest(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(name="two_ranks")
def make_two_ranks(shared_data, tmp_path):
    return shutil.copytree(shared_data / DB, tmp_path / "ranks")


def test_the_traces_stay_as_they_are(two_ranks, run_sonde, tmp_path):
    before = digest(two_ranks)
    for mode in ("all", "hccl_sum", "slow_rank"):
        assert (
            run_sonde("cluster", "-m", mode, "-d", two_ranks, "-o", tmp_path / "o").returncode == 0
        )
    assert digest(two_ranks) == before


def test_a_timeline_that_ends_early_is_reported(shared_data, run_sonde, tmp_path):
    ranks = shutil.copytree(shared_data / TEXT, tmp_path / "ranks")
    (timeline,) = (ranks / "rank1_ascend_pt").rglob("trace_view.json")
    whole = timeline.read_bytes()
    timeline.write_bytes(whole[: len(whole) * 6 // 10])
    done = run_sonde("cluster", "-m", "hccl_sum", "-d", ranks, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    printed = [line for line in done.stderr.splitlines() if "trace_truncated (1)" in line]
    assert len(printed) == 1 and "rank 1: the data has faults" in printed[0], done.stderr


def test_ranks_are_numbered_by_the_names_of_their_files(two_ranks, run_sonde, tmp_path):
    copy = two_ranks / "rank7_ascend_pt"
    shutil.copytree(two_ranks / "rank0_ascend_pt", copy)
    for file in [*copy.rglob("*_0.db*"), *copy.rglob("profiler_info_0.json")]:
        file.rename(file.with_name(file.name.replace("_0.", "_7.")))
    done = run_sonde("cluster", "-m", "hccl_sum", "-d", two_ranks, "-o", tmp_path / "o")
    assert done.returncode == 0, done.stderr
    assert {row[-1] for row in tables_of(tmp_path / "o")["HcclPerRankStats"]} == {0, 1, 7}


def test_modes_that_run_at_the_same_time_keep_the_tables_of_each_other(
    shared_data, run_sonde, tmp_path
):
    modes = {"hccl_sum": "HcclAllRankStats", "compute_op_sum": "ComputeOpAllRankStats",
             "cann_api_sum": "CannApiSum", "free_analysis": "FreeAnalysis",
             "kernel_time": "KernelTime", "collective_skew": "CollectiveSkew"}  # fmt: skip

    def run(mode):
        return run_sonde("cluster", "-m", mode, "-d", shared_data / SYNTH, "-o", tmp_path)

    with ThreadPoolExecutor(len(modes)) as pool:
        done = list(pool.map(run, modes))
    assert [run.returncode for run in done] == [0] * len(modes), done
    database = tmp_path / "cluster_analysis_output" / "cluster_analysis.db"
    with sqlite3.connect(database) as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    assert set(modes.values()) <= names
    assert [path.name for path in database.parent.iterdir()] == [database.name]


def test_agent_prints_one_line(shared_data, run_sonde, tmp_path):
    words = ("cluster", "-m", "hccl_sum", "-d", shared_data / DB, "-o", tmp_path, "--agent")
    done = run_sonde(*words)
    answer = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert answer["status"] == "success"
    assert answer["code"] == 0
    assert "HcclTopOpStats" in answer["message"]["tables"]
    assert answer["suggestion"]
    done = run_sonde(*words, "--rank_list", "9")
    answer = json.loads(done.stdout)
    assert done.returncode == 1
    assert answer["status"] == "error"
    assert "Invalid Rank id" in answer["message"]["err"]


def test_an_idle_device_is_explained_without_calls_of_an_interface(
    shared_data, run_sonde, tmp_path
):
    folder = shared_data / "kineto/timeline_analysis"
    words = ("cluster", "-m", "free_analysis", "-d", folder, "-o", tmp_path, "--top_num", "4")
    done = run_sonde(*words)
    assert done.returncode == 0, done.stderr
    rows = tables_of(tmp_path)["FreeAnalysis"]
    assert len(rows) == 4
    # None is reported to have been dispatched late by a time below 0.
    assert [row for row in rows if re.search(r"-\d", row[-1])] == []
    assert rows[0][3] == max(row[3] for row in rows)


def test_two_runs_are_compared(shared_data, run_sonde, tmp_path):
    words = ("cluster", "-m", "cluster_time_compare_summary", "-d", shared_data / SYNTH)
    done = run_sonde(*words, "-o", tmp_path, "--bp", shared_data / DB)
    assert done.returncode == 0, done.stderr
    database = sqlite3.connect(tmp_path / "cluster_analysis_output" / "cluster_analysis.db")
    rows = database.execute(
        "SELECT rank, computation, computationBase, computationDiff FROM ClusterTimeCompareSummary"
    ).fetchall()
    assert [row[0] for row in rows] == [0, 1]
    assert rows[1][1:3] == (9015.634, 8915.634)
    assert rows[1][3] == pytest.approx(100)
    assert "no step took longer or shorter than in the base run" in done.stdout
    done = run_sonde(*words, "-o", tmp_path)
    assert done.returncode == 1
    assert "Must specify the --bp parameter" in done.stderr


@pytest.mark.parametrize("form", ["text", "excel", "notebook"])
def test_other_forms(form, shared_data, run_sonde, tmp_path):
    words = ("cluster", "-m", "hccl_sum", "-d", shared_data / DB, "-o", tmp_path)
    done = run_sonde(*words, "--export_type", form)
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "cluster_analysis_output/HcclSum").iterdir()}
    assert ("hccl_sum.xlsx" in names) == (form == "excel")
    assert ("all_stats.csv" in names) == (form != "excel")
    assert ("report.html" in names) == (form == "notebook")


def test_a_capture_of_a_program_without_ranks(prepared, run_sonde, tmp_path):
    program = tmp_path / "train.py"
    program.write_text(
        "import torch\nfor _ in range(3):\n    torch.ones(9, 9) @ torch.ones(9, 9)\n"
    )
    done = run_sonde("run", "--profile-save-path", "profile", "--", prepared.python, program)
    assert done.returncode == 0, done.stderr
    done = run_sonde("cluster", "-m", "compute_op_sum", "-d", tmp_path / "profile")
    assert done.returncode == 0, done.stderr
    assert "has no rank, and counts as rank 0" in done.stderr or "rank" in done.stdout
    assert tables_of(tmp_path / "profile")["ComputeOpAllRankStats"]


def test_modules_of_a_capture_have_their_operators_forward_and_backward(
    prepared, run_sonde, tmp_path
):
    program = tmp_path / "train.py"
    program.write_text(
        "import torch\n"
        "net = torch.nn.Sequential(torch.nn.Linear(9, 9), torch.nn.ReLU(), torch.nn.Linear(9, 9))\n"
        "for _ in range(3):\n"
        "    net(torch.ones(9, 9)).sum().backward()\n"
    )
    done = run_sonde(
        "run", "--profile-save-path", "profile", "--profile-with-modules", "--", prepared.python,
        program,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    done = run_sonde("cluster", "-m", "module_statistic", "-d", tmp_path / "profile")
    assert done.returncode == 0, done.stderr
    rows = tables_of(tmp_path / "profile")["ModuleStatistic"]
    calls = {}
    for parent, module, op, _, _, _, count, _ in rows:
        calls[(parent, module, op)] = calls.get((parent, module, op), 0) + count
    assert calls[("Sequential", "Linear", "aten::addmm")] == 6
    assert calls[("Sequential", "ReLU", "aten::clamp_min")] == 3
    backward = {module for _, module, _ in calls if module.startswith("[Backward]")}
    assert any(module.startswith("[Backward]Linear") for module in backward), calls


def test_a_rank_whose_chip_is_not_known_has_no_share_of_its_peak(shared_data, run_sonde, tmp_path):
    source = shared_data / SYNTH / "node0_1000_20250109081616713_ascend_pt"
    rank = shutil.copytree(source, tmp_path / "ranks" / source.name)
    for info in rank.rglob("info.json.*"):
        info.unlink()
    words = ("cluster", "-m", "operator_mfu", "-d", tmp_path / "ranks", "-o", tmp_path / "out")
    done = run_sonde(*words)
    assert done.returncode == 0, done.stderr
    assert "rank 0: its chip is not known" in done.stderr
    tables = tables_of(tmp_path / "out")
    assert "OperatorMFU" not in tables
    assert {row[-1] for row in tables["ModuleMFU"]} == {None}


def test_skew_of_collectives_is_that_of_their_operations(shared_data, run_sonde, tmp_path):
    begins, ends = {}, {}  # of a collective, whose name is unique, by rank
    for rank in range(8):
        (path,) = (shared_data / SYNTH).glob(f"*/*/ascend_pytorch_profiler_{rank}.db")
        database = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
        rows = database.execute(
            "SELECT g.value, n.value, startNs, endNs FROM COMMUNICATION_OP "
            "JOIN STRING_IDS g ON g.id = groupName JOIN STRING_IDS n ON n.id = opName "
            "WHERE n.value NOT LIKE '%send%' AND n.value NOT LIKE '%receive%'"
        )
        for group, name, begin, end in rows:
            begins.setdefault((group, name), {})[rank] = begin
            ends.setdefault((group, name), {})[rank] = end
        database.close()
    expected = [
        (
            len(begin),
            max(begin.values()) - min(begin.values()),
            max(ends[key].values()) - min(ends[key].values()),
            max(ends[key].values()) - max(begin.values()),
        )
        for key, begin in begins.items()
        if len(begin) > 1
    ]
    words = ("cluster", "-m", "collective_skew", "-d", shared_data / SYNTH, "-o", tmp_path)
    done = run_sonde(*words)
    assert done.returncode == 0, done.stderr
    tables = tables_of(tmp_path)
    rows = tables["CollectiveSkew"]
    assert sorted((row[3], row[7], row[8], row[9]) for row in rows) == sorted(expected)
    assert sum(row[2] for row in tables["CollectiveSkewSum"]) == len(rows)


def test_collectives_have_a_type_where_the_level_recorded_none(shared_data, run_sonde, tmp_path):
    for mode, table, place in [
        ("collective_skew", "CollectiveSkewSum", 1), ("kernel_time", "KernelTime", 2)
    ]:  # fmt: skip
        folder = shared_data / "ascend_pt/db/level0"
        done = run_sonde("cluster", "-m", mode, "-d", folder, "-o", tmp_path)
        assert done.returncode == 0, done.stderr
        names = {row[place] for row in tables_of(tmp_path)[table]}
        assert "hcom_allReduce_" in names and "N/A" not in names


def test_the_document_names_every_mode(run_sonde):
    text = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    help_text = run_sonde("cluster", "--help").stdout
    modes = re.findall(r"^  (\w+)  +\S", help_text.split("\nModes:\n")[1], re.MULTILINE)
    assert len(modes) > 30
    assert [mode for mode in modes if f"| `{mode}` |" not in text] == []
