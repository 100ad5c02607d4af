"""Raw records of Ascend's profilers, read without the vendor's software, beside its own results."""

import json
from collections import Counter

import ascend_reader as reader
import pytest

GOLDEN = "golden/torch_npu-2.14.0/framework_only_text_level1_rank0"
SPAN = "ascend_pt/raw/text_level1_rank0_ascend_pt"
COLLECTED = "ascend_pt/raw_torch_npu_2_13/vm_9297_20261125162210406_ascend_pt"


@pytest.fixture(name="framework")
def make_framework(shared_data, tmp_path):
    """The span folder without what the device tool has exported."""
    span = reader.copy_of(shared_data / SPAN, tmp_path / "given" / "span_ascend_pt")
    for prof in span.glob("PROF_*"):
        for path in sorted(prof.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        prof.rmdir()
    return span


@pytest.fixture(name="output")
def analyse(framework, tmp_path, run_sonde):
    done = run_sonde("analyse", framework, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "out").rglob("ASCEND_PROFILER_OUTPUT")
    return folder


@pytest.mark.parametrize(
    "name", ["operator_details.csv", "memory_record.csv", "operator_memory.csv"]
)
def test_tables_equal_those_of_torch_npu(shared_data, output, name):
    assert (output / name).read_bytes() == (shared_data / GOLDEN / name).read_bytes()


def test_timeline_equals_that_of_torch_npu(shared_data, output):
    """Numbers of Python calls are each tool's own; ours fits durations and rows of such calls, so
    that a viewer shows those that only partly overlap an operator."""

    def events(path):
        counted = Counter()
        for event in json.loads(path.read_text()):
            if event["ph"] == "M":
                continue
            arguments = dict(event.get("args", {}))
            for key in ("Python id", "Python parent id", "Python module id"):
                arguments.pop(key, None)
            if event.get("cat") == "cpu_op":  # "none" is not written by ours
                if arguments.get("Sequence number") == -1:
                    del arguments["Sequence number"]
                if arguments.get("Fwd thread id") == 0:
                    del arguments["Fwd thread id"]
            words = [event["ph"], event["name"], event["cat"], event["pid"]]
            if event["cat"] != "python_function":
                words.append(event["tid"])
            counted[json.dumps([*words, event["ts"], event.get("id"), arguments])] += 1
        return counted

    theirs, ours = (events(f / "trace_view.json") for f in (shared_data / GOLDEN, output))
    assert theirs == ours
    assert sum(ours.values()) == 2832


def test_folder_as_torch_npu_collected_it(shared_data, run_sonde):
    """Operators and calls that began, and nothing to complain of."""
    span = shared_data / COLLECTED
    done = run_sonde("query", span, "SELECT category, count(*) FROM slice GROUP BY 1 ORDER BY 1",
                     "--format", "csv")  # fmt: skip
    assert done.stdout.split()[1:] == [
        "cpu_op,100", "module,5", "python_function,1948", "user_annotation,1"
    ]  # fmt: skip
    assert run_sonde("query", span, "FROM import_issue", "--format", "csv").stdout.count("\n") == 1


def test_finished_results_are_taken_unless_told_otherwise(shared_data, tmp_path, run_sonde):
    span = reader.copy_of(shared_data / "ascend_pt/text/level1/rank0_ascend_pt", tmp_path / "span")
    raw = shared_data / SPAN / "FRAMEWORK"
    reader.copy_of(raw, span / "FRAMEWORK")
    count = "SELECT count(*) FROM framework_op JOIN slice USING (slice_id) "
    count += "WHERE category IN ('cpu_op', 'user_annotation')"
    tasks = "SELECT count(*) FROM device_task"

    def ask(statement, **env):
        return run_sonde("query", span, statement, "--format", "csv", env=env).stdout.split()[1]

    assert ask(count) == ask(count, SONDE_ASCEND_RAW="1") == "860"
    assert int(ask(tasks)) > 0
    assert ask(tasks, SONDE_ASCEND_RAW="1") == "0"


def test_damage_is_counted(framework, run_sonde):
    path = framework / "FRAMEWORK/torch.op_range"
    path.write_bytes(path.read_bytes()[:-5])
    (framework / "FRAMEWORK/torch.something_new").write_bytes(b"\1\2")
    for info in framework.glob("profiler_info*"):
        info.unlink()
    done = run_sonde("query", framework, "SELECT code FROM import_issue ORDER BY 1",
                     "--format", "csv")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[1:] == ["files_not_read", "raw_no_clock", "raw_truncated"]
