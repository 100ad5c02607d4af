"""Each form keeps every row of the trace, merges by a rule of the reference, or counts it.

A set is imported, written in another form, and that is imported again: rows of both stores are
counted by what they are. docs/reference/deliverables.md has the rules.
"""

import csv
import io
import re

import pytest

SETS = [
    "ascend_pt/text/level0/rank0_ascend_pt",
    "ascend_pt/text/level1/rank0_ascend_pt",
    "ascend_pt/db/level0/rank0_ascend_pt",
    "ascend_pt/db/level1/rank0_ascend_pt",
    "ascend_pt/synth8_tp_pp_dp/node1_1004_20250109081616713_ascend_pt",
    "kineto/nccl_parser_config",
    "kineto/ns_resolution_trace",
    "kineto/cpu_only",
]
# The name of a set begins with the form that it has: asked for in that one it comes out as it was.
FORMS = {"text": "ASCEND_PROFILER_OUTPUT", "db": "ASCEND_PROFILER_OUTPUT", "kineto": ""}
HOST = ("thread", "module", "python", "gc", "os_runtime")

COUNTS = """
WITH whole AS (SELECT slice_id FROM device_task w WHERE context_id IS NULL AND EXISTS
  (SELECT 1 FROM device_task p WHERE p.context_id IS NOT NULL AND p.track_id = w.track_id
  AND p.queue_number = w.queue_number AND p.ts >= w.ts AND p.ts + p.dur <= w.ts + w.dur))
SELECT 'slices', t.kind, coalesce(s.category, ''), count(*) FROM slice s JOIN track t
  USING (track_id) GROUP BY ALL
UNION ALL SELECT 'kernels', '', '', count(*) FROM device_task WHERE core <> 'COMMUNICATION'
UNION ALL SELECT 'other tasks', '', '', count(*) FROM device_task WHERE core IS NULL
UNION ALL SELECT 'unnamed kernels', '', '', count(*) FROM device_task JOIN slice USING (slice_id)
  JOIN track ON track.track_id = slice.track_id WHERE core IS NULL AND track.kind = 'stream'
  AND (task_type = 'AI_CORE' OR task_type LIKE 'KERNEL_%')
UNION ALL SELECT 'wholes', '', '', count(*) FROM whole
UNION ALL SELECT 'wholes', '', 'arrows', count(*) FROM flow JOIN whole ON slice_in = slice_id
  WHERE kind = 'host_to_device'
UNION ALL SELECT 'on planes', '', '', count(*) FROM device_task JOIN slice USING (slice_id)
  JOIN track ON track.track_id = slice.track_id WHERE track.kind = 'communication_plane'
UNION ALL SELECT 'on planes', '', 'arrows', count(*) FROM flow JOIN slice ON slice_in = slice_id
  JOIN track USING (track_id) WHERE track.kind = 'communication_plane'
UNION ALL SELECT 'operations on streams', '', '', count(*) FROM communication_op c JOIN slice s
  ON s.slice_id = c.slice_id JOIN track t ON t.track_id = s.track_id WHERE t.kind = 'stream'
UNION ALL SELECT 'operations', '', '', count(*) FROM communication_op
UNION ALL SELECT 'transferred', '', '', coalesce(sum(size_bytes), 0) FROM communication_transit
UNION ALL SELECT 'calls', coalesce(level, ''), '', count(*) FROM api_call GROUP BY ALL
UNION ALL SELECT 'counters', '', '', count(*) FROM counter
UNION ALL SELECT 'counters', 'identifiers', '', count(*) FROM counter JOIN track USING (track_id)
  WHERE name LIKE '%acc_id'
UNION ALL SELECT 'memory events', '', '', count(*) FROM memory_event
UNION ALL SELECT 'memory blocks', '', '', count(*) FROM memory_block
UNION ALL SELECT 'marks', '', '', count(*) FROM mark
UNION ALL SELECT 'arrows', kind, '', count(*) FROM flow GROUP BY ALL
UNION ALL SELECT 'steps', '', '', count(*) FROM step
UNION ALL SELECT 'stacks', '', '', count(DISTINCT text) FROM (SELECT string_agg(frame, ';' ORDER BY
  depth) AS text FROM callstack GROUP BY stack_id)
UNION ALL SELECT 'hardware counters', '', '', count(*) FROM device_task_pmu
UNION ALL SELECT 'host time', '', '', coalesce(sum(s.dur), 0)::BIGINT FROM slice s JOIN track t
  USING (track_id) WHERE s.dur > 0 AND t.kind IN ('thread', 'python', 'module')
UNION ALL SELECT 'kernel time', '', '', coalesce(sum(dur), 0)::BIGINT FROM device_task
  WHERE core <> 'COMMUNICATION'
"""


