"""`sonde cluster -m cluster_compare_baseline`: what was changed in a copy of a run is what is
reported.

Expected are the lengths of intervals that stand in the databases, counted here again.
"""

import json
import shutil
import sqlite3

import pytest

SYNTH = "ascend_pt/synth8_tp_pp_dp"
KERNELS = "TASK JOIN COMPUTE_TASK_INFO USING (globalTaskId)"
MODE = ("cluster", "-m", "cluster_compare_baseline")


def profilers(folder):
    found = folder.rglob("ascend_pytorch_profiler_*.db")
    return {int(path.stem.rsplit("_", 1)[1]): path for path in found}


def change(path, *statements):
    database = sqlite3.connect(path)
    for statement in statements:
        database.execute(statement)
    database.commit()
    database.close()


def merged(intervals):
    out = []
    for begin, end in sorted(intervals):
        if out and begin <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        elif begin < end:
            out.append([begin, end])
    return out


def length(intervals):
    return sum(end - begin for begin, end in merged(intervals))


def kinds_of(path):
    """Kind of parallelism of each communicator."""
    metadata = json.loads((path.parents[1] / "profiler_metadata.json").read_text())
    groups = dict(metadata["parallel_group_info"])
    database = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    query = "SELECT value FROM META_DATA WHERE name = 'parallel_group_info'"
    for (text,) in database.execute(query):
        groups |= json.loads(text)
    database.close()
    kinds = {name: facts["group_name"] for name, facts in groups.items()}
    # Of the recording that the set was made from; analysis.db has it under the first one's hash.
    kinds["90.91.105.46%enp189s0f0_60000_0_1736410538306028"] = "default_group"
    return kinds


def parts_of(path):
    """Nanoseconds of each part of the only step."""
    database = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
    ((begin, end),) = database.execute("SELECT startNs, endNs FROM STEP_TIME").fetchall()

    def inside(rows):
        return [(max(a, begin), min(b, end)) for a, b in rows if a < end and b > begin]

    kernels = inside(database.execute(f"SELECT startNs, endNs FROM {KERNELS}").fetchall())
    groups = {}
    kinds = kinds_of(path)
    rows = database.execute(
        "SELECT value, startNs, endNs FROM COMMUNICATION_OP JOIN STRING_IDS ON id = groupName"
    )
    for group, a, b in rows:
        groups.setdefault(kinds.get(group, "communication"), []).append((a, b))
    database.close()
    parts = {"step": end - begin, "computing": length(kernels)}
    every = list(kernels)
    for kind, ops in groups.items():
        ops = inside(ops)
        parts[kind] = length(ops + kernels) - length(kernels)
        every += ops
    parts["free"] = end - begin - length(every)
    return parts


@pytest.fixture(name="compared")
def make_comparison(run_sonde, shared_data, tmp_path):
    """compared(folder, base) gives the tables and what was reported."""

    def run(folder, base, *words):
        done = run_sonde(*MODE, "-d", folder, "--bp", base, "-o", tmp_path / "out", *words)
        assert done.returncode == 0, done.stderr
        database = sqlite3.connect(tmp_path / "out/cluster_analysis_output/cluster_analysis.db")
        database.row_factory = sqlite3.Row
        names = ("", "Sum", "Ops")
        tables = {
            name: [dict(r) for r in database.execute(f"SELECT * FROM ClusterCompareBaseline{name}")]
            for name in names
        }
        database.close()
        return tables, done

    return run


