"""Lists and tables of a capture: torch's objects, with every digit of the times."""

import json
import os

import pytest

torch = pytest.importorskip("torch")

from sonde import torch as st  # noqa: E402
from sonde.session import _export  # noqa: E402
from sonde.torch import _tables  # noqa: E402
from torch.autograd import profiler_util  # noqa: E402

ROW = '{"ph":"X","cat":"cpu_op","name":"%s","pid":7,"tid":7,"ts":%s,"dur":%s,"args":{%s}}'


@pytest.fixture(name="read")
def make_reader(tmp_path, monkeypatch):
    """read(rows, ...) gives the events of a trace with these lines, as the exporter writes them."""

    def read(rows, **shown):
        path = tmp_path / "a.pt.trace.json"
        lines = ",\n".join(rows)
        path.write_text(f'{{"traceEvents": [\n{lines}\n]}}')
        monkeypatch.setattr(_tables._export, "kineto_trace", lambda span, folder: str(path))
        return _tables.read(["a span"], _tables.Shown(**shown))

    return read


def test_times_of_the_epoch_keep_their_nanoseconds(read):
    outer, inner, next_one = read(
        [
            ROW % ("next", "1795413005901793.080", "0.001", ""),
            ROW % ("inner", "1795413005901792.079", "1", ""),
            ROW % ("outer", "1795413005901792.079", "1.001", ""),
        ]
    )
    assert [outer.name, inner.name, next_one.name] == ["outer", "inner", "next"]
    assert inner.cpu_parent is outer and next_one.cpu_parent is None
    assert outer.self_cpu_time_total == pytest.approx(0.001, abs=1e-9)
    assert next_one.time_range.start == 1.001
    assert _export.nanoseconds("-0.5") == -500
    assert _export.nanoseconds(12) == 12000


def test_times_of_memory_keep_their_nanoseconds(tmp_path):
    table = tmp_path / "operator_memory.csv"
    table.write_text(
        "Name,Size(KB),Allocation Time(us),Release Time(us),Device Type\n"
        "aten::empty,1,1795413005901792.079\t,1795413005901792.081\t,NPU:0\n"
    )
    assert _export._memory_events(str(table), None) == [
        (1795413005901792079, 1024),
        (1795413005901792081, -1024),
    ]


def test_memory_counts_where_it_was_asked_for(read):
    memory = (
        '{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":7,"tid":7,"ts":%s,"args":%s}'
    )
    rows = [
        ROW % ("outer", "100.000", "10", ""),
        ROW % ("inner", "101", "1", ""),
        memory % ("101.500", '{"Bytes": 64, "Device Type": 0}'),
        memory % ("105", '{"Bytes": -16, "Device Type": 1}'),
        memory % ("90.5", '{"Bytes": 8, "Device Type": 0}'),
    ]
    outside, outer, inner = read(rows, memory=True)
    assert (outside.name, outside.cpu_memory_usage, outside.time_range.start) == ("[memory]", 8, 0)
    assert (outer.cpu_memory_usage, outer.self_cpu_memory_usage) == (64, 0)
    assert (outer.device_memory_usage, inner.cpu_memory_usage) == (-16, 64)
    assert [event.cpu_memory_usage for event in read(rows)] == [0, 0]


def test_flops_by_the_formulas_of_torch(read):
    dims = {"aten::mm": [[2, 3], [3, 5]], "aten::bmm": [[7, 2, 3], [7, 3, 5]],
            "aten::baddbmm": [[1], [7, 2, 3], [7, 3, 5]], "aten::add": [[4, 6], []],
            "aten::cat": [[[1, 2], [3, 4]], []], "aten::addmm": []}  # fmt: skip
    rows = [ROW % (name, 10 * i, 1, f'"Input Dims": {json.dumps(shape)}')
            for i, (name, shape) in enumerate(dims.items())]  # fmt: skip
    events = read(rows, shapes=True, flops=True)
    assert [event.flops for event in events] == [60, 420, 420, 24, 0, 0]
    assert events[4].input_shapes == [[], []]  # a list of tensors has no shape
    assert {event.flops for event in read(rows)} == {0}


def test_a_torch_that_knows_fewer_fields(read, monkeypatch):
    class Old(profiler_util.FunctionEvent):
        def __init__(self, id, name, thread, start_us, end_us, fwd_thread=None, input_shapes=None,
                     stack=None, scope=0, use_device=None, cpu_memory_usage=0,
                     device_memory_usage=0, sequence_nr=-1, device_index=0,
                     device_resource_id=None, flops=None, trace_name=None):  # fmt: skip
            super().__init__(id, name, thread, start_us, end_us, fwd_thread=fwd_thread,
                             input_shapes=input_shapes, stack=stack, scope=scope, flops=flops,
                             sequence_nr=sequence_nr, trace_name=trace_name)  # fmt: skip

    monkeypatch.setattr(profiler_util, "FunctionEvent", Old)
    (event,) = read([ROW % ("aten::add", "1.5", "2", '"Sequence number": 3, "Fwd thread id": 0')])
    assert type(event) is Old and event.sequence_nr == 3
    assert "aten::add" in read([ROW % ("aten::add", "1", "2", "")]).key_averages().table()


def test_stacks_of_backward_are_those_of_forward(read):
    numbered = '"Sequence number": 4, "Fwd thread id": %d, "Call stack": "%s"'
    forward, backward, inside = read(
        [
            ROW % ("aten::mul", "1", "2", numbered % (0, "model.py(3): forward;main.py(9): main")),
            ROW % ("MulBackward0", "5", "4", numbered % (1, "")),
            ROW % ("aten::mul", "6", "1", ""),
        ],
        stacks=True,
    )
    assert forward.stack == ["model.py(3): forward", "main.py(9): main"]
    assert backward.scope == 1 and backward.stack == forward.stack == inside.stack
    assert inside.cpu_parent is backward


def test_an_empty_capture_has_empty_tables(read):
    events = read([])
    assert events == [] and events.key_averages().table() == ""


def test_names_of_files_follow_the_interface_that_was_called(tmp_path, monkeypatch, sonde_command):
    monkeypatch.chdir(tmp_path)
    switches = st._ExperimentalConfig(aic_metrics=st.AiCMetrics.AiCoreNone)
    with st.profile(with_stack=True, experimental_config=switches) as prof:
        torch.ones(300, 300) @ torch.ones(300, 300)
    prof.export_stacks("theirs.txt")
    prof.export_stacks(path="torch.txt", metric="self_cpu_time_total")
    prof.export_chrome_trace(path="trace.json")
    names = {name for name in os.listdir() if "." in name}
    assert names == {"theirs.log", "torch.txt", "trace.json"}
    assert (tmp_path / "theirs.log").read_text() == (tmp_path / "torch.txt").read_text() != ""
    rows = prof.key_averages(group_by_stack_n=1)
    assert any(row.key == "aten::mm" and row.stack for row in rows)
    assert prof.events() is prof.events()
