"""`sonde cluster` in several processes at a time, on captures, and its document."""

import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor

from cluster_results import tables_of
from conftest import ROOT

SYNTH = "ascend_pt/synth8_tp_pp_dp"


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


def test_the_document_names_every_mode(run_sonde):
    text = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    help_text = run_sonde("cluster", "--help").stdout
    modes = re.findall(r"^  (\w+)  +\S", help_text.split("\nModes:\n")[1], re.MULTILINE)
    assert len(modes) > 30
    assert [mode for mode in modes if f"| `{mode}` |" not in text] == []
