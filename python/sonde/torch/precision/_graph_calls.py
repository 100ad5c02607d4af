"""Calls of modules in a graph that Dynamo traced: nodes inside of each, what goes in and out.

The stack of modules of each node says where it was made, the notes of ``_graph_notes`` say what the
calls got and gave. Calls without a note (in parts that Dynamo traces otherwise) have outputs only:
what the code around them uses. Nothing here imports torch.
"""

import operator
from dataclasses import dataclass, field
from typing import Any, Optional

from sonde.torch.precision import _graph_notes
from sonde.torch.precision._graph_notes import Key

#: Operations of a node that computes nothing.
NOT_COMPUTED = ("placeholder", "output", "get_attr")

_WRITING = {operator.setitem} | {
    getattr(operator, name)
    for name in ("iadd", "isub", "imul", "itruediv", "ifloordiv", "ipow", "imatmul", "imod",
                 "iand", "ior", "ixor", "ilshift", "irshift")
}  # fmt: skip


@dataclass
class Call:
    """Of a module: its number when it was traced and how the code around it names it. ``args``,
    ``kwargs`` and ``results`` are as in the notes; ``results`` is a tuple.
    ``is_ordered``: the position of each result is known."""

    key: Key
    number: int
    source: str
    args: Any = ("tuple", [])
    kwargs: Any = ("dict", {})
    results: Any = ("tuple", [])
    is_ordered: bool = True
    is_noted: bool = False
    inside: list[Any] = field(default_factory=list)  # nodes, in order


class Calls:
    """All of one graph. ``events``: calls begin (True) and end, in order."""

    def __init__(self, graph: Any) -> None:
        self.by_key: dict[Key, Call] = {}
        self.events: list[tuple[bool, Call]] = []
        self.order = {node: at for at, node in enumerate(graph.nodes)}
        self.of: dict[Any, tuple[Key, ...]] = {node: _keys(node) for node in graph.nodes}
        notes = _graph_notes.take(graph)
        self._add_stacks(graph)
        self._add_notes(notes)
        for call in self.by_key.values():
            if not call.is_noted:
                self._guess(call)

    def _add_stacks(self, graph: Any) -> None:
        opened: list[Key] = []
        for node in graph.nodes:
            stack = self.of[node]
            if node.op in NOT_COMPUTED:
                continue
            while opened and opened[-1] not in stack:
                self.events.append((False, self.by_key[opened.pop()]))
            for key in stack:
                if key not in self.by_key and key[0].partition("@")[0].isdecimal():
                    self.events.append((True, self._call(key)))
                    opened.append(key)
                if key in self.by_key:
                    self.by_key[key].inside.append(node)
        self.events += [(False, self.by_key[key]) for key in reversed(opened)]

    def _call(self, key: Key) -> Call:
        return self.by_key.setdefault(key, Call(key, int(key[0].partition("@")[0]), key[1]))

    def _add_notes(self, notes: "list[_graph_notes.Note]") -> None:
        times: list[tuple[int, bool, Call]] = []
        for note in notes:
            call = self._call(note.key)
            call.is_noted = True
            call.args, call.kwargs = note.args, note.kwargs
            is_tuple = note.result is not None and note.result[0] == "tuple"
            call.results = note.result if is_tuple else ("tuple", [note.result])
            times += [(note.begin, True, call), (note.end, False, call)]
        if all(call.is_noted for call in self.by_key.values()):
            self.events = [(begins, call) for _, begins, call in sorted(times, key=lambda e: e[0])]

    def _guess(self, call: Call) -> None:
        """Results of a call: what only the graph's caller gets was put aside by the module, as keys
        and values are."""
        leaving = [node for node in call.inside if any(self.leaves(u, call) for u in node.users)]
        used = [
            node for node in leaving
            if any(user.op != "output" and self.leaves(user, call) for user in node.users)
        ]  # fmt: skip
        found = used or leaving
        call.results = ("tuple", [("tensor", _graph_notes.number_of(node)) for node in found])
        call.is_ordered = len(found) < 2

    def leaves(self, user: Any, call: Call) -> bool:
        """Whether a user of a value is outside of the call."""
        return user.op == "output" or call.key not in self.of.get(user, ())

    def before(self, call: Call) -> Any:
        """The node in front of the first one inside of a call; None where it has none."""
        return call.inside[0].prev if call.inside else None

    def last_use(self, node: Any, call: Optional[Call]) -> Any:
        """Of a value inside of a call (None: of the graph), as what writes to it is a use, too."""
        uses = [
            user for user in getattr(node, "users", ())
            if user.op != "output" and user in self.order
            and (call is None or call.key in self.of[user])
        ]  # fmt: skip
        return max([node, *uses], key=lambda each: self.order.get(each, 0))


