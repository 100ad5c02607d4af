"""What an NVIDIA GPU did, by CUPTI: simulated, through `sonde run`."""

import functools
import os
import sys

import pytest
from conftest import BUILD, query

SIMULATION = BUILD / "test" / "nvidia_sim" / "libcupti.so.sim"

BEGIN = f"""
import ctypes
import os
import threading
import torch

sim = ctypes.CDLL({str(SIMULATION)!r})
text, number, size = ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint64
sim.nvidia_sim_kernel.argtypes = [text, number, size]
sim.nvidia_sim_driver_kernel.argtypes = [text, number, size]
sim.nvidia_sim_memcpy.argtypes = [size, number, size]
sim.nvidia_sim_memset.argtypes = [size, number, size]
sim.nvidia_sim_unfinished_kernel.argtypes = [text]
sim.nvidia_sim_clock_behind.argtypes = [ctypes.c_int64]
sim.nvidia_sim_drop.argtypes = [size]

# As torch does when its first tensor goes to a GPU; what asks the GPU itself is left out.
def begin_cuda():
    for call, _ in torch.cuda._queued_calls:
        if call.__module__.startswith("sonde"):
            call()

library = torch.library.Library("sim", "DEF")
library.define("matmul(Tensor a, Tensor b) -> Tensor")

def matmul(a, b):
    sim.nvidia_sim_kernel(b"_ZN2at6native13reduce_kernelILi512EEEvi", 7, 50_000)
    sim.nvidia_sim_driver_kernel(b"triton_poi_fused_add_0", 7, 3_000)
    return a @ b

library.impl("matmul", matmul, "CPU")
a = torch.ones(4, 4)
"""

PROGRAM = (
    BEGIN
    + """
begin_cuda()
with torch.profiler.profile(
    schedule=torch.profiler.schedule(wait=1, warmup=1, active=3, repeat=1),
    on_trace_ready=lambda prof: None,
) as prof:
    for step in range(5):
        torch.ops.sim.matmul(a, a)
        sim.nvidia_sim_memcpy(64, 13, 700)
        sim.nvidia_sim_memset(32, 13, 300)
        elsewhere = threading.Thread(target=sim.nvidia_sim_kernel, args=(b"alone", 7, 1000))
        elsewhere.start()
        elsewhere.join()
        if step == 4:
            sim.nvidia_sim_unfinished_kernel(b"late")
            sim.nvidia_sim_drop(4)
        prof.step()
"""
)

REDUCE = "void at::native::reduce_kernel<512>(int)"


@pytest.fixture(name="run")
def make_run(sonde_run, need_torch):
    """run(source, options...) runs a program where the simulation is CUPTI."""
    import torch

    assert SIMULATION.is_file(), f"{SIMULATION} is missing: make build"
    if torch.version.cuda is None:
        pytest.skip("needs data: a torch for CUDA")
    return functools.partial(sonde_run, python=sys.executable, LD_PRELOAD=str(SIMULATION))


def issues(path):
    rows = query(path, "SELECT code, count, advice FROM import_issue")
    return {(code, advice): int(count) for code, count, advice in rows}


def window(folder):
    """The capture that the program's profiler made, behind that of its begin."""
    return sorted(path for path in folder.iterdir() if path.name.endswith("_ascend_pt"))[1]


