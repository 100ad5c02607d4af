"""The vendor's device tool and Sonde read the same folders of records, with equal results.

The tool is the public repository Ascend/msprof, whose Python analysis runs from its sources without
CANN: SONDE_MSPROF names a checkout of it. The folders are written by the end-to-end tests'
generator, of chips 5 (910B, 910C) and 15 (950). Where the two differ on purpose, it stands here.
"""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/e2e"))

import prof_kinds  # noqa: E402
import prof_runs  # noqa: E402
import prof_units  # noqa: E402
import prof_usage  # noqa: E402
import prof_writer  # noqa: E402

SONDE = ROOT / "build" / os.environ.get("PRESET", "dev") / "bin" / "sonde"
MSPROF = os.environ.get("SONDE_MSPROF", "")
NO_PART = 4294967295
OP_SUMMARY = {"Op Name": "Name", "OP Type": "Type", "Task Type": "Accelerator Core",
              "Task Start Time(us)": "Start Time(us)", "Task Duration(us)": "Duration(us)",
              "Task Wait Time(us)": "Wait Time(us)"}  # fmt: skip
# The launch's own record has the blocks; the tool's other half goes by it, this one does not.
BLOCKS = {"Add_2": ("48", "96")}
# The last letters of the communicator's name; this half of the tool takes those of its number.
# Of chips before STARS the tool leaves these out, and what vector cores of their own counted.
NOT_OF_OLDER = {"Mix Block Num", "Context ID"}
UNKNOWN_CORE = "Vec"
COMMUNICATION = {"hcom_allReduce__223_0_1": "hcom_allReduce__586_0_1"}


