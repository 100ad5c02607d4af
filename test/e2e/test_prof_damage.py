"""PROF_* folders with records that are cut, garbled or contradict each other: counted, no end."""

import json
import shutil

import prof_writer as prof
import pytest
from prof_runs import issues
from prof_writer import NODE, Call, Run, Task, utc_ns

RAN = (40_000, 65_000)


def launch(number=3, ran=RAN, device=0, name="Op_1"):
    return Call(12_000, 20_000, NODE, "launch", name, basic=(name, 0, "Op", 1, 0, 0),
                tasks=[Task(15_000, 7, number, "KERNEL_AICORE", ran, device=device)])  # fmt: skip


TASKS = "SELECT name, ts, dur FROM device_task ORDER BY ts, dur"


def variants(whole, tmp_path, change):
    """Folders, each with one file of `whole` that `change` makes another of; how many."""
    many = tmp_path / "many"
    count = 0
    for path in sorted(p for p in whole.rglob("*.slice_0") if p.parent.name == "data"):
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
    many, count = variants(write_prof(Run([launch()], slice_bytes=1 << 20)), tmp_path, change)
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
    folder = write_prof(Run([launch()]))
    path = folder / "host/info.json"
    info = json.loads(path.read_text())
    info["CPU"][0]["Frequency"] = frequency
    path.write_text(json.dumps(info))
    assert issues(ask, folder) == {}
    calls = ask(folder, "SELECT ts, dur FROM api_call JOIN slice USING (slice_id)")
    assert calls == [[str(utc_ns(12_000)), "8000"]]
    assert ask(folder, TASKS) == [["Op_1", str(utc_ns(RAN[0])), "25000"]]


@pytest.mark.parametrize("frequency", ["", "0", "x"])
def test_device_whose_counter_has_no_frequency(write_prof, ask, frequency):
    """Its ticks are no time: what the host recorded is there."""
    folder = write_prof(Run([launch()]))
    path = folder / "device_0/info.json.0"
    info = json.loads(path.read_text())
    info["DeviceInfo"][0]["hwts_frequency"] = frequency
    path.write_text(json.dumps(info))
    assert issues(ask, folder) == {"raw_no_device_clock": "1"}
    assert ask(folder, TASKS) == []
    assert ask(folder, "SELECT count(*) FROM api_call") == [["1"]]


def test_types_without_their_names(write_prof, ask):
    """Calls and tasks have the numbers of their types: which run kernels is not known then."""
    folder = write_prof(Run([launch()]))
    (folder / "host/data/unaging.additional.type_info_dic.slice_0").unlink()
    assert set(issues(ask, folder)) == {"raw_unknown_hash"}
    number = str(prof.RUNTIME_TYPES["KERNEL_AICORE"])
    assert ask(folder, TASKS) == [[number, str(utc_ns(RAN[0])), "25000"]]


def test_two_devices_of_one_host(write_prof, ask):
    """The same numbers on both."""
    second = launch(ran=(50_000, 51_000), device=1, name="Op_2")
    second.begin, second.end, second.tasks[0].at = 22_000, 30_000, 25_000
    folder = write_prof(Run([launch(), second]))
    assert issues(ask, folder) == {}
    found = ask(folder, "SELECT device_id, name, ts, dur FROM device_task ORDER BY ts")
    assert found == [["0", "Op_1", str(utc_ns(RAN[0])), "25000"],
                     ["1", "Op_2", str(utc_ns(50_000)), "1000"]]  # fmt: skip


def test_time_that_goes_backwards(write_prof, ask):
    folder = write_prof(Run([launch(ran=(65_000, 40_000))]))
    assert issues(ask, folder) == {"raw_task_unpaired": "2"}
    assert ask(folder, TASKS) == []


@pytest.mark.parametrize("in_order", [True, False])
def test_begins_and_ends_that_do_not_alternate(write_prof, ask, in_order):
    """As many begins as ends go together in their order, else an end with the last begin before it;
    in whatever order the log has them."""
    run = Run([launch()])
    folder = write_prof(run)
    logged = [(1, 0, 0), (1, 0, 10), (1, 1, 20), (1, 1, 30),  # number, end, microseconds
              (2, 1, 5), (2, 0, 15), (2, 1, 25),
              (3, 0, 2), (3, 0, 12), (3, 1, 22),
              (4, 0, 1), (4, 1, 2), (4, 0, 3), (4, 1, 4)]  # fmt: skip
    if in_order:
        logged.sort(key=lambda log: log[2])
    stars = folder / "device_0/data/stars_soc.data.0.slice_0"
    stars.write_bytes(b"".join(
        prof.stars_record(run, Task(0, 20, number, "KERNEL_AICORE"), end, 100_000 + us * 1000)
        for number, end, us in logged
    ))  # fmt: skip
    for path in stars.parent.glob("stars_soc*slice_[1-9]*"):
        path.unlink()
    assert issues(ask, folder)["raw_task_unpaired"] == "2"
    found = ask(folder, "SELECT queue_number, ts, dur FROM device_task ORDER BY 1, 2")
    ran = [(1, 0, 20), (1, 10, 20), (2, 15, 10), (3, 12, 10), (4, 1, 1), (4, 3, 1)]
    assert found == [[str(number), str(utc_ns(100_000 + us * 1000)), str(dur * 1000)]
                     for number, us, dur in ran]  # fmt: skip


@pytest.mark.parametrize("runs", [1, 2])
def test_launches_that_look_alike(write_prof, ask, runs):
    """Of two launches under one number a single run is the first's; which of two is whose, none
    knows."""
    calls = [launch(), launch(name="Op_2")]
    calls[1].begin, calls[1].end, calls[1].tasks[0].at = 22_000, 30_000, 25_000
    calls[1].tasks[0].ran = (70_000, 71_000) if runs == 2 else None
    folder = write_prof(Run(calls))
    found = issues(ask, folder)
    names = [name for name, *_ in ask(folder, TASKS)]
    if runs == 1:
        assert (found, names) == ({}, ["Op_1"])
    else:
        assert (found, names) == ({"raw_task_ambiguous": "2"}, ["AI_CORE", "AI_CORE"])


def test_unknown_version_of_the_layouts(write_prof, ask):
    folder = write_prof(Run([launch()]))
    path = folder / "device_0/info.json.0"
    path.write_text(path.read_text().replace('"version": "1.0"', '"version": "9.9"'))
    assert issues(ask, folder) == {}
    assert len(ask(folder, TASKS)) == 1


def test_texts_of_one_number(write_prof, ask):
    """The later one is taken, and the collision counted."""
    folder = write_prof(Run([launch()]))
    number = prof.text_hash("Op_1")
    path = folder / "host/data/unaging.additional.hash_dic.slice_0"
    path.write_text(f"{number}:Other\n{path.read_text()}")
    assert issues(ask, folder) == {"raw_hash_collision": "1"}
    assert ask(folder, TASKS)[0][0] == "Op_1"
