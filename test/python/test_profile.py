"""The profiler API while torch runs: schedules, captures, handlers, what stays on disk."""

import collections
import contextlib
import gc
import json
import os
import struct
import subprocess
import threading
import time
from pathlib import Path

import capture_reader
import pytest
from conftest import ROOT

torch = pytest.importorskip("torch")

from sonde import _native  # noqa: E402
from sonde import mstx as st_mstx  # noqa: E402
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


def warned(capsys):
    """Texts but the one about a recording that ends without a schedule."""
    return [text for text in texts(capsys) if not text.startswith("Incorrect schedule: Stop")]


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


FORKING = """
import os, sys, torch
from sonde.torch import profile
prof = profile()
prof.start()
if os.fork() == 0:
    sys.exit(0)
os.wait()
torch.ones(2) + 1
prof.stop()
print([event.name for event in prof.events()].count("aten::add"))
"""


def test_a_forked_child_leaves_its_parents_data_alone(run_hooked):
    done = run_hooked("-c", FORKING, PYTHONPATH=str(ROOT / "python"), SONDE_ATTACH=None)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "1"
    assert done.stdout.count("Stop profiler") == 1, "the child has none to stop"


GROUPS = """
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore
from sonde.session import _metadata
dist.init_process_group("fake", rank=0, world_size=8, store=FakeStore())
group = dist.new_group([0, 1])
_metadata.note_groups()
dist.destroy_process_group(group)
dist.new_group([0, 2, 4])
print([group["global_ranks"] for group in _metadata.parallel_groups().values()][1:])
"""


def test_groups_made_after_others_were_destroyed_are_noted(run_hooked):
    done = run_hooked("-c", GROUPS, PYTHONPATH=str(ROOT / "python"), SONDE_ATTACH=None)
    assert done.stdout.splitlines()[-1] == "[[0, 1], [0, 2, 4]]", done.stderr


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