class Counts:
    """Rows of a store by what they are."""

    def __init__(self, rows):
        self.rows = {tuple(row[:3]): int(row[3]) for row in rows}

    def of(self, what, kind=None, category=None):
        """The sum of those that fit; None fits all."""
        return sum(
            count
            for (row_what, row_kind, row_category), count in self.rows.items()
            if row_what == what
            and (kind is None or row_kind == kind)
            and (category is None or row_category == category)
        )

    def on(self, *kinds):
        """Slices on tracks of these kinds."""
        return sum(self.of("slices", kind) for kind in kinds)


@pytest.fixture(name="count")
def make_count(run_sonde):
    def counted(path):
        done = run_sonde("query", path, COUNTS, "--format", "csv")
        assert done.returncode == 0, done.stderr
        return Counts(list(csv.reader(io.StringIO(done.stdout)))[1:])

    return counted


def written(folder, form):
    """The one trace that the form wrote."""
    if form == "kineto":
        (path,) = folder.rglob("*.pt.trace.json")
    elif form == "db":
        (path,) = folder.rglob("ascend_pytorch_profiler*.db")
    else:
        (path,) = folder.rglob("ASCEND_PROFILER_OUTPUT")
    return path


def left_out(stderr):
    """{what: count} of the sentence on rows that the form has no place for."""
    found = {}
    for line in stderr.splitlines():
        if "has no place for all of the trace: " not in line:
            continue
        for count, what in re.findall(r"(\d+) ([^,]+)", line.split("of the trace: ")[1]):
            found[what] = found.get(what, 0) + int(count)
    return found


def keeps_in_all_forms(given, made, lost):
    """What every form has a place for."""
    hosts = [kind for kind in HOST if kind != "gc"]
    lost_slices = sum(count for what, count in lost.items() if what.startswith("slices "))
    assert made.of("operations") == given.of("operations")
    # Of a task with a kernel's type a database may hold nothing else: a timeline knows only types.
    unnamed = given.of("unnamed kernels")
    assert 0 <= made.of("kernels") - given.of("kernels") <= unnamed
    if not unnamed:
        assert made.of("kernel time") == pytest.approx(given.of("kernel time"), rel=1e-4)
    assert made.of("steps") == given.of("steps")
    assert made.of("stacks") == given.of("stacks")
    assert made.of("memory events") == given.of("memory events")
    assert made.of("arrows", "forward_backward") == given.of("arrows", "forward_backward")
    lost_counters = sum(count for what, count in lost.items() if what.startswith("values "))
    assert made.of("counters") + lost_counters == given.of("counters")
    assert made.of("counters", "identifiers") == 0
    return hosts, lost_slices


def keeps_in_text(given, made, lost):
    keeps_in_all_forms(given, made, lost)
    # A timeline has a place for everything that lies on a row.
    assert set(lost) <= {"marks without a row"}
    for kind in ("thread", "module", "python", "communication_plane"):
        assert made.of("slices", kind) == given.of("slices", kind), kind
    # A kernel of NCCL is the operation, too: that has a row of its group there, and is the one row
    # of both among the kernels, so that the task is reported without its core.
    both = given.of("operations on streams")
    assert made.on("communication_group") == given.on("communication_group") + both
    # A task lies on its stream, whether a plane has it or not. One that ran in parts is these
    # parts there, as in the vendor's own timelines: the whole of them is merged.
    assert made.of("other tasks") + made.of("kernels") + given.of("wholes", category="") == (
        given.of("other tasks") + given.of("kernels") + both
    )
    assert made.of("transferred") == given.of("transferred")
    if given.of("calls"):  # else launches stand for them
        for level in {kind for what, kind, _ in given.rows if what == "calls"}:
            assert made.of("calls", level) == given.of("calls", level), level
    assert made.of("arrows", "enqueue_dequeue") == given.of("arrows", "enqueue_dequeue")
    # Those to planes are recorded by the arrow to their operation.
    if given.of("calls"):
        arrows = given.of("arrows", "host_to_device") - given.of("on planes", category="arrows")
        arrows -= given.of("wholes", category="arrows")  # their parts have arrows of their own
        assert made.of("arrows", "host_to_device") == arrows
    assert made.of("memory blocks") == given.of("memory blocks")
    assert made.of("marks") + sum(lost.values()) == given.of("marks")
    assert made.of("hardware counters") == given.of("hardware counters")


