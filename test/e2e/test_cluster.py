"""`sonde cluster`: what is said, options, bad input, and ranks of every kind of trace."""

import hashlib
import json
import re
import shutil
import sqlite3

import pytest
from cluster_results import profiler_of, tables_of
from conftest import ROOT

DB = "ascend_pt/db/level1"
TEXT = "ascend_pt/text/level1"
SYNTH = "ascend_pt/synth8_tp_pp_dp"


def digest(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def check_error(done):
    """One line of error among what is said of the work."""
    assert done.returncode == 1
    assert len([line for line in done.stderr.splitlines() if "sonde: error: " in line]) == 1


@pytest.fixture(name="two_ranks")
def make_two_ranks(shared_data, tmp_path):
    return shutil.copytree(shared_data / DB, tmp_path / "ranks")


@pytest.mark.parametrize(
    ("mode", "sentence"),
    [
        ("slow_rank", "rank 5 came last in 8 collectives"),
        ("slow_link", "hcom_allGather_4_2097152: one transmission took 900.00 us"),
        ("freq_analysis", "rank 6 ran at 1150, 1800 MHz, unlike most ranks (1800)"),
        ("ep_load_balance", "the experts of ranks 0,1,2,3 are uneven"),
        ("hccl_sum", "hcom_allReduce__210_0_1 takes longest: 86.99 ms on average of 8"),
        ("communication_group_map", "9 groups communicate"),
        ("mstx_sum", "differs most between ranks"),
        ("cluster_time_summary", "waited most for other ranks"),
        ("free_analysis", "the longest stretch without work of its device, 1.25 ms"),
        ("computational_op_masking", "tp: rank 7 communicates longest without computing in step"),
        ("module_statistic", "takes most of the device time of modules"),
        ("operator_mfu", "and reaches 3.7 % of the peak"),
        ("p2p_pairing", "have both send and receive"),
        ("pp_chart", "from the first part of the pipeline to the last, rank"),
        ("collective_skew", "the longest wait was in hcom_allReduce_ number 0"),
        ("idle_time", "of that the host launched late in"),
        ("kernel_time", "rank 4 hides least of its communication behind computing"),
        ("all", "of 8 ranks and 1 steps"),
    ],
)
def test_a_mode_says_what_was_planted(mode, sentence, shared_data, run_sonde, tmp_path):
    done = run_sonde("cluster", "-m", mode, "-d", shared_data / SYNTH, "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    assert sentence in done.stdout


def test_every_mode_reads_texts_as_it_reads_databases(shared_data, run_sonde, tmp_path):
    for mode, table in [
        ("hccl_sum", "HcclAllRankStats"),
        ("compute_op_sum", "ComputeOpAllRankStats"),
        ("cann_api_sum", "CannApiSum"),
        ("cluster_time_summary", "ClusterTimeSummary"),
        ("communication_matrix_sum", "ClusterCommunicationMatrix"),
        ("slow_link", None),
        ("slow_rank", None),
    ]:
        done = run_sonde("cluster", "-m", mode, "-d", shared_data / TEXT, "-o", tmp_path)
        assert done.returncode == 0, (mode, done.stderr)
        assert table is None or tables_of(tmp_path)[table]
        assert done.stdout.strip(), mode


def test_traces_of_other_tools_have_kernels_and_collectives(shared_data, run_sonde, tmp_path):
    for folder, mode, table in [
        ("kineto/timeline_analysis", "compute_op_sum", "ComputeOpAllRankStats"),
        ("kineto/nccl_parser_config", "hccl_sum", "HcclAllRankStats"),
        ("kineto/ns_resolution_trace", "all", "ClusterStepTraceTime"),
        ("kineto/ns_resolution_trace", "cluster_time_summary", "ClusterTimeSummary"),
    ]:
        out = tmp_path / folder.replace("/", "_")
        done = run_sonde("cluster", "-m", mode, "-d", shared_data / folder, "-o", out)
        assert done.returncode == 0, (folder, done.stderr)
        assert tables_of(out)[table]


def test_the_traces_stay_as_they_are(two_ranks, run_sonde, tmp_path):
    before = digest(two_ranks)
    for mode in ("all", "hccl_sum", "slow_rank"):
        assert (
            run_sonde("cluster", "-m", mode, "-d", two_ranks, "-o", tmp_path / "o").returncode == 0
        )
    assert digest(two_ranks) == before


def test_a_damaged_rank_is_named_and_the_other_counts(two_ranks, run_sonde, tmp_path):
    profiler = two_ranks / "rank1_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_1.db"
    profiler.write_bytes(b"SQLite format 3\0" + bytes(2000))
    for file in profiler.parent.glob("analysis.db"):
        file.unlink()
    done = run_sonde("cluster", "-m", "hccl_sum", "-d", two_ranks, "-o", tmp_path / "o")
    check_error(done)
    assert "rank1_ascend_pt" in done.stderr
    ranks = {row[-1] for row in tables_of(tmp_path / "o")["HcclPerRankStats"]}
    assert ranks == {0}


def test_one_line_says_which_steps_there_are(shared_data, run_sonde, tmp_path):
    done = run_sonde(
        "cluster", "-m", "hccl_sum", "-d", shared_data / DB, "-o", tmp_path, "--step_id", "7"
    )
    check_error(done)
    assert "there is no step 7 (steps: 50)" in done.stderr


def test_a_rank_that_is_not_there(shared_data, run_sonde, tmp_path):
    done = run_sonde(
        "cluster", "-m", "hccl_sum", "-d", shared_data / DB, "-o", tmp_path, "--rank_list", "0,7,8"
    )
    check_error(done)
    assert "Invalid Rank id: [7,8]." in done.stderr
    done = run_sonde("cluster", "-d", shared_data / DB, "-o", tmp_path, "--rank_list", "a")
    assert done.returncode == 1
    assert "--rank_list" in done.stderr


def test_what_is_missing_is_named_with_its_switch(shared_data, run_sonde, tmp_path):
    done = run_sonde("cluster", "-m", "mstx_sum", "-d", shared_data / DB, "-o", tmp_path)
    assert done.returncode == 1
    assert "--profile-mstx" in done.stderr
    assert not (tmp_path / "cluster_analysis_output").exists()


def test_a_timeline_that_ends_early_is_said(shared_data, run_sonde, tmp_path):
    ranks = shutil.copytree(shared_data / TEXT, tmp_path / "ranks")
    (timeline,) = (ranks / "rank1_ascend_pt").rglob("trace_view.json")
    whole = timeline.read_bytes()
    timeline.write_bytes(whole[: len(whole) * 6 // 10])
    done = run_sonde("cluster", "-m", "hccl_sum", "-d", ranks, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if "trace_truncated (1)" in line]
    assert len(said) == 1 and "rank 1: not all is as it should be" in said[0], done.stderr


def test_an_option_of_another_mode_has_no_effect(shared_data, run_sonde, tmp_path):
    done = run_sonde(
        "cluster", "-m", "slow_rank", "-d", shared_data / DB, "-o", tmp_path, "--top_num", "3"
    )
    assert done.returncode == 0
    assert "--top_num has no effect on the mode slow_rank" in done.stderr


def test_ranks_are_numbered_by_the_names_of_their_files(two_ranks, run_sonde, tmp_path):
    copy = two_ranks / "rank7_ascend_pt"
    shutil.copytree(two_ranks / "rank0_ascend_pt", copy)
    for file in [*copy.rglob("*_0.db*"), *copy.rglob("profiler_info_0.json")]:
        file.rename(file.with_name(file.name.replace("_0.", "_7.")))
    done = run_sonde("cluster", "-m", "hccl_sum", "-d", two_ranks, "-o", tmp_path / "o")
    assert done.returncode == 0, done.stderr
    assert {row[-1] for row in tables_of(tmp_path / "o")["HcclPerRankStats"]} == {0, 1, 7}


def test_agent_prints_one_line(shared_data, run_sonde, tmp_path):
    words = ("cluster", "-m", "hccl_sum", "-d", shared_data / DB, "-o", tmp_path, "--agent")
    done = run_sonde(*words)
    answer = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert answer["status"] == "success"
    assert answer["code"] == 0
    assert "HcclTopOpStats" in answer["message"]["tables"]
    assert answer["suggestion"]
    done = run_sonde(*words, "--rank_list", "9")
    answer = json.loads(done.stdout)
    assert done.returncode == 1
    assert answer["status"] == "error"
    assert "Invalid Rank id" in answer["message"]["err"]


def test_tables_of_other_modes_stay_and_old_ones_of_its_own_go(shared_data, run_sonde, tmp_path):
    run_sonde("cluster", "-m", "compute_op_sum", "-d", shared_data / DB, "-o", tmp_path)
    run_sonde("cluster", "-m", "hccl_sum", "-d", shared_data / DB, "-o", tmp_path)
    tables = tables_of(tmp_path)
    assert "HcclAllRankStats" in tables
    assert "ComputeOpPerRankStatsByOpName" in tables
    words = ("cluster", "-m", "compute_op_sum", "-d", shared_data / DB, "-o", tmp_path)
    run_sonde(*words, "--exclude_op_name")
    assert "ComputeOpPerRankStatsByOpName" not in tables_of(tmp_path)


def test_kinds_of_groups_are_as_they_were_asked_for(shared_data, run_sonde, tmp_path):
    words = ("cluster", "-m", "computational_op_masking", "-d", shared_data / SYNTH, "-o", tmp_path)
    done = run_sonde(*words, "--parallel_types", "tp,;pp")
    assert done.returncode == 1
    assert "--parallel_types is names of groups" in done.stderr
    done = run_sonde(*words, "--parallel_types", "cp")
    assert done.returncode == 0, done.stderr
    assert "there are: " in done.stdout and "tp" in done.stdout
    assert "ComputationalOperatorMaskingLinearity" not in tables_of(tmp_path)
    run_sonde(*words)
    rows = tables_of(tmp_path)["ComputationalOperatorMaskingLinearity"]
    assert {row[0] for row in rows} == set(range(8))


def test_an_idle_device_is_explained_without_calls_of_an_interface(
    shared_data, run_sonde, tmp_path
):
    folder = shared_data / "kineto/timeline_analysis"
    words = ("cluster", "-m", "free_analysis", "-d", folder, "-o", tmp_path, "--top_num", "4")
    done = run_sonde(*words)
    assert done.returncode == 0, done.stderr
    rows = tables_of(tmp_path)["FreeAnalysis"]
    assert len(rows) == 4
    # None is said to have been dispatched late by a time below 0.
    assert [row for row in rows if re.search(r"-\d", row[-1])] == []
    assert rows[0][3] == max(row[3] for row in rows)


def test_two_runs_are_compared(shared_data, run_sonde, tmp_path):
    words = ("cluster", "-m", "cluster_time_compare_summary", "-d", shared_data / SYNTH)
    done = run_sonde(*words, "-o", tmp_path, "--bp", shared_data / DB)
    assert done.returncode == 0, done.stderr
    database = sqlite3.connect(tmp_path / "cluster_analysis_output" / "cluster_analysis.db")
    rows = database.execute(
        "SELECT rank, computation, computationBase, computationDiff FROM ClusterTimeCompareSummary"
    ).fetchall()
    assert [row[0] for row in rows] == [0, 1]
    assert rows[1][1:3] == (9015.634, 8915.634)
    assert rows[1][3] == pytest.approx(100)
    assert "no step took longer or shorter than in the base run" in done.stdout
    done = run_sonde(*words, "-o", tmp_path)
    assert done.returncode == 1
    assert "Must specify the --bp parameter" in done.stderr


@pytest.mark.parametrize("form", ["text", "excel", "notebook"])
def test_other_forms(form, shared_data, run_sonde, tmp_path):
    words = ("cluster", "-m", "hccl_sum", "-d", shared_data / DB, "-o", tmp_path)
    done = run_sonde(*words, "--export_type", form)
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "cluster_analysis_output/HcclSum").iterdir()}
    assert ("hccl_sum.xlsx" in names) == (form == "excel")
    assert ("all_stats.csv" in names) == (form != "excel")
    assert ("report.html" in names) == (form == "notebook")


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


def test_a_rank_whose_chip_is_not_known_has_no_share_of_its_peak(shared_data, run_sonde, tmp_path):
    source = shared_data / SYNTH / "node0_1000_20250109081616713_ascend_pt"
    rank = shutil.copytree(source, tmp_path / "ranks" / source.name)
    for info in rank.rglob("info.json.*"):
        info.unlink()
    words = ("cluster", "-m", "operator_mfu", "-d", tmp_path / "ranks", "-o", tmp_path / "out")
    done = run_sonde(*words)
    assert done.returncode == 0, done.stderr
    assert "rank 0: its chip is not known" in done.stderr
    tables = tables_of(tmp_path / "out")
    assert "OperatorMFU" not in tables
    assert {row[-1] for row in tables["ModuleMFU"]} == {None}


def test_a_sender_that_comes_late_is_named(shared_data, run_sonde, tmp_path):
    ranks = shutil.copytree(shared_data / SYNTH, tmp_path / "ranks")
    database = profiler_of(ranks, 4)  # it receives from rank 0
    database.execute(
        "UPDATE COMMUNICATION_OP SET startNs = startNs - 500000 WHERE opName IN "
        "(SELECT id FROM STRING_IDS WHERE value LIKE 'hcom_receive%')"
    )
    database.commit()
    database.close()
    done = run_sonde("cluster", "-m", "p2p_pairing", "-d", ranks, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "rank 0 comes last: rank 4 begins 500.00 us earlier on average of 3" in done.stdout
    rows = tables_of(tmp_path / "out")["P2PPairs"]
    assert len(rows) == 24
    assert sorted({row[-1] for row in rows if (row[2], row[3]) == (0, 4)}) == [-500000]
    # A rank that is not there leaves halves.
    words = ("cluster", "-m", "p2p_pairing", "-d", ranks, "-o", tmp_path / "out")
    done = run_sonde(*words, "--rank_list", "0,1,5")
    assert "of 12 transfers between two ranks 6 have both send and receive, 6 only" in done.stdout


def test_skew_of_collectives_is_that_of_their_operations(shared_data, run_sonde, tmp_path):
    begins, ends = {}, {}  # of a collective, whose name is unique, by rank
    for rank in range(8):
        (path,) = (shared_data / SYNTH).glob(f"*/*/ascend_pytorch_profiler_{rank}.db")
        database = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
        rows = database.execute(
            "SELECT g.value, n.value, startNs, endNs FROM COMMUNICATION_OP "
            "JOIN STRING_IDS g ON g.id = groupName JOIN STRING_IDS n ON n.id = opName "
            "WHERE n.value NOT LIKE '%send%' AND n.value NOT LIKE '%receive%'"
        )
        for group, name, begin, end in rows:
            begins.setdefault((group, name), {})[rank] = begin
            ends.setdefault((group, name), {})[rank] = end
        database.close()
    expected = [
        (
            len(begin),
            max(begin.values()) - min(begin.values()),
            max(ends[key].values()) - min(ends[key].values()),
            max(ends[key].values()) - max(begin.values()),
        )
        for key, begin in begins.items()
        if len(begin) > 1
    ]
    words = ("cluster", "-m", "collective_skew", "-d", shared_data / SYNTH, "-o", tmp_path)
    done = run_sonde(*words)
    assert done.returncode == 0, done.stderr
    tables = tables_of(tmp_path)
    rows = tables["CollectiveSkew"]
    assert sorted((row[3], row[7], row[8], row[9]) for row in rows) == sorted(expected)
    assert sum(row[2] for row in tables["CollectiveSkewSum"]) == len(rows)


def test_collectives_have_a_type_where_the_level_recorded_none(shared_data, run_sonde, tmp_path):
    for mode, table, place in [
        ("collective_skew", "CollectiveSkewSum", 1), ("kernel_time", "KernelTime", 2)
    ]:  # fmt: skip
        folder = shared_data / "ascend_pt/db/level0"
        done = run_sonde("cluster", "-m", mode, "-d", folder, "-o", tmp_path)
        assert done.returncode == 0, done.stderr
        names = {row[place] for row in tables_of(tmp_path)[table]}
        assert "hcom_allReduce_" in names and "N/A" not in names


def test_a_device_that_never_idles(shared_data, run_sonde, tmp_path):
    folder = shared_data / "kineto/triton_example"  # one kernel
    done = run_sonde("cluster", "-m", "idle_time", "-d", folder, "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no stream with most of its rank's work is idle" in done.stdout


def test_collectives_that_cannot_be_told_apart_are_left_out(shared_data, run_sonde, tmp_path):
    ranks = shutil.copytree(shared_data / SYNTH, tmp_path / "ranks")
    database = profiler_of(ranks, 3)
    database.execute(
        "DELETE FROM COMMUNICATION_OP WHERE opName IN "
        "(SELECT id FROM STRING_IDS WHERE value = 'hcom_allReduce__210_0_1')"
    )
    database.commit()
    database.close()
    done = run_sonde("cluster", "-m", "collective_skew", "-d", ranks, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    left_out = [line for line in done.stderr.splitlines() if "is left out" in line]
    assert len(left_out) == 1 and "hcom_allReduce_" in left_out[0], done.stderr


def test_the_document_names_every_mode(run_sonde):
    text = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    help_text = run_sonde("cluster", "--help").stdout
    modes = re.findall(r"^  (\w+)  +\S", help_text.split("\nModes:\n")[1], re.MULTILINE)
    assert len(modes) > 30
    assert [mode for mode in modes if f"| `{mode}` |" not in text] == []
