"""The profiler API while torch runs: schedules, captures, handlers, what stays on disk."""

import gc
import json
import os

import capture_reader
import pytest

torch = pytest.importorskip("torch")

from sonde import _native  # noqa: E402
from sonde import torch as st  # noqa: E402
from sonde.torch import dynamic_profile  # noqa: E402


@pytest.fixture(name="quiet")
def make_quiet():
    def make(**switches):
        return st._ExperimentalConfig(aic_metrics=st.AiCMetrics.AiCoreNone, **switches)

    return make


def work():
    return torch.ones(4).add(1.0).sum().item()


def texts(capsys):
    lines = capsys.readouterr().out.splitlines()
    return [line.split("profiler.py: ", 1)[-1] for line in lines]


def read(span):
    capture = capture_reader.read(span)
    capture.metadata = {key: json.loads(text) for key, text in capture.metadata.items()}
    return capture


def steps_of(capture):
    return [step.sequence for step in capture.of(capture_reader.STEP)]


def test_cycles_give_one_capture_each(tmp_path, quiet, capsys):
    spans = []
    handler = st.tensorboard_trace_handler(str(tmp_path), "worker", analyse_flag=False)

    def ready(prof):
        spans.append(prof.span_path)
        handler(prof)

    plan = st.schedule(wait=1, warmup=1, active=2, repeat=2)
    with st.profile(schedule=plan, on_trace_ready=ready, experimental_config=quiet()) as prof:
        for _ in range(10):
            work()
            prof.step()
    assert [steps_of(read(span)) for span in spans] == [[2, 3], [6, 7]]
    for span in spans:
        assert os.path.dirname(span) == str(tmp_path)
        name = os.path.basename(span)
        assert name.startswith(f"worker_{os.getpid()}_") and name.endswith("_ascend_pt")
        assert {"aten::add", "aten::sum"} <= {r.name for r in read(span).of(capture_reader.OP)}
    prof.step()
    assert texts(capsys) == ["Profiler is stopped, step takes no effect!"]


def test_without_schedule_no_step_is_marked(tmp_path, quiet):
    handler = st.tensorboard_trace_handler(str(tmp_path), analyse_flag=False)
    with st.profile(on_trace_ready=handler, experimental_config=quiet(), record_shapes=True) as p:
        work()
        p.step()
        work()
    capture = read(p.span_path)
    assert steps_of(capture) == []
    assert len(capture.named("aten::add")) == 2
    assert capture.metadata["profiler_config"]["common_config"]["schedule"] == {}


def test_stop_in_warmup_leaves_nothing(tmp_path, quiet, capsys):
    handler = st.tensorboard_trace_handler(str(tmp_path), analyse_flag=False)
    plan = st.schedule(wait=0, warmup=2, active=1)
    with st.profile(schedule=plan, on_trace_ready=handler, experimental_config=quiet()):
        work()
    assert texts(capsys) == [
        "Incorrect schedule: Stop profiler while current state is WARMUP "
        "which will result in empty parsed data."
    ]
    assert list(tmp_path.iterdir()) == []


def test_metadata_reaches_the_capture(tmp_path, quiet):
    handler = st.tensorboard_trace_handler(str(tmp_path), analyse_flag=False)
    prof = st.profile(
        on_trace_ready=handler, experimental_config=quiet(), custom_trace_id_callback=lambda: "id-1"
    )
    prof.start()
    prof.add_metadata("team", "blue")
    prof.add_metadata_json("distributed_args", '{"world_size": 4}')
    prof.stop()
    metadata = read(prof.span_path).metadata
    assert metadata["user_metadata"] == {"team": "blue", "distributed_args": {"world_size": 4}}
    assert metadata["trace_id"] == "id-1" == prof.get_trace_id()
    assert metadata["torch_version"] == str(torch.__version__)


def test_export_only_data_goes_with_the_object(tmp_path, quiet, monkeypatch):
    monkeypatch.chdir(tmp_path)
    prof = st.profile(experimental_config=quiet())
    assert prof.profiler is None
    prof.start()
    work()
    prof.stop()
    assert os.path.dirname(prof.span_path) == str(tmp_path / "export_only_prof_dir")
    assert len(read(prof.span_path).named("aten::add")) == 1
    del prof
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_kineto_profile(tmp_path, quiet, monkeypatch):
    monkeypatch.chdir(tmp_path)
    prof = st._KinetoProfile(experimental_config=quiet())
    prof.start()
    work()
    assert prof.profiler is prof
    prof.stop()
    assert prof.profiler is None
    assert len(read(prof.span_path).named("aten::add")) == 1


