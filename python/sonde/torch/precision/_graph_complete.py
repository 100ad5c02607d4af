"""``"graph": "complete"``: what the modules of compiled code computed.

Modules in compiled code are called by nobody, and a hook on one makes the compiler compile another
program. So Dynamo traces without hooks, each graph gets statistics of the outputs of its modules as
one more output (``_graph_outputs``), and the function that is made of it leads to us: what it gives
becomes entries as if the modules had been called, while the debugger records. Graphs that were
compiled before ``watch`` have none. Threads: any.
"""

import functools
import re
import sys
import threading
from typing import Any, Callable, Optional

from sonde._seams import Around, Part, Seam
from sonde.torch.precision import _errors, _graph_backend
from sonde.torch.precision._graph_outputs import (
    STATISTICS,
    Call,
    Plan,
    Value,
    insert,
    note_result,
    shape_of,
    sizes_of,
)
from sonde.torch.precision._values import Raw

_HEAD = re.compile(r"([LG])\[['\"](\w+)['\"]\]")
_STEP = re.compile(r"\.(\w+)|\[['\"]?([^\]'\"]+)['\"]?\]")
_TORCH = re.compile(r"[/\\]torch[/\\]_(?:dynamo|functorch|inductor|compile)")
_FRAMES = 40
_SINCE = (2, 10)  # of torch
_BEFORE_ROUNDING = "of the value before it is rounded"
_NO_POSITION = "position unknown"
_watched: "list[_Watch]" = []


def watch() -> "_Watch":
    """Graphs that are compiled from now on have statistics. Once a process."""
    if not _watched:
        _watched.append(_Watch())
        for seam in seams(_watched[0]):
            seam.install()
    return _watched[0]


def seams(watching: "Optional[_Watch]" = None) -> tuple[Seam, ...]:
    """Graphs on their way to Inductor, and results of modules that Dynamo traces."""
    watching = watching or _Watch()
    return (
        Seam(
            "statistics in compiled graphs",
            "torch._inductor.compile_fx",
            (Part("compile_fx", replace=watching.with_statistics),),
            since=_SINCE,
        ),
        Seam(
            "results of modules in compiled graphs",
            "torch._dynamo.variables.nn_module",
            (Part("UnspecializedNNModuleVariable.call_function", _traced),),
            since=_SINCE,
            is_extra=True,
        ),
    )


def _traced(self: Any, *_: Any, **__: Any) -> Around:
    result = yield
    note_result(getattr(self, "value", None), result)


class _Watch:
    """``graphs``: how many have statistics; ``traced``: how many came from Dynamo; ``service``:
    which records, if any; ``backend``: what compiles them, if not Inductor."""

    def __init__(self) -> None:
        self.graphs = 0
        self.traced = 0
        self.service: Any = None
        self.backend = ""
        self._thread = threading.local()

    def with_statistics(self, compile_fx: Callable[..., Any]) -> Callable[..., Any]:
        """Stands for ``compile_fx``, which calls itself for options: the outermost call counts."""

        @functools.wraps(compile_fx)
        def changed(model_: Any, *args: Any, **kwargs: Any) -> Any:
            if getattr(self._thread, "is_inside", False) or not hasattr(model_, "graph"):
                return compile_fx(model_, *args, **kwargs)
            plan = self._insert(model_)
            self.traced += 1
            compiler = _graph_backend.instead_of(compile_fx, self.backend)
            self._thread.is_inside = True
            try:
                compiled = compiler(model_, *args, **kwargs)
            finally:
                self._thread.is_inside = False
            return compiled if plan is None else self._read(compiled, plan)

        return changed

    def _insert(self, model: Any) -> Optional[Plan]:
        try:
            plan = insert(model)
        except Exception as problem:  # noqa: BLE001: the boundary to the user's program
            _errors.warning(f"a compiled graph gets no statistics: {problem!r}")
            return None
        self.graphs += plan is not None
        return plan

    def _read(self, compiled: Any, plan: Plan) -> Any:
        def read(*args: Any, **kwargs: Any) -> Any:
            service = self.service
            if service is None or not service.modules.on:
                return compiled(*args, **kwargs)[:-1]
            sizes = _sizes_before(service, plan, args)
            results = compiled(*args, **kwargs)
            if sizes is not None:
                _record(service, plan, sizes, results[-1])
            return results[:-1]

        functools.update_wrapper(read, compiled)
        if hasattr(compiled, "serialize"):  # who keeps compiled code asks for it
            read.serialize = compiled.serialize  # type: ignore[attr-defined]
        return read


