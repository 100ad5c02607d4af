"""What a benchmark measures between bare steps: Sonde, torch's profiler, and an observer that does
nothing, each as a context manager that is on inside its block."""

import contextlib
import ctypes
from pathlib import Path

import torch
from sonde.torch._recording import Recording, Settings


@contextlib.contextmanager
def sonde(work, **switches):
    """Records the block; the capture's records and path are attributes of what it yields."""
    recording = Recording(Settings(directory=work, config=sonde_config(switches), **switches), dict)
    recording.start()
    try:
        yield recording
    finally:
        recording.stop()


def sonde_config(switches):
    common = {name: bool(switches.get(name)) for name in
              ("record_shapes", "profile_memory", "with_stack", "with_modules")}  # fmt: skip
    level = "Level1" if switches.get("record_shapes") else "Level0"
    activities = ["ProfilerActivity.CPU", "ProfilerActivity.NPU"]
    return {
        "common_config": {"activities": activities, "schedule": {}, "with_flops": False, **common},
        "experimental_config": {"_profiler_level": level, "_export_type": ["text"]},
    }


@contextlib.contextmanager
def kineto(**switches):
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, **switches) as prof:
        yield prof


class ObserverCallback(ctypes.Structure):
    """at::RecordFunctionCallback."""

    _fields_ = (
        ("start", ctypes.c_void_p),
        ("end", ctypes.c_void_p),
        ("sampling_probability", ctypes.c_double),
        ("scopes", ctypes.c_uint8 * 10),
        ("needs_inputs", ctypes.c_bool),
        ("needs_outputs", ctypes.c_bool),
        ("needs_ids", ctypes.c_bool),
    )


@contextlib.contextmanager
def empty_observer(needs_inputs):
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    add = library._ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE
    add.argtypes, add.restype = (ObserverCallback,), ctypes.c_uint64
    remove = library._ZN2at14removeCallbackEm
    remove.argtypes, remove.restype = (ctypes.c_uint64,), None
    scopes = (ctypes.c_uint8 * 10)(*[1] * 10)
    handle = add(ObserverCallback(None, None, 1.0, scopes, needs_inputs))
    try:
        yield
    finally:
        remove(handle)
