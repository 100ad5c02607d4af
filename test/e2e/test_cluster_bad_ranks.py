"""`sonde cluster` on ranks that are missing, double, empty or unlike: one clear line each."""

import json
import shutil
import sqlite3

import pytest
from cluster_results import profiler_of, tables_of

DB = "ascend_pt/db/level1"
SYNTH = "ascend_pt/synth8_tp_pp_dp"
MODES = ["all", "hccl_sum", "compute_op_sum", "slow_rank", "cluster_time_summary"]


@pytest.fixture(name="ranks")
def copy_ranks(shared_data, tmp_path):
    return shutil.copytree(shared_data / SYNTH, tmp_path / "ranks")


@pytest.fixture(name="cluster")
def make_runner(run_sonde, tmp_path):
    """cluster(mode, folder, *words, status=0) gives the tables and the lines that were reported."""

    def run(mode, folder, *words, status=0):
        out = tmp_path / "out" / mode
        done = run_sonde("cluster", "-m", mode, "-d", folder, "-o", out, *words)
        assert done.returncode == status, done.stderr
        return tables_of(out), done.stderr.splitlines()

    return run


def folder_of(ranks, rank):
    (path,) = ranks.glob(f"*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_{rank}.db")
    return path.parents[1]


def change(ranks, rank, *statements):
    database = profiler_of(ranks, rank)
    for statement in statements:
        database.execute(statement)
    database.commit()
    database.close()


def only(lines, part):
    found = [line for line in lines if part in line]
    assert len(found) == 1, lines
    return found[0]


@pytest.mark.parametrize("mode", MODES)
def test_missing_ranks_are_named(mode, ranks, cluster):
    for rank in (3, 5):
        shutil.rmtree(folder_of(ranks, rank))
    tables, lines = cluster(mode, ranks)
    only(lines, "ranks 3,5 of 0 to 7 are missing: the results do not cover them")
    assert tables or mode == "slow_rank"


@pytest.mark.parametrize("gone", [(7,), (0,), (0, 6, 7)])
@pytest.mark.parametrize(
    "reports", ["profiler_metadata.json", "sizes alone", "database", "nothing"]
)
def test_missing_ranks_at_the_ends_are_named(gone, reports, ranks, cluster):
    """How many there were is known by the launcher's sizes, or by the groups that a rank is in."""
    for rank in gone:
        shutil.rmtree(folder_of(ranks, rank))
    for path in ranks.rglob("profiler_metadata.json"):
        facts = json.loads(path.read_text())
        if reports == "profiler_metadata.json":
            continue
        path.unlink()
        database = sqlite3.connect(next(path.parent.rglob("ascend_pytorch_profiler_*.db")))
        database.execute("DELETE FROM META_DATA WHERE name IN "
                         "('distributed_args', 'parallel_group_info')")  # fmt: skip
        if reports == "sizes alone":
            path.write_text(json.dumps({"distributed_args": facts["distributed_args"]}))
        if reports == "database":
            groups = json.dumps(facts["parallel_group_info"])
            database.execute("INSERT INTO META_DATA VALUES ('parallel_group_info', ?)", (groups,))
        database.commit()
        database.close()
    _, lines = cluster("hccl_sum", ranks)
    if reports == "nothing":
        assert not [line for line in lines if "missing: the results" in line]
        return
    names = ",".join(map(str, gone))
    missing = (
        f"rank {names} of 0 to 7 is missing"
        if len(gone) == 1
        else f"ranks {names} of 0 to 7 are missing"
    )
    only(lines, f"{missing}: the results do not cover ")


def test_ranks_that_were_not_wanted_are_not_missing(ranks, cluster):
    _, lines = cluster("hccl_sum", ranks, "--rank_list", "0,7")
    assert not [line for line in lines if "missing: the results" in line]


@pytest.mark.parametrize("mode", MODES)
def test_of_two_runs_of_a_rank_the_newer_counts(mode, ranks, cluster):
    old = folder_of(ranks, 2)
    new = old.with_name(old.name.replace("20250109081616713", "20250109091616713"))
    shutil.copytree(old, new)
    for path in new.rglob("*.db"):
        database = sqlite3.connect(path)
        if "profiler" in path.name:
            database.execute("UPDATE STEP_TIME SET startNs = startNs + 1")
        database.commit()
        database.close()
    _, lines = cluster(mode, ranks)
    assert f"{new.name} is taken" in only(lines, "rank 2 occurs twice")


@pytest.mark.parametrize("mode", MODES)
def test_an_empty_rank_is_named(mode, ranks, cluster):
    for table in ("TASK", "COMMUNICATION_OP", "PYTORCH_API", "CANN_API", "COMPUTE_TASK_INFO"):
        change(ranks, 6, f"DELETE FROM {table}")
    change(ranks, 6, "DELETE FROM STEP_TIME", "DELETE FROM COMMUNICATION_TASK_INFO")
    for path in folder_of(ranks, 6).rglob("analysis.db"):
        path.unlink()
    _, lines = cluster(mode, ranks)
    only(lines, "without rank 6, where this is missing: ")


