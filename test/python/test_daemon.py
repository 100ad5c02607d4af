"""Recording on request of msMonitor's daemon: what is asked for is recorded."""

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import capture_reader
import pytest
from conftest import ROOT
from daemon import HEAD, Daemon
from test_recorded_programs import captures_below, names_of, run, steps_of

sys.path.insert(0, str(ROOT / "python"))
from sonde._inject import _daemon  # noqa: E402

# As `dyno nputrace --start-step -1 --iterations 2 ...` writes a request, with what dynolog adds.
REQUEST = """ACTIVITIES_LOG_FILE=captures
PROFILE_START_ITERATION=0
PROFILE_START_STEP=-1
ACTIVITIES_ITERATIONS=2
PROFILE_RECORD_SHAPES=true
PROFILE_PROFILE_MEMORY=false
PROFILE_WITH_STACK=false
PROFILE_WITH_FLOPS=false
PROFILE_WITH_MODULES=true
PROFILE_ACTIVITIES=CPU,NPU
PROFILE_ANALYSE=false
PROFILE_PROFILER_LEVEL=Level1
PROFILE_AIC_METRICS=PipeUtilization
PROFILE_L2_CACHE=false
PROFILE_OP_ATTR=false
PROFILE_MSPROF_TX=false
PROFILE_GC_DETECT_THRESHOLD=None
PROFILE_DATA_SIMPLIFICATION=true
PROFILE_EXPORT_TYPE=Text
PROFILE_HOST_SYS=None
PROFILE_SYS_IO=false
PROFILE_SYS_INTERCONNECTION=false
PROFILE_MSTX_DOMAIN_INCLUDE=None
PROFILE_MSTX_DOMAIN_EXCLUDE=None
REQUEST_TRACE_ID=77
"""

PROGRAM = """
import os, sys, time
import torch

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
end = time.monotonic() + 120
while time.monotonic() < end and not os.path.isdir("captures"):
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    time.sleep(0.05)
for _ in range(4):
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
print("to the end")
"""

TORCH = """
import time
import torch
end = time.monotonic() + 120
while time.monotonic() < end:
    time.sleep(0.1)
"""


@pytest.fixture(name="place")
def make_place(monkeypatch):
    """Where the sockets lie: paths of sockets are short."""
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("KINETO_IPC_SOCKET_DIR", folder)
        yield Path(folder)


@pytest.fixture(name="start")
def make_starter(place):
    """start(answers...) returns a daemon, which ends with the test."""
    daemons = []

    def start(*answers):
        daemons.append(Daemon(place, answers))
        return daemons[-1]

    yield start
    for daemon in daemons:
        daemon.close()


def program_in(folder, text=PROGRAM):
    path = folder / "program.py"
    path.write_text(text)
    return path


def run_with_daemon(folder, **variables):
    return run(folder, [program_in(folder)], **{"MSMONITOR_USE_DAEMON": "1"} | variables)


def test_what_the_daemon_is_asked_for_is_recorded(tmp_path, place, start):
    """Two whole steps, with everything as it was asked; the program knows nothing of it."""
    daemon = start(REQUEST)
    done = run_with_daemon(tmp_path)
    assert (done.returncode, done.stdout) == (0, "to the end\n"), done.stderr
    assert done.stderr.count("asks the daemon 'dynolog' when to record") == 1
    assert "has no effect" not in done.stderr
    ((process, capture),) = captures_below(tmp_path).items()
    steps = [step for step, finished in steps_of(capture) if finished]
    assert len(steps) == 2 and steps[1] == steps[0] + 1
    assert "aten::addmm" in names_of(capture, capture_reader.OP)
    config = capture.metadata["profiler_config"]
    assert config["common_config"]["record_shapes"]
    assert config["experimental_config"]["_profiler_level"] == "Level1"
    assert config["experimental_config"]["_aic_metrics"] == "ACL_AICORE_PIPE_UTILIZATION"
    assert daemon.of("ctxt") == [(0, process, 0)]
    kinds, count, job, *processes = daemon.of("req")[0]
    assert (kinds, job, count) == (3, 0, len(processes))
    assert processes[:2] == [process, os.getpid()]
    assert [path.name for path in place.iterdir()] == ["dynolog"]


def test_torch_itself_speaks_so_to_the_daemon(tmp_path, start):
    """The test's daemon understands libkineto's messages; only the kinds differ."""
    daemon = start()
    words = [sys.executable, str(program_in(tmp_path, TORCH))]
    variables = os.environ | {"KINETO_USE_DAEMON": "1"}
    with subprocess.Popen(words, env=variables, stderr=subprocess.DEVNULL) as program:
        asked = daemon.wait_for("req")
        program.kill()
    if not asked:
        pytest.skip("needs a torch whose libkineto asks a daemon")
    _, count, job, *processes = daemon.of("req")[0]
    assert (count, job) == (len(processes), 0)
    assert processes[:2] == [program.pid, os.getpid()]
    assert _daemon._ancestors() == processes[1 : 1 + len(_daemon._ancestors())]


def test_a_daemon_that_comes_later(start, capsys):
    """Its absence is reported once; it is asked until it is there, and again after it went."""
    watch = _daemon.Watch(3)
    try:
        for _ in range(2):
            watch.poll()
        assert capsys.readouterr().err.count("no daemon 'dynolog' listens") == 1
        first = start(REQUEST)
        watch.poll()
        assert first.wait_for("ctxt") and first.of("ctxt")[0][0] == 3
        file = os.path.join(watch.folder, _daemon.CONFIG_NAME)
        assert os.path.getsize(file) > 0
        assert os.stat(watch.folder).st_mode & 0o777 == 0o700
        first.close()
        watch.poll()
        second = start()
        watch.poll()
        assert second.wait_for("ctxt")
    finally:
        watch.end()
    assert not os.path.exists(watch.folder)


