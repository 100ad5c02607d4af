"""One run of a device, read three ways: its raw records, a database, and text files.

The records are generated; database and texts are written from them. What the stores then hold is
the same row by row, but for what a form has no place for or writes in words of its own: `as_text`
lists that, one line each.
"""

import os
import re
import subprocess
from collections import Counter

import prof_kinds
import prof_runs
import prof_usage
import prof_writer as prof
import pytest
from prof_writer import NODE, Call, Task

FORMS = ["db", "text"]
AFTER = f"- {prof.utc_ns(0)}"  # a time from the begin of the run

TABLES = {
    "tasks": f"SELECT ts {AFTER}, dur, name, task_type, core, op_type, device_id, stream_id, "
    "queue_number FROM device_task",
    "descriptions": f"SELECT ts {AFTER}, name, block_num, mix_block_num, input_formats, "
    "input_types, input_shapes, output_formats, output_types, output_shapes, op_state, hf32 "
    "FROM device_task WHERE op_type IS NOT NULL",
    "hardware counters": f"SELECT t.ts {AFTER}, metric, round(value, 3) FROM device_task_pmu "
    "JOIN device_task t USING (task_id)",
    "operations": f"SELECT ts {AFTER}, dur, name, op_type, group_name, data_type, algorithm, "
    "count, size_bytes, rank_size, is_p2p FROM communication_op",
    "transfers": "SELECT transport, src_rank, dst_rank, size_bytes, duration_ns, packet_count "
    "FROM communication_transit",
    "calls": f"SELECT s.ts {AFTER}, s.dur, s.name, c.level, h.tid, p.pid FROM api_call c "
    "JOIN slice s USING (slice_id) JOIN track t ON t.track_id = s.track_id "
    "JOIN thread h USING (thread_id) JOIN process p ON p.process_id = h.process_id",
    "what called for the tasks": f"SELECT t.ts {AFTER}, t.dur, s.name, s.ts {AFTER} "
    "FROM device_task t JOIN api_call c USING (connection_id) "
    "JOIN slice s ON s.slice_id = c.slice_id",
    "what called for the operations": f"SELECT o.name, s.name, s.ts {AFTER} "
    "FROM communication_op o JOIN api_call c USING (connection_id) "
    "JOIN slice s ON s.slice_id = c.slice_id",
    "arrows": f"SELECT o.name, o.ts {AFTER}, i.name, i.ts {AFTER}, i.dur FROM flow "
    "JOIN slice o ON slice_out = o.slice_id JOIN slice i ON slice_in = i.slice_id",
    "marks": f"SELECT m.ts {AFTER}, m.dur, message, domain, m.kind, h.tid FROM mark m "
    "JOIN track USING (track_id) JOIN thread h USING (thread_id)",
    "samples": f"SELECT t.name, c.ts {AFTER}, round(c.value, 6) FROM counter c "
    "JOIN track t USING (track_id)",
}
# Counters that the vendor's databases have no table for; exporters report that they leave them out.
WITHOUT_TABLE = ("System ", "Process ", "DVPP ", "CPU Avg ")
MEGA = 1 / 1024**2
# Series as timelines of the device tool name them, and what their values are multiplied by.
IN_TIMELINES = [
    (r"HBM (\d) read B/s", r"HBM \1/Read Read(MB/s)", MEGA),
    (r"HBM (\d) write B/s", r"HBM \1/Write Write(MB/s)", MEGA),
    (r"HCCS (Rx|Tx) B/s", r"\1 \1(MB/s)", MEGA),
    (r"LLC (\d) read Hit Rate %", r"LLC \1 Read/Hit Rate Hit Rate(%)", 1 / 100),
    (r"LLC (\d) read Throughput B/s", r"LLC \1 Read/Throughput Throughput(MB/s)", MEGA),
    (r"NPU MEM app (DDR|HBM) B", r"APP/\1 KB", 1 / 1024),
    (r"NPU MEM device (DDR|HBM) B", r"Device/\1 KB", 1 / 1024),
    (r"PCIe (Rx|Tx) (cpl|nonpost|post) B/s", r"PCIe_\2 \1", MEGA),
    (r"PCIe Tx nonpost latency ns", r"PCIe_nonpost_latency Tx", 1 / 1000),
    (r"QoS (\w+) B/s", r"QoS \1 value", MEGA),
    (r"SIO (die \d) (\w+)", r"SIO/\2 \1", MEGA),
    (r"(CPU \w+) Usage %", r"\1 Usage(%)", 1),
    (r"(Disk|Memory|Network) Usage %", r"\1 Usage Usage(%)", 1),
    (r"Stars Soc Info (.*)", r"\1 \1", 1),
    (r"Acc PMU (\d+) (\w+)", r"\2[acc_id \1] value", 1),
]
# A timeline has the layer of a call in its name.
LAYERS = {"AscendCL", "Node", "Communication", "Runtime", "Model"}


def called(name):
    """The name of a call without its layer."""
    layer, _, rest = name.partition("@")
    return rest if layer in LAYERS else name


def sample_in_timeline(name, ts, value):
    """A sample under the name and in the unit of timelines."""
    for given, shown, factor in IN_TIMELINES:
        if re.fullmatch(given, name):
            named = re.sub(given, shown, name).removesuffix(" value")
            return (named, ts, round(float(value) * factor, 6))
    return (name, ts, round(float(value), 6))