def _sizes_before(service: Any, plan: Plan, args: tuple) -> "Optional[dict[Any, int]]":
    """The sizes that vary; None where they cannot be found. The callee may empty its arguments."""
    try:
        is_boxed = len(args) == 1 and isinstance(args[0], list)
        return sizes_of(plan, args[0] if is_boxed else args)
    except Exception as problem:  # noqa: BLE001: the boundary to the user's program
        service.collector.failed(problem)
        return None


def _record(service: Any, plan: Plan, sizes: "dict[Any, int]", table: Any) -> None:
    """Entries of one call of compiled code."""
    collector = service.collector
    if not collector.enter():
        return
    try:
        _Entries(service, plan, sizes, table.tolist()).write()
    except Exception as problem:  # noqa: BLE001: the boundary to the user's program
        collector.failed(problem)
    finally:
        collector.leave()


class _Entries:
    def __init__(
        self, service: Any, plan: Plan, sizes: "dict[Any, int]", numbers: "list[float]"
    ) -> None:
        self._modules = service.modules
        self._collector = service.collector
        self._plan = plan
        self._sizes = sizes
        self._numbers = numbers
        self._frame = _calling_frame()

    def write(self) -> None:
        """As hooks would have seen the modules."""
        whole = self._whole_module()
        if whole is not None:
            name = self._begin(whole)
        names: dict[int, str] = {}
        for begins, call in self._plan.events:
            if begins:
                prefix = self._prefix_of(call)
                if prefix is not None:
                    names[id(call)] = self._begin(prefix)
            elif id(call) in names:
                self._end(names[id(call)], call.outputs, call.is_ordered)
        if whole is not None:
            self._end(name, self._plan.whole, True)

    def _begin(self, prefix: str) -> str:
        name = self._modules.next_name(prefix)
        self._collector.begin_module(name)
        return name

    def _end(self, name: str, outputs: "list[Optional[Value]]", is_ordered: bool) -> None:
        records = tuple(self._record_of(value, is_ordered) for value in outputs)
        if any(record is not None for record in records):
            self._collector.forward_outputs(name, records)
        self._collector.end_module(name)

    def _record_of(self, value: Optional[Value], is_ordered: bool) -> Optional[Raw]:
        if value is None:
            return None
        first = value.row * len(STATISTICS)
        notes = [] if is_ordered else [_NO_POSITION]
        notes += [_BEFORE_ROUNDING] if value.is_half else []
        return Raw(
            {
                "type": "torch.Tensor",
                "dtype": value.dtype,
                "shape": shape_of(value, self._sizes),
                **dict(zip(STATISTICS, self._numbers[first : first + len(STATISTICS)])),
                "requires_grad": value.requires_grad,
                **({"note": ", ".join(notes)} if notes else {}),
            }
        )

    def _prefix_of(self, call: Call) -> Optional[str]:
        """What names of the module's entries begin with. Layers that are alike share a graph: the
        one that is called now is found by its variable, where there is one."""
        module = self._object_at(call.source)
        if module is not None:
            return self._modules.prefix_of(id(module))
        return self._modules.prefix_of(call.number)

    def _object_at(self, source: str) -> Any:
        head = _HEAD.match(source)
        if head is None or self._frame is None:
            return None
        names = self._frame.f_locals if head[1] == "L" else self._frame.f_globals
        value = names.get(head[2])
        for attribute, item in _STEP.findall(source, head.end()):
            value = _step(value, attribute or item)
        return value

    def _whole_module(self) -> Optional[str]:
        """The module whose forward is the graph, where no hook sees its calls."""
        frame = self._frame
        if frame is None or frame.f_code.co_name != "forward" or not frame.f_code.co_argcount:
            return None
        module = frame.f_locals.get(frame.f_code.co_varnames[0])
        calls = self._collector.nesting.calls
        if any(call.module is module for call in calls) or self._modules.is_hidden(module):
            return None
        return self._modules.prefix_of(id(module))


def _step(value: Any, name: str) -> Any:
    children = getattr(value, "_modules", None)
    if isinstance(children, dict) and name in children:
        return children[name]
    if hasattr(value, name):
        return getattr(value, name)
    try:
        return value[int(name) if name.isdecimal() else name]
    except (KeyError, IndexError, TypeError):
        return None


def _calling_frame() -> Any:
    """The frame of the user's function that was compiled."""
    frame: Any = sys._getframe(1)
    for _ in range(_FRAMES):
        if frame is None:
            return None
        file = frame.f_code.co_filename
        if not _TORCH.search(file) and not file.startswith(_OURS) and file[:1] != "<":
            return frame
        frame = frame.f_back
    return None


_OURS = __file__.rpartition("torch")[0]
