"""`sonde advisor`: rules just below their limits, rules of users, what is written, bad input."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from workbook import sheets_of

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
DATA = Path(os.environ.get("SONDE_SHARED_DATA", SHARED))
LEVEL1 = DATA / "ascend_pt" / "text" / "level1" / "rank0_ascend_pt"

RULE = """
rule: {name}
section: computation
order: 900
needs: [device_task]
uses: [device_work, ops]
limits:
  least_us: {{value: {limit}, unit: us, source: planted}}
title: Long operators
rows: SELECT name, us, slice_id AS _slice FROM ops WHERE us >= {{least_us}} AND core = 'AI_CORE'
facts: |
  SELECT count(*) AS occurrences, sum(us) AS total_us, first(_slice) AS place_slice FROM found
description: "{{occurrences}} operators, {{total_us:.1f}} us"
"""


# Rules whose two cases are whole captures: a test of the rules counts them by this list.
PAIRS = {
    "environment_variable_analysis",
    "memory",
    "bandwidth_contention_analysis",
    "packet_analysis",
    "freq_analysis",
    "gc_analysis",
    "conjectured_analysis",
    "dataloader",
    "synchronize_stream",
    "timeline_op_dispatch",
    "syncbn",
}


@pytest.fixture(name="triggers")
def make_triggers(tmp_path):
    """triggers(which): a capture in which rules fire, or do not just yet."""
    if not LEVEL1.is_dir():
        pytest.skip("needs data: ascend_pt/text/level1")

    def make(which):
        made = tmp_path / which / "rank0_ascend_pt"
        made.parent.mkdir()
        tool = DATA / "tools" / "make_advisor_triggers.py"
        subprocess.run([sys.executable, tool, LEVEL1, made, which], check=True)
        return made

    return make


def advise(run_sonde, trace, *words):
    """The rules that spoke, with their evidence."""
    done = run_sonde("advisor", "all", "-d", trace, "-l", "en", "--agent", *words)
    assert done.returncode == 0, done.stderr
    message = json.loads(done.stdout)["message"]
    assert not [silence for silence in message["not_judged"] if "error" in silence]
    return {advice["rule"]: advice for advice in message.get("advice", [])}


def test_nothing_below_the_limits(run_sonde, triggers):
    """Every number is one unit below its limit. The rule of AICPU looks at the longest operator of
    all, as in msprof-analyze, and what holds for the capture without triggers stays."""
    assert not set(advise(run_sonde, triggers("below"))) & PAIRS


def test_everything_above_them_with_evidence(run_sonde, triggers):
    spoke = advise(run_sonde, triggers("all"))
    # Idle time is looked at where no collection of garbage was recorded.
    assert set(spoke) | set(advise(run_sonde, triggers("cgc"))) >= PAIRS
    expected = {"memory": 11000.5 + 10000, "gc_analysis": 2500.25, "dataloader": 20000.5}
    for rule, total_us in expected.items():
        assert spoke[rule]["total_time(us)"] == total_us
        assert spoke[rule]["gain(us)"] == total_us
        assert spoke[rule]["gain formula"]
        assert spoke[rule]["slice"] is not None
    assert {rule: spoke[rule]["priority"] for rule in ("memory", "timeline_op_dispatch")} == {
        "memory": "high",
        "timeline_op_dispatch": "high",
    }
    for advice in spoke.values():
        assert advice["occurrences"] > 0, advice


def test_files_of_both_languages(run_sonde, triggers, tmp_path):
    trace = triggers("all")
    for language, problems in (("en", "problems"), ("cn", "问题综述")):
        out = tmp_path / language
        done = run_sonde("advisor", "all", "-d", trace, "-l", language, "-o", out)
        assert done.returncode == 0, done.stderr
        (book,) = (out / "log").glob("mstt_advisor_*.xlsx")
        assert problems in sheets_of(book)
        if language == "cn":
            summary = [row[0] for row in sheets_of(book)["整网耗时分析"]]
            assert summary[-2:] == ["    -- 空闲时长", "E2E时长"]
            assert "    -- 其它Cube" in summary
        (page,) = out.glob("mstt_advisor_*.html")
        html = page.read_text(encoding="utf-8")
        assert "prefers-color-scheme: dark" in html
        assert "http://127.0.0.1:8765/#slice=0:" in html
        assert "https://" not in html.split("<body>")[0], "nothing is loaded from elsewhere"
        assert {str(page), str(book)} <= set(done.stdout.splitlines())


def test_types_of_aicpu_operators(run_sonde, triggers, tmp_path):
    """Which types an operator takes on the cores depends on the release of CANN."""
    trace = triggers("all")
    wrong = {}
    for release in ("7.0.RC1", "7.0.0", "8.0.0"):
        out = tmp_path / release
        words = ("advisor", "computation", "-d", trace, "-l", "en", "-cv", release, "-o", out)
        done = run_sonde(*words)
        assert done.returncode == 0, done.stderr
        (book,) = (out / "log").glob("*.xlsx")
        texts = [row[2] for row in sheets_of(book)["AICPU Suggestions"]]
        wrong[release] = [text.split(" operator")[0] for text in texts if "Data type" in text]
    assert wrong == {
        "7.0.RC1": [
            "Data type double in Index",
            "Data type float in NonZero",
            "Data type float in NonZero",
            "Data type int8 in Cast",
        ],
        "7.0.0": ["Data type double in Index", "Data type int8 in Cast"],
        "8.0.0": [],
    }


def test_rules_of_users(run_sonde, triggers, tmp_path):
    trace = triggers("all")
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "mine.yaml").write_text(RULE.format(name="mine", limit=900))
    spoke = advise(run_sonde, trace, "--rule-dir", folder)
    assert spoke["mine"]["description"] == "4 operators, 3606.0 us"
    (folder / "mine.yaml").write_text(RULE.format(name="mine", limit=903.1))
    assert "mine" not in advise(run_sonde, trace, "--rule-dir", folder)
    (folder / "mine.yaml").write_text(RULE.format(name="gc_analysis", limit=900))
    assert (
        advise(run_sonde, trace, "--rule-dir", folder)["gc_analysis"]["title"] == "Long operators"
    )


def test_what_a_rule_needs(run_sonde, triggers, tmp_path):
    """Without rows a rule is silent by default; what it needs has a row."""
    trace = triggers("all")
    folder = tmp_path / "rules"
    folder.mkdir()
    rule = RULE.format(name="mine", limit=10**9).replace("SELECT count(*)", "SELECT 1 AS fires, 7")

    def advice(text):
        (folder / "mine.yaml").write_text(text)
        return advise(run_sonde, trace, "--rule-dir", folder).get("mine", {}).get("description")

    assert advice(rule.replace("sum(us)", "0")) is None
    spoken = rule.replace("sum(us)", "0") + "speaks_without_rows: true\n"
    assert advice(spoken) == "7 operators, 0.0 us"
    for needs, fires in (
        ("device_task, ops", True),
        ("lane overlap", True),
        ("lane no_such_kind", False),
        ("device_peak", False),
    ):
        text = spoken.replace("needs: [device_task]", f"needs: [{needs}]")
        text = text.replace(
            "uses: [device_work, ops]", "uses: [device_work, ops, device_peaks, device_peak]"
        )
        assert (advice(text) is not None) == fires, needs


def test_rules_that_are_none(run_sonde, triggers, tmp_path, one_error_line):
    trace = triggers("cgc")
    folder = tmp_path / "rules"
    folder.mkdir()
    words = ("advisor", "all", "-d", trace, "-o", tmp_path, "--rule-dir", folder)
    one_error_line(run_sonde(*words), 1, "holds no rule")
    (folder / "mine.yaml").write_text("rule: mine\ntitle: x\n")
    one_error_line(run_sonde(*words), 1, "mine.yaml", "it has no description")
    (folder / "mine.yaml").write_text(RULE.format(name="mine", limit=1).replace("us,", "no_such,"))
    done = run_sonde(*words)
    assert done.returncode == 1
    assert "rule mine: " in done.stderr
    assert "no_such" in done.stderr
    assert "Overall Summary" in done.stdout or "整网耗时分析" in done.stdout


def test_bad_input(run_sonde, tmp_path, one_error_line):
    empty = tmp_path / "empty"
    empty.mkdir()
    one_error_line(run_sonde("advisor", "all", "-d", empty), 1, str(empty))
    one_error_line(run_sonde("advisor", "all", "-d", tmp_path / "none"), 1, "none")
    done = run_sonde("advisor", "everything", "-d", empty)
    assert done.returncode == 2
    done = run_sonde("advisor", "schedule", "-d", empty, "-bp", empty)
    assert done.returncode == 2
    done = run_sonde("advisor", "all", "-d", empty, "--agent")
    assert (done.returncode, json.loads(done.stdout)["status"]) == (1, "error")


def matrix_product(path, dur_us):
    """A Kineto trace of one product of two matrices on an A100, whose peak takes 440 us."""
    args = {"External id": 1, "Input Dims": [[4096, 4096], [4096, 4096]]}
    args["Input type"] = ["c10::Half", "c10::Half"]
    launch = {"External id": 1, "correlation": 9}
    kernel = {**launch, "stream": 7, "device": 0}
    events = [
        ("cpu_op", "aten::mm", 1, 1, 100.0, 20.0, args),
        ("cuda_runtime", "cudaLaunchKernel", 1, 1, 105.0, 5.0, launch),
        ("kernel", "ampere_h16816gemm", 0, 7, 130.0, dur_us, kernel),
    ]
    trace = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-40GB"}],
        "traceEvents": [
            {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
             "args": words}
            for cat, name, pid, tid, ts, dur, words in events
        ],
    }  # fmt: skip
    path.write_text(json.dumps(trace))
    return path


def test_roofline(run_sonde, tmp_path):
    """2 * 4096^3 operations at 312 * 10^12 a second are 440.5 us; moving the operands is shorter.
    The rule speaks from a gain of a tenth of the device's time on: 489.4 us."""
    spoke = advise(run_sonde, matrix_product(tmp_path / "slow.pt.trace.json", 490.0))
    assert spoke["roofline"]["gain(us)"] == pytest.approx(490 - 2 * 4096**3 / 312e6, abs=1e-3)
    assert "NVIDIA A100" in spoke["roofline"]["description"]
    spoke = advise(run_sonde, matrix_product(tmp_path / "fast.pt.trace.json", 489.0))
    assert "roofline" not in spoke