def test_dynamic_profile(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(dynamic_profile, "_POLL_S", 0.0)
    monkeypatch.setattr(dynamic_profile, "_POLL_LIMITS_S", (0.0, 0.0))
    dynamic_profile.init(str(tmp_path))
    path = tmp_path / "profiler_config.json"
    assert json.loads(path.read_text()) == dynamic_profile.DEFAULTS
    dynamic_profile.set_state({"cur_step": 100})
    config = dict(dynamic_profile.DEFAULTS, prof_dir=str(tmp_path / "out"), start_step=103,
                  active=2, warmup=1, metadata={"why": "test"},
                  activities=["CPU", "CUDA", "GPU"])  # fmt: skip
    path.write_text(json.dumps(config))
    os.utime(path, (1, 1))
    for _ in range(8):
        dynamic_profile.step()
        work()
    spans = list((tmp_path / "out").glob("*_ascend_pt"))
    assert len(spans) == 1
    capture = read(spans[0])
    assert steps_of(capture) == [104, 105]
    assert "'GPU' is none of" in "".join(texts(capsys)), "CUDA is the device"
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


FLOPS_CALLS = (
    ("mm", lambda f, t: f.mm(t(2, 3), t(3, 5)), 2 * 2 * 3 * 5),
    ("mm", lambda f, t: f.mm(input=t(2, 3), mat2=t(3, 5)), 2 * 2 * 3 * 5),
    ("addmm", lambda f, t: f.addmm(t(5), t(2, 3), t(3, 5)), 2 * 2 * 3 * 5),
    ("bmm", lambda f, t: f.bmm(t(7, 2, 3), t(7, 3, 5)), 2 * 7 * 2 * 3 * 5),
    ("matmul", lambda f, t: f.matmul(t(3), t(3)), 2 * 3),
    ("matmul", lambda f, t: f.matmul(t(4, 1, 2, 3), t(6, 3, 5)), 2 * 4 * 6 * 2 * 3 * 5),
    ("linear", lambda f, t: f.nn.functional.linear(t(4, 2, 3), t(5, 3)), 2 * 4 * 2 * 3 * 5),
    ("linear", lambda f, t: f.nn.Linear(3, 5)(t(2, 3)), 2 * 2 * 3 * 5),
)


def test_with_flops(tmp_path, quiet, capsys):
    before = (torch.mm, torch.matmul, torch.nn.functional.linear)
    handler = st.tensorboard_trace_handler(str(tmp_path), analyse_flag=False)
    switches = quiet(mstx=True, mstx_domain_include=["mine"])
    with st.profile(on_trace_ready=handler, with_flops=True, experimental_config=switches) as prof:
        for _, call, _ in FLOPS_CALLS:
            call(torch, torch.ones)
        with pytest.raises(RuntimeError):
            torch.mm(torch.ones(2, 3), torch.ones(2, 3))
        with pytest.raises(TypeError):
            torch.mm(torch.ones(2, 3))
    assert (torch.mm, torch.matmul, torch.nn.functional.linear) == before
    capture = read(prof.span_path)
    begun = [r.name for r in capture.of(capture_reader.SPAN_BEGIN)]
    wrong_call = f"{2 * 2 * 3 * 3}-mm"  # counted before torch refuses it
    assert begun == [f"{flops}-{name}" for name, _, flops in FLOPS_CALLS] + [wrong_call]
    assert {capture.domains[r.domain] for r in capture.of(capture_reader.SPAN_BEGIN)} == {
        "mfu_flops"
    }
    assert len(capture.of(capture_reader.SPAN_END)) == len(begun)
    (line,) = warned(capsys)
    assert line.startswith("Failed to count the FLOPs of mm: ")


def test_with_flops_and_compiled_code(tmp_path, quiet):
    handler = st.tensorboard_trace_handler(str(tmp_path), analyse_flag=False)
    with st.profile(
        on_trace_ready=handler, with_flops=True, experimental_config=quiet(mstx=True)
    ) as prof:
        compiled = torch.compile(lambda a: torch.mm(a, a) + 1, fullgraph=True, backend="aot_eager")
        assert compiled(torch.ones(2, 2)).sum() == 12
    assert not read(prof.span_path).of(capture_reader.SPAN_BEGIN)


def test_with_flops_needs_markers(tmp_path, quiet, capsys):
    handler = st.tensorboard_trace_handler(str(tmp_path), analyse_flag=False)
    with st.profile(on_trace_ready=handler, with_flops=True, experimental_config=quiet()):
        work()
    assert warned(capsys) == [
        "Parameter with_flops has no effect unless mstx or msprof_tx is True."
    ]


def wait_for_samples(prof, count):
    """Until what is being recorded has so many of each kind; half of a piece may be written."""
    deadline = time.monotonic() + 120
    counts = {}
    while len(counts) < 6 or min(counts.values()) < count:
        assert time.monotonic() < deadline, counts
        time.sleep(0.05)
        with contextlib.suppress(KeyError, IndexError, ValueError, struct.error):
            counters = capture_reader.read(prof.span_path).of(capture_reader.COUNTER)
            counts = collections.Counter(record.name for record in counters)


def test_host_systems_are_sampled(tmp_path, quiet, capsys):
    handler = st.tensorboard_trace_handler(str(tmp_path), analyse_flag=False)
    systems = [st.HostSystem.CPU, st.HostSystem.MEM, st.HostSystem.DISK, st.HostSystem.NETWORK]
    switches = quiet(host_sys=[*systems, st.HostSystem.OSRT])
    with st.profile(on_trace_ready=handler, experimental_config=switches) as prof:
        work()
        st_mstx.mark("not wanted")
        wait_for_samples(prof, 3)
    assert warned(capsys) == ["Parameter host_sys: osrt cannot be sampled and is left out."]
    capture = read(prof.span_path)
    counters = capture.of(capture_reader.COUNTER)
    counts = collections.Counter(record.name for record in counters)
    expected = {"CPU Usage(%)", "Memory Usage(%)", "Disk Read(MB/s)", "Disk Write(MB/s)",
                "Network Receive(MB/s)", "Network Send(MB/s)"}  # fmt: skip
    assert set(counts) == expected
    assert all(count >= 3 for count in counts.values()), counts
    assert {capture.domains[record.domain] for record in counters} == {"Host System"}
    assert not capture.of(capture_reader.MARK), "nobody asked for the program's marks"
    assert "sonde-host-sys" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize(
    ("switches", "name"),
    [
        ({"l2_cache": True}, "l2_cache"),
        ({"record_op_args": True}, "record_op_args"),
        ({"op_attr": True, "export_type": [st.ExportType.Db]}, "op_attr"),
        ({"sys_interconnection": True}, "sys_interconnection"),
        ({"profiler_level": st.ProfilerLevel.Level1, "aic_metrics": st.AiCMetrics.L2Cache},
         "aic_metrics"),
    ],
)  # fmt: skip
def test_switches_that_nothing_can_serve(switches, name, tmp_path, capsys):
    handler = st.tensorboard_trace_handler(str(tmp_path), analyse_flag=False)
    switches = {"aic_metrics": st.AiCMetrics.AiCoreNone, **switches}
    config = st._ExperimentalConfig(**switches)
    with st.profile(on_trace_ready=handler, experimental_config=config):
        work()
    assert warned(capsys) == [f"Parameter {name} has no effect: no device here can serve it."]


@pytest.mark.parametrize("level", ["Level1", "Level2"])
def test_default_metrics_are_no_wish(level, tmp_path, capsys):
    handler = st.tensorboard_trace_handler(str(tmp_path), analyse_flag=False)
    config = st._ExperimentalConfig(profiler_level=st.ProfilerLevel[level])
    with st.profile(on_trace_ready=handler, experimental_config=config):
        work()
    assert warned(capsys) == []


def test_local_rank_reaches_the_capture(tmp_path, quiet, monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "3")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    handler = st.tensorboard_trace_handler(str(tmp_path), analyse_flag=False)
    with st.profile(on_trace_ready=handler, experimental_config=quiet()) as prof:
        work()
    metadata = read(prof.span_path).metadata
    assert (metadata["local_rank"], metadata["local_world_size"]) == (3, 4)


@pytest.mark.skipif(
    not hasattr(torch._C._profiler, "_RecordFunctionFast"), reason="older than torch 2.2"
)
def test_compiled_code_knows_of_a_recording(tmp_path, quiet):
    """It names its regions and kernels only while torch's flag reports a running profiler, and by
    a class that looks for torch's profiler itself."""
    flag, names = torch.autograd.profiler, torch._C._profiler
    usual = names._RecordFunctionFast
    handler = st.tensorboard_trace_handler(str(tmp_path), analyse_flag=False)
    with st.profile(on_trace_ready=handler, experimental_config=quiet()) as prof:
        assert flag._is_profiler_enabled
        with names._RecordFunctionFast("a region", keyword_values={"scope": "user_scope"}):
            work()
    assert "a region" in {record.name for record in read(prof.span_path).records}
    assert not flag._is_profiler_enabled and names._RecordFunctionFast is usual
    with torch.profiler.profile():
        with st.profile(on_trace_ready=handler, experimental_config=quiet()):
            pass
        assert flag._is_profiler_enabled, "torch's own goes on"
    assert not flag._is_profiler_enabled


# Torch has a compiler to find, and code that it made for another process is available.
COMPILED = """
import sys
import torch
from sonde import torch as st
import capture_reader

@torch.compile
def fused(x):
    return torch.sin(x) * torch.cos(x) + 1

x = torch.ones(64, 64)
with st.profile(on_trace_ready=st.tensorboard_trace_handler("early", analyse_flag=False)) as early:
    first = fused(x)  # loaded while it records
with st.profile(on_trace_ready=st.tensorboard_trace_handler("late", analyse_flag=False)) as late:
    assert torch.equal(fused(x), first)

def kernels(prof):
    capture = capture_reader.read(prof.span_path)
    return [r.name for r in capture.of(capture_reader.OP) if "fused" in r.name]

assert kernels(early) == kernels(late) != [], (kernels(early), kernels(late))
name, = kernels(late)
from torch._inductor.codecache import PyCodeCache
modules = getattr(PyCodeCache, "modules", None) or PyCodeCache.cache.values()
loaded, = [vars(module)[name] for module in modules if name in vars(module)]
assert type(loaded) is type(len), "what was generated is left as it was"
print(name)
"""


def test_generated_kernels_are_operators(prepared, tmp_path):
    environment = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "cache"))
    places = [ROOT / "python", Path(capture_reader.__file__).parent]
    environment["PYTHONPATH"] = os.pathsep.join(map(str, places))
    environment.pop("SONDE_ATTACH", None)
    names = set()
    for _ in range(2):  # compiled, then taken from torch's cache
        done = subprocess.run(
            [prepared.python, "-c", COMPILED],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        names.add(done.stdout.splitlines()[-1])
    assert len(names) == 1 and names.pop().startswith("cpp_fused_")
