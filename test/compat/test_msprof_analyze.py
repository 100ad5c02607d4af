"""msprof-analyze's cluster analysis runs on what Sonde wrote, and its result tables have content.

The peer ends with exit status 0 whatever happens, so its log and its tables are looked at.
"""

import csv
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

PEER = Path(sys.executable).parent / "msprof-analyze"
TABLES = (
    "ClusterStepTraceTime",
    "ClusterCommunicationTime",
    "ClusterCommunicationBandwidth",
    "ClusterCommunicationMatrix",
    "CommunicationGroupMapping",
    "RankDeviceMap",
)
# The peer wants Megatron's sizes beside rank and world size, which other trainers do not state.
HARMLESS = "world_size must be equal to tensor_model_parallel_size"


def cluster(folder, output, mode="all"):
    command = [str(PEER), "cluster", "-m", mode, "-d", str(folder), "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    log = done.stdout + done.stderr
    assert done.returncode == 0, log
    errors = [line for line in log.splitlines() if "[ERROR]" in line and HARMLESS not in line]
    assert not errors, log
    return output / "cluster_analysis_output"


@pytest.fixture(scope="module", name="text_result")
def cluster_of_text(profile, tmp_path_factory):
    return cluster(profile("text"), tmp_path_factory.mktemp("cluster_text"))


@pytest.fixture(scope="module", name="db_result")
def cluster_of_db(profile, tmp_path_factory):
    return cluster(profile("db"), tmp_path_factory.mktemp("cluster_db"))


def test_step_trace_of_text(text_result):
    with open(text_result / "cluster_step_trace_time.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["Type"] == "rank"]
    assert {row["Index"] for row in rows} == {"0", "1"}
    assert all(float(row["Computing"]) > 0 for row in rows)
    assert all(float(row["Communication"]) > 0 for row in rows)


@pytest.mark.parametrize(
    "name", ["cluster_communication.json", "cluster_communication_matrix.json"]
)
def test_communication_of_text(text_result, name):
    result = json.loads((text_result / name).read_text())
    assert any("(0, 1)" in group for group in result)
    operators = [operator for step in result["(0, 1)"].values() for operator in step]
    assert any("allreduce" in operator.lower() for operator in operators)


@pytest.mark.parametrize("table", TABLES)
def test_tables_of_db(db_result, table):
    with closing(sqlite3.connect(db_result / "cluster_analysis.db")) as database:
        assert database.execute(f"select count(*) from {table}").fetchone()[0] > 0


@pytest.mark.parametrize("mode", ["compute_op_sum", "hccl_sum"])
def test_recipe_of_db(profile, tmp_path, mode):
    result = cluster(profile("db"), tmp_path, mode)
    databases = list(result.rglob("*.db"))
    assert databases, f"{mode} wrote no table"
