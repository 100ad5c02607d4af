"""Clocks of hosts that disagree: planted into copies of ranks, found, reported, corrected or
left."""

import json
import shutil
import sqlite3

import pytest
from cluster_results import tables_of
from planted_clocks import meet, shift, unmeasured

SYNTH = "ascend_pt/synth8_tp_pp_dp"  # ranks 0 to 3 are on one host, 4 to 7 on another


@pytest.fixture(name="ranks")
def copy_ranks(shared_data, tmp_path):
    return shutil.copytree(shared_data / SYNTH, tmp_path / "ranks")


@pytest.fixture(name="tables")
def make_runner(run_sonde, tmp_path):
    def run(mode, folder, *words):
        out = tmp_path / "out"
        done = run_sonde("cluster", "-m", mode, "-d", folder, "-o", out, *words)
        assert done.returncode == 0, done.stderr
        return tables_of(out), done.stderr

    return run


@pytest.mark.parametrize(("mode", "table"), [("collective_skew", "CollectiveSkew"),
                                             ("p2p_pairing", "P2PPairs")])  # fmt: skip
@pytest.mark.parametrize("ns", [250_000_000, -3_600_000_000_000])
def test_a_host_whose_clock_is_wrong(mode, table, ns, ranks, shared_data, tables, tmp_path):
    right, printed = tables(mode, shared_data / SYNTH)
    assert "HostClocks" not in right and "clock of" not in printed
    shift(ranks, {4, 5, 6, 7}, ns)
    corrected, printed = tables(mode, ranks)
    lines = [line for line in printed.splitlines() if "the clock of" in line]
    assert len(lines) == 1 and "(rank 4,5,6,7)" in lines[0], printed
    assert ("ahead of" if ns > 0 else "behind") in lines[0] and "--keep_clocks" in lines[0]
    first, second = corrected["HostClocks"]
    assert (first[1], first[2], first[5]) == ("0,1,2,3", 0, 0)
    assert (second[1], second[5]) == ("4,5,6,7", 1)
    # What remains is what the clocks differed by before: microseconds.
    residue = second[2] - ns
    assert abs(residue) < 1_000_000
    for before, after in zip(right[table], corrected[table], strict=True):
        for a, b in zip(before, after, strict=True):
            assert a == b or (isinstance(a, int | float) and abs(a - b) <= abs(residue))


def pipeline_marks(folder):
    """Marks of a pipeline, as its program sets them, on the host of each rank."""
    for path in folder.rglob("ascend_pytorch_profiler_*.db"):
        database = sqlite3.connect(path)
        ((begin, end, tid),) = database.execute(
            "SELECT s.startNs, s.endNs, (SELECT globalTid FROM PYTORCH_API LIMIT 1) "
            "FROM STEP_TIME s LIMIT 1"
        ).fetchall()  # fmt: skip
        database.execute("DELETE FROM MSTX_EVENTS")
        third = (int(end) - int(begin)) // 3
        for number, text in enumerate(("forward_step", "backward_step")):
            key = 900_000_000 + number
            database.execute("INSERT INTO STRING_IDS VALUES (?, ?)", (key, text))
            start = int(begin) + number * third
            database.execute(
                "INSERT INTO MSTX_EVENTS (startNs, endNs, eventType, rangeId, category, message, "
                "globalTid, endGlobalTid, domainId, connectionId) "
                "VALUES (?, ?, 2, 0, 0, ?, ?, ?, 65535, 4294967295)",
                (start, start + third, key, tid, tid),
            )
        database.commit()
        database.close()


def test_parts_of_a_pipeline_are_moved(ranks, tables):
    pipeline_marks(ranks)
    right, printed = tables("pp_chart", ranks)
    assert len(right["StepTaskInfo"]) == 16
    assert "HostClocks" not in right and "clock of" not in printed
    shift(ranks, {4, 5, 6, 7}, 250_000_000)
    corrected, printed = tables("pp_chart", ranks)
    assert "--keep_clocks keeps them" in printed
    residue = corrected["HostClocks"][1][2] - 250_000_000
    assert abs(residue) < 1_000_000
    for before, after in zip(right["StepTaskInfo"], corrected["StepTaskInfo"], strict=True):
        moved = residue if before[0] >= 4 else 0
        # The marks stay where they were: only what the clock is ahead is taken from them.
        shifted = before[2] - 250_000_000 if before[0] >= 4 else before[2]
        assert after[2] == shifted - moved
    left, printed = tables("pp_chart", ranks, "--keep_clocks")
    assert left["StepTaskInfo"] == right["StepTaskInfo"]
    assert "its times are unchanged" in printed


