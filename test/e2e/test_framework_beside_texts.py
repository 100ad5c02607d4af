"""The framework's raw records beside texts of the device tool, as torch_npu leaves them where the
framework's layer was never analysed: one trace, whose deliverables are those of torch_npu 2.14.
test_golden_whole.py compares each file and column; here is how the parts of the timeline join, and
by how much operators differ: of a copy in several parts each is its operator's, not one alone.
"""

import csv
import json
import os
import subprocess
from collections import Counter

import ascend_reader as reader
import pytest

SETS = ["text_level1_rank0", "text_level0_rank1"]
US = 0.2  # of a sum of times that were rounded to nanoseconds
ARROW = "torch_to_npu"
DEVICE = ("Device Self Duration(us)", "Device Total Duration(us)")


@pytest.fixture(name="both", scope="module", params=SETS)
def analyse(request, shared_data, tmp_path_factory, sonde):
    """(folder of torch_npu's results, of ours, what was reported)"""
    folder = tmp_path_factory.mktemp("beside")
    span = reader.copy_of(
        shared_data / f"ascend_pt/raw/{request.param}_ascend_pt", folder / "span_ascend_pt"
    )
    done = subprocess.run(
        [sonde, "analyse", span, "-o", folder / "out"],
        capture_output=True, text=True, check=False,
        env=os.environ | {"XDG_CACHE_HOME": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (output,) = (folder / "out").rglob("ASCEND_PROFILER_OUTPUT")
    return shared_data / "golden/torch_npu-2.14.0" / request.param, output, done


def rows(folder, name):
    with (folder / name).open(newline="") as file:
        return list(csv.DictReader(file))


def events(path, wants):
    counted = Counter()
    for event in json.loads(path.read_text()):
        if not wants(event):
            continue
        arguments = dict(event.get("args", {}))
        for key in ("Python id", "Python parent id", "Python module id"):
            arguments.pop(key, None)
        if event.get("cat") == "cpu_op":  # "none" is not written by ours
            if arguments.get("Sequence number") == -1:
                del arguments["Sequence number"]
            if arguments.get("Fwd thread id") == 0:
                del arguments["Fwd thread id"]
        words = [event["ph"], event["name"], event["cat"], event["ts"]]
        if event["cat"] != "async_npu":  # each arrow has a number of its own here
            words.append(event.get("id"))
        counted[json.dumps([*words, arguments])] += 1
    return counted


def test_nothing_is_left_out(both):
    theirs, ours, done = both
    assert "not read" not in done.stderr
    assert {path.name for path in theirs.iterdir()} <= {path.name for path in ours.iterdir()}


def test_operators_and_arrows(both):
    """All that the framework's layer adds to the device's timeline."""

    def wants(event):
        return event.get("cat") not in (None, "HostToDevice")

    theirs, ours = (events(folder / "trace_view.json", wants) for folder in both[:2])
    assert sum(theirs.values()) == 2832 + 420
    assert theirs - ours == Counter()
    more = [json.loads(event)[:3] for event in (ours - theirs).elements()]
    assert sorted(more) == 5 * [["f", ARROW, "async_npu"]] + 5 * [["s", ARROW, "async_npu"]]


def test_slices_of_the_device(both):
    """By begin and name; a slice without a name of its own is one of the layer."""

    def named(folder):
        found = json.loads((folder / "trace_view.json").read_text())
        return Counter((e["ts"], e["name"]) for e in found if e["ph"] == "X" and "cat" not in e)

    theirs, ours = (named(folder) for folder in both[:2])
    shared = {key for key in theirs if key[1] not in ("Computing", "Free", "Communication",
                                                      "Communication(Not Overlapped)")}  # fmt: skip
    assert len(shared) > 500
    assert {key: theirs[key] for key in shared} == {key: ours[key] for key in shared}


def test_operators(both):
    """Those with a copy in two parts have more of it here; test_golden_whole.py has the rest."""
    theirs, ours = (rows(folder, "operator_details.csv") for folder in both[:2])
    more = 0
    for one, other in zip(theirs, ours, strict=True):
        columns = [key for key in DEVICE if float(other[key]) - float(one[key]) > US]
        assert all(float(one[key]) - float(other[key]) < US for key in DEVICE), one
        assert all(2 < float(other[key]) - float(one[key]) < 60 for key in columns), one
        more += bool(columns)
    assert 5 <= more <= 40
