"""`sonde cluster -m filter_db`: smaller copies of ranks, which are read as the ranks are."""

import hashlib
import shutil
import sqlite3

import pytest

SYNTH = "ascend_pt/synth8_tp_pp_dp"
DB = "ascend_pt/db/level1"
TEXT = "ascend_pt/text/level1"


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


def digest(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def results(run_sonde, mode, folder, out, *words):
    done = run_sonde("cluster", "-m", mode, "-d", folder, "-o", out, *words)
    assert done.returncode == 0, done.stderr
    return tables_of(out / "cluster_analysis_output" / "cluster_analysis.db")


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


@pytest.mark.parametrize("mode", ["all", "hccl_sum", "compute_op_sum", "cann_api_sum", "mstx_sum"])
def test_modes_say_of_copies_what_they_say_of_ranks(
    mode, shared_data, smaller, run_sonde, tmp_path
):
    copies, _ = smaller(shared_data / SYNTH, "--min_duration", "0")
    ours = results(run_sonde, mode, copies, tmp_path / "copies")
    ours.pop("RankDeviceMap", None)  # has the path
    theirs = results(run_sonde, mode, shared_data / SYNTH, tmp_path / "ranks")
    theirs.pop("RankDeviceMap", None)
    assert ours == theirs


def test_a_step_of_a_copy_is_that_of_the_rank(shared_data, smaller, run_sonde, tmp_path):
    source = shutil.copytree(shared_data / DB, tmp_path / "ranks")
    for path in profilers(source).values():
        database = sqlite3.connect(path)
        ((begin, end),) = database.execute("SELECT startNs, endNs FROM STEP_TIME").fetchall()
        middle = (begin + end) // 2
        database.execute("UPDATE STEP_TIME SET endNs = ?", (middle,))
        database.execute("INSERT INTO STEP_TIME VALUES (51, ?, ?)", (middle + 1, end))
        database.commit()
        database.close()
    copies, _ = smaller(source, "--min_duration", "0", "--step_id", "51")
    for mode in ("hccl_sum", "compute_op_sum"):
        ours = results(run_sonde, mode, copies, tmp_path / "copies")
        theirs = results(run_sonde, mode, source, tmp_path / "step", "--step_id", "51")
        assert ours == theirs
        assert ours != results(run_sonde, mode, source, tmp_path / "whole")
    _, done = smaller(source, "--step_id", "7", status=1)
    assert "there is no step 7 (steps: 50,51)" in done.stderr


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


def test_short_kernels_go_and_calls_of_the_rest_stay(shared_data, smaller):
    copies, _ = smaller(shared_data / DB, "--min_duration", "50")
    sources = profilers(shared_data / DB)
    assert len(sources) > 1 and set(profilers(copies)) == set(sources)
    for rank, path in profilers(copies).items():
        source = sources[rank]
        long = "SELECT * FROM TASK WHERE endNs - startNs >= 50000"
        assert rows_of(path, "SELECT * FROM TASK") == rows_of(source, long)
        every = "SELECT * FROM COMMUNICATION_OP"
        assert rows_of(path, every) == rows_of(source, every)
        launches = (
            "SELECT count(*) FROM CANN_API WHERE connectionId IN (SELECT connectionId FROM TASK "
            "WHERE endNs - startNs >= 50000)"
        )
        assert rows_of(path, launches) == rows_of(source, launches)
        assert rows_of(path, launches)[0][0] > 0
        operators = (
            "SELECT count(*) FROM PYTORCH_API a JOIN CONNECTION_IDS c ON c.id = a.connectionId "
            "WHERE c.connectionId IN "
            "(SELECT connectionId FROM TASK WHERE endNs - startNs >= 50000)"
        )
        assert rows_of(path, operators) == rows_of(source, operators)
        unnamed = "SELECT count(*) FROM PYTORCH_API WHERE name NOT IN (SELECT id FROM STRING_IDS)"
        assert rows_of(path, unnamed) == [(0,)]
        small = "SELECT count(*) FROM PYTORCH_API"
        assert rows_of(path, small)[0][0] < rows_of(source, small)[0][0]


def test_chosen_tables_and_those_that_explain_them(shared_data, smaller):
    copies, done = smaller(shared_data / DB, "--tables", "communication_op, NoSuchTable")
    for path in profilers(copies).values():
        names = {name for name in tables_of(path) if not name.startswith("ENUM_")}
        assert "COMMUNICATION_OP" in names and "STRING_IDS" in names and "STEP_TIME" in names
        assert not names & {"TASK", "PYTORCH_API", "CANN_API"}
    assert "no rank has a table 'NoSuchTable'" in done.stderr


def test_ranks_of_text_become_databases(shared_data, smaller, run_sonde, tmp_path):
    copies, _ = smaller(shared_data / TEXT, "--min_duration", "0")
    assert sorted(profilers(copies)) == [0, 1]
    for mode in ("hccl_sum", "communication_time_sum"):
        ours = results(run_sonde, mode, copies, tmp_path / "copies")
        assert {name: len(rows) for name, rows in ours.items()} == {
            name: len(rows)
            for name, rows in results(
                run_sonde, mode, shared_data / TEXT, tmp_path / "texts"
            ).items()
        }


def test_the_ranks_stay_as_they_are_and_copies_are_no_ranks(shared_data, run_sonde, tmp_path):
    ranks = shutil.copytree(shared_data / DB, tmp_path / "ranks")
    before = digest(ranks)
    done = run_sonde("cluster", "-m", "filter_db", "-d", ranks)
    assert done.returncode == 0, done.stderr
    after = {k: v for k, v in digest(ranks).items() if "cluster_analysis_output" not in k}
    assert after == before
    done = run_sonde("cluster", "-m", "filter_db", "-d", ranks, "--rank_list", "1")
    assert done.returncode == 0, done.stderr
    assert "occurs twice" not in done.stderr
    copies = ranks / "cluster_analysis_output" / "FilterDb"
    assert [path.name for path in copies.iterdir()] == ["rank1_ascend_pt"]


def test_copies_of_several_hosts_are_one_job(shared_data, run_sonde, tmp_path):
    gathered = tmp_path / "gathered"
    gathered.mkdir()
    for host in ("node0", "node1"):  # each sees its own ranks
        for path in (shared_data / SYNTH).glob(f"{host}_*"):
            shutil.copytree(path, tmp_path / host / path.name)
        out = tmp_path / f"out_{host}"
        words = ("cluster", "-m", "filter_db", "-d", tmp_path / host, "-o", out)
        assert run_sonde(*words, "--min_duration", "0").returncode == 0
        for path in (out / "cluster_analysis_output" / "FilterDb").iterdir():
            path.rename(gathered / path.name)
    for mode in ("all", "hccl_sum"):
        ours = results(run_sonde, mode, gathered, tmp_path / "ours")
        theirs = results(run_sonde, mode, shared_data / SYNTH, tmp_path / "theirs")
        assert {k: v for k, v in ours.items() if k != "RankDeviceMap"} == {
            k: v for k, v in theirs.items() if k != "RankDeviceMap"
        }


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


def test_bad_input(shared_data, smaller, run_sonde, one_error_line, tmp_path):
    words = ("cluster", "-m", "filter_db", "-d", shared_data / DB, "-o", tmp_path)
    for window in ("5", "5,1", "a,b", "1,2,3"):
        one_error_line(run_sonde(*words, "--time_range", window), 1, "--time_range", window)
    assert "--min_duration" in run_sonde(*words, "--min_duration", "-1").stderr
    ranks = shutil.copytree(shared_data / DB, tmp_path / "ranks")
    path = profilers(ranks)[1]
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    copies, done = smaller(ranks, status=1)
    errors = [line for line in done.stderr.splitlines() if "sonde: error: " in line]
    assert len(errors) == 1 and "rank1_ascend_pt" in errors[0]
    assert list(profilers(copies)) == [0]
    assert not list(tmp_path.rglob("*rank1_ascend_pt*tmp*"))
