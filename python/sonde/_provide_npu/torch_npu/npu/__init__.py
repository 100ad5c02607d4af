"""``torch.npu``: what programs ask a device for, answered for one that is the CPU.

``is_available`` and ``device_count`` report that there is none, so that programs which look take
the CPU by themselves.
"""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import torch

from torch_npu.npu import mstx

__all__ = ["Event", "Stream", "mstx"]


class Stream:
    """Work of the CPU is done when its call returns: any stream is empty."""

    def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
        self.device = torch.device("cpu")
        self.priority = priority
        self.npu_stream = 0
        self.stream_id = 0

    def synchronize(self) -> None:
        """Returns at once."""

    def query(self) -> bool:
        """Everything is done."""
        return True

    def wait_stream(self, stream: Any) -> None:
        """Returns at once."""

    def wait_event(self, event: Any) -> None:
        """Returns at once."""

    def record_event(self, event: Any = None) -> "Event":
        """An event of now."""
        event = event or Event()
        event.record(self)
        return event

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: Any) -> None:
        pass


class Event:
    """A moment, by the clock of the host."""

    def __init__(self, enable_timing: bool = False, **_: Any) -> None:
        self._at_ns = 0

    def record(self, stream: Any = None) -> None:
        """Takes the time."""
        self._at_ns = time.perf_counter_ns()

    def elapsed_time(self, end: "Event") -> float:
        """Milliseconds until another event."""
        return (end._at_ns - self._at_ns) / 1e6

    def synchronize(self) -> None:
        """Returns at once."""

    def wait(self, stream: Any = None) -> None:
        """Returns at once."""

    def query(self) -> bool:
        """Everything is done."""
        return True


_STREAM = Stream()


def is_available() -> bool:
    """Whether there is an NPU."""
    return False


def is_initialized() -> bool:
    """Nothing has to be."""
    return True


def init() -> None:
    """Nothing has to be."""


def device_count() -> int:
    """NPUs of this machine."""
    return 0


def current_device() -> int:
    """The number by which programs name the device."""
    return 0


def set_device(device: Any) -> None:
    """Any is the CPU."""


@contextlib.contextmanager
def device(index: Any) -> Iterator[None]:
    """Any is the CPU."""
    yield


def get_device_name(device: Any = None) -> str:
    """Describes itself."""
    return "CPU"


def synchronize(device: Any = None) -> None:
    """Returns at once."""


def current_stream(device: Any = None) -> Stream:
    """The one stream."""
    return _STREAM


default_stream = current_stream


@contextlib.contextmanager
def stream(chosen: Any) -> Iterator[None]:
    """Any is the one stream."""
    yield


def set_stream(chosen: Any) -> None:
    """Any is the one stream."""


def empty_cache() -> None:
    """There is none."""


def _no_bytes(device: Any = None) -> int:
    """The memory of the CPU is not the device's: 0 bytes."""
    return 0


memory_allocated = max_memory_allocated = _no_bytes
memory_reserved = max_memory_reserved = _no_bytes


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing is counted."""


def manual_seed(seed: int) -> None:
    """Random numbers are the CPU's, which ``torch.manual_seed`` seeds."""


manual_seed_all = manual_seed


def _is_in_bad_fork() -> bool:
    return False


def get_amp_supported_dtype() -> "list[torch.dtype]":
    """For ``torch.autocast("npu")``."""
    return [torch.float16, torch.bfloat16]


def set_compile_mode(**_: Any) -> None:
    """Operators of the CPU are not compiled so."""
