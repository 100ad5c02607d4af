"""`--step_id` of every mode: it has an effect, or that it has none is reported."""

import re
import shutil

import pytest
from cluster_results import tables_of
from more_steps import more_steps

# They have no tables, no subject in these ranks, or a base of another kind.
ELSEWHERE = {"filter_db", "export_summary", "mstx2commop", "calibrate_npu_gpu"}
COMPARING = {"cluster_time_compare_summary", "cluster_compare_baseline", "trace_diff"}


@pytest.fixture(scope="module", name="ranks")
def make_ranks(shared_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("steps") / "ranks"
    shutil.copytree(shared_data / "ascend_pt/synth8_tp_pp_dp", folder)
    more_steps(folder, 3, "steps")
    return folder


def test_a_step_has_an_effect_or_a_warning(run_sonde, ranks, tmp_path):
    listed = run_sonde("cluster", "--help").stdout.split("\nModes:\n")[1]
    modes = set(re.findall(r"^  (\w+)  +\S", listed, re.MULTILINE))
    assert len(modes) > 30 and ELSEWHERE | COMPARING < modes, listed

    def result(mode, *words):
        out = tmp_path / f"{mode}{len(words)}"
        base = ("--bp", ranks) if mode in COMPARING else ()
        done = run_sonde("cluster", "-m", mode, "-d", ranks, "-o", out, *base, *words)
        return tables_of(out), done

    for mode in sorted(modes - ELSEWHERE):
        tables, done = result(mode)
        assert tables, (mode, done.stderr)
        of_step, done = result(mode, "--step_id", "51")
        is_reported = f"--step_id has no effect on the mode {mode}" in done.stderr
        assert (of_step == tables) == is_reported, (mode, done.stderr)
