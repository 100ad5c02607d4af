"""Several traces in one statement: the number of the trace is the key, rank an attribute."""

import json
import shutil

import pytest


def write(path, rank, names, pid=1):
    """A trace of PyTorch's profiler; without a rank where that is None."""
    path.parent.mkdir(parents=True, exist_ok=True)
    events = [
        {"ph": "X", "cat": "cpu_op", "name": name, "pid": pid, "tid": 1, "ts": i * 10, "dur": 5}
        for i, name in enumerate(names)
    ]
    trace = {"traceEvents": events}
    if rank is not None:
        trace["distributedInfo"] = {"rank": rank}
    path.write_text(json.dumps(trace))


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def rows(run_sonde):
    def ask(folder, sql):
        done = run_sonde("query", folder, sql, "--format", "json")
        assert done.returncode == 0, done.stderr
        return [tuple(row.values()) for row in json.loads(done.stdout)]

    return ask


def test_two_runs_of_a_rank_are_distinguished(tmp_path, rows):
    write(tmp_path / "job/before/rank0.json", 0, ["a", "b"])
    write(tmp_path / "job/after/rank0.json", 0, ["a", "c"])
    found = rows(
        tmp_path / "job",
        "SELECT s.trace, s.run, s.rank, s.name FROM slice s JOIN track USING (trace, track_id) "
        "ORDER BY ALL",
    )
    assert found == [(0, 0, 0, "a"), (0, 0, 0, "c"), (1, 1, 0, "a"), (1, 1, 0, "b")]
    assert rows(tmp_path / "job", "SELECT trace, run, rank, path FROM trace") == [
        (0, 0, 0, str(tmp_path / "job/after/rank0.json")),
        (1, 1, 0, str(tmp_path / "job/before/rank0.json")),
    ]


def test_traces_without_a_rank_join(tmp_path, rows):
    write(tmp_path / "job/a.json", None, ["a"])
    write(tmp_path / "job/b.json", None, ["b", "b2"])
    joined = (
        "SELECT trace, slice.rank, count(*) FROM slice JOIN track USING (trace, track_id) "
        "GROUP BY ALL"
    )
    assert sorted(rows(tmp_path / "job", joined)) == [(0, None, 1), (1, None, 2)]


@pytest.mark.parametrize("count", [3, 40])
def test_statements_by_rank_stay_valid(tmp_path, rows, count):
    """Few traces have a store each, many lie together: the tables are the same."""
    for rank in range(count):
        write(tmp_path / f"job/rank{rank}.json", rank, ["op"] * (rank + 1))
    counted = "SELECT rank, count(*) FROM slice GROUP BY rank ORDER BY rank"
    assert rows(tmp_path / "job", counted) == [(rank, rank + 1) for rank in range(count)]
    joined = (
        "SELECT rank, count(*) FROM slice JOIN track USING (rank, track_id) GROUP BY rank "
        "ORDER BY rank"
    )
    assert rows(tmp_path / "job", joined) == [(rank, rank + 1) for rank in range(count)]
    assert rows(
        tmp_path / "job", "SELECT count(*) FROM slice JOIN slice b USING (trace, slice_id)"
    ) == [(count * (count + 1) // 2,)]


def test_a_copy_counts_once_and_is_reported(tmp_path, run_sonde):
    for rank in range(2):
        write(tmp_path / f"job/rank{rank}.json", rank, ["a"])
    shutil.copy(tmp_path / "job/rank0.json", tmp_path / "job/rank0_again.json")
    done = run_sonde("query", tmp_path / "job", "SELECT count(*) FROM slice", "--format", "csv")
    assert done.stdout.split() == ["count_star()", "2"]
    assert "is the same trace as" in done.stderr and "counts once" in done.stderr


def test_analyse_distinguishes_runs_and_files(tmp_path, run_sonde):
    write(tmp_path / "job/before/rank0.json", 0, ["a"])
    write(tmp_path / "job/after/rank0.json", 0, ["a"])
    write(tmp_path / "none/TP-0.json", None, ["a"])
    write(tmp_path / "none/TP-1.json", None, ["b"])
    done = run_sonde("analyse", tmp_path / "job", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "run 0 rank 0" in done.stdout and "run 1 rank 0" in done.stdout
    assert "found deeper" in done.stderr
    done = run_sonde(
        "analyse", tmp_path / "none", tmp_path / "none/TP-0.json", "-o", tmp_path / "o"
    )
    assert done.returncode == 0, done.stderr
    assert "TP-0.json" in done.stdout.split("Operators")[0]
    assert "TP-1.json" in done.stdout.split("Operators")[0]
    assert done.stderr.count("named more than once") == 1
