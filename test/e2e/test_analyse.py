"""`sonde analyse` on captures of a small program: every form, bad input, what it prints."""

import csv
import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("torch")

PROGRAM = """
import torch

model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    optimizer.zero_grad()
    loss = model(torch.randn(8, 16)).sum()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
"""


@pytest.fixture(scope="module", name="recorded")
def record(sonde, prepared, tmp_path_factory):
    """The folder with one capture, not analysed."""
    folder = tmp_path_factory.mktemp("recorded")
    program = folder / "train.py"
    program.write_text(PROGRAM)
    command = [
        str(sonde), "run", "--profile-level", "level1", "--profile-record-shapes",
        "--profile-with-memory", "--no-analyse", "--profile-step-start", "1",
        "--profile-step-end", "3", "--profile-save-path", str(folder / "profile"), "--",
        prepared.python, str(program),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "profile"


@pytest.fixture(name="profile")
def copy_capture(recorded, tmp_path):
    """A copy of its own for each test."""
    shutil.copytree(recorded, tmp_path / "profile")
    return tmp_path / "profile"


def test_a_quiet_run_is_quiet_about_its_analysis_too(sonde, prepared, tmp_path):
    """--quiet leaves out all but errors: the summary of what was recorded as well."""
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    command = [sonde, "run", "-q", "--profile-save-path", tmp_path / "profile", "--"]
    done = subprocess.run(
        [*map(str, command), prepared.python, str(program)],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("loss ") and done.stdout.count("\n") == 1
    assert (span_of(tmp_path / "profile") / "ASCEND_PROFILER_OUTPUT" / "analyse.done").exists()


def span_of(profile):
    (span,) = profile.glob("*_ascend_pt")
    return span


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_text_files_and_summary(run_sonde, profile):
    done = run_sonde("analyse", profile, "--export-type", "text")
    assert done.returncode == 0, done.stderr
    output = span_of(profile) / "ASCEND_PROFILER_OUTPUT"
    assert {path.name for path in output.iterdir()} == {
        "analyse.done", "api_statistic.csv", "kernel_details.csv", "memory_record.csv",
        "op_statistic.csv", "operator_details.csv", "operator_memory.csv",
        "step_trace_time.csv", "trace_view.json",
    }  # fmt: skip
    assert "1/1 Done" in done.stderr
    for words in ("Mean step", "Operators by device time", "Modules by device time",
                  "Memory at its peak", "Dropped records: 0", str(output)):  # fmt: skip
        assert words in done.stdout
    # Without a rank the process is named, as its folder is (<host>_<pid>_<time>_ascend_pt).
    assert f"process {span_of(profile).name.split('_')[-4]} " in done.stdout
    steps = rows_of(output / "step_trace_time.csv")
    assert [row["Step"] for row in steps] == ["1", "2"]
    for row in steps:
        busy_and_free = float(row["Computing"]) + float(row["Free"])
        assert busy_and_free == pytest.approx(float(row["Stage"]), abs=0.01)
    names = Counter(row["Name"] for row in rows_of(output / "operator_details.csv"))
    assert names["aten::addmm"] == 4, "two layers in two steps"


def test_kernels_lie_in_the_steps(run_sonde, profile):
    assert run_sonde("analyse", profile, "--export-type", "text").returncode == 0
    output = span_of(profile) / "ASCEND_PROFILER_OUTPUT"
    kernels = rows_of(output / "kernel_details.csv")
    for step in rows_of(output / "step_trace_time.csv"):
        own = [float(k["Duration(us)"]) for k in kernels if k["Step Id"] == step["Step"]]
        assert sum(own) == pytest.approx(float(step["Computing"]), abs=0.01)


def test_trace_view_flows_and_nesting(run_sonde, profile):
    assert run_sonde("analyse", profile, "--export-type", "text").returncode == 0
    text = (span_of(profile) / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text()
    events = json.loads(text)
    ends = Counter()
    for event in events:
        if event["ph"] in "sf":
            ends[event["cat"], str(event["id"]), event["ph"]] += 1
    assert ends and set(ends.values()) == {1}
    assert {key[:2] for key in ends if key[2] == "s"} == {key[:2] for key in ends if key[2] == "f"}
    rows = {}
    for event in events:
        if event["ph"] == "X":
            start = int(event["ts"].replace(".", ""))
            end = start + round(event["dur"] * 1000)
            rows.setdefault((event["pid"], event["tid"]), []).append((start, -end))
    for row in rows.values():
        open_ends = []
        for start, minus_end in sorted(row):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            assert not open_ends or -minus_end <= open_ends[-1]
            open_ends.append(-minus_end)


def test_same_bytes_again_and_other_folder(run_sonde, profile, tmp_path):
    assert run_sonde("analyse", profile, "--export-type", "text,kineto").returncode == 0
    span = span_of(profile)
    first = {p.relative_to(span): p.read_bytes() for p in span.rglob("*.[cj]s*")}
    assert run_sonde("analyse", span, "--export-type", "text,kineto").returncode == 0
    assert {p.relative_to(span): p.read_bytes() for p in span.rglob("*.[cj]s*")} == first
    done = run_sonde("analyse", span, "--export-type", "text", "-o", tmp_path / "other")
    assert done.returncode == 0, done.stderr
    other = tmp_path / "other" / span.name / "ASCEND_PROFILER_OUTPUT"
    assert (other / "analyse.done").exists()


def test_captures_of_one_name_go_to_folders_of_their_own(run_sonde, profile, tmp_path):
    name = span_of(profile).name
    nodes = tmp_path / "nodes"
    for node in ("a", "b"):
        shutil.copytree(span_of(profile), nodes / node / name)
    done = run_sonde("analyse", nodes, "--export-type", "text", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    done_files = sorted((tmp_path / "out").rglob("analyse.done"))
    assert [path.relative_to(tmp_path / "out").parts[:2] for path in done_files] == [
        ("a", name), ("b", name),
    ]  # fmt: skip


def test_a_capture_named_twice_goes_to_one_folder(run_sonde, profile, tmp_path):
    span = span_of(profile)
    words = ["--export-type", "text", "--max-process-number", "1", "-o", tmp_path / "out"]
    done = run_sonde("analyse", span, span / "SONDE", *words)
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "out").rglob("analyse.done"))) == 1


def raw_records(profile):
    return sorted(path.name for path in (span_of(profile) / "SONDE").glob("*.sonde"))


def test_simplified_capture_is_analysed_again_from_its_store(run_sonde, profile):
    span = span_of(profile)
    before = raw_records(profile)
    types = ("--export-type", "text,kineto")
    assert run_sonde("analyse", profile, *types, "--no-data-simplification").returncode == 0
    assert raw_records(profile) == before != []
    first = {p.relative_to(span): p.read_bytes() for p in span.rglob("*.[cj]s*")}
    done = run_sonde("analyse", profile, *types, "--data-simplification")
    assert done.returncode == 0, done.stderr
    assert raw_records(profile) == []
    done = run_sonde("analyse", profile, *types)
    assert done.returncode == 0, done.stderr
    assert {p.relative_to(span): p.read_bytes() for p in span.rglob("*.[cj]s*")} == first
    count = run_sonde("query", span, "SELECT count(*) > 0 AS some FROM slice", "--format", "csv")
    assert count.returncode == 0, count.stderr
    assert "true" in count.stdout.lower()


def test_raw_records_stay_where_they_are_needed(run_sonde, profile, tmp_path):
    before = raw_records(profile)
    elsewhere = ("-o", tmp_path / "other")
    assert run_sonde("analyse", profile, "--data-simplification", *elsewhere).returncode == 0
    assert raw_records(profile) == before
    segment = span_of(profile) / "SONDE" / "events_000001.sonde"
    segment.write_bytes(segment.read_bytes() + b"\1" * 40)
    assert run_sonde("analyse", profile, "--data-simplification").returncode == 0
    assert raw_records(profile) == before, "damaged: a later version may read more of it"


def test_kineto_trace(run_sonde, profile):
    assert run_sonde("analyse", profile, "--export-type", "kineto").returncode == 0
    (path,) = span_of(profile).glob("*.pt.trace.json")
    trace = json.loads(path.read_text())
    kinds = Counter(event.get("cat") for event in trace["traceEvents"])
    assert kinds["kernel"] == kinds["cuda_runtime"] > 10
    assert kinds["cpu_op"] > kinds["kernel"]


def test_a_folder_far_above_is_named_in_one_line(run_sonde, profile):
    shutil.copytree(span_of(profile), profile / "again" / "deep" / span_of(profile).name)
    done = run_sonde("analyse", profile)
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "found deeper" in line]
    assert str(profile / "again" / "deep") in line and "more" not in line


