"""Situations that users of profilers reported in public, as small traces (shared/data/field).

What is right stands in each folder's expected.txt, found by hand from the file itself.
"""

import csv
import io

import pytest

ISSUES = "SELECT code, count, source FROM import_issue"


@pytest.fixture(name="field")
def make_field(run_sonde, shared_data):
    """field("01-...", file, sql) returns the rows, as texts, of that trace."""

    def ask(folder, file, sql):
        path = shared_data / "field" / folder / file
        if not path.is_file():
            pytest.skip(f"{path} is not there")
        done = run_sonde("query", path, sql, "--format", "csv")
        assert done.returncode == 0, done.stderr
        return [tuple(row) for row in csv.reader(io.StringIO(done.stdout, newline=""))][1:]

    return ask


def test_a_task_over_later_ones_of_its_stream(field):
    folder = "01-stream-duration-overruns"
    rows = field(folder, "trace.json", "SELECT sum(dur), max(dur) FROM device_task")
    assert rows == [("3100000", "100000")]  # 31 of 32 tasks of 100 us
    code, count, source = field(folder, "trace.json", ISSUES)[0]
    assert (code, count) == ("device_task_overrun", "1")
    assert "'elementwise_add' of thread 7, process 0" in source
    last = field(folder, "trace.json", "SELECT max(ts + dur) - min(ts) FROM slice")
    assert last == [("4000000",)]


def test_times_of_zero(field):
    folder = "02-kernels-at-time-zero"
    span = field(folder, "trace.json", "SELECT min(ts), max(ts + dur) - min(ts) FROM slice")
    assert span == [("1615207264505000000", "1000000")]
    waits = field(folder, "trace.json", "SELECT wait_ns FROM device_task ORDER BY ts")
    assert waits == [("0",), ("40000",), ("140000",), ("140000",)]
    code, count, source = field(folder, "trace.json", ISSUES + " WHERE code LIKE '%impossible'")[0]
    assert (code, count) == ("trace_time_impossible", "2")
    assert "'gemm_64x64' of thread 7, process 0" in source


@pytest.mark.parametrize(
    ("file", "parents"),
    [
        ("trace.json", {"beta": "alpha", "q": "p", "child": "parent"}),
        ("more.json", {"b": "a", "c": "b", "inner": "outer", "m3": "m2", "m2": "o"}),
    ],
)
def test_equal_times_nest_in_the_order_of_the_file(field, file, parents):
    rows = field(
        "04-equal-times",
        file,
        "SELECT s.name, p.name FROM slice s JOIN slice p ON p.slice_id = s.parent_id",
    )
    assert parents.items() <= dict(rows).items()


def test_no_pid_is_process_0(field):
    rows = field(
        "05-no-pid",
        "trace.json",
        "SELECT p.pid, p.name, t.name, s.name FROM slice s JOIN track USING (track_id) "
        "JOIN thread t USING (thread_id) JOIN process p ON p.process_id = t.process_id "
        "ORDER BY s.ts",
    )
    assert rows == [
        ("0", "Pools", "T0 main", "atlas"),
        ("0", "Pools", "T0 main", "upload"),
        ("0", "Pools", "T1 help", "decode"),
    ]


def test_ids_of_a_joined_file_belong_to_a_rank(field):
    folder, file = "13-merged-ranks", "merged-run1.trace.json.gz"
    launched = field(
        folder,
        file,
        "SELECT d.name, l.name FROM device_task d JOIN slice l ON l.slice_id = d.launch_slice_id",
    )
    assert len(launched) == 6
    for kernel, op in launched:
        assert op == "aten::" + kernel.replace("kernel", "op")
    arrows = field(
        folder,
        file,
        "SELECT a.name, p.name, q.name FROM flow JOIN slice a ON a.slice_id = slice_out "
        "JOIN slice b ON b.slice_id = slice_in JOIN track t ON t.track_id = a.track_id "
        "JOIN process p ON p.process_id = t.process_id JOIN track u ON u.track_id = b.track_id "
        "JOIN process q ON q.process_id = u.process_id",
    )
    assert len(arrows) == 6
    for _, host, device in arrows:
        assert host.split("(")[1][:6] == device.split("(")[1][:6]  # "[TP00]"


def test_devices_of_one_number_in_two_processes_are_two(field):
    folder, file = "13-merged-ranks", "merged-run1.trace.json.gz"
    key = "process_id, device_id"
    devices = field(folder, file, f"SELECT DISTINCT {key} FROM track WHERE kind = 'stream'")
    assert len(devices) == 2 and {device for _, device in devices} == {"0"}
    whole = "sum(ratio_percent), sum(count), count(DISTINCT right(op_type, 5))"
    for table, columns, expected in [
        ("step_trace", "count(*), sum(computing_ns)", ("1", "150000")),
        ("op_statistic", whole, ("100.0", "3", "1")),
        ("overlap_analysis", "count(*), count(DISTINCT start_ns)", ("5", "5")),
        ("device_gaps", "count(*), count(DISTINCT right(next_task, 5))", ("2", "1")),
    ]:
        rows = field(folder, file, f"SELECT {key}, {columns} FROM {table} GROUP BY {key}")
        assert {row[:2] for row in rows} == set(devices), table
        assert {row[2:] for row in rows} == {expected}, table


def test_copies_and_fills_are_no_computing(field):
    kinds = dict(
        field("16-rocm-copies", "trace.json", "SELECT DISTINCT name, task_type FROM device_task")
    )
    for name, task_type in kinds.items():
        if "copyBuffer" in name:
            assert task_type == "MEMCPY"
        elif "fillBuffer" in name:
            assert task_type == "MEMSET"
    computing = field(
        "17-copy-only-gap",
        "trace.json",
        "SELECT sum(dur) FROM device_task WHERE core IS NOT NULL GROUP BY step_id",
    )
    assert set(computing) == {("300000",)}


def test_device_and_stream_are_what_the_events_say(field):
    rows = field(
        "19-other-devices",
        "privateuse1.json",
        "SELECT k.device_id, k.stream_id, k.kind FROM device_task JOIN track k USING (track_id)",
    )
    assert rows == [("0", "3", "stream")]


def test_kernels_of_a_graph_are_told_apart(field):
    rows = field("29-graph-kernels", "trace.json", "SELECT DISTINCT op_type FROM device_task")
    assert sorted(rows) == [
        ("at::native::vectorized_elementwise_kernel",),
        ("cutlass::device_kernel",),
        ("flash::flash_fwd_splitkv_kernel",),
        ("internal::gemvx::kernel",),
        ("triton_poi_fused_mul_silu_3",),
        ("vllm::rms_norm_kernel",),
    ]


def test_a_task_belongs_to_the_step_that_launched_it(field):
    rows = field(
        "20-host-runs-ahead",
        "trace.json",
        "SELECT step_id, sum(dur) FROM device_task GROUP BY 1 ORDER BY 1",
    )
    assert [total for _, total in rows] == ["480000", "480000", "480000"]
