"""Requests to record from the daemon of msMonitor and dynolog (``MSMONITOR_USE_DAEMON=1``).

A program announces itself to the daemon (message ``ctxt``) and asks it every two seconds
(``req``); the answer is empty, or the lines ``KEY=value`` that somebody sent by ``dyno nputrace``.
They become a ``profiler_config.json`` in a folder of our own that the recorder watches, so that
from there on a request is one of dynamic profiling.

A message is one datagram: its length (8 bytes), its type (32 bytes), its content; sockets have
names without a file, or lie in the folder ``KINETO_IPC_SOCKET_DIR``. Everybody on a machine may
take such a name: answers of another user than root and ourselves are refused.

Threads: one of ours asks. Nothing here reaches the program.
"""

import atexit
import json
import os
import shutil
import socket
import struct
import tempfile
import threading
import uuid
from pathlib import Path
from typing import Any, Callable, Optional

from sonde import _report
from sonde._new_file import create_new

CONFIG_NAME = "profiler_config.json"
_POLL_S = 2.0
_ANSWER_S = 0.5
_DAEMON = "dynolog"
_HEAD = struct.Struct("<Q32s")
_ACTIVITIES = 3  # kinds of requests: of events and of activities
_MOST_BYTES = 1 << 16
_MOST_PARENTS = 10
_NO_JOB = 0


class Refused(Exception):
    """A request that cannot be carried out; the text gives the reason."""


class Client:
    """Our end of the conversation."""

    def __init__(self) -> None:
        self._folder = os.environ.get("KINETO_IPC_SOCKET_DIR", "")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._name = self._address(f"sonde-{uuid.uuid4().hex[:12]}")  # paths hold 107 letters
        self._socket.bind(self._name)
        self._socket.settimeout(_ANSWER_S)

    def _address(self, name: str) -> "str | bytes":
        # The daemon counts the zero behind a name without a file.
        return os.path.join(self._folder, name) if self._folder else b"\0" + name.encode() + b"\0"

    def close(self) -> None:
        self._socket.close()
        if self._folder:
            Path(os.fsdecode(self._name)).unlink(missing_ok=True)

    def register(self, device: int) -> None:
        """Raises ``OSError`` where no daemon listens."""
        self._send(b"ctxt", struct.pack("<iiq", device, os.getpid(), _NO_JOB))

    def ask(self) -> str:
        """What is asked for; empty: nothing. Raises ``OSError`` where no daemon listens."""
        pids = _ancestors()
        self._send(b"req", struct.pack(f"<iiq{len(pids)}i", _ACTIVITIES, len(pids), _NO_JOB, *pids))
        while True:
            try:
                kind, content = self._receive()
            except TimeoutError:
                return ""
            if kind == b"req":
                return content.decode("utf-8", "replace")

    def _send(self, kind: bytes, content: bytes) -> None:
        self._socket.sendto(_HEAD.pack(len(content), kind) + content, self._address(_DAEMON))

    def _receive(self) -> "tuple[bytes, bytes]":
        room = socket.CMSG_SPACE(struct.calcsize("3i"))
        message, ancillary, _, _ = self._socket.recvmsg(_MOST_BYTES, room)
        users = [struct.unpack("3i", data[:12])[1] for level, kind, data in ancillary
                 if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS)]  # fmt: skip
        if len(message) < _HEAD.size or users not in ([0], [os.getuid()]):
            return b"", b""
        length, kind = _HEAD.unpack_from(message)
        return kind.split(b"\0")[0], message[_HEAD.size :][:length]


def _ancestors() -> list[int]:
    """This process and those above it: the daemon's users name any of them."""
    pids = [os.getpid()]
    while len(pids) <= _MOST_PARENTS:
        try:
            after_name = Path(f"/proc/{pids[-1]}/stat").read_text().rpartition(")")[2]
        except OSError:
            break
        parent = int(after_name.split()[1])
        if parent <= 1:
            break
        pids.append(parent)
    return pids


# Requests


def _number(text: str) -> int:
    return int(text)


def _switch(text: str) -> bool:
    return {"true": True, "1": True, "false": False, "0": False}[text.lower()]


def _words(text: str) -> list[str]:
    words = [word.strip() for word in text.split(",")]
    return [word for word in words if word and word != "None"]


def _numbers(text: str) -> list[int]:
    return [int(word) for word in _words(text)]


def _threshold(text: str) -> Optional[float]:
    return None if text == "None" else float(text)


def _kinds(text: str) -> list[str]:
    return [word.lower() for word in _words(text)]


