"""Entries of one call of compiled code, as if hooks had seen its modules."""

import math
import re
import sys
from dataclasses import dataclass
from typing import Any, Optional

from sonde.torch.precision._graph_boundaries import Looked, leaves
from sonde.torch.precision._graph_calls import Call
from sonde.torch.precision._graph_outputs import (
    STATISTICS,
    Given,
    Kept,
    Number,
    Plan,
    Recorded,
    Value,
    shape_of,
)
from sonde.torch.precision._modules import own_parameters
from sonde.torch.precision._values import Raw

_HEAD = re.compile(r"([LG])\[['\"](\w+)['\"]\]")
_STEP = re.compile(r"\.(\w+)|\[['\"]?([^\]'\"]+)['\"]?\]")
_TORCH = re.compile(r"[/\\]torch[/\\]_(?:dynamo|functorch|inductor|compile)")
_FRAMES = 40
_BEFORE_ROUNDING = "of the value before it is rounded"
_NO_POSITION = "position unknown"
_ROUNDED = "rounded to 24 bits"
_OURS = __file__.rpartition("torch")[0]


@dataclass(frozen=True)
class Backwards:
    """The backward of a module's call begins, or ends. ``prefix`` of names of the module."""

    begins: bool
    name: str
    prefix: str
    module: Any
    recorded: Recorded


