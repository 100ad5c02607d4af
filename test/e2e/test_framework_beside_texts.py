"""The framework's raw records beside texts of the device tool, as torch_npu leaves them where the
framework's layer was never analysed: one trace, whose deliverables are those of torch_npu 2.14.

Times are whole nanoseconds here, and have the texts' own decimals there. On purpose otherwise: what
is reported of vector cores is not counted as of cube cores, though older timelines label them so;
of a copy in several parts each is its operator's, not the first alone.
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
CUBE = ("Device Self Duration With AICore(us)", "Device Total Duration With AICore(us)")


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


def is_near(a, b, near=US):
    """Cells that are the same text, or numbers that are."""
    if a == b:
        return True
    try:
        return float(a) == pytest.approx(float(b), abs=near, rel=2e-3)
    except ValueError:
        return False


def compare(theirs, ours, near=US):
    """Each row, in the columns that torch_npu has. Communication has its newer names here."""
    assert len(theirs) == len(ours) > 0
    for one, other in zip(theirs, ours):
        named = ("Type", "Accelerator Core") if one.get("Name", "").startswith("hcom_") else ()
        kept = one.keys() - {*named, *CUBE}
        differ = {key: (one[key], other.get(key)) for key in kept
                  if not is_near(one[key], other.get(key), near)}  # fmt: skip
        assert not differ, one


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


def test_kernels(both):
    compare(*(rows(folder, "kernel_details.csv") for folder in both[:2]))


def test_operators(both):
    """Those with a copy in two parts have more of it here."""
    theirs, ours = (rows(folder, "operator_details.csv") for folder in both[:2])
    more = 0
    for one, other in zip(theirs, ours):
        columns = [key for key in one if key.startswith("Device") and key not in CUBE
                   and not is_near(one[key], other[key])]  # fmt: skip
        more += bool(columns)
        for key in columns:
            assert 2 < float(other[key]) - float(one[key]) < 60
            other[key] = one[key]
    assert 5 <= more <= 40
    compare(theirs, ours)


@pytest.mark.parametrize("name", ["l2_cache.csv", "npu_module_mem.csv"])
def test_tables_that_are_copied(both, name):
    theirs, ours = ((folder / name).read_bytes() for folder in both[:2])
    assert theirs == ours


@pytest.mark.parametrize("name", ["memory_record.csv", "operator_memory.csv"])
def test_memory(both, name):
    """Of framework, graph engine and process, whatever their order."""
    theirs, ours = (Counter(tuple(row.values()) for row in rows(folder, name))
                    for folder in both[:2])  # fmt: skip
    assert theirs == ours


def test_steps(both):
    theirs, ours = (rows(folder, "step_trace_time.csv") for folder in both[:2])
    for row in theirs:
        del row["Device_id"]  # torch_npu writes -1
    compare(theirs, ours)


@pytest.mark.parametrize("name", ["api_statistic.csv", "op_statistic.csv"])
def test_statistics(both, name):
    """Those of level 1; newer tools call the layer of communication by its name."""
    if not (both[0] / name).exists():
        assert not (both[1] / name).exists()
        return
    theirs, ours = (rows(folder, name) for folder in both[:2])
    for row in theirs:
        if row.get("Level") == "hccl":
            row["Level"] = "communication"

    def key(row):
        return [row.get(name, "") for name in ("Level", "API Name", "OP Type", "Core Type")]

    compare(sorted(theirs, key=key), sorted(ours, key=key))


@pytest.mark.parametrize("name", ["communication.json", "communication_matrix.json"])
def test_communication(both, name):
    """The same operations, links and sizes; times within a rounding of nanoseconds."""

    def leaves(value, path=()):
        if not isinstance(value, (dict, list)):
            return {path: value}
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return {k: v for key, inner in items for k, v in leaves(inner, (*path, key)).items()}

    if not (both[0] / name).exists():  # of level 0
        assert not (both[1] / name).exists()
        return
    theirs, ours = (leaves(json.loads((folder / name).read_text())) for folder in both[:2])
    assert len(theirs) > 100
    assert theirs == {key: pytest.approx(value, rel=1e-4, abs=1e-5) if isinstance(value, float)
                      else value for key, value in ours.items()}  # fmt: skip
