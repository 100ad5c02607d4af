"""`sonde cluster -m filter_db`: smaller copies of ranks, which are read as the ranks are."""

import shutil
import sqlite3

import pytest

SYNTH = "ascend_pt/synth8_tp_pp_dp"
DB = "ascend_pt/db/level1"


def profilers(folder):
    found = folder.rglob("ascend_pytorch_profiler_*.db")
    return {int(path.stem.rsplit("_", 1)[1]): path for path in found}


def rows_of(path, sql):
    database = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    rows = database.execute(sql).fetchall()
    database.close()
    return rows


def tables_of(path):
    names = rows_of(path, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")
    return {name: rows_of(path, f'SELECT * FROM "{name}"') for (name,) in names}


@pytest.fixture(name="smaller")
def make_filter(run_sonde, tmp_path):
    """smaller(folder, *words) returns the folder of copies and the finished process."""

    def run(folder, *words, status=0):
        out = tmp_path / "smaller"
        done = run_sonde("cluster", "-m", "filter_db", "-d", folder, "-o", out, *words)
        assert done.returncode == status, done.stderr
        return out / "cluster_analysis_output" / "FilterDb", done

    return run


def test_without_a_limit_nothing_but_unused_texts_goes(shared_data, smaller):
    copies, done = smaller(shared_data / SYNTH, "--min_duration", "0")
    sources = profilers(shared_data / SYNTH)
    assert sorted(profilers(copies)) == list(range(8))
    for rank, path in profilers(copies).items():
        before, after = tables_of(sources[rank]), tables_of(path)
        assert set(before) == set(after)
        texts = before.pop("STRING_IDS"), after.pop("STRING_IDS")
        assert set(texts[1]) <= set(texts[0])
        for table in before:
            assert table.startswith("sqlite_") or before[table] == after[table], table
    assert "8 ranks: " in done.stdout and "the traces are unchanged" in done.stdout


def test_halves_of_the_time_make_up_the_whole(shared_data, smaller):
    (path,) = [p for rank, p in profilers(shared_data / SYNTH).items() if rank == 3]
    counted = ("TASK", "COMMUNICATION_OP", "MSTX_EVENTS", "HBM", "TASK_PMU_INFO")
    ((begin, end),) = rows_of(path, "SELECT min(startNs), max(endNs) FROM TASK")
    middle = (int(begin) + int(end)) // 2
    halves = []
    for window in (f"0,{middle}", f"{middle + 1},{2**62}"):
        copies, _ = smaller(
            shared_data / SYNTH, "--min_duration", "0", "--rank_list", "3", "--time_range", window
        )
        assert list(profilers(copies)) == [3]
        halves.append(tables_of(profilers(copies)[3]))
        assert not list(copies.rglob("analysis.db"))
    for table in counted:
        if table in halves[0]:
            assert sorted(halves[0][table] + halves[1][table]) == sorted(
                rows_of(path, f"SELECT * FROM {table}")
            )
    assert halves[0]["TASK"] and halves[1]["TASK"]


def test_what_lies_in_a_log_beside_the_database_is_copied(shared_data, smaller, tmp_path):
    ranks = shutil.copytree(shared_data / DB, tmp_path / "ranks")
    path = profilers(ranks)[0]
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("INSERT INTO STEP_TIME VALUES (99, 1, 2)")
    database.commit()
    kept = tmp_path / "log"
    shutil.copy(f"{path}-wal", kept)
    bare = tmp_path / "bare.db"
    shutil.copy(path, bare)
    database.close()
    shutil.copy(bare, path)
    shutil.copy(kept, f"{path}-wal")
    copies, _ = smaller(ranks)
    assert (99, 1, 2) in rows_of(profilers(copies)[0], "SELECT * FROM STEP_TIME")