def test_no_capture(run_sonde, one_error_line, tmp_path):
    (tmp_path / "empty").mkdir()
    one_error_line(run_sonde("analyse", tmp_path / "empty"), 1, "is empty", "nothing to read")
    one_error_line(run_sonde("analyse", tmp_path / "missing"), 1, "missing")


def test_wrong_usage(run_sonde, profile):
    assert run_sonde("analyse").returncode == 2
    assert run_sonde("analyse", profile, "--export-type", "xml").returncode == 2
    assert run_sonde("analyse", profile, "--max-process-number", "0").returncode == 2


def errors(done):
    return [line for line in done.stderr.splitlines() if line.startswith("sonde: error: ")]


def test_corrupt_capture_beside_a_good_one(run_sonde, profile):
    bad = profile / "bad_1_ascend_pt"
    (bad / "SONDE").mkdir(parents=True)
    (bad / "SONDE" / "dictionary_000001.sonde").write_bytes(b"not a capture" * 50)
    done = run_sonde("analyse", profile, "--export-type", "text")
    assert done.returncode == 1
    assert len(errors(done)) == 1 and "bad_1_ascend_pt" in errors(done)[0]
    assert not (bad / "ASCEND_PROFILER_OUTPUT").exists()
    good = [span for span in profile.glob("*_ascend_pt") if span != bad]
    assert (good[0] / "ASCEND_PROFILER_OUTPUT" / "analyse.done").exists()