def test_a_folder_of_a_rank_without_files(ranks, cluster):
    """Only the gap shows that it was a rank."""
    shutil.rmtree(folder_of(ranks, 4) / "ASCEND_PROFILER_OUTPUT")
    (folder_of(ranks, 3).with_name("empty_ascend_pt") / "ASCEND_PROFILER_OUTPUT").mkdir(
        parents=True
    )
    _, lines = cluster("hccl_sum", ranks)
    only(lines, "rank 4 of 0 to 7 is missing")


@pytest.mark.parametrize("mode", MODES)
def test_a_rank_that_stopped_early(mode, ranks, cluster):
    database = profiler_of(ranks, 1)
    ((middle,),) = database.execute("SELECT (min(startNs) + max(endNs)) / 2 FROM TASK").fetchall()
    database.close()
    for table in ("TASK", "COMMUNICATION_OP", "CANN_API"):
        change(ranks, 1, f"DELETE FROM {table} WHERE startNs > {middle}")
    tables, lines = cluster(mode, ranks)
    assert not [line for line in lines if "sonde: error" in line]
    if mode == "hccl_sum":
        counts = {(row[-1]): row[1] for row in tables["HcclPerRankStats"] if "educe" in row[0]}
        assert counts[1] < counts[0]


@pytest.mark.parametrize("mode", MODES)
def test_ranks_of_other_levels_and_versions(mode, shared_data, tmp_path, cluster):
    ranks = tmp_path / "ranks"
    shutil.copytree(shared_data / DB / "rank0_ascend_pt", ranks / "rank0_ascend_pt")
    level0 = shared_data / "ascend_pt/db/level0/rank1_ascend_pt"
    shutil.copytree(level0, ranks / "rank1_ascend_pt")
    change(
        ranks, 0,
        "UPDATE META_DATA SET value = '0.9.0' WHERE name = 'SCHEMA_VERSION'",
        "ALTER TABLE COMMUNICATION_OP DROP COLUMN opType",
        "DROP TABLE NPU_INFO",
    )  # fmt: skip
    _, lines = cluster(mode, ranks)
    assert not [line for line in lines if "sonde: error" in line]


@pytest.mark.parametrize("mode", ["hccl_sum", "compute_op_sum", "cluster_time_summary"])
def test_a_step_that_one_rank_lacks(mode, ranks, cluster):
    change(ranks, 3, "UPDATE STEP_TIME SET id = 51")
    _, lines = cluster(mode, ranks, "--step_id", "50", status=1)
    line = only(lines, "sonde: error: ")
    assert "there is no step 50 (steps: 51)" in line and folder_of(ranks, 3).name in line


@pytest.mark.parametrize("mode", ["all", "communication_group_map", "computational_op_masking"])
@pytest.mark.parametrize("groups", ["{}", "[]", "not json", '{"a": {}}'])
def test_groups_that_say_nothing(mode, groups, ranks, cluster):
    for rank in range(8):
        change(
            ranks, rank,
            f"UPDATE META_DATA SET value = '{groups}' WHERE name = 'parallel_group_info'",
        )  # fmt: skip
        path = folder_of(ranks, rank) / "profiler_metadata.json"
        path.write_text(json.dumps({"parallel_group_info": {}}))
    if mode == "computational_op_masking":  # lives on kinds of groups
        _, lines = cluster(mode, ranks, status=1)
        assert "groups whose kind is known" in only(lines, "sonde: error: ")
        return
    _, lines = cluster(mode, ranks)
    assert not [line for line in lines if "sonde: error" in line]


def test_groups_that_ranks_name_differently(ranks, cluster):
    """A communicator is one, whatever a rank calls its group."""
    expected, _ = cluster("communication_group_map", ranks)
    for rank in (1, 2):
        database = profiler_of(ranks, rank)
        ((text,),) = database.execute(
            "SELECT value FROM META_DATA WHERE name = 'parallel_group_info'"
        ).fetchall()
        database.close()
        text = text.replace('"tp"', '"tensor"')
        change(
            ranks, rank,
            f"UPDATE META_DATA SET value = '{text}' WHERE name = 'parallel_group_info'",
        )  # fmt: skip
        path = folder_of(ranks, rank) / "profiler_metadata.json"
        path.write_text(path.read_text().replace('"tp"', '"tensor"'))
    tables, lines = cluster("communication_group_map", ranks)
    (before,) = expected.values()
    (after,) = tables.values()
    assert len(after) == len(before)
    line = only(lines, "rank 1,2")
    assert "tensor" in line and "tp" in line
