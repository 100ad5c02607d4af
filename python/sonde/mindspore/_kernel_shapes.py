"""Shapes, types and formats of the kernels of compiled graphs, for captures that record shapes.

A kernel of a compiled graph reports nothing of its inputs when it runs, but MindSpore can write
the graph that it has compiled as text (``trace_code_graph_<n>``). ``ask`` has it do so for
everything that is compiled from then on, into a folder of ours, unless the program or its user
asked for graphs already: then theirs are read. MindSpore's own runtime profiler writes into that
folder, too: where it is switched on nothing is asked for, and its files lie where they always do.
``tables`` gives what the files hold as metadata
(``src/capture/mindspore_types.h``).

Threads: those that start and stop captures, one at a time.
"""

import atexit
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any, Optional

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

# "<Float32xDefaultFormat[const vector]{2, 8}>", in older releases with [2, 8].
_VALUE = re.compile(r"<([A-Za-z]+\d*)x(\w+)\[const vector\][\[{]([-\d, ]*)[\]}]>")
_TYPES = re.compile(r"^ +: \((.*)\) -> \((.*)\)$")
_SCOPE = re.compile(r"^ +# Fullname with scope: \((.*)\)$")

_owner: Optional[int] = None
_tables: "dict[str, tuple[int, dict[str, Any]]]" = {}  # by path: its size, and what it holds


def ask() -> None:
    """Has MindSpore write the graphs that it compiles from now on."""
    global _owner
    if _owner == os.getpid():
        return
    ours = os.environ.get(_OURS)
    is_theirs = os.environ.get(_SWITCH, "0") not in ("", "0")
    if os.environ.get(_RUNTIME_PROFILER, "0") not in ("", "0"):
        return
    if is_theirs and (ours is None or os.environ.get(_FOLDER) != ours):
        return
    folder = tempfile.mkdtemp(prefix="sonde_graphs_")
    os.environ.update({_SWITCH: "1", _FOLDER: folder, _PASSES: _GRAPHS, _OURS: folder})
    _owner = os.getpid()
    atexit.register(_remove, folder, _owner)


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def tables() -> "dict[str, Any]":
    """Metadata for each graph that was written so far."""
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