def test_unread_parts_are_reported(run_sonde, tmp_path):
    """A trace that ends early is asked for what is there, and not in silence."""
    path = matrix_product(tmp_path / "cut.pt.trace.json", 490.0)
    path.write_text(path.read_text()[:-60])
    done = run_sonde("advisor", "all", "-d", path, "-l", "en", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "cut.pt.trace.json': the data has faults: " in done.stderr


# What TraceLens (AMD-AGI, August 2026) counts of a trace of an A100: operations and bytes, of
# elementwise operators those
# of which it knows the types (not "long", not "bool").
TRACELENS = {
    "aten::mm": (231, 1_190_708_813_824, 22_633_680_864),
    "aten::addmm": (107, 286_301_337_600, 4_635_066_548),
    "aten::bmm": (40, 176_113_582_080, 17_248_485_376),
    "aten::add": (8, 0, 341_360_700),
    "aten::add_": (31, 0, 668_505_928),
    # Two copies of one number to a number of another type: there both are as wide as the copy.
    "aten::copy_": (40, 0, 401_993_888 - 8),
    "aten::div": (28, 0, 2_535_137_336),
    "aten::mul": (53, 0, 282_954_264),
    "aten::mul_": (16, 0, 112_462_660),
}


def works_of(run_sonde, trace, question):
    """The question asked of the rule's own tables, without the times that its limits are of."""
    rule = Path(__file__).resolve().parents[2] / "src" / "advisor" / "rules" / "roofline.yaml"
    text = rule.read_text(encoding="utf-8")
    tables = text.split("with: |\n")[1].split("  bounded AS")[0].rstrip().rstrip(",")
    for part, instead in (
        ("k.us, o.host_self_ns / 1000.0 AS host_us", "0 AS us"),
        (" JOIN operator_details o USING (slice_id)", ""), ("JOIN kernels k USING (slice_id)", ""),
    ):  # fmt: skip
        assert part in tables
        tables = tables.replace(part, instead)
    done = run_sonde("query", trace, f"WITH {tables} {question}", "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_work_is_what_tracelens_counts(run_sonde, shared_data):
    """It counts 4 bytes of a number that is no tensor, which the device does not read."""
    trace = shared_data / "kineto" / "timeline_analysis" / "sampled_rank-0.json.gz"
    question = (
        "SELECT name, count(*) AS calls, sum(flops)::BIGINT AS flops,"
        " sum(moved_bytes + CASE WHEN types[2] = 'Scalar' THEN 4 ELSE 0 END)::BIGINT AS bytes"
        " FROM works WHERE NOT list_has_any(types, ['long', 'bool']) GROUP BY 1"
    )
    found = {
        row["name"]: (row["calls"], row["flops"], row["bytes"])
        for row in works_of(run_sonde, trace, question)
    }
    assert {name: row for name, row in found.items() if name in TRACELENS} == TRACELENS


# Shapes and types of inputs, and the bytes that have to move.
MOVED = [
    ("mul", [[8, 4], [8, 4]], "float;float", 3 * 128),
    ("mul", [[8, 4], [8, 4], [8, 4]], "float;float;float", 3 * 128),  # the third one is `out`
    ("mul", [[], [8, 4]], "double;float", 8 + 2 * 128),
    ("mul", [[8, 1], [1, 4]], "float;float", 32 + 16 + 128),
    ("mul_", [[8, 4], [8, 4]], "c10::Half;float", 64 + 128 + 64),
    ("add", [[8, 4], [8, 4], [], [8, 4]], "long int;long int;Scalar;long int", 3 * 256),
    ("copy_", [[8, 4], [4], []], "float;c10::Half;Scalar", 128 + 8),
    ("mm", [[8, 2], [2, 4], [8, 4]], "float;float;float", 64 + 32 + 128),
    ("relu", [[8, 4], [8, 4]], "float;float", 2 * 128),
    ("native_layer_norm", [[8, 4], [], [4], [4], []], "float;;float;float;Scalar", 128 + 32 + 128),
]


def test_each_tensor_counts_once(run_sonde, tmp_path):
    events = [
        {"ph": "X", "cat": "cpu_op", "name": f"aten::{name}", "pid": 1, "tid": 1, "ts": 10.0 * i,
         "dur": 5.0, "args": {"External id": i, "Input Dims": dims, "Input type": types.split(";")}}
        for i, (name, dims, types, _) in enumerate(MOVED, 1)
    ]  # fmt: skip
    trace = tmp_path / "made.pt.trace.json"
    trace.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    rows = works_of(
        run_sonde, trace, "SELECT moved_bytes::BIGINT AS bytes FROM works ORDER BY slice_id"
    )
    assert [row["bytes"] for row in rows] == [moved for *_, moved in MOVED]


def test_no_rule_of_ascend_is_asked_of_what_sonde_recorded_on_a_host(run_sonde, prepared, tmp_path):
    """Its folders look like those of torch_npu; what to set there for an NPU is no advice here."""
    program = tmp_path / "train.py"
    program.write_text(
        "import torch\nfor _ in range(30):\n    torch.ones(9, 9) @ torch.ones(9, 9)\n"
    )
    words = ("run", "--profile-level", "level1", "--profile-save-path", "profile", "--")
    done = run_sonde(*words, prepared.python, program)
    assert done.returncode == 0, done.stderr
    words = ("advisor", "all", "-l", "en", "-d", tmp_path / "profile", "--agent")
    done = run_sonde(*words)
    assert done.returncode == 0, done.stderr
    assert "torch_npu" not in done.stdout and "HCCL" not in done.stdout
    (line,) = (line for line in done.stderr.splitlines() if "rules were not applied" in line)
    assert "19 for Ascend NPUs alone" in line
    lacking = {
        one["rule"]: one["lacks"] for one in json.loads(done.stdout)["message"]["not_judged"]
    }
    for rule in ("environment_variable_analysis", "dynamic_shape_analysis", "timeline_fusion_ops"):
        assert lacking[rule] == "is_ascend"
