"""What an Ascend device did, by its vendor's library: simulated, through `sonde run`."""

import csv
import functools
import os
import shutil
import sys
from pathlib import Path

import pytest
from conftest import BUILD, query

SIMULATION = BUILD / "test" / "ascend_sim" / "libmspti.so"
DATA = Path(os.environ.get("SONDE_SHARED_DATA", BUILD.parents[2] / "shared" / "data"))

BEGIN = """
import ctypes
import os
import threading
import torch

sim = ctypes.CDLL("libmspti.so")
text, number, size = ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint64
sim.ascend_sim_kernel.argtypes = [text, text, text, number, size]
sim.ascend_sim_memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, size, number, size]
sim.ascend_sim_communicate.argtypes = [text, text, text, size, number, size]

def kernel(name, kind=b"KERNEL_AIVEC", stream=2, dur_ns=1000):
    return sim.ascend_sim_kernel(b"aclnnX", name, kind, stream, dur_ns)

library = torch.library.Library("sim", "DEF")
library.define("matmul(Tensor a, Tensor b) -> Tensor")

def matmul(a, b):
    kernel(b"aclnnMatmul_MatMulCommon_MatMulV2", b"KERNEL_AICORE", 2, 50_000)
    kernel(b"aclnnMatmul_CastAiCore_Cast", b"KERNEL_AIVEC", 2, 3_000)
    return a @ b

library.impl("matmul", matmul, "CPU")
a = torch.ones(4, 4)
"""

PROGRAM = (
    BEGIN
    + """
with torch.profiler.profile(
    schedule=torch.profiler.schedule(wait=1, warmup=1, active=3, repeat=1),
    on_trace_ready=lambda prof: None,
) as prof:
    for step in range(5):
        torch.ops.sim.matmul(a, a)
        target, source = (ctypes.c_char * 64)(), (ctypes.c_char * 64)(*b"x" * 64)
        sim.ascend_sim_memcpy(target, source, 64, 3, 700)
        assert bytes(target) == b"x" * 64
        sim.ascend_sim_communicate(
            b"HcclAllReduce", b"hcom_allReduce__586_0_1", b"group0", 256, 4, 9_000)
        elsewhere = threading.Thread(target=kernel, args=(b"Alone",))
        elsewhere.start()
        elsewhere.join()
        sim.ascend_sim_kernel_without_times(b"aclnnX", b"Untimed")
        prof.step()
"""
)

# Of the line that reports what libmspti.so does not give.
LEFT_OUT = "shapes of kernels are left out"

# The names that programs import, as the package has them.
TORCH_NPU = {
    "__init__.py": "from . import npu, profiler\n",
    "npu/__init__.py": "from .mstx import mstx\n",
    "npu/mstx.py": "class mstx:\n    mark = range_start = range_end = None\n",
    "profiler/__init__.py": "from .profiler import *\nfrom .profiler import _ExperimentalConfig\n"
    "from . import profiler\n",
    "profiler/profiler.py": """
class profile:
    def __init__(self, **options):
        raise AssertionError("the vendor's profiler")
class schedule(profile):
    pass
class tensorboard_trace_handler(profile):
    pass
class _ExperimentalConfig(profile):
    pass
class ProfilerLevel:
    Level1 = "theirs"
class ProfilerActivity:
    CPU = NPU = "theirs"
def analyse(profiler_path):
    raise AssertionError("the vendor's parser")
""",
}

OF_TORCH_NPU = (
    BEGIN
    + """
import torch_npu
npu = torch_npu.profiler
with npu.profile(
    activities=[npu.ProfilerActivity.CPU, npu.ProfilerActivity.NPU],
    schedule=npu.schedule(wait=0, warmup=1, active=2, repeat=1),
    on_trace_ready=npu.tensorboard_trace_handler("./result"),
    experimental_config=npu._ExperimentalConfig(
        profiler_level=npu.ProfilerLevel.Level1, mstx=True, data_simplification=False),
) as prof:
    for _ in range(3):
        torch_npu.npu.mstx.mark("begin")
        torch.ops.sim.matmul(a, a)
        prof.step()
torch_npu.profiler.profiler.analyse("./result")
"""
)