@pytest.fixture(scope="module", name="both", params=[5, 15, 1, 4])
def read_by_both(request, tmp_path_factory):
    """The folders of results: of the tool, of Sonde."""
    tool = Path(MSPROF) / "analysis/msprof/msprof.py"
    if not MSPROF or not tool.is_file():
        pytest.skip("needs msprof: SONDE_MSPROF names no checkout of Ascend/msprof")
    folder = tmp_path_factory.mktemp(f"chip{request.param}")
    prof = folder / "PROF_000001_20250109081616713_0004200ABCDEFGHA"
    run = prof_runs.whole(request.param)
    run.extra |= prof_usage.host() | prof_usage.os_calls()
    if request.param == 15:
        run.extra["device_0", "instr.biu_perf_group0_aic.0"] = prof_units.instructions()
        run.extra |= prof_units.communication_unit()
        run.texts = [*run.texts, *prof_units.TEXTS]
    else:
        run.extra |= prof_kinds.preprocessing(is_text=False)
    run.sample |= prof_usage.SAMPLE
    run.info = prof_usage.INFO
    prof_writer.write(run, prof)
    ours = folder / "ours"
    command = [
        str(SONDE),
        "analyse",
        str(prof),
        "--export-type",
        "text,mindstudio",
        "-o",
        str(ours),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for form in ("timeline", "summary"):
        command = [sys.executable, str(tool), "export", form, "-dir", str(prof)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    (output,) = ours.rglob("ASCEND_PROFILER_OUTPUT")
    return prof / "mindstudio_profiler_output", output


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def of_tool(folder, name):
    (path,) = folder.glob(f"{name}_2*.csv")
    return table(path)


def same(theirs, ours):
    """Cells: texts, or numbers; the tool rounds to three decimals, and some to two."""
    theirs, ours = theirs.strip(), ours.strip()
    if theirs == ours:
        return True
    try:
        return abs(float(theirs) - float(ours)) <= 0.0051
    except ValueError:
        return False


def test_operators(both):
    theirs, ours = both
    rows = of_tool(theirs, "op_summary")
    mine = table(ours / "kernel_details.csv")
    names = [OP_SUMMARY.get(column, column) for column in rows[0]]
    is_older = "aic_total_cycles" not in names
    assert [name for name in mine[0] if not is_older or name not in NOT_OF_OLDER] == names
    assert len(rows) == len(mine) >= 5
    for row, my_row in zip(rows, mine):
        if row["Op Name"] in BLOCKS:
            row["Block Num"], row["Mix Block Num"] = BLOCKS[row["Op Name"]]
        row["Op Name"] = COMMUNICATION.get(row["Op Name"], row["Op Name"])
        for column, cell in row.items():
            name = OP_SUMMARY.get(column, column)
            if is_older and row["Op Name"] == UNKNOWN_CORE and cell == "N/A":
                continue
            assert same(cell, my_row[name]), (row["Op Name"], column, cell, my_row[name])


def of_sonde(both, name):
    """A table of the exporter that has the tool's own form."""
    (folder,) = both[1].parent.rglob("mindstudio_profiler_output")
    return of_tool(folder, name)


def test_operators_in_the_form_of_the_tool(both):
    rows, mine = of_tool(both[0], "op_summary"), of_sonde(both, "op_summary")
    assert [name for name in mine[0] if name in rows[0] or name not in NOT_OF_OLDER] == list(
        rows[0]
    )
    assert [row["Task Start Time(us)"] for row in mine] == [
        row["Task Start Time(us)"] for row in rows
    ]


def test_task_times(both):
    """This half of the tool names no kernel, and leaves out a task in several parts."""
    theirs, ours = of_tool(both[0], "task_time"), of_sonde(both, "task_time")
    assert list(theirs[0]) == list(ours[0])
    ours = [row for row in ours if row["kernel_name"] != "Fused_1"]
    assert len(theirs) == len(ours) >= 8
    for row, mine in zip(theirs, ours):
        assert row["kernel_name"] == "N/A"
        for column, cell in row.items():
            if column != "kernel_name":
                assert same(cell, mine[column]), (column, row, mine)


def test_statistics_of_operators(both):
    theirs, ours = (of_tool(both[0], "op_statistic"), table(both[1] / "op_statistic.csv"))
    theirs, ours = ({row["OP Type"]: row for row in rows} for rows in (theirs, ours))
    assert theirs.keys() == ours.keys()
    for name, row in theirs.items():
        for column, cell in row.items():
            assert same(cell, ours[name][column]), (name, column)


def test_statistics_of_calls(both):
    """The tool puts calls of communication together, and knows no host but as the device."""
    theirs, ours = (of_tool(both[0], "api_statistic"), table(both[1] / "api_statistic.csv"))
    ours = {(row["Level"], row["API Name"]): row for row in ours}
    communication = [row for (level, _), row in ours.items() if level == "communication"]
    ours["communication", "0"] = {
        key: str(sum(float(row[key]) for row in communication)) for key in ("Time(us)", "Count")
    }
    compared = 0
    for row in theirs:
        mine = ours[row["Level"], row["API Name"]]
        for column in ("Time(us)", "Count", *(("Avg(us)", "Variance") if len(mine) > 2 else ())):
            assert same(row[column], mine[column]), (row, mine)
            compared += 1
    assert compared > 12
    assert len(theirs) == len(ours) - len(communication)


def events(path, wanted):
    """Slices of a timeline, by the name of their process."""
    content = json.loads(path.read_text())
    processes = {event["pid"]: event["args"]["name"] for event in content
                 if event["name"] == "process_name"}  # fmt: skip
    found = [e for e in content if e["ph"] == "X" and processes.get(e["pid"]) == wanted]
    assert found, wanted
    return sorted(found, key=lambda e: (e["ts"], e["tid"], e["name"]))


def both_timelines(both, layer):
    (path,) = both[0].glob("msprof_2*.json")
    return events(path, layer), events(both[1] / "trace_view.json", layer)


def test_tasks_of_the_timeline(both):
    """Types are those that the host knows; of parts those of the device. A task whose parts are
    shown is not."""
    theirs, ours = both_timelines(both, "Ascend Hardware")
    assert len(theirs) == len(ours) >= 9
    for event, mine in zip(theirs, ours):
        for key in ("name", "ts", "dur", "tid"):
            assert event[key] == mine[key], (event, mine)
        for key in ("Model Id", "Physic Stream Id", "Task Id", "Batch Id", "Subtask Id"):
            assert event["args"][key] == mine["args"][key], (event, mine)
    assert {e["args"]["Subtask Id"] for e in ours} >= {NO_PART}


def test_communication_of_the_timeline(both):
    theirs, ours = both_timelines(both, "Communication")
    assert len(theirs) == len(ours) == 4
    for event, mine in zip(theirs, ours):
        assert COMMUNICATION.get(event["name"], event["name"]) == mine["name"]
        assert [event[key] for key in ("ts", "dur", "tid")] == [
            mine[key] for key in ("ts", "dur", "tid")
        ]
        for key in mine["args"].keys() & event["args"].keys() - {"connection_id"}:
            assert str(event["args"][key]) == str(mine["args"][key]), (key, event, mine)


def test_overlap(both):
    theirs, ours = both_timelines(both, "Overlap Analysis")
    times = [[[e["name"], e["ts"], e["dur"]] for e in found] for found in (theirs, ours)]
    assert times[0] == times[1]


def test_calls_of_the_timeline(both):
    theirs, ours = both_timelines(both, "CANN")
    theirs = [e for e in theirs if e["args"]["level"] != "communication"]
    ours = [e for e in ours if e["args"]["level"] != "communication"]
    assert len(theirs) == len(ours) > 5
    for event, mine in zip(theirs, ours):
        for key in ("name", "ts", "dur", "tid"):
            assert event[key] == mine[key], (event, mine)
        for key in ("Thread Id", "Mode", "level", "id", "item_id"):
            assert event["args"][key] == mine["args"][key], (key, event, mine)


# Series of the tool's timeline, the counter here, and what one of its units is of ours.
COUNTERS = {
    "HBM 0/Read": ("HBM 0 read B/s", 2**20),
    "HBM 3/Write": ("HBM 3 write B/s", 2**20),
    "APP/HBM": ("NPU MEM app HBM B", 1024),
    "Device/HBM": ("NPU MEM device HBM B", 1024),
    "Mata Bw Level": ("Stars Soc Info Mata Bw Level", 1),
    "L2 Buffer Bw Level": ("Stars Soc Info L2 Buffer Bw Level", 1),
    "QoS SDMA": ("QoS SDMA B/s", 2**20),
    "LLC 1 Read/Throughput": ("LLC 1 read Throughput B/s", 2**20),
    "Memory Usage": ("Memory Usage %", 1),
    "Network Usage": ("Network Usage %", 1),
    "Disk Usage": ("Disk Usage %", 1),
    "LLC 1 Read/Hit Rate": ("LLC 1 read Hit Rate %", 100),
}


def test_counters(both):
    """A first sample gives no rate here; times of the tool are off by up to 256 ns."""
    (path,) = both[0].glob("msprof_2*.json")
    theirs, ours = (
        [e for e in json.loads(p.read_text()) if e["ph"] == "C"]
        for p in (path, both[1] / "trace_view.json")
    )
    compared = 0
    for event in theirs:
        if event["name"] not in COUNTERS:
            continue
        name, unit = COUNTERS[event["name"]]
        at = float(event["ts"])
        near = [e["args"]["value"] for e in ours
                if e["name"] == name and abs(float(e["ts"]) - at) < 0.3]  # fmt: skip
        (value,) = event["args"].values()
        if near:
            assert near == [pytest.approx(value * unit, rel=3e-4)], event
            compared += 1
        else:
            assert value == 0, event
    assert compared >= 12


def test_preprocessing(both):
    """Of chips before 15, as older collectors wrote it."""
    if not list(both[0].glob("dp_2*.csv")):
        assert list(both[0].glob("ccu_mission*"))
        return
    theirs, ours = of_tool(both[0], "dp"), of_sonde(both, "dp")
    assert list(theirs[0]) == list(ours[0])
    assert len(theirs) == len(ours) == 2
    for row, mine in zip(theirs, ours):
        for column, cell in row.items():
            assert same(cell, mine[column]), (column, row, mine)


def test_calls_of_the_operating_system(both):
    """The tool leaves out a thread whose name has blanks."""
    theirs, ours = both_timelines(both, "OS Runtime API")
    shown = [[(e["name"], e["ts"], e["dur"]) for e in found] for found in (theirs, ours)]
    assert shown[0] == [call for call in shown[1] if call[0] != "poll"]
    assert len(shown[0]) == len(shown[1]) - 1 == 4


def query(both, statement):
    """Of the records that both have read; the tool's results lie beside them."""
    command = [str(SONDE), "query", str(both[0].parent), statement, "--format", "csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=True,
                          env=os.environ | {"SONDE_ASCEND_RAW": "1"})  # fmt: skip
    return list(csv.reader(done.stdout.splitlines()))[1:]


def test_communication_unit(both):
    """Of chip 15: what it ran, and what its channels moved (the tool: MB a second)."""
    if list(both[0].glob("dp_2*.csv")):
        assert not list(both[0].glob("ccu_*"))
        return
    (path,) = both[0].glob("msprof_2*.json")
    wanted = ("Instruction ID", "Notify Instruction ID", "Notify Rank ID", "Task Id", "Die Id",
              "Mask")  # fmt: skip
    compared = 0
    for event in events(path, "CCU"):
        ns = round(float(event["ts"][-9:]) * 1000)
        rows = query(both, "SELECT s.name, s.dur, key, value FROM slice s "
                     "JOIN args USING (args_id) "
                     f"WHERE category = 'ccu' AND ts % 1000000000 = {ns}")  # fmt: skip
        assert {(name, float(dur)) for name, dur, *_ in rows} == {
            (event["name"], event["dur"] * 1000)
        }
        arguments = {key: value for *_, key, value in rows}
        for key in wanted:
            if key in event["args"]:
                assert str(event["args"][key]) == arguments[key], (key, event)
                compared += 1
    assert compared == 7
    rates = dict(query(both, "SELECT name, value FROM counter JOIN track USING (track_id) "
                       "WHERE name LIKE 'ccu1 channel %'"))  # fmt: skip
    channels = of_tool(both[0], "ccu_channel")
    assert len(channels) * 3 == len(rates) == 12
    for row in channels:
        for part in ("Max", "Min", "Avg"):
            mine = float(rates[f"ccu1 channel {row['Channel Id']} {part.lower()} B/s"]) / 2**20
            assert same(row[f"{part} Bandwidth(MB/s)"], str(mine)), row


def test_instructions_of_cores(both):
    """Of chip 15: when its pipelines worked, and the checkpoint."""
    if list(both[0].glob("dp_2*.csv")):
        return
    (path,) = both[0].glob("msprof_2*.json")
    rows = query(both, "SELECT s.name, s.ts % 1000000000, s.dur, max(value) FILTER "
                 "(key = 'Block Id'), max(value) FILTER (key = 'Checkpoint Info') FROM slice s "
                 "JOIN args USING (args_id) WHERE category = 'instruction' "
                 "GROUP BY slice_id, s.name, s.ts, s.dur ORDER BY s.ts")  # fmt: skip
    theirs = events(path, "Biu Perf")
    assert len(theirs) == len(rows) == 4
    for event, (name, ts, dur, block, checkpoint) in zip(theirs, rows):
        assert event["name"] == name
        assert round(float(event["ts"][-9:]) * 1000) % 10**9 == int(ts)
        assert round(event["dur"] * 1000) == int(dur)
        assert event["args"]["Block Id"] == int(block)
        assert str(event["args"].get("Checkpoint Info", "")) == checkpoint