def keeps_in_db(given, made, lost):
    _, lost_slices = keeps_in_all_forms(given, made, lost)
    for kind in ("module", "python"):
        assert made.of("slices", kind) == given.of("slices", kind), kind
    # A kernel of NCCL is the operation, too: that has rows of its own there.
    both = given.of("operations on streams")
    for kind in ("communication_plane", "communication_group"):
        assert made.on(kind) == given.on(kind) + both, kind
    # Calls of a runtime are CANN_API there; where nothing was recorded launches stand for them.
    calls = made.of("calls") if not given.of("calls") else 0
    runtime = sum(given.of("slices", "thread", c) for c in ("cuda_runtime", "cuda_driver"))
    assert calls == 0 or calls >= runtime
    on_threads = given.of("slices", "thread") - runtime
    assert made.of("slices", "thread") + lost_slices >= on_threads
    assert made.of("transferred") == given.of("transferred")
    # Without planes each operation of communication gets a task of its own, which readers join by.
    tasks = given.of("other tasks")
    if given.of("slices", "communication_plane"):
        assert made.of("other tasks") == tasks
    else:
        assert made.of("other tasks") - made.of("on planes") <= tasks + given.of("operations")
    if given.of("calls"):
        for level in {kind for what, kind, _ in given.rows if what == "calls"}:
            assert made.of("calls", level) == given.of("calls", level), level
    assert made.of("arrows", "enqueue_dequeue") == given.of("arrows", "enqueue_dequeue")
    assert made.of("memory blocks") == given.of("memory blocks")
    assert made.of("marks") == given.of("marks")
    assert made.of("hardware counters") == given.of("hardware counters")


def keeps_in_kineto(given, made, lost):
    keeps_in_all_forms(given, made, lost)
    assert made.of("marks") >= given.of("marks")  # begin and end of the recording are two
    for kind in ("module", "python", "communication_plane"):
        assert made.of("slices", kind) + made.of("slices", "stream", kind) >= 0
    for category in ("task_queue", "enqueue", "dequeue", "cuda_runtime", "cuda_driver"):
        if category == "cuda_runtime" and not given.of("slices", "thread", category):
            continue  # launches stand for calls that were not recorded
        assert made.of("slices", None, category) == given.of("slices", None, category), category
    calls = given.of("calls")
    assert made.of("slices", None, "privateuse1_runtime") >= calls
    # Waits and events of queues are no work: slices, of which no reader makes kernels.
    copies = made.of("other tasks")
    waits = made.of("slices", None, "cuda_sync") - given.of("slices", None, "cuda_sync")
    planes = given.of("on planes", category="")
    assert copies + waits + planes == given.of("other tasks")


CHECKS = {"text": keeps_in_text, "db": keeps_in_db, "kineto": keeps_in_kineto}


def form_of(name):
    if name.startswith("kineto"):
        return "kineto"
    return "text" if "/text/" in name else "db"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SETS)
def test_rows_of_both_stores(shared_data, tmp_path, run_sonde, count, name, form):
    span = shared_data / name
    if not span.exists():
        pytest.skip(f"needs data: no {span}")
    if form == form_of(name):
        pytest.skip("comes out as it was")
    done = run_sonde("analyse", span, "--export-type", form, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    CHECKS[form](count(span), count(written(tmp_path / "out", form)), left_out(done.stderr))


def test_counters_of_a_database_are_measured_alike(shared_data, tmp_path, run_sonde):
    """Text to database and back to rows: units are those of the tables."""
    name = "ascend_pt/text/level1/rank0_ascend_pt"
    done = run_sonde("analyse", shared_data / name, "--export-type", "db", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    database = written(tmp_path / "out", "db")

    def series(path, sql):
        rows = run_sonde("query", path, sql, "--format", "csv")
        assert rows.returncode == 0, rows.stderr
        return sorted(float(line) for line in rows.stdout.split()[1:])

    sql = ("SELECT value * {} AS v FROM counter JOIN track USING (track_id) WHERE name = '{}' "
           "ORDER BY ts")  # fmt: skip
    pairs = {
        "HBM 0/Read Read(MB/s)": ("HBM 0 read B/s", 1024 * 1024),
        "APP/HBM KB": ("NPU MEM app HBM B", 1024),
        "LLC 0 Read/Hit Rate Hit Rate(%)": ("LLC 0 read Hit Rate %", 100),
        "NPU Module HCCL B": ("NPU Module HCCL B", 1),
        "AI Core Freq MHz": ("AI Core Freq MHz", 1),
        "read_bandwidth[acc_id 3] value": ("Acc PMU 3 read_bandwidth", 1),
    }
    for text, (table, factor) in pairs.items():
        expected = series(shared_data / name, sql.format(factor, text))
        assert expected, text
        assert series(database, sql.format(1, table)) == pytest.approx(expected), text


def test_waits_are_no_work_in_kineto(shared_data, tmp_path, run_sonde):
    """Computing of the Ascend text set is 6.8 % of its time, however the trace is written."""
    name = "ascend_pt/text/level1/rank0_ascend_pt"
    done = run_sonde(
        "analyse", shared_data / name, "--export-type", "kineto", "-o", tmp_path / "out"
    )
    assert done.returncode == 0, done.stderr
    text = written(tmp_path / "out", "kineto").read_text(encoding="utf-8")
    assert '"backend": "hccl"' in text
    assert "gloo" not in text
