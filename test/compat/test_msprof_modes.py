"""Every mode of msprof-analyze runs on what Sonde wrote, of two and of four ranks, at every level.

The peer ends with exit status 0 whatever happens: its messages and the tables that it writes are
looked at. Modes whose subject a training run on a CPU does not have (marks, frequencies, experts)
have to report that, and nothing else.
"""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SONDE = ROOT / "build" / os.environ.get("PRESET", "dev") / "bin" / "sonde"
PEER = Path(sys.executable).parent / "msprof-analyze"
RUNS = [(2, "level0"), (2, "level1"), (2, "level2"), (4, "level1")]

# Tables with content, by mode.
FULL = {
    "all": ("ClusterStepTraceTime", "CommunicationGroupMapping", "RankDeviceMap"),
    "communication_time": ("ClusterCommunicationTime", "ClusterCommunicationBandwidth"),
    "communication_matrix": ("ClusterCommunicationMatrix",),
    "communication_group_map": ("CommunicationGroupMapping",),
    "communication_time_sum": ("ClusterCommunicationTime",),
    "communication_matrix_sum": ("ClusterCommunicationMatrix",),
    "communication_bottleneck": ("CommunicationBottleneck",),
    "cann_api_sum": ("CannApiSum", "CannApiSumRank"),
    "compute_op_sum": ("ComputeOpAllRankStats", "ComputeOpPerRankStatsByOpType"),
    "hccl_sum": ("HcclAllRankStats", "HcclTopOpStats"),
    "free_analysis": ("FreeAnalysis",),
}
# Level 0 has no times of communication operations, of which the peer makes out the groups. It does
# not find any in the vendor's own recording of that level either.
NEEDS_LEVEL_1 = {"communication_time", "communication_matrix", "communication_time_sum",
                 "communication_matrix_sum", "communication_group_map"}  # fmt: skip
TABLES_OF_LEVEL_1 = {"CommunicationGroupMapping"}
# Modes that may have no result, and their message then.
MAY_BE_EMPTY = {
    "slow_rank": ("No slow rank found",),
    "slow_link": ("expected pandas DataFrame",),  # of an empty list of links
    "computational_op_masking": (),
    "mstx2commop": (),
    "p2p_pairing": (),
    # The peer's own fault: it joins by a column that is missing where no copy is among the tasks.
    "cluster_time_summary": ("exception: 'rank'", "No valid transmit and wait time"),
    "pp_chart": ("no such table: MSTX_EVENTS",),
    # Without that table it goes on with nothing in hand, on the vendor's recordings, too.
    "mstx_sum": ("no such table: MSTX_EVENTS", "Mapper data is None", "No mstx",
                 "'NoneType' object is not subscriptable"),
    "module_statistic": ("no such table: MSTX_EVENTS", "Can not export mstx range event"),
    "operator_mfu": ("no such table: MSTX_EVENTS", "Device info JSON not found",
                     "Failed to load device", "mstx", "Mapper data is None",
                     "ChipPeakFLOPSCalculator initialization failed", "Can not get chip info"),
    "freq_analysis": ("No aic freq data found", "Mapper data is None"),
    "ep_load_balance": ("Mapper data is None",),
}  # fmt: skip


@pytest.fixture(scope="module", name="database")
def make_databases(tmp_path_factory, torch_python):
    """database(ranks, level) returns the folder of a run, analysed as databases, once."""
    done = {}

    def recorded(ranks, level):
        if (ranks, level) not in done:
            folder = tmp_path_factory.mktemp(f"run_{ranks}_{level}")
            program = (torch_python, "-m", "torch.distributed.run", "--standalone",
                       f"--nproc_per_node={ranks}", ROOT / "examples" / "train_tiny_gpt.py",
                       "--steps", "5")  # fmt: skip
            words = [SONDE, "run", "--profile-step-start", "2", "--profile-step-end", "4",
                     "--profile-level", level, "--profile-export-type", "db",
                     "--profile-save-path", folder, "--", *program]  # fmt: skip
            ended = subprocess.run(
                [str(word) for word in words], capture_output=True, text=True, check=False
            )
            assert ended.returncode == 0, ended.stdout + ended.stderr
            assert len(list(folder.glob("*_ascend_pt"))) == ranks
            done[ranks, level] = folder
        return done[ranks, level]

    return recorded


