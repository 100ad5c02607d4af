"""Deliverables of Ascend's profilers asked for in the form that they do not have.

What the files say is said in the other form too, and a set that goes to the other form and back
says what it said.
"""

import ascend_reader as reader
import pytest

TEXTS = ["ascend_pt/text/level0/rank0_ascend_pt", "ascend_pt/text/level1/rank0_ascend_pt"]
DATABASES = [
    f"ascend_pt/db/level{level}/rank{rank}_ascend_pt" for level in (0, 1) for rank in (0, 1)
]


def export(run_sonde, span, form, folder):
    """ASCEND_PROFILER_OUTPUT of a set in a form."""
    done = run_sonde("analyse", span, "--export-type", form, "-o", folder)
    assert done.returncode == 0, done.stderr
    return folder / span.name / "ASCEND_PROFILER_OUTPUT"


def exports(shared_data, run_sonde, folder, name, forms):
    """The set and its deliverables in one form after another, each made of those before."""
    span = reader.copy_of(shared_data / name, folder / "given" / "span_ascend_pt")
    outputs = [span / "ASCEND_PROFILER_OUTPUT"]
    for i, form in enumerate(forms):
        output = export(run_sonde, outputs[-1].parent, form, folder / f"{i}_{form}")
        outputs.append(output)
    return outputs


def profile_of(output):
    """The profiler's database, open."""
    (path,) = output.glob("ascend_pytorch_profiler_*.db")
    return reader.open_db(path)


def memory_of(output):
    """Rows of both tables of memory, texts in place of their numbers."""
    db = profile_of(output)
    texts = reader.strings_of(db)
    curve = reader.rows_of(db, "MEMORY_RECORD", "component", "timestamp", "totalAllocated",
                           "totalReserved", "totalActive", "streamPtr", "deviceId")  # fmt: skip
    blocks = reader.rows_of(
        db, "OP_MEMORY", "name", "size", "allocationTime", "releaseTime", "activeReleaseTime",
        "duration", "activeDuration", "allocationTotalAllocated", "allocationTotalReserved",
        "allocationTotalActive", "releaseTotalAllocated", "releaseTotalReserved",
        "releaseTotalActive", "streamPtr", "deviceId",
    )  # fmt: skip
    assert len(curve) > 500 and len(blocks) > 100
    return [[(texts[row[0]], *row[1:]) for row in table] for table in (curve, blocks)]


@pytest.mark.parametrize("name", TEXTS)
def test_memory_of_texts(shared_data, tmp_path, run_sonde, name):
    """Text to database and back gives the same files."""
    given, _, again = exports(shared_data, run_sonde, tmp_path, name, ["db", "text"])
    for file in ("memory_record.csv", "operator_memory.csv"):
        assert (again / file).read_bytes() == (given / file).read_bytes(), file


@pytest.mark.parametrize("name", DATABASES)
def test_memory_of_databases(shared_data, tmp_path, run_sonde, name):
    """Database to text and back gives the same rows."""
    given, text, again = exports(shared_data, run_sonde, tmp_path, name, ["text", "db"])
    assert memory_of(again) == memory_of(given)
    names = {row["Name"] for row in reader.read_csv(text / "operator_memory.csv")}
    assert {"aten::_convolution", "cann::Conv2D1"} <= names