def test_two_at_once_is_an_error_line(tmp_path, quiet, capsys):
    handler = st.tensorboard_trace_handler(str(tmp_path), analyse_flag=False)
    with st.profile(on_trace_ready=handler, experimental_config=quiet()) as first:
        second = st.profile(on_trace_ready=handler, experimental_config=quiet())
        second.start()
        second.stop()
        work()
    shown = texts(capsys)
    assert shown[0].startswith("Call start failed. Exception: ")
    assert len(read(first.span_path).named("aten::add")) == 1


def test_an_unwritable_folder_is_an_error_line(tmp_path, quiet, capsys):
    (tmp_path / "file").write_text("")
    st.tensorboard_trace_handler(str(tmp_path / "file"), analyse_flag=False)
    with st.profile(on_trace_ready=lambda prof: None, experimental_config=quiet()):
        work()
    shown = texts(capsys)
    assert any(line.startswith("Call ") and str(tmp_path / "file") in line for line in shown)


def test_switches_without_a_device_warn(tmp_path, quiet, capsys):
    handler = st.tensorboard_trace_handler(str(tmp_path), analyse_flag=False)
    with st.profile(on_trace_ready=handler, experimental_config=quiet(sys_io=True)):
        pass
    assert texts(capsys) == [
        "Parameter sys_io has no effect: no device here can serve it.",
        "Incorrect schedule: Stop profiler while current state is RECORD "
        "which may result in incomplete parsed data.",
    ]


def test_schedules_and_activities_of_torch_are_understood(tmp_path, quiet, capsys):
    handler = st.tensorboard_trace_handler(str(tmp_path), analyse_flag=False)
    with st.profile(
        activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA],
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=1, repeat=1),
        on_trace_ready=handler, experimental_config=quiet(),
    ) as prof:  # fmt: skip
        for _ in range(3):
            work()
            prof.step()
    assert texts(capsys) == []
    assert steps_of(read(prof.span_path)) == [1]


def test_markers_need_their_switch(tmp_path, quiet):
    from sonde import mstx

    handler = st.tensorboard_trace_handler(str(tmp_path), analyse_flag=False)
    found = []
    for switch in (False, True):
        config = quiet(mstx=switch)
        with st.profile(on_trace_ready=handler, experimental_config=config) as prof:
            mstx.mark("here")
        found.append(len(read(prof.span_path).named("here")))
    assert found == [0, 1]


def test_dynamic_profile(tmp_path, monkeypatch):
    monkeypatch.setattr(dynamic_profile, "_POLL_S", 0.0)
    monkeypatch.setattr(dynamic_profile, "_POLL_LIMITS_S", (0.0, 0.0))
    dynamic_profile.init(str(tmp_path))
    path = tmp_path / "profiler_config.json"
    assert json.loads(path.read_text()) == dynamic_profile.DEFAULTS
    dynamic_profile.set_state({"cur_step": 100})
    config = dict(dynamic_profile.DEFAULTS, prof_dir=str(tmp_path / "out"), start_step=103,
                  active=2, warmup=1, metadata={"why": "test"})  # fmt: skip
    path.write_text(json.dumps(config))
    os.utime(path, (1, 1))
    for _ in range(8):
        dynamic_profile.step()
        work()
    spans = list((tmp_path / "out").glob("*_ascend_pt"))
    assert len(spans) == 1
    capture = read(spans[0])
    assert steps_of(capture) == [104, 105]
    assert capture.metadata["user_metadata"] == {"why": "test"}
    log = next((tmp_path / "log").glob("dp_*.log")).read_text()
    assert "Start Dynamic Profiler at 103 step." in log
    assert "Stop Dynamic Profiler at 106 step." in log
    path.write_text(json.dumps(dict(config, start_step=50)))
    dynamic_profile.step()
    log = next((tmp_path / "log").glob("dp_*.log")).read_text()
    assert "config is not effective. The start_step=50, current_step=109" in log


def test_nothing_is_active_afterwards():
    assert _native.recorder().features() == 0