def as_text(table, row):
    """The form in text files of a row of raw records; None: they lack it."""
    if table == "tasks":
        ts, dur, name, kind, core, *rest = row
        if name == kind == "AI_CORE":
            return None  # its parts are shown
        # A transfer is named on its plane; on its stream it is a task of its type.
        if kind in ("NOTIFY_WAIT", "MEMCPY_ASYNC"):
            name = kind
        return (ts, dur, name, kind, core, *rest)
    # The arrow to their operation marks transfers, those to its parts a task that runs in parts.
    if table == "arrows" and row[2] in ("Notify_Wait", "Memcpy", "AI_CORE"):
        return None
    return sample_in_timeline(*row) if table == "samples" else row


def from_text(table, row):
    """A row of text files in the words of raw records."""
    if table == "calls":
        return (*row[:2], called(row[2]), *row[3:])
    if table == "what called for the tasks":
        return (*row[:2], called(row[2]), *row[3:])
    if table == "what called for the operations":
        return (row[0], called(row[1]), row[2])
    if table == "arrows":
        return (called(row[0]), *row[1:])
    if table == "samples":  # each line of a chart has a name, here that of its only one
        return (row[0].removesuffix(" value"), row[1], round(float(row[2]), 6))
    return row


def generated(chip):
    """Everything that the generator knows: tasks alone and in parts, communication, marks."""
    run = prof_runs.whole(chip)
    marks = prof_runs.mark(0, "note", 35_000, 35_000, 1)
    marks += prof_runs.mark(2, "range", 34_000, 37_000, 2)
    run.extra |= {("host", "unaging.additional.msproftx"): marks}
    run.extra |= prof_usage.host() | prof_usage.system(prof_usage.at, "host", "")
    run.extra |= prof_kinds.image_units(has_number=True) | prof_kinds.network()
    run.sample |= prof_usage.SAMPLE
    run.info = prof_usage.INFO
    # A call within a call, and tasks that no call launched: one before, one behind all others.
    inner = Call(312_000, 314_000, NODE, "launch", "Inner", basic=("Inner", 0, "Inner", 1, 0, 0),
                 tasks=[Task(313_000, 7, 40, "KERNEL_AICORE", (330_000, 331_000))])  # fmt: skip
    run.calls += [
        Call(311_000, 316_000, prof.ACL, "aclnnMatmul", calls=[inner]),
        Task(5_000, 7, 41, "EVENT_RECORD", (6_000, 6_100), 4),
        Task(317_000, 7, 42, "EVENT_RECORD", (340_000, 340_100), 4),
    ]
    return run


@pytest.fixture(scope="module", name="folder_of", params=[5, 15])
def write_three_forms(request, sonde, tmp_path_factory, cache_home):
    """{way: what is read}"""
    base = tmp_path_factory.mktemp("ways")
    folders = {"raw": base / "PROF_000001_20231114221320000_0004200ABCDEFGHA"}
    prof.write(generated(request.param), folders["raw"])
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SONDE_")}
    environment["XDG_CACHE_HOME"] = str(cache_home)
    for form in FORMS:
        command = [sonde, "analyse", folders["raw"], "--export-type", form, "-o", base / form]
        done = subprocess.run(
            command, env=environment, cwd=base, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        (folders[form],) = base.glob(f"{form}/PROF_*")
    return folders


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("table", TABLES)
def test_the_same_rows(folder_of, ask, table, form):
    """No row more, none less, none different."""
    raw = [tuple(row) for row in ask(folder_of["raw"], TABLES[table])]
    read = [tuple(row) for row in ask(folder_of[form], TABLES[table])]
    assert len(raw) > 0
    if form == "text" and table == "what called for the tasks":
        tasks = [tuple(row) for row in ask(folder_of["raw"], TABLES["tasks"])]
        for whole in (row[:2] for row in tasks if as_text("tasks", row) is None):
            raw.remove(next(row for row in raw if row[:2] == whole))
    if form == "text":
        raw = [reported for row in raw if (reported := as_text(table, row)) is not None]
        read = [from_text(table, row) for row in read]
    if form == "db" and table == "samples":
        raw = [row for row in raw if not row[0].startswith(WITHOUT_TABLE)]
    given, found = Counter(raw), Counter(read)
    assert sorted((given - found).elements()) == []
    assert sorted((found - given).elements()) == []


def test_what_no_call_launched_is_tied_to_none(folder_of, ask):
    """The number of a task that nothing launched is that of no call, in each form."""
    statement = (
        "SELECT count(*), count(s.slice_id) FROM device_task t LEFT JOIN api_call s "
        "USING (connection_id) WHERE t.name = 'EVENT_RECORD'"
    )
    for folder in folder_of.values():
        assert ask(folder, statement) == [["3", "0"]], folder


def test_results_agree(folder_of, ask):
    """What recipes make of the three: the same table of operators, each with a name."""
    statement = (
        "SELECT op_type, core, count, total_ns, min_ns, max_ns FROM op_statistic ORDER BY ALL"
    )
    raw = ask(folder_of["raw"], statement)
    assert len(raw) >= 7
    assert all(row[0] not in ("", "N/A") for row in raw)
    for form in FORMS:
        assert ask(folder_of[form], statement) == raw, form
