"""Calls of cells: a range for each while modules are recorded, and who called first.

``nn.Cell.__call__`` is replaced on its class, which reaches every cell; inside compiled code no
cell is called, and its work is recognized by the scopes in the names of its kernels. Functions
that ``jit`` compiled are calls, too. Nothing is changed in ``construct``, which MindSpore parses
from its source.

Names: the first call that a program makes of a cell walks the tree below it; a cell that it did not
meet is called by its class. Threads: any. Cost of a call that is not recorded: 0.3 us.
"""

import ctypes
import functools
import threading
import weakref
from typing import Any, Callable, Optional

from sonde import _native
from sonde._seams import Part, Seam
from sonde.mindspore import _adapter

#: Called with what a program calls from outside all cells, before and after.
Listener = Callable[[Any], None]

_CLASS_KEY = "class"  # as in src/capture/args.h

_local = threading.local()
_names: "dict[int, tuple[Any, int, int]]" = {}  # by id: weak reference, name, argument set
_begin_listeners: "list[Listener]" = []
_end_listeners: "list[Listener]" = []
_is_installed = False


def listen(begins: Listener, ends: Listener) -> None:
    """``begins(called)`` and ``ends(called)`` around each outermost call, on its thread. They must
    not raise."""
    _begin_listeners.append(begins)
    _end_listeners.append(ends)


def forget_listeners() -> None:
    """For tests, and for a child of a fork that starts to count again."""
    _begin_listeners.clear()
    _end_listeners.clear()


def install() -> None:
    """Changes MindSpore, which is imported or will be. Once a process."""
    global _is_installed
    if _is_installed:
        return
    _is_installed = True
    for seam in seams():
        seam.install()


def seams() -> "tuple[Seam, ...]":
    """What is changed."""
    return (
        Seam("calls of cells", "mindspore.nn.cell", (Part("Cell.__call__", replace=_cell_call),)),
        Seam(
            "calls of compiled functions",
            ("mindspore.graph.api", "mindspore.common.api"),
            (Part("_JitExecutor.__call__", replace=_jit_call),),
        ),
    )


def _cell_call(original: Any) -> Any:
    """Kept in one piece: a program calls it hundreds of times a step."""
    features = ctypes.c_uint32.in_dll(_native.recorder().fast, "sonde_features_")
    local, known = _local, _names
    modules = _native.FEATURE_MODULES

    @functools.wraps(original)
    def call(cell: Any, *args: Any, **kwargs: Any) -> Any:
        depth = getattr(local, "depth", 0)
        if depth and not features.value & modules:
            return original(cell, *args, **kwargs)
        local.depth = depth + 1
        begun = 0
        if not depth:
            _notify(_begin_listeners, cell)
        if features.value & modules:
            entry = known.get(id(cell))
            if entry is None or entry[0]() is not cell:
                entry = _enter(cell)
            begun = _begin_cell(entry[1], entry[2])
        try:
            return original(cell, *args, **kwargs)
        finally:
            if begun:
                _end_cell(begun)
            local.depth = depth
            if not depth:
                _notify(_end_listeners, cell)

    return call


def _jit_call(original: Any) -> Any:
    @functools.wraps(original)
    def call(executor: Any, *args: Any, **kwargs: Any) -> Any:
        depth = getattr(_local, "depth", 0)
        if depth:
            return original(executor, *args, **kwargs)
        _local.depth = 1
        function = getattr(executor.fn, "__func__", executor.fn)
        _notify(_begin_listeners, function)
        try:
            return original(executor, *args, **kwargs)
        finally:
            _local.depth = 0
            _notify(_end_listeners, function)

    return call


def _notify(listeners: "list[Listener]", called: Any) -> None:
    for listener in listeners:
        listener(called)


def _begin_cell(name: int, args: int) -> int:
    library = _adapter.loaded()
    return 0 if library is None else library.sonde_mindspore_cell_begin(name, args)


def _end_cell(begun: int) -> None:
    library = _adapter.loaded()
    if library is not None:
        library.sonde_mindspore_cell_end(begun)


def _enter(cell: Any) -> "tuple[Any, int, int]":
    """Names a cell and, where the program calls it itself, all below it."""
    kind = type(cell).__name__
    if getattr(_local, "depth", 0) == 1:
        for path, below in _tree(cell):
            _remember(below, path or kind)
    entry = _names.get(id(cell))
    if entry is None or entry[0]() is not cell:
        entry = _remember(cell, kind)
    return entry


def _tree(cell: Any) -> "list[tuple[str, Any]]":
    try:
        return list(cell.cells_and_names())
    except Exception:  # noqa: BLE001: a class of the program's may have its own
        return []


def _remember(cell: Any, name: str) -> "tuple[Any, int, int]":
    recorder, key = _native.recorder(), id(cell)

    def forget(reference: Any, names: Any = _names) -> None:  # a module's names go at the end
        if names.get(key, (None,))[0] is reference:
            del names[key]

    number = recorder.intern(name)
    args = recorder.args({_CLASS_KEY: type(cell).__name__})
    entry: tuple[Any, int, int] = (weakref.ref(cell, forget), number, args)
    _names[key] = entry
    return entry


def is_inside() -> bool:
    """Whether a call runs on this thread."""
    return getattr(_local, "depth", 0) > 0


def name_of(cell: Any) -> Optional[int]:
    """The number of a cell's name, None where it was not met yet."""
    entry = _names.get(id(cell))
    return None if entry is None or entry[0]() is not cell else entry[1]