def test_a_run_is_its_own_baseline(shared_data, compared):
    folder = shared_data / SYNTH
    tables, done = compared(folder, folder)
    assert "no part of it differs by 1 % of the step" in done.stdout
    assert {row["DiffNs"] for row in tables[""]} == {0}
    assert {row["actualRatio"] for row in tables["Ops"]} == {1}
    assert {row["isAbnormal"] for row in tables["Ops"]} == {0}
    rows = {(row["rankId"], row["part"]): row["TimeNs"] for row in tables[""]}
    expected = {
        (rank, part): ns
        for rank, path in profilers(folder).items()
        for part, ns in parts_of(path).items()
    }
    assert rows == expected
    for row in tables["Sum"]:
        values = [ns for (_, part), ns in expected.items() if part == row["part"]]
        assert row["rankSteps"] == 8
        assert row["MeanNs"] == pytest.approx(sum(values) / 8)


def test_the_rank_and_part_that_were_changed_are_named(shared_data, compared, tmp_path):
    folder = shutil.copytree(shared_data / SYNTH, tmp_path / "ranks")
    path = profilers(folder)[5]
    # A kernel takes 25 ms more, in which no other one runs.
    database = sqlite3.connect(path)
    rows = database.execute(
        f"SELECT endNs, lead(startNs) OVER (ORDER BY startNs) - endNs FROM {KERNELS}"
    )
    end, gap = max((row for row in rows if row[1]), key=lambda row: row[1])
    database.close()
    assert gap > 25_000_000
    change(path, f"UPDATE TASK SET endNs = endNs + 25000000 WHERE endNs = {end}")
    tables, done = compared(folder, shared_data / SYNTH)
    before, after = parts_of(profilers(shared_data / SYNTH)[5]), parts_of(path)
    assert after["computing"] - before["computing"] > 20_000_000
    rows = {row["part"]: row["DiffNs"] for row in tables[""] if row["rankId"] == 5}
    assert rows == {part: after[part] - before[part] for part in after}
    assert {row["DiffNs"] for row in tables[""] if row["rankId"] != 5} == {0}
    assert "rank 5, step 50, changed unlike the others: computing +" in done.stdout
    assert "the part that differs most is computing" in done.stdout


def test_collectives_that_take_longer_are_abnormal(shared_data, compared, tmp_path):
    folder = shutil.copytree(shared_data / SYNTH, tmp_path / "ranks")
    for path in profilers(folder).values():
        change(
            path,
            "UPDATE COMMUNICATION_OP SET endNs = startNs + 3 * (endNs - startNs) WHERE opName IN "
            "(SELECT id FROM STRING_IDS WHERE value LIKE 'hcom_allGather_%')",
        )
    tables, done = compared(folder, shared_data / SYNTH)
    abnormal = [row for row in tables["Ops"] if row["isAbnormal"]]
    assert {(row["parallelType"], row["opType"]) for row in abnormal} == {("tp", "allGather")}
    assert all(row["actualRatio"] >= 3 for row in abnormal)
    assert "allGather of tp with 1048576 elements takes" in done.stdout
    assert "4 ranks instead of 4 explain only 1.00 times as long" in done.stdout


def test_runs_of_other_ranks_and_steps(shared_data, compared, tmp_path):
    folder = shutil.copytree(shared_data / SYNTH, tmp_path / "ranks")
    ((step,),) = sqlite3.connect(profilers(folder)[0]).execute("SELECT endNs FROM STEP_TIME")
    change(
        profilers(folder)[0],
        f"INSERT INTO STEP_TIME VALUES (51, {step}, {step + 1000})",
        "UPDATE STEP_TIME SET id = id + 100",
    )
    tables, done = compared(folder, shared_data / SYNTH, "--rank_list", "0,1,2,3")
    assert "ranks 4,5,6,7 are only in one run: they count only in means" in done.stderr
    assert "1 step has no counterpart in the other run" in done.stderr
    pairs = {(r["rankId"], r["stepId"], r["stepIdBase"]) for r in tables[""]}
    assert pairs == {(0, 150, 50), (1, 50, 50), (2, 50, 50), (3, 50, 50)}
    step_sum = tables["Sum"][0]
    assert (step_sum["part"], step_sum["rankSteps"], step_sum["rankStepsBase"]) == ("step", 5, 8)