def test_waits_beside_a_baseline_are_those_of_right_clocks(ranks, tables, tmp_path):
    early = 40_000
    unmeasured(ranks)
    meet(ranks, {4, 5, 6, 7}, early)
    base = shutil.copytree(ranks, tmp_path / "base")
    same, printed = tables("cluster_compare_baseline", ranks, "--bp", base)
    assert "clock of" not in printed
    assert {row[9] for row in same["ClusterCompareBaselineOps"]} == {1.0}
    shift(ranks, {4, 5, 6, 7}, 250_000_000)
    corrected, printed = tables("cluster_compare_baseline", ranks, "--bp", base)
    assert "--keep_clocks keeps them" in printed
    assert [row[5] for row in corrected["HostClocks"]] == [0, 1]
    left, printed = tables("cluster_compare_baseline", ranks, "--bp", base, "--keep_clocks")
    assert "its times are unchanged" in printed
    met = []
    for own, kept in zip(sorted(corrected["ClusterCompareBaselineOps"]),
                         sorted(left["ClusterCompareBaselineOps"]), strict=True):  # fmt: skip
        # What the clocks differed by before is microseconds.
        assert own[7] == pytest.approx(own[8], abs=5_000)
        if own[4] == 8:
            met.append(kept[7] - own[7])
    # Without a correction no collective of both hosts has a moment in common, and all of it counts:
    # half of the ranks waited.
    assert met == [pytest.approx(early / 2, abs=5_000)]


def waits_of(run_sonde, folder, tmp_path, *words):
    """Of `cluster -m communication_time` and of statements, by rank: the longest, ms; and words."""
    out = tmp_path / "waits"
    done = run_sonde("cluster", "-m", "communication_time", "-d", folder, "-o", out, *words)
    assert done.returncode == 0, done.stderr
    database = sqlite3.connect(out / "cluster_analysis_output" / "cluster_analysis.db")
    reported = dict(database.execute(
        "SELECT rank_id, max(wait_time) FROM ClusterCommunicationTime "
        "WHERE hccl_op_name <> 'Total Op Info' GROUP BY 1"
    ).fetchall())  # fmt: skip
    database.close()
    asked = run_sonde("query", folder, "SELECT rank, max(wait_ns) / 1e6 AS wait FROM communication "
                      "GROUP BY 1", "--format", "json")  # fmt: skip
    assert asked.returncode == 0, asked.stderr
    rows = {row["rank"]: row["wait"] for row in json.loads(asked.stdout)}
    return reported, rows, done.stderr


def test_waits_that_nobody_measured_are_those_of_right_clocks(ranks, run_sonde, tmp_path):
    early = 40_000
    unmeasured(ranks)
    meet(ranks, {4, 5, 6, 7}, early)
    right, asked, printed = waits_of(run_sonde, ranks, tmp_path)
    assert "clock of" not in printed
    assert [rank for rank, wait in sorted(right.items()) if wait >= early / 1e6] == [4, 5, 6, 7]
    assert asked == pytest.approx(right, abs=1e-6)
    shift(ranks, {4, 5, 6, 7}, 250_000_000)
    corrected, asked, printed = waits_of(run_sonde, ranks, tmp_path)
    assert (
        printed.count(
            "waits for ranks are computed without that; "
            "sonde cluster --keep_clocks keeps the clocks"
        )
        == 1
    )
    assert "(rank 4,5,6,7) is 250.0" in printed
    # What the clocks differed by before is microseconds.
    assert corrected == pytest.approx(right, abs=5e-3)
    assert asked == pytest.approx(right, abs=5e-3)
    left, _, printed = waits_of(run_sonde, ranks, tmp_path, "--keep_clocks")
    assert "clock of" not in printed and "no effect" not in printed
    assert left != pytest.approx(right, abs=5e-3)