def test_tasks_are_joined_with_what_launched_them(run, tmp_path):
    done = run(PROGRAM)
    assert done.returncode == 0, done.stderr
    capture = window(tmp_path / "profile")
    tasks = query(capture, """
        SELECT d.name, op_type, core, task_type, device_id, stream_id, d.dur, step_id, launch.name
        FROM device_task d LEFT JOIN slice launch ON launch.slice_id = launch_slice_id
        WHERE d.step_id >= 0 ORDER BY step_id, stream_id, d.ts""")  # fmt: skip
    expected = []
    for step in "234":
        expected += [
            [REDUCE, "matmul", "GPU", "KERNEL", "0", "7", "50000", step, "sim::matmul"],
            ["triton_poi_fused_add_0", "matmul", "GPU", "KERNEL", "0", "7", "3000", step,
             "sim::matmul"],
            ["alone", "alone", "GPU", "KERNEL", "0", "7", "1000", step, ""],
            ["Memcpy HtoD (Pageable -> Device)", "Memcpy", "", "MEMCPY", "0", "13", "700", step,
             ""],
            ["Memset (Device)", "Memset", "", "MEMSET", "0", "13", "300", step, ""],
        ]  # fmt: skip
    assert tasks == expected
    launched = query(capture, """
        SELECT call.name, call.category, task.name, task.category, count(*) FROM flow
        JOIN slice call ON call.slice_id = slice_out JOIN slice task ON task.slice_id = slice_in
        WHERE kind = 'host_to_device' GROUP BY ALL ORDER BY ALL""")  # fmt: skip
    assert launched == [
        ["cuLaunchKernel", "cuda_driver", "triton_poi_fused_add_0", "kernel", "3"],
        ["cudaLaunchKernel", "cuda_runtime", "alone", "kernel", "3"],
        ["cudaLaunchKernel", "cuda_runtime", REDUCE, "kernel", "3"],
        ["cudaMemcpyAsync", "cuda_runtime", "Memcpy HtoD (Pageable -> Device)", "gpu_memcpy", "3"],
        ["cudaMemsetAsync", "cuda_runtime", "Memset (Device)", "gpu_memset", "3"],
    ]
    # What only asks, and what the runtime does with the driver, is left out.
    calls = query(capture, "SELECT DISTINCT name FROM api_call JOIN slice USING (slice_id)")
    assert sorted(name for (name,) in calls) == [
        "cuLaunchKernel", "cudaLaunchKernel", "cudaMemcpyAsync", "cudaMemsetAsync"
    ]  # fmt: skip
    assert ("recorder", "tasks of the GPU: 1 came without times, 4 were dropped by CUPTI") in (
        issues(capture)
    )


def test_clock_of_the_device_is_that_of_the_host(run, tmp_path):
    done = run(BEGIN + "sim.nvidia_sim_clock_behind(5_000_000_000_000)\nbegin_cuda()\n"
               "torch.ops.sim.matmul(a, a)")  # fmt: skip
    assert done.returncode == 0, done.stderr
    (capture,) = (tmp_path / "profile").iterdir()
    launches = query(capture, """
        SELECT call.ts >= op.ts AND call.ts + call.dur <= op.ts + op.dur, task.ts >= call.ts
        FROM flow JOIN slice call ON call.slice_id = slice_out
        JOIN device_task task ON task.slice_id = slice_in
        JOIN slice op ON op.slice_id = task.launch_slice_id""")  # fmt: skip
    assert launches == [["true", "true"]] * 2


def test_a_device_that_comes_while_recording_is_recorded_from_then_on(run, tmp_path):
    done = run(BEGIN + "torch.ops.sim.matmul(a, a)\nbegin_cuda()\ntorch.ops.sim.matmul(a, a)")
    assert done.returncode == 0, done.stderr
    (capture,) = (tmp_path / "profile").iterdir()
    assert query(capture, "SELECT count(*) FROM device_task WHERE core = 'GPU'") == [["2"]]


def test_a_process_that_uses_no_gpu_is_left_alone(run, tmp_path):
    done = run(BEGIN + "torch.ops.sim.matmul(a, a)")
    assert done.returncode == 0, done.stderr
    (capture,) = (tmp_path / "profile").iterdir()
    assert not list(capture.glob("SONDE/device_*"))
    assert query(capture, "SELECT DISTINCT core FROM device_task") == [["CPU"]]


def test_it_can_be_left_out(run, tmp_path):
    done = run(BEGIN + "begin_cuda()\ntorch.ops.sim.matmul(a, a)", "--no-profile-with-device")
    assert done.returncode == 0, done.stderr
    (capture,) = (tmp_path / "profile").iterdir()
    assert not list(capture.glob("SONDE/device_*"))