_Reader = Callable[[str], Any]
_KEYS: "dict[str, tuple[str, _Reader]]" = {
    "PROFILE_START_STEP": ("start_step", _number),
    "ACTIVITIES_LOG_FILE": ("prof_dir", str),
    "ACTIVITIES_ITERATIONS": ("active", _number),
    "WARMUP_ITERATIONS": ("warmup", _number),
    "PROFILE_ACTIVITIES": ("activities", _words),
    "PROFILE_WITH_STACK": ("with_stack", _switch),
    "PROFILE_RECORD_SHAPES": ("record_shapes", _switch),
    "PROFILE_PROFILE_MEMORY": ("profile_memory", _switch),
    "PROFILE_WITH_FLOPS": ("with_flops", _switch),
    "PROFILE_WITH_MODULES": ("with_modules", _switch),
    "PROFILE_ANALYSE": ("analyse", _switch),
    "PROFILE_ASYNC_MODE": ("async_mode", _switch),
    "PROFILE_IS_RANK": ("is_rank", _switch),
    "PROFILE_RANK_LIST": ("rank_list", _numbers),
}
_EXPERIMENTAL: "dict[str, tuple[str, _Reader]]" = {
    "PROFILE_PROFILER_LEVEL": ("profiler_level", str),
    "PROFILE_AIC_METRICS": ("aic_metrics", str),
    "PROFILE_L2_CACHE": ("l2_cache", _switch),
    "PROFILE_OP_ATTR": ("op_attr", _switch),
    "PROFILE_GC_DETECT_THRESHOLD": ("gc_detect_threshold", _threshold),
    "PROFILE_DATA_SIMPLIFICATION": ("data_simplification", _switch),
    "PROFILE_EXPORT_TYPE": ("export_type", _kinds),
    "PROFILE_MSPROF_TX": ("msprof_tx", _switch),
    "PROFILE_MSTX": ("mstx", _switch),
    "PROFILE_HOST_SYS": ("host_sys", _kinds),
    "PROFILE_MSTX_DOMAIN_INCLUDE": ("mstx_domain_include", _words),
    "PROFILE_MSTX_DOMAIN_EXCLUDE": ("mstx_domain_exclude", _words),
    "PROFILE_SYS_IO": ("sys_io", _switch),
    "PROFILE_SYS_INTERCONNECTION": ("sys_interconnection", _switch),
}
# Keys that every request has; they choose no steps.
_OF_DAEMON = ("REQUEST_TRACE_ID", "REQUEST_GROUP_TRACE_ID", "PROFILE_START_ITERATION")
_ABSENT = ("", "None")


def read(text: str) -> "tuple[dict[str, Any], list[str]]":
    """A request as the object of ``profiler_config.json``, and the keys that have no effect.

    Raises ``Refused`` where it asks for no steps, or a value is impossible.
    """
    config: dict[str, Any] = {}
    experimental: dict[str, Any] = {}
    unknown: list[str] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        key, _, value = line.partition("=")
        place, known = (config, _KEYS) if key in _KEYS else (experimental, _EXPERIMENTAL)
        if key not in known:
            unknown += [] if key in _OF_DAEMON else [key]
            continue
        name, reader = known[key]
        if value in _ABSENT and reader in (_number, _switch, str):
            continue
        try:
            place[name] = reader(value)
        except (ValueError, KeyError):
            raise Refused(f"{key}={value} is not possible") from None
    if "start_step" not in config:
        raise Refused("it names no step to begin at (dyno nputrace --start-step)")
    return {**config, "experimental_config": experimental}, unknown


class Watch:
    """Asks the daemon while the process lives."""

    def __init__(self, device: int) -> None:
        self.folder = tempfile.mkdtemp(prefix="sonde-requests-")
        self._owner = os.getpid()
        self._device = device
        self._client = Client()
        self._is_known = False  # to the daemon
        self._has_complained = False
        self._ends = threading.Event()

    def begin(self) -> None:
        """After the recorder watches the folder."""
        atexit.register(self.end)
        threading.Thread(target=self._live, name="sonde-daemon", daemon=True).start()

    def end(self) -> None:
        if os.getpid() != self._owner:
            return
        self._ends.set()
        self._client.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _live(self) -> None:
        while not self._ends.is_set():
            try:
                self.poll()
            except Exception as problem:  # noqa: BLE001
                if not self._ends.is_set():
                    _report.log(f"daemon requests are no longer read: {problem}", error=True)
                return
            self._ends.wait(_POLL_S)

    def poll(self) -> None:
        """Asks once."""
        try:
            if not self._is_known:
                self._client.register(self._device)
                self._is_known = True
                _report.log(f"process {os.getpid()} asks the daemon '{_DAEMON}' when to record")
            text = self._client.ask()
        except (ConnectionRefusedError, FileNotFoundError):
            self._is_known = False
            self._complain()
            return
        except (BlockingIOError, TimeoutError):
            return  # the daemon is behind with its messages
        if text:
            self._take(text)

    def _complain(self) -> None:
        if not self._has_complained:
            _report.log(
                f"MSMONITOR_USE_DAEMON=1, but no daemon '{_DAEMON}' listens on this machine: "
                "start dynolog with --enable-ipc-monitor; it is retried until then"
            )
        self._has_complained = True

    def _take(self, text: str) -> None:
        if "NPU_MONITOR_START" in text:
            _report.log("dyno npu-monitor has no effect: its metrics are not collected here")
            return
        try:
            config, unknown = read(text)
        except Refused as problem:
            _report.log(f"a daemon request is ignored: {problem}", error=True)
            return
        if unknown:
            _report.log(f"daemon request: {', '.join(unknown)} has no effect")
        partial = os.path.join(self.folder, f"{CONFIG_NAME}.part")
        with open(partial, "w", encoding="utf-8", opener=create_new) as file:
            json.dump(config, file)
        os.replace(partial, os.path.join(self.folder, CONFIG_NAME))


def is_wanted(complain: Callable[[str], None]) -> bool:
    """Whether the environment asks for the daemon, under its name or the older one.

    That one is torch's own, too (libkineto), unless the program is one for an NPU.
    """
    if os.environ.get("MSMONITOR_USE_DAEMON") == "1":
        return True
    if os.environ.get("KINETO_USE_DAEMON") != "1":
        return False
    import importlib.util

    if importlib.util.find_spec("torch_npu") is None:
        return False
    complain("KINETO_USE_DAEMON is the older name; set MSMONITOR_USE_DAEMON=1")
    return True
