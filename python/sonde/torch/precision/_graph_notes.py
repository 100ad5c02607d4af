"""What Dynamo knows of each call of a module while it traces: arguments and results, by nodes.

A graph forgets which of its values is which argument, or which part of a result; that is noted on
nodes as plain data, since graphs are copied and written to files. Of a value: ``("tensor", number
of its node)``, since names change, ``("value", a number or text)``, ``("list", [...])``,
``("tuple", [...])``, ``("dict", {...})``, ``("fields", {...})`` of a dataclass, None where nothing
is known. Nothing here imports torch. Threads: any.
"""

import dataclasses
import itertools
import re
import sys
from dataclasses import dataclass
from typing import Any, Optional

from sonde._seams import Around

_NOTES = "sonde_calls"  # in the meta data of a node
_VALUE = "sonde_value"
_CONTAINER = re.compile(r"\._(?:modules|parameters|buffers)\[(['\"])([^'\"\]]+)\1\]")
_PLAIN = (bool, int, float, str, type(None))
_order = itertools.count()

# Of a call: the module's number, with "@1" and so on where it was called before by the same name,
# and that name. A module that several others share has several.
Key = tuple[str, str]


@dataclass(frozen=True)
class Note:
    """Of one call; ``begin`` and ``end`` count all of them, in order."""

    key: Key
    begin: int
    end: int
    args: Any
    kwargs: Any
    result: Any


def traced(self: Any, tx: Any, args: Any, kwargs: Any) -> Around:
    """Around ``UnspecializedNNModuleVariable.call_function``."""
    begin = next(_order)
    key = _key_of(self, tx)
    result = yield
    reader = _Reader(tx)
    noted = {
        "key": key,
        "begin": begin,
        "end": next(_order),
        "args": ("tuple", [reader.read(each) for each in args]),
        "kwargs": ("dict", {name: reader.read(each) for name, each in kwargs.items()}),
    }
    reader.nodes.clear()
    noted["result"] = reader.read(result)
    nodes = tx.output.graph.nodes
    place = reader.nodes[0] if reader.nodes else next(iter(reversed(nodes)), None)
    if key is not None and place is not None:
        place.meta.setdefault(_NOTES, []).append(noted)


def take(graph: Any) -> "list[Note]":
    """All of a graph, in the order of their beginnings; the graph forgets them."""
    found = [Note(**noted) for node in graph.nodes for noted in node.meta.pop(_NOTES, ())]
    return sorted(found, key=lambda note: note.begin)


def number_of(node: Any) -> int:
    """By which notes know a node."""
    number: int = node.meta.setdefault(_VALUE, next(_order))
    return number


def by_number(graph: Any) -> "dict[int, Any]":
    """The nodes of a graph that notes know."""
    return {node.meta[_VALUE]: node for node in graph.nodes if _VALUE in node.meta}


def _key_of(variable: Any, tx: Any) -> Optional[Key]:
    """As the nodes' stacks have it; None where torch keeps no stack of the module."""
    if getattr(variable, "source", None) is None:
        return None
    name = variable.get_nn_module_stack_source().name
    name = _CONTAINER.sub(r".\2", name() if callable(name) else name)
    number, calls = str(id(variable.value)), tx.num_calls.get(name, 0)
    return (f"{number}@{calls}" if calls else number, name)


class _Reader:
    """Reads variables of Dynamo; none is looked at that the program did not look at, since that
    would add a guard. ``nodes``: of the tensors that it met."""

    def __init__(self, tx: Any) -> None:
        self.nodes: list[Any] = []
        self._effects = tx.output.side_effects
        self._kinds = sys.modules["torch._dynamo.variables"]
        self._lists = sys.modules["torch._dynamo.variables.lists"]

    def read(self, variable: Any) -> Any:
        if isinstance(variable, self._kinds.LazyVariableTracker):
            if not variable.is_realized():
                return _plain(variable.peek_value())
            variable = variable.realize()
        node = getattr(getattr(variable, "proxy", None), "node", None)
        if node is not None:
            self.nodes.append(node)
            return ("tensor", number_of(node))
        if isinstance(variable, self._kinds.ConstantVariable):
            return _plain(variable.as_python_constant())
        kind = getattr(variable, "value_type", None) or getattr(variable, "tuple_cls", None)
        if dataclasses.is_dataclass(kind):
            return self._fields(variable, kind)
        return self._container(variable, getattr(kind, "_fields", None))

    def _container(self, variable: Any, fields: "Optional[tuple[str, ...]]") -> Any:
        held = getattr(variable, "_tuple_vt", None) or getattr(variable, "_dict_vt", None)
        items = getattr(held or variable, "items", None)
        if isinstance(items, dict):
            return ("dict", {_name(key): self.read(each) for key, each in items.items()})
        if not isinstance(items, list):
            return None
        parts = [self.read(each) for each in items]
        if fields is not None:
            return ("dict", dict(zip(fields, parts)))
        return ("list" if isinstance(variable, self._lists.ListVariable) else "tuple", parts)

    def _fields(self, variable: Any, kind: Any) -> Any:
        """Of a dataclass: what the traced code assigned."""
        effects = self._effects
        found = {}
        for name in kind.__dataclass_fields__:
            is_known = effects.has_pending_mutation_of_attr(variable, name)
            found[name] = self.read(effects.load_attr(variable, name)) if is_known else None
        return ("dict" if issubclass(kind, dict) else "fields", found)


def _plain(value: Any) -> Any:
    return ("value", value) if type(value) in _PLAIN else None


def _name(key: Any) -> str:
    variable = getattr(key, "vt", key)
    try:
        return str(variable.as_python_constant())
    except (AttributeError, NotImplementedError):
        return "?"
