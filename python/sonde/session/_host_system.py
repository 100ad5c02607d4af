"""Counters of the machine while a recording runs (``host_sys``): processor, memory, disk, network.

Read from ``/proc`` by a thread of its own, ten times a second (0.2 ms each time); counters of the
domain ``Host System``. Rates are means since the sample before. What the system does not show is
left out.
"""

import threading
import time
from collections.abc import Iterable
from typing import Callable, Optional

from sonde import _native
from sonde.session._enums import HostSystem

DOMAIN = "Host System"
SUPPORTED = (HostSystem.CPU, HostSystem.MEM, HostSystem.DISK, HostSystem.NETWORK)

_PERIOD_S = 0.1
_SECTOR_BYTES = 512
_WHOLE_DISKS = ("sd", "vd", "hd", "xvd", "nvme", "mmcblk")


def _lines(path: str) -> list[list[str]]:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return [line.split() for line in file]
    except OSError:
        return []


def _processor_ticks() -> "tuple[float, ...]":
    """(busy, all) of all processors since the start of the machine."""
    for words in _lines("/proc/stat"):
        if words and words[0] == "cpu":
            numbers = [float(word) for word in words[1:9]]
            idle = numbers[3] + numbers[4]
            return sum(numbers) - idle, sum(numbers)
    return ()


def _memory() -> "dict[str, float]":
    sizes = {words[0]: float(words[1]) for words in _lines("/proc/meminfo") if len(words) > 1}
    total, free = sizes.get("MemTotal:", 0.0), sizes.get("MemAvailable:", 0.0)
    return {"Memory Usage(%)": 100 * (total - free) / total} if total else {}


def _disk_bytes() -> "tuple[float, ...]":
    """(read, written) of the whole disks: partitions are inside them."""
    read = written = 0.0
    for words in _lines("/proc/diskstats"):
        name = words[2] if len(words) > 9 else ""
        is_part = name[-1:].isdigit() and not name.startswith(("nvme", "mmcblk"))
        is_part = is_part or (name.startswith(("nvme", "mmcblk")) and "p" in name[4:])
        if name.startswith(_WHOLE_DISKS) and not is_part:
            read += float(words[5]) * _SECTOR_BYTES
            written += float(words[9]) * _SECTOR_BYTES
    return read, written


def _network_bytes() -> "tuple[float, ...]":
    """(received, sent) of all interfaces but the loop."""
    received = sent = 0.0
    for words in _lines("/proc/net/dev")[2:]:
        if len(words) > 9 and words[0] != "lo:":
            received += float(words[1])
            sent += float(words[9])
    return received, sent


class Sampler:
    """Samples from ``start()`` to ``stop()``, on a thread of its own."""

    def __init__(self, systems: Iterable[HostSystem]) -> None:
        self._systems = set(systems)
        self._stop = threading.Event()
        self._thread: Optional[threading.Thread] = None
        self._before: dict[str, tuple[float, tuple[float, ...]]] = {}

    def start(self) -> None:
        """Takes the first sample now."""
        self._sample()
        self._thread = threading.Thread(target=self._run, name="sonde-host-sys", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Takes the last sample."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._sample()

    def _run(self) -> None:
        while not self._stop.wait(_PERIOD_S):
            self._sample()

    def _sample(self) -> None:
        values: dict[str, float] = {}
        if HostSystem.CPU in self._systems:
            values.update(self._processor())
        if HostSystem.MEM in self._systems:
            values.update(_memory())
        if HostSystem.DISK in self._systems:
            values.update(self._rates("Disk", ("Read", "Write"), _disk_bytes))
        if HostSystem.NETWORK in self._systems:
            values.update(self._rates("Network", ("Receive", "Send"), _network_bytes))
        recorder = _native.recorder()
        domain = recorder.domain(DOMAIN)
        for name, value in values.items():
            recorder.fast.sonde_counter(recorder.intern(name), domain, value)

    def _since(
        self, name: str, read: "Callable[[], tuple[float, ...]]"
    ) -> "tuple[float, tuple[float, ...]]":
        """Seconds and differences since the call before; (0, ()) at the first."""
        now, numbers = time.monotonic(), read()
        then, before = self._before.get(name, (now, ()))
        self._before[name] = (now, numbers)
        return now - then, tuple(a - b for a, b in zip(numbers, before))

    def _processor(self) -> "dict[str, float]":
        _, ticks = self._since("CPU", _processor_ticks)
        return {"CPU Usage(%)": 100 * ticks[0] / ticks[1]} if ticks and ticks[1] > 0 else {}

    def _rates(
        self, name: str, ways: "tuple[str, str]", read: "Callable[[], tuple[float, ...]]"
    ) -> "dict[str, float]":
        seconds, moved = self._since(name, read)
        if seconds <= 0:
            return {}
        return {f"{name} {way}(MB/s)": part / seconds / 1e6 for way, part in zip(ways, moved)}
