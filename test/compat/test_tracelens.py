"""Times of TraceLens' own traces: our figures beside its reports and beside plain arithmetic.

The traces are those of a checkout of TraceLens (SONDE_TRACELENS names it); none is in this tree.
"""

import csv
import gzip
import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import SONDE

CHECKOUT = Path(os.environ.get("SONDE_TRACELENS", "no such folder"))
REPORT = "_perf_report_csvs"
NEAR_MS = 2e-3  # thousands of kernels, each rounded to a nanosecond, and their doubles
# Its report of these covers the annotated step alone, which is three quarters of the trace.
OF_A_STEP = {"Qwen_Qwen1.5-0.5B-Chat__1016005"}


def traces():
    """(trace, its table of times) of the checkout."""
    found = []
    for table in sorted(CHECKOUT.glob(f"tests/traces/**/*{REPORT}/gpu_timeline.csv")):
        stem = table.parent.name.removesuffix(REPORT)
        path = table.parent.parent / f"{stem}.json.gz"
        if path.exists() and path.stat().st_size > 1000:  # else it is a pointer
            found.append((path, table))
    return found


def union_ms(events):
    """Time in which at least one of the events runs."""
    total, end = 0.0, float("-inf")
    for begin, dur in sorted((event["ts"], event["dur"]) for event in events):
        total += max(0.0, begin + dur - max(begin, end))
        end = max(end, begin + dur)
    return total / 1e3


@pytest.fixture(scope="module", name="sides", params=traces(), ids=lambda pair: pair[0].stem)
def measure(request, tmp_path_factory):
    """Name, times of the report in ms, events of the trace, our times in ms by type."""
    path, table = request.param
    with table.open(newline="") as file:
        theirs = {row["type"]: float(row["time ms"]) for row in csv.DictReader(file)}
    content = json.loads(gzip.decompress(path.read_bytes()))
    events = content["traceEvents"] if isinstance(content, dict) else content
    statement = "SELECT type, sum(end_ns - start_ns) / 1e6 AS ms FROM overlap_analysis GROUP BY 1"
    done = subprocess.run(
        [SONDE, "query", path, statement, "--format", "json"], text=True, capture_output=True,
        env=os.environ | {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ours = {row["type"]: row["ms"] for row in json.loads(done.stdout)}
    return path.name.removesuffix(".json.gz"), theirs, events, ours


def of_kinds(events, *kinds):
    return [event for event in events if event.get("cat") in kinds]


def test_there_are_traces():
    if not CHECKOUT.is_dir():
        pytest.skip("needs data: a checkout of TraceLens (SONDE_TRACELENS)")
    assert len(traces()) > 5


def test_computing_is_what_arithmetic_gives(sides):
    _, theirs, events, ours = sides
    kernels = union_ms(of_kinds(events, "kernel"))
    communication = ours.get("Communication(Not Overlapped)", 0)
    assert ours["Computing"] + communication == pytest.approx(kernels, abs=NEAR_MS)
    assert communication == pytest.approx(theirs["exposed_comm_time"], abs=NEAR_MS)
    assert ours.get("Communication", 0) == pytest.approx(theirs["total_comm_time"], abs=NEAR_MS)


def test_computing_is_that_of_the_report(sides):
    """Which counts some of what is filled as computing; here all of that is copying."""
    name, theirs, events, _ = sides
    if name in OF_A_STEP:
        return
    computing = theirs["computation_time"] + theirs["exposed_comm_time"]
    least = union_ms(of_kinds(events, "kernel"))
    most = union_ms(of_kinds(events, "kernel", "gpu_memset"))
    assert least - NEAR_MS < computing < 1.001 * most + NEAR_MS