def test_cut_off_records_are_counted_and_shown(run_sonde, profile):
    segment = span_of(profile) / "SONDE" / "events_000001.sonde"
    data = segment.read_bytes()
    segment.write_bytes(data + data[64:164])  # a chunk that ends right behind its header
    done = run_sonde("analyse", profile, "--export-type", "text")
    assert done.returncode == 0, done.stderr
    assert "Problems with the captures" in done.stdout
    assert "capture_truncated (1)" in done.stdout


def test_only_garbled_records(run_sonde, profile):
    segment = span_of(profile) / "SONDE" / "events_000001.sonde"
    data = segment.read_bytes()
    # Everything behind the header of the file, however many chunks there are.
    segment.write_bytes(data[:64] + bytes(byte ^ 0xFF for byte in data[64:]))
    done = run_sonde("analyse", profile, "--export-type", "text")
    assert done.returncode == 1
    assert len(errors(done)) == 1 and "holds no records" in errors(done)[0]


def test_output_folder_that_is_a_file(run_sonde, profile, tmp_path):
    (tmp_path / "file").write_text("x")
    done = run_sonde("analyse", profile, "--export-type", "text", "-o", tmp_path / "file")
    assert done.returncode == 1
    assert len(errors(done)) == 1
    assert (tmp_path / "file").read_text() == "x"


def test_a_loader_with_workers(run_sonde, prepared, tmp_path):
    """`sonde run` parses the rank and names its helpers; `sonde analyse` parses those, too."""
    train = Path(__file__).parents[1] / "python" / "programs" / "train.py"
    done = run_sonde("run", "--profile-save-path", "out", "--", prepared.python, train, 4, "fork",
                     timeout=240)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "recorded, too: 2 helper processes" in done.stderr
    out = tmp_path / "out"
    assert len(list(out.glob("*/ASCEND_PROFILER_OUTPUT"))) == 1
    done = run_sonde("analyse", out)
    assert done.returncode == 0, done.stderr
    assert len(list(out.glob("*/ASCEND_PROFILER_OUTPUT/trace_view.json"))) == 3
    assert sum(line.startswith("  worker ") for line in done.stdout.splitlines()) == 2
