"""`sonde cluster -m trace_diff`: counts and times are those of the events in the files."""

import gzip
import json
import sqlite3
from collections import Counter

KERNELS = {"kernel", "gpu_memcpy", "gpu_memset"}


def events_of(folder):
    (path,) = folder.glob("*.json.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]


def sums_of(folder):
    """(kind, name) -> count, and -> time in ns."""
    counts, times = Counter(), Counter()
    for event in events_of(folder):
        kind = event.get("cat", "").lower()
        if kind in KERNELS or kind == "cpu_op":
            key = ("kernel" if kind in KERNELS else "operator", event["name"])
            counts[key] += 1
            times[key] += round(event["dur"] * 1000)
    return counts, times


def rows_of(out):
    database = sqlite3.connect(out / "cluster_analysis_output" / "cluster_analysis.db")
    rows = database.execute("SELECT * FROM TraceDiff").fetchall()
    database.close()
    return rows


def test_two_traces_differ_as_their_events_do(shared_data, run_sonde, tmp_path):
    control = shared_data / "kineto/trace_diff/control"
    test = shared_data / "kineto/trace_diff/test"
    words = ("cluster", "-m", "trace_diff", "-d", test, "-o", tmp_path)
    done = run_sonde(*words, "--bp", control)
    assert done.returncode == 0, done.stderr
    (counts, times), (base_counts, base_times) = sums_of(test), sums_of(control)
    expected = {
        key: (counts[key], base_counts[key], times[key], base_times[key])
        for key in counts | base_counts
    }
    rows = rows_of(tmp_path)
    assert {(row[0], row[1]): (row[3], row[4], row[6], row[7]) for row in rows} == expected
    changes = [abs(row[8]) for row in rows]
    assert changes == sorted(changes, reverse=True)
    for _, _, change, count, base, difference, _, _, _ in rows:
        assert difference == count - base
        assert change == (
            "added" if base == 0 else "deleted" if count == 0
            else "unchanged" if count == base else "increased" if count > base else "decreased"
        )  # fmt: skip
    assert "among the kernels, the time of" in done.stdout
    # Without a base run there is nothing to compare with.
    done = run_sonde(*words)
    assert done.returncode == 1
    assert "Must specify the --bp parameter" in done.stderr
