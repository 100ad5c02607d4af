"""PROF_* folders with records that are cut, garbled or contradict each other: counted, no end."""

import json
import shutil

import prof_writer as prof
import pytest
from prof_runs import LAUNCH, MATMUL, issues
from prof_writer import Run, utc_ns

RAN = (40_000, 65_000)

TASKS = "SELECT name, ts, dur FROM device_task ORDER BY ts, dur"


def variants(whole, tmp_path, change, files=()):
    """Folders, each with one file of `whole` that `change` makes another of; how many."""
    many = tmp_path / "many"
    count = 0
    data = sorted(p for p in whole.rglob("*.slice_0") if p.parent.name == "data")
    for path in files or data:
        for content in change(path.read_bytes()):
            folder = many / f"{path.name.split('.slice')[0]}_{count}" / whole.name
            shutil.copytree(whole, folder)
            (folder / path.relative_to(whole)).write_bytes(content)
            count += 1
    return many, count


def cut(content):
    """At every byte; long files at some."""
    return [content[:n] for n in range(0, len(content), 1 if len(content) <= 128 else 13)]


def garbled(content):
    """Each byte has all its bits turned; of long files some."""
    places = range(0, len(content), 1 if len(content) <= 128 else 13)
    return [content[:n] + bytes([content[n] ^ 0xFF]) + content[n + 1 :] for n in places]


@pytest.mark.parametrize("change", [cut, garbled])
def test_each_byte(write_prof, tmp_path, ask, change):
    """All are read in one go; a task that is there has its time, unless that was turned."""
    many, count = variants(write_prof(Run([LAUNCH], slice_bytes=1 << 20)), tmp_path, change)
    assert count > 250
    ((traces,),) = ask(many, "SELECT count(*) FROM trace")
    assert int(traces) == count
    right = f"(ts = {utc_ns(RAN[0])} AND dur = {RAN[1] - RAN[0]})"
    ((found, wrong),) = ask(
        many, f"SELECT count(*), count(*) FILTER (NOT {right}) FROM device_task"
    )
    assert int(found) > count // 3
    if change is cut:
        assert wrong == "0"
        # What is cut off within a record is counted.
        ((parts,),) = ask(many, "SELECT count(DISTINCT trace) FROM import_issue "
                                "WHERE code = 'raw_part_of_record'")  # fmt: skip
        assert int(parts) > 200
    else:
        assert int(wrong) <= 2 * 8, "bytes of the times of begin and end"


@pytest.mark.parametrize("frequency", ["1000", "1000.000000", ""])
def test_ticks_that_are_nanoseconds(monkeypatch, write_prof, ask, frequency):
    """Of a host whose counter has no frequency, or one of a nanosecond a tick."""
    monkeypatch.setattr(prof, "HOST_MHZ", 1000)
    monkeypatch.setattr(prof, "HOST_TICKS", prof.MONO_NS)
    folder = write_prof(Run([LAUNCH]))
    path = folder / "host/info.json"
    info = json.loads(path.read_text())
    info["CPU"][0]["Frequency"] = frequency
    path.write_text(json.dumps(info))
    assert issues(ask, folder) == {}
    calls = ask(folder, "SELECT ts, dur FROM api_call JOIN slice USING (slice_id)")
    assert calls == [[str(utc_ns(12_000)), "8000"]]
    assert ask(folder, TASKS) == [["Op_1", str(utc_ns(RAN[0])), "25000"]]


def halved_and_replaced(content):
    return content[: len(content) // 2], b"\xff" * len(content), b""


def test_cut_off_and_garbled(write_prof, ask, tmp_path):
    """Every file of a small folder, cut or with other bytes: never the end."""
    whole = write_prof(Run([MATMUL], slice_bytes=1 << 20))
    assert ask(whole, TASKS)[0][0] == "MatMulV2_1"
    files = sorted(p for p in whole.rglob("*") if p.is_file() and p.suffix != ".done")
    many, count = variants(whole, tmp_path, halved_and_replaced, files)
    ((traces,),) = ask(many, "SELECT count(*) FROM trace")
    assert int(traces) == count > 40