class Entries:
    """``given``: arguments of the call, by their positions; ``results``: the outputs that were
    added to the graph; ``kept``: instead, what was in memory, by node of Dynamo, and outputs of the
    graph by number."""

    def __init__(
        self,
        service: Any,
        plan: Plan,
        sizes: "dict[Any, int]",
        given: "dict[int, Any]",
        results: "list[Any]",
        kept: "Optional[dict[Any, Any]]" = None,
    ) -> None:
        self._modules = service.modules
        self._collector = service.collector
        self._plan = plan
        self._sizes = sizes
        self._given = given
        self._results = results
        self._kept = kept
        self._numbers = results[0].tolist() if plan.is_table and results else []
        self._frame = _calling_frame()
        self._calls = self._visible = 0
        self._names: dict[int, tuple[str, Any]] = {}  # name of the entry, and the module

    def write(self) -> "list[Backwards]":
        """Gives the calls whose backward may come, in its order."""
        whole = self._whole_module()
        if whole is not None:
            whole_name = self._modules.next_name(whole[0])
            self._collector.module_begins(whole_name, (), {})
        backward: list[Backwards] = []
        for begins, recorded in self._plan.events:
            if begins:
                self._begin(recorded)
            elif id(recorded) in self._names:
                self._end(recorded)
            if id(recorded) in self._names:
                forward, module = self._names[id(recorded)]
                prefix, _, number = forward.rpartition(".forward.")
                backward.append(
                    Backwards(not begins, f"{prefix}.backward.{number}", prefix, module, recorded)
                )
        self._plan.seen = (self._visible, self._calls)
        if whole is not None:
            prefix, module = whole
            parameters = own_parameters(module)
            self._modules.hook_gradients(prefix, module, parameters)
            self._collector.module_ends(whole_name, self._built(self._plan.whole, []), parameters)
        return backward[::-1]

    def _begin(self, recorded: Recorded) -> None:
        module = self._module_of(recorded.call)
        prefix = None if module is None else self._modules.prefix_of(id(module))
        if prefix is None:
            return
        name = self._modules.next_name(prefix)
        self._calls += 1
        if self._kept is not None and not self._has_result(recorded):
            return
        self._visible += 1
        self._names[id(recorded)] = (name, module)
        args, kwargs = self._built(recorded.args, []), self._built(recorded.kwargs, [])
        self._collector.module_begins(name, args or (), kwargs or {})

    def _end(self, recorded: Recorded) -> None:
        name, module = self._names[id(recorded)]
        notes = [] if recorded.call.is_ordered else [_NO_POSITION]
        prefix = name.rpartition(".forward.")[0]
        parameters = own_parameters(module)
        self._modules.hook_gradients(prefix, module, parameters)
        self._collector.module_ends(name, self._built(recorded.results, notes), parameters)

    def _built(self, tree: Any, notes: "list[str]") -> Any:
        """A value as the module got or gave it, but records of what is known in their places."""
        if tree is None:
            return None
        kind, held = tree
        if kind == "value":
            return held  # a plain one
        if isinstance(held, dict):
            return {name: self._built(part, notes) for name, part in held.items()}
        if kind == "tensor":
            return self._of(held, notes)
        parts = [self._built(part, notes) for part in held]
        return tuple(parts) if kind == "tuple" else parts

    def _has_result(self, recorded: Recorded) -> bool:
        """Whether a part of what a call gave is known, or nothing of it is to be found."""
        found = [each for each in leaves(recorded.results) if isinstance(each, Kept)]
        return not found or any(self._found(each) is not None for each in found)

    def _found(self, value: Kept) -> Any:
        kept = self._kept or {}
        if value.result in kept:
            return kept[value.result]
        found = next((kept[name] for name in value.names if name in kept), None)
        if found is None:
            return None
        count = math.prod(shape_of(value.value.sizes, self._sizes))
        size = found.count if isinstance(found, Looked) else found.numel()
        return found if (str(found.dtype), size) == (value.value.dtype, count) else None

    def _of_memory(self, value: Kept, notes: "list[str]") -> Any:
        found = self._found(value)
        if not isinstance(found, Looked):
            if found is None:
                return None
            found = found.detach().reshape(shape_of(value.value.sizes, self._sizes))
            return found.requires_grad_() if value.value.requires_grad else found
        return record_of(value.value, self._sizes, found.table.tolist(), notes, is_rounded=True)

    def _of(self, value: Any, notes: "list[str]") -> Any:
        if isinstance(value, Kept):
            return self._of_memory(value, notes)
        if isinstance(value, Given):
            return self._given.get(value.position)
        if isinstance(value, Number):
            return int(value.expression.xreplace(self._sizes))
        if self._plan.is_table:
            first = value.row * len(STATISTICS)
            return record_of(value, self._sizes, self._numbers[first:][: len(STATISTICS)], notes)
        tensor = self._results[value.row]
        return tensor.detach().requires_grad_() if value.requires_grad else tensor

    def _module_of(self, call: Call) -> Any:
        """Layers that are alike share a graph: the one that is called now is found by its variable,
        where there is one."""
        found = self._object_at(call.source)
        return found if found is not None else self._modules.module_at(call.number)

    def _object_at(self, source: str) -> Any:
        head = _HEAD.match(source)
        if head is None or self._frame is None:
            return None
        names = self._frame.f_locals if head[1] == "L" else self._frame.f_globals
        value = names.get(head[2])
        for attribute, item in _STEP.findall(source, head.end()):
            value = _step(value, attribute or item)
        return value

    def _whole_module(self) -> "Optional[tuple[str, Any]]":
        """The module whose forward is the graph, where no hook sees its calls."""
        frame = self._frame
        if frame is None or frame.f_code.co_name != "forward" or not frame.f_code.co_argcount:
            return None
        module = frame.f_locals.get(frame.f_code.co_varnames[0])
        calls = self._collector.nesting.calls
        if any(call.module is module for call in calls) or self._modules.is_hidden(module):
            return None
        prefix = self._modules.prefix_of(id(module))
        return None if prefix is None else (prefix, module)


def record_of(
    value: Value,
    sizes: "dict[Any, int]",
    row: "list[float]",
    notes: "list[str]",
    is_rounded: bool = False,
) -> Raw:
    """Of a value with its numbers in the table."""
    notes = [*notes] + ([_BEFORE_ROUNDING] if value.is_half and not is_rounded else [])
    notes += [] if value.is_exact(row) else [_ROUNDED]
    return Raw(
        {
            "type": "torch.Tensor",
            "dtype": value.dtype,
            "shape": shape_of(value.sizes, sizes),
            **dict(zip(STATISTICS, value.numbers(row))),
            "requires_grad": value.requires_grad,
            **({"note": ", ".join(notes)} if notes else {}),
        }
    )


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
