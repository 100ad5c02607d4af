"""Shapes, types and formats of the kernels of compiled graphs, for captures that record shapes.

A kernel of a compiled graph reports nothing of its inputs when it runs, but MindSpore can write
the graph that it has compiled as text (``trace_code_graph_<n>``). ``ask`` has it do so for
everything that is compiled from then on, into a folder of ours, unless the program or its user
asked for graphs already: then theirs are read. MindSpore's own runtime profiler writes into that
folder, too: where it is switched on nothing is asked for, and its files lie where they always do.
``tables`` gives what the files hold as metadata (``src/capture/mindspore_types.h``); a ``Watcher``
writes it while a capture goes on, so that it is not lost when the process is killed. The folder of
a process that was killed is removed by the next one that asks.

Threads: any.
"""

import atexit
import os
import re
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any, Callable, Optional

from sonde._new_file import create_new

METADATA = "kernel_shapes:"
_SWITCH, _FOLDER, _PASSES = (
    "MS_DEV_SAVE_GRAPHS",
    "MS_DEV_SAVE_GRAPHS_PATH",
    "MS_DEV_DUMP_IR_PASSES",
)
_RUNTIME_PROFILER = "MS_ENABLE_RUNTIME_PROFILER"
# Names our folder for the processes that this one starts: they inherit what is set here.
_OURS = "SONDE_SAVED_GRAPHS"
_GRAPHS = "trace_code_graph"
_PREFIX = "sonde_graphs_"
# In each folder of ours, as _owner_text() has it.
_OWNER_FILE = ".owner"
_PERIOD_S = 1.0

# "<Float32xDefaultFormat[const vector]{2, 8}>", in older releases with [2, 8].
_VALUE = re.compile(r"<([A-Za-z]+\d*)x(\w+)\[const vector\][\[{]([-\d, ]*)[\]}]>")
_TYPES = re.compile(r"^ +: \((.*)\) -> \((.*)\)$")
_SCOPE = re.compile(r"^ +# Fullname with scope: \((.*)\)$")

_lock = threading.Lock()
_owner: Optional[int] = None
_tables: "dict[str, tuple[int, dict[str, Any]]]" = {}  # by path: its size, and what it holds


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


# The watcher may hold it while another thread forks.
os.register_at_fork(after_in_child=_renew_lock)


def ask() -> None:
    """Has MindSpore write the graphs that it compiles from now on. Raises ``OSError``."""
    with _lock:
        _ask()


def _ask() -> None:
    global _owner
    if _owner == os.getpid():
        return
    ours = os.environ.get(_OURS)
    is_theirs = os.environ.get(_SWITCH, "0") not in ("", "0")
    if os.environ.get(_RUNTIME_PROFILER, "0") not in ("", "0"):
        return
    if is_theirs and (ours is None or os.environ.get(_FOLDER) != ours):
        return
    remove_abandoned(tempfile.gettempdir())
    folder = tempfile.mkdtemp(prefix=_PREFIX)
    owner = os.path.join(folder, _OWNER_FILE)
    with open(owner, "w", encoding="utf-8", opener=create_new) as file:
        file.write(_owner_text(os.getpid()))
    os.environ.update({_SWITCH: "1", _FOLDER: folder, _PASSES: _GRAPHS, _OURS: folder})
    _owner = os.getpid()
    atexit.register(_remove, folder, _owner)


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def _owner_text(pid: int) -> str:
    """Names a process, unlike any other of this machine since it was started: its number, when it
    began, and where such numbers count. Empty: it has ended."""
    try:
        began = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("utf-8").strip()
        return f"{pid} {began[19]} {os.readlink('/proc/self/ns/pid')} {boot}"
    except (OSError, IndexError):
        return ""


def remove_abandoned(below: str) -> None:
    """Removes folders of ours whose processes were killed. Those of other users, containers and
    machines stay, and so do those that do not name their owner."""
    for folder in Path(below).glob(_PREFIX + "*"):
        try:
            owner = (folder / _OWNER_FILE).read_text("utf-8")
            is_mine = folder.lstat().st_uid == os.getuid() and not folder.is_symlink()
            words = owner.split()
            here = _owner_text(os.getpid()).split()
            if not is_mine or len(words) != 4 or len(here) != 4 or words[2:] != here[2:]:
                continue
            if _owner_text(int(words[0])) != owner:
                shutil.rmtree(folder, ignore_errors=True)
        except (OSError, ValueError):
            continue  # not ours, or another process removes it


class Watcher:
    """Hands each graph to ``write(key, table)`` within a second of its being written, on a thread
    of its own."""

    def __init__(self, write: "Callable[[str, Any], None]") -> None:
        self._write = write
        self._written: dict[str, Any] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sonde-graphs", daemon=True)

    def start(self) -> None:
        """What is there already counts as written."""
        self._written = tables()
        self._thread.start()

    def stop(self) -> None:
        """Nothing is written afterwards."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(_PERIOD_S):
            for key, table in tables().items():
                if self._written.get(key) is not table:
                    self._written[key] = table
                    self._write(key, table)


def tables() -> "dict[str, Any]":
    """Metadata for each graph that was written so far; what did not change is the same object."""
    with _lock:
        return _read_tables()


def _read_tables() -> "dict[str, Any]":
    folder = os.environ.get(_FOLDER)
    if not folder or not os.path.isdir(folder):
        return {}
    for path in sorted(Path(folder).rglob(f"{_GRAPHS}*")):
        size = path.stat().st_size
        if _tables.get(str(path), (-1, {}))[0] != size:
            _tables[str(path)] = size, table_of(path.read_text("utf-8", "replace"))
    return {
        METADATA + str(Path(path).relative_to(folder)): table
        for path, (_, table) in _tables.items()
        if table["kernels"] and path.startswith(folder + os.sep)
    }


def table_of(text: str) -> "dict[str, Any]":
    """What the text of a graph holds of its kernels."""
    kinds: dict[tuple[str, ...], int] = {}
    kernels: dict[str, int] = {}
    kind: tuple[str, ...] = ()
    for line in text.splitlines():
        types = _TYPES.match(line)
        scope = None if types else _SCOPE.match(line)
        if types and "[const vector]" in types[0]:
            kind = _side(types[1]) + _side(types[2])
        elif scope and kind:
            kernels[scope[1]] = kinds.setdefault(kind, len(kinds))
            kind = ()
    return {"kinds": [list(each) for each in kinds], "kernels": kernels}


def _side(text: str) -> "tuple[str, str, str]":
    """Shapes, types and formats of the inputs or outputs."""
    values = _VALUE.findall(text)
    shapes = ";".join(shape.replace(" ", "") for _, _, shape in values)
    formats = (form.replace("DefaultFormat", "ND") for _, form, _ in values)
    return shapes, ";".join(name for name, _, _ in values), ";".join(formats)
