"""Folders of Ascend's profilers that were not analysed yet: what is not read is reported first.

`analyse` never calls such a folder done, and names what has to be typed where CANN is installed.
"""

import csv
import json
import tarfile

import ascend_reader as reader
import prof_writer
import pytest

WITH_DEVICE = [
    "ascend_pt/raw/text_level1_rank0_ascend_pt",
    "ascend_pt/raw/text_level0_rank1_ascend_pt",
]
ANALYSED = "ascend_pt/text/level1/rank0_ascend_pt"
RUN = prof_writer.Run([prof_writer.Task(15_000, 7, 3, "KERNEL_AICORE", (40_000, 65_000))])


def first_line(done):
    return done.stderr.splitlines()[0]


def command_of(folder, package="torch_npu.profiler"):
    return f"python3 -c \"from {package}.profiler import analyse; analyse('{folder}')\""


@pytest.mark.parametrize("name", WITH_DEVICE)
def test_device_tool_has_exported_no_timeline(shared_data, tmp_path, run_sonde, name):
    """Nothing ties the framework's records to tables alone: reported each time, and never done."""
    span = reader.copy_of(shared_data / name, tmp_path / "given" / "span_ascend_pt")
    for timeline in span.glob("PROF_*/mindstudio_profiler_output/msprof_*.json"):
        timeline.unlink()
    for turn in range(2):
        done = run_sonde("analyse", span, "-o", tmp_path / "out" / str(turn))
        assert done.returncode == 0, done.stderr
        for text in (
            "not read", "FRAMEWORK/torch.op_mark", command_of(span), "SONDE_ASCEND_RAW=1 reads",
        ):  # fmt: skip
            assert text in first_line(done), done.stderr
        asked = run_sonde("query", span, "SELECT count(*) FROM slice")
        assert command_of(span) in first_line(asked)
    assert list((tmp_path / "out").rglob("ASCEND_PROFILER_OUTPUT"))
    assert not list((tmp_path / "out").rglob("analyse.done"))


def test_what_a_failed_analysis_left_is_replaced(shared_data, tmp_path, run_sonde):
    """A timeline that breaks off is no result, though `analyse.done` lies beside it."""
    archive = shared_data / "field2/ascend/torch_npu_2_13_failed_analysis_ascend_pt.tgz"
    if not archive.is_file():
        pytest.skip(f"needs data: no {archive}")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    (span,) = tmp_path.glob("*_ascend_pt")
    records = {path: path.read_bytes() for path in (span / "FRAMEWORK").iterdir()}
    output = span / "ASCEND_PROFILER_OUTPUT"
    done = run_sonde("analyse", span)
    assert done.returncode == 0, done.stderr
    assert len(list(csv.reader((output / "operator_memory.csv").open()))) == 1 + 51
    assert json.loads((output / "trace_view.json").read_text())
    made = {path: path.stat().st_mtime_ns for path in output.iterdir()}
    assert run_sonde("analyse", span).returncode == 0
    assert {path: path.stat().st_mtime_ns for path in output.iterdir()} == made, "finished results"
    assert {path: path.read_bytes() for path in (span / "FRAMEWORK").iterdir()} == records


def test_analysed_folders_say_nothing(shared_data, tmp_path, run_sonde):
    """Records beside their deliverables are no news."""
    span = reader.copy_of(shared_data / ANALYSED, tmp_path / "given" / "span_ascend_pt")
    raw = span / "FRAMEWORK"
    raw.mkdir(exist_ok=True)
    (raw / "torch.op_range").write_bytes(b"\1\0")
    done = run_sonde("analyse", span, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "not analysed" not in done.stderr
    assert list((tmp_path / "out").rglob("analyse.done"))


def test_records_of_the_device_beside_those_of_mindspore(tmp_path, run_sonde):
    """MindSpore's records are read, those of the device beside them are not."""
    span = tmp_path / "a_2_20250109081616713_ascend_ms"
    (span / "FRAMEWORK").mkdir(parents=True)
    (span / "FRAMEWORK/mindspore.op_range").write_bytes(b"\1")
    prof = prof_writer.write(RUN, span / "PROF_000001_20250109081616713_REBUILT")
    done = run_sonde("query", span, "SELECT count(*) FROM device_task")
    assert done.returncode == 0, done.stderr
    assert f"{prof.name} (device_0, host)" in first_line(done)
    assert command_of(span, "mindspore.profiler") in first_line(done)
