"""Forks, exits in the midst of a session, processes without torch, two ways to attach."""

import subprocess
import sys

import capture_reader
import harness
import pytest

PREAMBLE = f"""
import sys
sys.path.insert(0, {str(harness.ROOT / "test" / "torch")!r})
import os, threading, torch, harness
torch.set_num_threads(1)
harness.attach()
everything = harness.OPS | harness.SHAPES | harness.STACKS | harness.MEMORY | harness.MODULES
"""


@pytest.fixture(name="run")
def make_run(prepared):
    """run(program, words...) gives what it printed."""

    def run(program, *words):
        command = [prepared.python, "-c", PREAMBLE + program, *map(str, words)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert result.returncode == 0, result.stderr[-3000:]
        return result.stdout

    return run


def captures(folder):
    return [capture_reader.read(path.parent) for path in sorted(folder.rglob("SONDE"))]


def test_forked_children_record_on_their_own(run, tmp_path):
    run(
        """
harness.start(everything, sys.argv[1], {"gc_threshold_ms": 0})
net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
net(torch.ones(2, 3))
# The children's own: torch locks each tensor for a moment, and a lock that another thread held at
# the fork stays locked.
mine = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
stop = threading.Event()
def work():
    while not stop.is_set():
        net(torch.ones(2, 3))
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for number in range(3):
    child = os.fork()
    if child == 0:
        for _ in range(100):
            torch.full((number + 1,), 1.0)
        mine(torch.ones(2, 3))
        harness.stop()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
for thread in threads:
    thread.join()
harness.stop()
""",
        tmp_path,
    )
    found = captures(tmp_path)
    assert len(found) == 4
    fulls = sorted(len(capture.named("aten::full")) for capture in found)
    assert fulls == [0, 100, 100, 100]
    children = [capture for capture in found if capture.named("aten::full")]
    for capture in children:
        assert [record.name for record in capture.of(capture_reader.MODULE)] == [
            "0",
            "1",
            "Sequential",
        ]
        assert capture.stacks and capture.memory


def test_data_loader_workers(run, tmp_path):
    run(
        """
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return torch.full((2,), float(index)).sinh()
harness.start(everything, sys.argv[1])
loader = torch.utils.data.DataLoader(Data(), num_workers=2, batch_size=2)
assert sum(len(batch) for batch in loader) == 8
harness.stop()
""",
        tmp_path,
    )
    found = captures(tmp_path)
    assert sum(len(capture.named("aten::sinh")) for capture in found) == 8
    mine = [capture for capture in found if capture.of(capture_reader.DATALOADER)]
    assert len(mine) == 1 and not mine[0].named("aten::sinh")


def test_exit_in_the_midst_of_a_session(run, tmp_path):
    run(
        """
harness.start(everything, sys.argv[1], {"gc_threshold_ms": 0, "python_functions": True})
net = torch.nn.Linear(3, 3)
net(torch.ones(2, 3))
last = torch.nn.Identity()
class Late:
    def __del__(self):  # no tensor: some torch releases abort by themselves when one is made now
        last(1)
late = Late()
""",
        tmp_path,
    )
    (capture,) = captures(tmp_path)
    assert capture.named("aten::linear")


def test_a_process_without_torch():
    program = f"""
import ctypes
ctypes.CDLL({str(harness.library_folder() / "libsonde_record.so")!r})
adapter = ctypes.PyDLL({str(harness.library_folder() / "libsonde_torch.so")!r})
adapter.sonde_torch_last_error.restype = ctypes.c_char_p
assert adapter.sonde_torch_attach(None) == -2
print(adapter.sonde_torch_last_error().decode())
text = ctypes.create_string_buffer(1000)
assert adapter.sonde_torch_self_test(text, 1000) > 0
assert b'"attached": false' in text.value
"""
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout == "no torch to attach to: libtorch_cpu.so not found\n"


def test_attach_in_the_midst_of_a_session(run, tmp_path):
    run(
        """
harness.adapter.sonde_torch_detach()
harness.start(harness.OPS, sys.argv[1])
torch.ones(2)
harness.attach()
torch.ones(3).add(1)
harness.stop()
""",
        tmp_path,
    )
    (capture,) = captures(tmp_path)
    assert len(capture.named("aten::ones")) == 1
    assert len(capture.named("aten::add")) == 1


def test_start_and_stop_by_threads_while_others_attach(run, tmp_path):
    """The adapter's lock and the GIL are taken in either order without a deadlock."""
    run(
        """
done = threading.Event()
def attach():
    while not done.is_set():
        harness.adapter.sonde_torch_detach()
        harness.adapter.sonde_torch_attach(None)
        harness.self_test()
def module():
    net = torch.nn.Linear(2, 2)
    while not done.is_set():
        net(torch.ones(1, 2))
threads = [threading.Thread(target=f) for f in (attach, attach, module)]
for thread in threads:
    thread.start()
for _ in range(50):
    harness.start(everything, sys.argv[1], {"gc_threshold_ms": 0})
    harness.recorder.sonde_session_discard()
done.set()
for thread in threads:
    thread.join()
""",
        tmp_path,
    )


def test_forks_while_sessions_start_and_stop(run, tmp_path):
    """Nobody waits for ever, in the parent or in a child, whatever another thread is just doing."""
    run(
        """
import gc, time
done = threading.Event()
options = {"gc_threshold_ms": 0, "python_functions": True}
def sessions():
    while not done.is_set():
        harness.start(everything, sys.argv[1], options, ring_slots=1 << 10)
        time.sleep(0.002)
        harness.recorder.sonde_session_discard()
def work():
    net = torch.nn.Linear(2, 2)
    while not done.is_set():
        net(torch.ones(1, 2)).sum().backward()
        gc.collect(0)
def forks():
    for _ in range(20):
        child = os.fork()
        if child == 0:
            torch.nn.Linear(2, 2)(torch.ones(1, 2)).sum()
            gc.collect()
            os._exit(0)
        deadline = time.monotonic() + 60
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            assert time.monotonic() < deadline, "a child hangs"
            time.sleep(0.001)
    return True
threads = [threading.Thread(target=f) for f in (sessions, work)]
for thread in threads:
    thread.start()
results = []
forking = [threading.Thread(target=lambda: results.append(forks())) for _ in range(2)]
for thread in forking:
    thread.start()
for thread in forking:
    thread.join()
done.set()
for thread in threads:
    thread.join()
assert results == [True, True]
""",
        tmp_path,
    )


def test_the_class_of_modules_changes_only_so_often(run, tmp_path):
    """CPython stops caching look-ups in a class that has changed too often."""
    out = run(
        """
net, call = torch.nn.Sequential(torch.nn.Linear(3, 3)), torch.nn.Module.__call__
for number in range(110):
    harness.start(harness.MODULES, sys.argv[1], ring_slots=1 << 10)
    net(torch.ones(2, 3))
    last = harness.stop()
    net(torch.ones(2, 3))
    is_back = torch.nn.Module.__call__ is call
    assert is_back if number < 90 else number < 100 or not is_back
print(last)
torch.compile(net, backend="eager", fullgraph=True)(torch.ones(2, 3))
assert torch.nn.Module.__call__ is call
""",
        tmp_path,
    )
    names = [record.name for record in capture_reader.read(out.strip()).records]
    assert [name for name in names if name in ("Sequential", "0")] == ["0", "Sequential"]