def analysed(folder, output, mode, *more):
    """The output of the peer, and its tables with their numbers of rows."""
    command = [str(PEER), "cluster", "-m", mode, "-d", str(folder), "-o", str(output), *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    tables = {}
    for path in output.rglob("*.db"):
        with closing(sqlite3.connect(path)) as database:
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
                (tables[name],) = database.execute(f'SELECT count(*) FROM "{name}"').fetchone()
    return done.stdout + done.stderr, tables


@pytest.mark.parametrize("mode", FULL)
@pytest.mark.parametrize(("ranks", "level"), RUNS)
def test_modes_that_have_a_subject(database, tmp_path, ranks, level, mode):
    if level == "level0" and mode in NEEDS_LEVEL_1:
        pytest.skip("level 0 has no times of communication")
    log, tables = analysed(database(ranks, level), tmp_path, mode)
    assert "Traceback" not in log
    for table in set(FULL[mode]) - (TABLES_OF_LEVEL_1 if level == "level0" else set()):
        assert tables.get(table, 0) > 0, (table, tables, log)


@pytest.mark.parametrize("mode", MAY_BE_EMPTY)
@pytest.mark.parametrize(("ranks", "level"), RUNS)
def test_other_modes_end_without_surprise(database, tmp_path, ranks, level, mode):
    log, tables = analysed(database(ranks, level), tmp_path, mode)
    assert "no such table: CANN_API" not in log
    if any(tables.values()):
        return
    for line in log.splitlines():
        if "[ERROR]" in line and "read failed error" not in line:
            assert any(text in line for text in MAY_BE_EMPTY[mode]), line


@pytest.mark.parametrize("mode", ["hccl_sum", "communication_time_sum", "compute_op_sum"])
def test_smaller_copies_are_ranks_to_the_peer(database, tmp_path, mode):
    ranks = database(2, "level1")
    words = [SONDE, "cluster", "-m", "filter_db", "-d", ranks, "-o", tmp_path / "small"]
    done = subprocess.run(
        [str(word) for word in [*words, "--min_duration", "0"]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    copies = tmp_path / "small" / "cluster_analysis_output" / "FilterDb"
    _, tables = analysed(copies, tmp_path / "of_copies", mode)
    assert tables
    assert tables == analysed(ranks, tmp_path / "of_ranks", mode)[1]


def test_calls_of_the_host_are_those_that_launched(database):
    """CANN_API: one for each task and collective, with the number that ties them."""
    for ranks, level in RUNS:
        for path in database(ranks, level).rglob("ascend_pytorch_profiler_*.db"):
            with closing(sqlite3.connect(path)) as db:
                calls = dict(db.execute(
                    "SELECT t.name, count(*) FROM CANN_API c JOIN ENUM_API_TYPE t ON c.type = t.id "
                    "GROUP BY 1"
                ))  # fmt: skip
                (kernels,) = db.execute("SELECT count(*) FROM COMPUTE_TASK_INFO").fetchone()
                (operations,) = db.execute("SELECT count(*) FROM COMMUNICATION_OP").fetchone()
                (joined,) = db.execute(
                    "SELECT count(DISTINCT c.connectionId) FROM CANN_API c JOIN TASK USING "
                    "(connectionId)"
                ).fetchone()
            assert calls == {"node": kernels, "communication": operations}
            assert joined == kernels + operations > 100


@pytest.mark.parametrize("mode", ["export_summary"])
def test_tables_beside_the_database(database, tmp_path, mode):
    analysed(database(2, "level1"), tmp_path, mode)
    for output in database(2, "level1").rglob("ASCEND_PROFILER_OUTPUT"):
        for name in ("api_statistic.csv", "kernel_details.csv"):
            assert len((output / name).read_text().splitlines()) > 10, name