def test_another_subscriber_is_named(run, tmp_path):
    other = (
        BEGIN + "sim.cuptiSubscribe(ctypes.byref(ctypes.c_void_p()), None, None)\nbegin_cuda()\n"
    )
    done = run(other + "torch.ops.sim.matmul(a, a)")
    assert done.returncode == 0, done.stderr
    (capture,) = (tmp_path / "profile").iterdir()
    texts = [advice for code, advice in issues(capture) if code == "recorder"]
    assert any("another profiler of this process uses CUPTI" in text for text in texts)


def test_a_killed_process_leaves_what_was_delivered(run, tmp_path):
    done = run(BEGIN + "begin_cuda()\ntorch.ops.sim.matmul(a, a)\nsim.cuptiActivityFlushAll(1)\n"
               "os.kill(os.getpid(), 9)")  # fmt: skip
    assert done.returncode != 0
    (capture,) = (tmp_path / "profile").iterdir()
    tasks = query(capture, "SELECT name FROM device_task ORDER BY ts")
    assert [name for (name,) in tasks] == [REDUCE, "triton_poi_fused_add_0"]


def test_a_forked_child_leaves_the_parents_tasks_alone(run, tmp_path):
    done = run(BEGIN + """
begin_cuda()
child = os.fork()
if child == 0:
    torch.ops.sim.matmul(a, a)
    os._exit(0)
os.waitpid(child, 0)
torch.ops.sim.matmul(a, a)
""")  # fmt: skip
    assert done.returncode == 0, done.stderr
    folders = (tmp_path / "profile").iterdir()
    (capture,) = [path for path in folders if list(path.glob("SONDE/device_*"))]
    assert query(capture, "SELECT count(*) FROM device_task WHERE core <> 'CPU'") == [["2"]]


def test_kernels_that_communicate_take_the_facts_of_the_call(run, tmp_path):
    done = run(BEGIN + """
import torch.distributed as dist
begin_cuda()
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
original = dist.all_reduce
library.define("reduce(Tensor a) -> Tensor")
def reduce(a):
    sim.nvidia_sim_kernel(b"_Z35ncclDevKernel_AllReduce_Sum_f32_RING24ncclDevKernelArgsStorage", 20,
                          9_000)
    return a.clone()
library.impl("reduce", reduce, "CPU")
torch.ops.sim.reduce(a)
dist.destroy_process_group()
""")  # fmt: skip
    assert done.returncode == 0, done.stderr
    (capture,) = (tmp_path / "profile").iterdir()
    tasks = query(capture, "SELECT core, stream_id FROM device_task WHERE task_type = 'KERNEL'")
    assert tasks == [["COMMUNICATION", "20"]]
    operations = query(capture, "SELECT op_type, dur, device_id FROM communication_op")
    assert operations == [["allreduce", "9000", "0"]]


ATTACHED = [(False, True), (True, False)]  # each way, and a program of each kind
if os.environ.get("SONDE_THOROUGH") == "1":
    ATTACHED += [(False, False), (True, True)]


# A process that has started CUDA's driver cannot fork others that use a GPU.
@pytest.mark.parametrize(("dump", "asks"), ATTACHED)
def test_attaching_starts_no_driver(run, tmp_path, dump, asks):
    program = "import torch\na = torch.ones(4, requires_grad=True)\n(a * a).detach().sum()\n"
    options = []
    if dump:
        config = tmp_path / "config.json"
        config.write_text(f'{{"task": "statistics", "dump_path": "{tmp_path}/dump"}}')
        options = ["--dump-config", str(config)]
    done = run(program + ("torch.cuda.is_available()\n" if asks else ""), *options,
               LD_DEBUG="files", LD_DEBUG_OUTPUT=str(tmp_path / "loaded"))  # fmt: skip
    assert done.returncode == 0, done.stderr
    # CUDA's runtime opens the driver at its first use, and not before.
    started = [
        line for path in tmp_path.glob("loaded.*") for line in path.read_text().splitlines()
        if "file=libcuda.so.1" in line and "/libcudart.so" in line
    ]  # fmt: skip
    assert bool(started) == asks