@pytest.fixture(name="run")
def make_run(sonde_run, tmp_path, need_torch):
    """run(source, options...) runs a program where CANN's environment names the simulation."""
    assert SIMULATION.is_file(), f"{SIMULATION} is missing: make build"
    cann = tmp_path / "cann" / "lib64"
    cann.mkdir(parents=True)
    shutil.copy(SIMULATION, cann)

    return functools.partial(sonde_run, python=sys.executable, ASCEND_HOME_PATH=str(cann.parent))


def issues(path):
    rows = query(path, "SELECT code, count, advice FROM import_issue")
    return {(code, advice): int(count) for code, count, advice in rows}


def window(folder):
    """The capture that the program's profiler made, behind that of its begin."""
    return sorted(path for path in folder.iterdir() if path.name.endswith("_ascend_pt"))[1]


def test_tasks_are_joined_with_what_launched_them(run, tmp_path):
    done = run(PROGRAM)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("this Ascend device is a simulation") == 1
    capture = window(tmp_path / "profile")
    tasks = query(capture, """
        SELECT d.name, op_type, core, task_type, device_id, stream_id, d.dur, step_id, launch.name
        FROM device_task d LEFT JOIN slice launch ON launch.slice_id = launch_slice_id
        ORDER BY step_id, stream_id, d.ts""")  # fmt: skip
    expected = []
    for step in "234":
        expected += [
            ["aclnnMatmul_MatMulCommon_MatMulV2", "MatMulV2", "AI_CORE", "KERNEL_AICORE",
             "0", "2", "50000", step, "sim::matmul"],
            ["aclnnMatmul_CastAiCore_Cast", "Cast", "AI_VECTOR_CORE", "KERNEL_AIVEC",
             "0", "2", "3000", step, "sim::matmul"],
            ["Alone", "Alone", "AI_VECTOR_CORE", "KERNEL_AIVEC", "0", "2", "1000", step, ""],
            ["MEMCPY_ASYNC", "", "", "MEMCPY_ASYNC", "0", "3", "700", step, ""],
        ]  # fmt: skip
    assert tasks == expected
    # Host call and task, by the vendor's number.
    launched = query(capture, """
        SELECT call.name, task.name, count(*) FROM flow
        JOIN slice call ON call.slice_id = slice_out JOIN slice task ON task.slice_id = slice_in
        WHERE kind = 'host_to_device' GROUP BY ALL ORDER BY ALL""")  # fmt: skip
    assert launched == [
        ["HcclAllReduce", "hcom_allReduce__586_0_1", "3"],
        ["aclnnX", "Alone", "3"],
        ["aclnnX", "aclnnMatmul_CastAiCore_Cast", "3"],
        ["aclnnX", "aclnnMatmul_MatMulCommon_MatMulV2", "3"],
        ["aclrtMemcpyAsync", "MEMCPY_ASYNC", "3"],
    ]
    operations = query(capture, """
        SELECT name, op_type, group_name, data_type, count, size_bytes, dur, algorithm, step_id
        FROM communication_op ORDER BY ts""")  # fmt: skip
    assert operations == [
        ["hcom_allReduce__586_0_1", "allreduce", "group0", "FP32", "256", "1024", "9000",
         "MESH-RING", step] for step in "234"
    ]  # fmt: skip
    found = issues(capture)
    assert found[("recorder", "tasks of the NPU: 3 kernels came without times")] == 1
    assert sum(count for (code, _), count in found.items() if code == "device_task_unjoined") == 6
    with open(capture / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv", newline="") as file:
        names = [row["Name"] for row in csv.DictReader(file)]
    assert names.count("aclnnMatmul_MatMulCommon_MatMulV2") == 3


def test_names_of_torch_npu_lead_here(run, tmp_path):
    for name, content in TORCH_NPU.items():
        path = tmp_path / "torch_npu" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    done = run(OF_TORCH_NPU, "--profile-with-device")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(LEFT_OUT) == 1
    assert "ERROR" not in done.stdout
    (capture,) = (tmp_path / "result").iterdir()
    tasks = query(capture, "SELECT step_id, count(*) FROM device_task GROUP BY 1 ORDER BY 1")
    assert tasks == [["1", "2"], ["2", "2"]]
    assert query(capture, "SELECT message, count(*) FROM mark GROUP BY 1") == [["begin", "2"]]
    done = run(OF_TORCH_NPU, "--no-profile-with-device", LD_PRELOAD=str(SIMULATION))
    assert done.returncode == 1
    assert "the vendor's profiler" in done.stderr


# The vendor's own, which records: here it leaves the folder that RAW names.
RECORDS = {
    "profiler/profiler.py": """
import os, shutil
from .analysis._npu_profiler import NpuProfiler
class profile:
    def start(self):
        pass
    def stop(self):
        span = shutil.copytree(os.environ["RAW"], "result/npu_1_2_ascend_pt")
        NpuProfiler.analyse(span, "tensorboard_trace_handler", None, async_mode=False)
_ExperimentalConfig = None
def analyse(profiler_path):
    NpuProfiler.analyse(profiler_path, max_process_number=1, export_type=None)
""",
    "profiler/analysis/__init__.py": "",
    "profiler/analysis/_npu_profiler.py": """
class NpuProfiler:
    @classmethod
    def analyse(cls, input_path, analysis_type="", output_path=None, **kwargs):
        raise AssertionError("the vendor's parser")
""",
}


@pytest.mark.parametrize("has_library", [True, False])
def test_the_vendors_profiler_records_and_sonde_parses(run, tmp_path, has_library):
    if not DATA.is_dir():
        pytest.skip(f"needs data: there is none at {DATA} (SONDE_SHARED_DATA)")
    for name, content in {**TORCH_NPU, **RECORDS}.items():
        path = tmp_path / "torch_npu" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (raw,) = (DATA / "ascend_pt" / "raw_torch_npu_2_13").glob("*_ascend_pt")
    environment = {} if has_library else {"ASCEND_HOME_PATH": str(tmp_path)}
    done = run(BEGIN.partition("sim =")[0] + """
import torch_npu
prof = torch_npu.profiler.profile()
prof.start()
torch.ones(2)
prof.stop()
torch_npu.profiler.profiler.analyse("./result")
""", RAW=str(raw), **environment)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("All profiling data parsed") == 2
    assert LEFT_OUT not in done.stderr
    assert done.stderr.count("the program starts a profiler itself") == 1
    (span,) = (tmp_path / "result").iterdir()
    assert (span / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").is_file()


@pytest.mark.parametrize(
    ("options", "lines"),
    [((), 1), (("--profile-with-device",), 1), (("--profile-step-start", "5"), 0)],
)
def test_what_the_library_leaves_out_is_reported_where_it_records(run, tmp_path, options, lines):
    for name, content in {**TORCH_NPU, **RECORDS}.items():
        path = tmp_path / "torch_npu" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    done = run("import torch\nimport torch_npu\ntorch.ones(2)\n", "--no-analyse", *options)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(LEFT_OUT) == lines, done.stderr


def test_without_the_library_it_is_a_cpu(run, tmp_path):
    done = run("import torch\ntorch.ones(2)\n", ASCEND_HOME_PATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    (capture,) = (tmp_path / "profile").iterdir()
    assert not list(capture.glob("SONDE/device_*"))
    assert query(capture, "SELECT DISTINCT core FROM device_task") == [["CPU"]]
    done = run("import torch", "--profile-with-device", ASCEND_HOME_PATH=str(tmp_path))
    assert done.stderr.count("libmspti.so is not loaded in this process") == 1


def test_another_subscriber_is_named(run, tmp_path):
    other = BEGIN.replace(
        "import torch\n", "mspti = ctypes.CDLL('libmspti.so')\n"
        "mspti.msptiSubscribe(ctypes.byref(ctypes.c_void_p()), None, None)\nimport torch\n", 1
    )  # fmt: skip
    done = run(other + "torch.ops.sim.matmul(a, a)")
    assert done.returncode == 0, done.stderr
    (capture,) = (tmp_path / "profile").iterdir()
    texts = [advice for code, advice in issues(capture) if code == "recorder"]
    assert any("another profiler of this process has subscribed" in text for text in texts)


def test_a_killed_process_leaves_what_was_delivered(run, tmp_path):
    done = run(BEGIN + "torch.ops.sim.matmul(a, a)\nsim.msptiActivityFlushAll(1)\n"
               "os.kill(os.getpid(), 9)")  # fmt: skip
    assert done.returncode != 0
    (capture,) = (tmp_path / "profile").iterdir()
    tasks = query(capture, "SELECT name FROM device_task ORDER BY ts")
    assert [name for (name,) in tasks] == [
        "aclnnMatmul_MatMulCommon_MatMulV2",
        "aclnnMatmul_CastAiCore_Cast",
    ]


def test_a_forked_child_leaves_the_parents_tasks_alone(run, tmp_path):
    done = run(BEGIN + """
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