def _keys(node: Any) -> tuple[Key, ...]:
    stack = node.meta.get("nn_module_stack") or {}
    return tuple((key, source) for key, (source, _) in stack.items())


def tensors_in(tree: Any) -> "list[int]":
    """Numbers of the nodes in what a note says of a value, in order: those whose gradients hooks of
    a module hear of. They do not look into a dataclass."""
    if tree is None or tree[0] in ("value", "fields"):
        return []
    kind, held = tree
    if kind == "tensor":
        return [held]
    parts = held.values() if kind == "dict" else held
    return [number for part in parts for number in tensors_in(part)]


class Written:
    """Which values of a graph are written in place after they were made. ``in`` a node."""

    def __init__(self, graph: Any) -> None:
        self._order = {node: at for at, node in enumerate(graph.nodes)}
        self._last: dict[int, float] = {}  # by memory: where it is written last
        self._nodes = list(graph.nodes)
        writes: dict[int, list[int]] = {}
        versions: dict[int, int] = {}
        for node, at in self._order.items():
            value = node.meta.get("example_value")
            memory = _memory(value)
            versions[memory] = max(versions.get(memory, 0), _version(value))
            for target in _targets(node):
                writes.setdefault(_memory(target.meta.get("example_value")), []).append(at)
        for memory, places in writes.items():
            self._last[memory] = places[-1]
        for memory, version in versions.items():
            if version > len(writes.get(memory, ())):  # by something that does not show it
                self._last[memory] = float("inf")
        self._last.pop(0, None)

    def __contains__(self, node: Any) -> bool:
        return self.last(node) > self._order.get(node, 0)

    def last(self, node: Any) -> float:
        """Number of the node that writes to a node's memory last; -1 for none, infinity where that
        is unknown."""
        return self._last.get(_memory(node.meta.get("example_value")), -1)

    def last_writer(self, node: Any) -> Any:
        """The node that writes to a node's memory last; None for none, and where it is unknown."""
        last = self.last(node)
        return self._nodes[int(last)] if 0 <= last < len(self._nodes) else None


def _memory(value: Any) -> int:
    """A number for the memory that views share; 0 where there is none."""
    try:
        return int(value.untyped_storage()._cdata)
    except (AttributeError, NotImplementedError, RuntimeError):
        return 0


def _version(value: Any) -> int:
    """How often a tensor was written; 0 also where it does not count (inference mode)."""
    try:
        return int(value._version)
    except (AttributeError, RuntimeError):
        return 0


def _targets(node: Any) -> "list[Any]":
    """Nodes that a node writes to, as far as its call shows it."""
    nodes = list(node.all_input_nodes)
    name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
    writes = node.op == "call_method" and name.endswith("_") and not name.endswith("__")
    if node.op == "call_function":
        writes = node.target in _WRITING or node.kwargs.get("inplace") is True
        writes = writes or (name.endswith("_") and not name.endswith("__"))
    if writes:
        return nodes[:1]
    out = node.kwargs.get("out")
    if out is not None:
        return [
            each for each in nodes if each is out or each in (out if type(out) is tuple else ())
        ]
    return nodes if _holds_functions(node.target) else _written_by_schema(node)


def _holds_functions(target: Any) -> bool:
    """Such an operator may write to whatever it gets."""
    return any(kind.__name__ == "HigherOrderOperator" for kind in type(target).__mro__)


def _written_by_schema(node: Any) -> "list[Any]":
    """Arguments that an operator's schema marks, in one of its forms."""
    target = node.target
    names = target.overloads() if hasattr(target, "overloads") else ()
    found = []
    for form in [getattr(target, name) for name in names] if names else [target]:
        for at, argument in enumerate(getattr(getattr(form, "_schema", None), "arguments", ())):
            info = argument.alias_info
            if info is not None and info.is_write:
                given = node.args[at] if at < len(node.args) else node.kwargs.get(argument.name)
                found += list(given) if isinstance(given, (tuple, list)) else [given]
    return [each for each in dict.fromkeys(found) if hasattr(each, "meta")]
