"""Modes of `sonde cluster` that HolisticTraceAnalysis defines, on its own traces."""

import gzip
import json
import sqlite3
from decimal import Decimal

import pytest

DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def tables_of(folder, run_sonde, out):
    for mode in ("kernel_time", "idle_time"):
        done = run_sonde("cluster", "-m", mode, "-d", folder, "-o", out)
        assert done.returncode == 0, done.stderr
    database = sqlite3.connect(out / "cluster_analysis_output" / "cluster_analysis.db")
    names = ("KernelTypeTime", "CommunicationOverlap", "IdleTime")
    tables = {name: database.execute(f"SELECT * FROM {name}").fetchall() for name in names}
    database.close()
    return tables


def test_time_of_kernels_and_of_idle_streams_are_those_of_hta(shared_data, run_sonde, tmp_path):
    """As HolisticTraceAnalysis gives them, all steps counted; it has the times in us."""
    tables = tables_of(shared_data / "kineto/timeline_analysis", run_sonde, tmp_path)
    assert {row[1]: row[2] // 1000 for row in tables["KernelTypeTime"]} == {
        "COMMUNICATION": 336033,
        "COMPUTATION": 151094,
        "COMPUTATION overlapping COMMUNICATION": 59204,
        "COMMUNICATION overlapping MEMORY": 950,
        "MEMORY": 353,
        "COMPUTATION overlapping COMMUNICATION overlapping MEMORY": 12,
        "COMPUTATION overlapping MEMORY": 10,
    }
    ((_, _, _, _, percent),) = tables["CommunicationOverlap"]
    assert percent == pytest.approx(14.95, abs=0.005)
    # Host, kernel and other; the trace ties no call to work but by the operator around it, which
    # begins a little earlier.
    hta = {
        7: (397917, 3765, 598335),
        23: (1214793, 160, 34),
        25: (560120, 35, 100413),
        84: (794901, 6, 3142),
        203: (558073, 0, 0),
    }
    assert {row[2] for row in tables["IdleTime"]} == set(hta)
    for _, _, stream, _, idle, host, kernel, other in tables["IdleTime"]:
        assert host + kernel + other == idle == sum(hta[stream]) * 1000
        assert host == pytest.approx(hta[stream][0] * 1000, rel=0.01), stream


def idle_of(file):
    """(idle, host wait, kernel wait) of the one stream, in ns: the file's decimals, not doubles,
    of which one in 1.7e15 us is 250 ns apart from the next."""
    with gzip.open(file) as opened:
        events = json.load(opened, parse_float=Decimal)["traceEvents"]
    launches = {e["args"]["correlation"]: e["ts"] for e in events if e.get("cat") == "cuda_runtime"}
    work = sorted((e for e in events if e.get("cat") in DEVICE_WORK), key=lambda e: e["ts"])
    idle = host = kernel = 0
    for before, event in zip(work, work[1:], strict=False):
        end = before["ts"] + before["dur"]
        gap = event["ts"] - end
        idle += gap
        if launches[event["args"]["correlation"]] > end:
            host += gap
        elif gap < 30:
            kernel += gap
    return tuple(int(1000 * value) for value in (idle, host, kernel))


def test_times_finer_than_a_microsecond_are_exact(shared_data, run_sonde, tmp_path):
    """HolisticTraceAnalysis 0.5 gives 468153.602 us of computing, 4300.839 of copies and memsets
    with HTA_DISABLE_NS_ROUNDING=1; its idle times are off by the doubles that it adds up."""
    folder = shared_data / "kineto/ns_resolution_trace"
    tables = tables_of(folder, run_sonde, tmp_path)
    assert [row[:3] for row in tables["KernelTypeTime"]] == [
        (0, "COMPUTATION", 468153602),
        (0, "MEMORY", 4300839),
    ]
    ((_, _, _, _, *found, other),) = tables["IdleTime"]
    (file,) = folder.glob("*.json.gz")
    assert tuple(found) == idle_of(file)
    assert other == 0