def test_names_without_a_file(monkeypatch):
    """As the daemon has them: a zero before and behind."""
    monkeypatch.delenv("KINETO_IPC_SOCKET_DIR", raising=False)
    try:
        daemon = Daemon()
    except OSError:
        pytest.skip("needs a machine on which no dynolog runs")
    try:
        client = _daemon.Client()
        client.register(1)
        assert daemon.wait_for("ctxt")
        assert daemon.of("ctxt") == [(1, os.getpid(), 0)]
        client.close()
    finally:
        daemon.close()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("PROFILE_START_STEP=x", "PROFILE_START_STEP=x is not possible"),
        ("PROFILE_START_STEP=5\nPROFILE_WITH_STACK=maybe", "PROFILE_WITH_STACK=maybe"),
        ("PROFILE_START_STEP=5\nPROFILE_RANK_LIST=1,b", "PROFILE_RANK_LIST=1,b"),
        ("PROFILE_START_TIME=0\nACTIVITIES_DURATION_MSECS=500", "names no step"),
        ("\0\n===\n", "names no step"),
    ],
)
def test_requests_that_are_ignored(place, capsys, text, reason):
    """One line each; the file that is watched stays as it was."""
    watch = _daemon.Watch(0)
    watch._take(text)
    assert os.listdir(watch.folder) == []
    watch.end()
    assert reason in capsys.readouterr().err


def test_every_key_has_its_place():
    """Those of the vendor's list; what is none of them is named."""
    text = ("PROFILE_START_STEP=10\nACTIVITIES_LOG_FILE=/tmp/p\nACTIVITIES_ITERATIONS=3\n"
            "WARMUP_ITERATIONS=1\nPROFILE_ACTIVITIES=NPU\nPROFILE_IS_RANK=true\n"
            "PROFILE_RANK_LIST=0,2\nPROFILE_ASYNC_MODE=true\nPROFILE_MSTX=true\n"
            "PROFILE_EXPORT_TYPE=Text,Db\nPROFILE_GC_DETECT_THRESHOLD=0.5\n"
            "PROFILE_MSTX_DOMAIN_INCLUDE=a,b\nPROFILE_HOST_SYS=cpu,mem\nPROFILE_NEW=1")  # fmt: skip
    config, unknown = _daemon.read(text)
    assert unknown == ["PROFILE_NEW"]
    assert config == {
        "start_step": 10, "prof_dir": "/tmp/p", "active": 3, "warmup": 1, "activities": ["NPU"],
        "is_rank": True, "rank_list": [0, 2], "async_mode": True,
        "experimental_config": {"mstx": True, "export_type": ["text", "db"],
                                "gc_detect_threshold": 0.5, "mstx_domain_include": ["a", "b"],
                                "host_sys": ["cpu", "mem"]},
    }  # fmt: skip
    assert len(_daemon._KEYS) + len(_daemon._EXPERIMENTAL) == 28


def test_answers_of_others_are_not_heard(place, monkeypatch):
    """Garbled ones; of another user (whom only root can be here)."""
    client = _daemon.Client()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.sendto(b"short", client._name)
        assert client._receive() == (b"", b"")
        other.sendto(HEAD.pack(9, b"req") + b"a\nb", client._name)
        assert client._receive() == (b"req", b"a\nb")
        monkeypatch.setattr(os, "getuid", lambda: 12345)
        allowed = os.geteuid() == 0
        other.sendto(HEAD.pack(1, b"req") + b"x", client._name)
        assert client._receive() == ((b"req", b"x") if allowed else (b"", b""))
    client.close()


def test_npu_monitor_is_named(place, capsys):
    watch = _daemon.Watch(0)
    watch._take("NPU_MONITOR_START=true\nREPORT_INTERVAL_S=60\n")
    watch.end()
    assert "dyno npu-monitor has no effect" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({"MSMONITOR_USE_DAEMON": "1"}, True),
        ({"MSMONITOR_USE_DAEMON": "0"}, False),
        ({"KINETO_USE_DAEMON": "1"}, False),  # torch's own, where the program is for no NPU
        ({}, False),
    ],
)
def test_when_the_daemon_is_asked(monkeypatch, variables, wanted):
    for name in ("MSMONITOR_USE_DAEMON", "KINETO_USE_DAEMON"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setitem(sys.modules, "torch_npu", None)
    assert _daemon.is_wanted(lambda text: None) is wanted


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"MSMONITOR_USE_DAEMON": "1"}, "no request of the daemon came while the program ran"),
        ({"PROF_CONFIG_PATH": "asked"}, "nothing was asked for in"),
    ],
)
def test_the_last_line_says_that_nothing_was_asked_for(
    sonde_run, need_torch, tmp_path, variables, reason
):
    (tmp_path / "asked").mkdir()
    (tmp_path / "sockets").mkdir()  # in which no daemon listens
    program = "import torch\ntorch.ones(3) + 1"
    done = sonde_run(program, KINETO_IPC_SOCKET_DIR=str(tmp_path / "sockets"), **variables)
    assert done.returncode == 0, done.stderr
    assert f"sonde: nothing was recorded: {reason}" in done.stderr.splitlines()[-1]
