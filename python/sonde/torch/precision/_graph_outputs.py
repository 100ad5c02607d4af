"""Statistics of the outputs of modules, as one more output of a graph that Dynamo traced.

The graph knows of each node in which calls of modules it was made. What a call gives to the code
around it are its outputs; behind the last use of such a value inside of the call, since it may be
written in place, its statistics are taken by operators of torch, which the compiler fuses with what
computes the value: nothing is materialised for them. Which value is which part of a tuple the graph
does not know; ``note_result`` notes it while Dynamo traces. Nothing here imports torch.
"""

from dataclasses import dataclass, field
from typing import Any, Optional

#: Numbers of a value in the table, in the order of the record.
STATISTICS = ("Max", "Min", "Mean", "Norm")
_POSITIONS = "sonde_positions"
_HALF = ("torch.float16", "torch.bfloat16")
_TYPES = ("torch.float32", "torch.float64", *_HALF)
_NOT_COMPUTED = ("placeholder", "output", "get_attr")
# Of a call: the module's number, with "@1" and so on where it was called before by the same name,
# and that name. A module that several others share has several.
_Key = tuple[str, str]


@dataclass(frozen=True)
class Value:
    """``row`` of the table; ``sizes`` are numbers, or expressions where they vary."""

    row: int
    dtype: str
    sizes: tuple[Any, ...]
    requires_grad: bool

    @property
    def is_half(self) -> bool:
        """Whether the statistics are of the value before it is rounded."""
        return self.dtype in _HALF


@dataclass
class Call:
    """Of a module: its number when it was traced and how the code around it names it. ``outputs``
    has None for what is no value of the graph."""

    number: int
    source: str
    outputs: list[Optional[Value]] = field(default_factory=list)
    is_ordered: bool = True  # the position of each output is known


@dataclass
class Plan:
    """What was put into one graph. ``events``: calls begin (True) and end, in order. ``whole``:
    outputs of the graph. ``symbols``: the argument, and its dimension, that a size is read from."""

    calls: list[Call]
    events: list[tuple[bool, Call]]
    whole: list[Optional[Value]]
    symbols: dict[Any, tuple[int, Optional[int]]]


def note_result(module: Any, result: Any) -> None:
    """Dynamo has traced a call of a module. ``result``: its variable, or one of a tuple."""
    items = getattr(result, "items", None)
    parts = list(items) if isinstance(items, (list, tuple)) else [result]
    for position, part in enumerate(parts):
        node = getattr(getattr(part, "proxy", None), "node", None)
        if node is not None:
            known = node.meta.setdefault(_POSITIONS, {})
            known[id(module)] = (position, len(parts))


def insert(graph_module: Any) -> Optional[Plan]:
    """Changes the graph; None, and no change, where it has nothing to take statistics of."""
    graph = graph_module.graph
    (output,) = [node for node in graph.nodes if node.op == "output"]
    if not isinstance(output.args[0], (tuple, list)):
        return None
    scopes = _Scopes(graph)
    table = _Table(graph)
    found = {key: scopes.outputs(key, call) for key, call in scopes.calls.items()}
    for key, nodes in found.items():
        scopes.calls[key].outputs = [table.add(node, scopes.last_use(node, key)) for node in nodes]
    whole = [table.add(node, scopes.last_use(node, None)) for node in output.args[0]]
    if not table.columns:
        return None
    table.put_before(output)
    graph_module.recompile()
    return Plan(list(scopes.calls.values()), scopes.events, whole, _symbols(graph))


def _keys(node: Any) -> tuple[_Key, ...]:
    stack = node.meta.get("nn_module_stack") or {}
    return tuple((key, source) for key, (source, _) in stack.items())


class _Scopes:
    """Which calls of modules each node is made in, from the outermost."""

    def __init__(self, graph: Any) -> None:
        self.calls: dict[_Key, Call] = {}
        self.events: list[tuple[bool, Call]] = []
        self._of: dict[Any, tuple[_Key, ...]] = {}
        self._order = {node: at for at, node in enumerate(graph.nodes)}
        self._inside: dict[_Key, list[Any]] = {}
        opened: list[_Key] = []
        for node in graph.nodes:
            stack = _keys(node)
            self._of[node] = stack
            if node.op in _NOT_COMPUTED:
                continue
            while opened and opened[-1] not in stack:
                self.events.append((False, self.calls[opened.pop()]))
            for key in stack:
                self._inside.setdefault(key, []).append(node)
                number = key[0].partition("@")[0]
                if key not in self.calls and number.isdecimal():
                    self.calls[key] = Call(int(number), key[1])
                    self.events.append((True, self.calls[key]))
                    opened.append(key)
        self.events += [(False, self.calls[key]) for key in reversed(opened)]

    def outputs(self, key: _Key, call: Call) -> "list[Any]":
        """Nodes of the outputs of a call, by position where that is known."""
        inside = self._inside[key]
        places = [(node.meta.get(_POSITIONS, {}).get(call.number), node) for node in inside]
        known = {place[0]: (place[1], node) for place, node in places if place is not None}
        if known:
            count = max(count for count, _ in known.values())
            return [known.get(at, (0, None))[1] for at in range(count)]
        leaving = [node for node in inside if any(self._leaves(user, key) for user in node.users)]
        # What only the graph's caller gets was put aside by the module, as keys and values are.
        used = [
            node for node in leaving
            if any(user.op != "output" and self._leaves(user, key) for user in node.users)
        ]  # fmt: skip
        found = used or leaving
        call.is_ordered = len(found) < 2
        return found

    def _leaves(self, user: Any, key: _Key) -> bool:
        return user.op == "output" or key not in self._of[user]

    def last_use(self, node: Any, key: Optional[_Key]) -> Any:
        """Of a value inside of a call (None: of the graph), as what writes to it is a use, too."""
        uses = [
            user for user in getattr(node, "users", ())
            if user.op != "output" and user in self._order
            and (key is None or key in self._of[user])
        ]  # fmt: skip
        return max([node, *uses], key=lambda each: self._order.get(each, 0))


class _Table:
    """The statistics that are taken in a graph: each value once, on one device."""

    def __init__(self, graph: Any) -> None:
        self.columns: list[Any] = []
        self._graph = graph
        self._rows: dict[tuple[Any, Any], Value] = {}
        self._last: dict[Any, Any] = {}  # what was put behind a node, in order
        self._device: Any = None

    def add(self, node: Any, after: Any) -> Optional[Value]:
        """None of what is no tensor of floating numbers."""
        value = getattr(node, "meta", {}).get("example_value")
        dtype = str(getattr(value, "dtype", ""))
        if dtype not in _TYPES or node.op in ("placeholder", "get_attr"):
            return None
        sizes = tuple(_size(size) for size in value.shape)
        self._device = self._device or value.device
        if 0 in sizes or value.device != self._device or value.is_sparse:
            return None
        if (node, after) not in self._rows:
            row = len(self._rows)
            self._rows[node, after] = Value(row, dtype, sizes, bool(value.requires_grad))
            self._take(node, after, dtype)
        return self._rows[node, after]

    def _take(self, node: Any, after: Any, dtype: str) -> None:
        import torch

        graph = self._graph
        at = self._last.get(after, after)

        def put(method: Any, value: Any) -> Any:
            nonlocal at
            with graph.inserting_after(at):
                is_method = isinstance(method, str)
                at = (graph.call_method if is_method else graph.call_function)(method, (value,))
            return at

        value = put("detach", node)
        if dtype in _HALF:
            value = put("float", value)
        for method in ("amax", "amin", "mean", torch.linalg.vector_norm):
            number = put(method, value)
            self.columns.append(put("float", number) if dtype == "torch.float64" else number)
        self._last[after] = at

    def put_before(self, output: Any) -> None:
        """The table is the last output."""
        import torch

        with self._graph.inserting_before(output):
            table = self._graph.call_function(torch.stack, (self.columns,))
        output.args = ((*output.args[0], table),)


def _size(size: Any) -> Any:
    return size if isinstance(size, int) else size.node.expr


def _symbols(graph: Any) -> "dict[Any, tuple[int, Optional[int]]]":
    found: dict[Any, tuple[int, Optional[int]]] = {}
    inputs = [node for node in graph.nodes if node.op == "placeholder"]
    for at, node in enumerate(inputs):
        value = node.meta.get("example_value")
        places = [(None, value), *enumerate(getattr(value, "shape", ()))]
        for dimension, size in places:
            expression = getattr(getattr(size, "node", None), "expr", None)
            if getattr(expression, "is_Symbol", False):
                found.setdefault(expression, (at, dimension))
    return found


def sizes_of(plan: Plan, arguments: Any) -> "dict[Any, int]":
    """The sizes that vary, in a call with these arguments."""
    found = {}
    for symbol, (at, dimension) in plan.symbols.items():
        value = arguments[at]
        found[symbol] = int(value if dimension is None else value.shape[dimension])
    return found


def shape_of(value: Value, sizes: "dict[Any, int]") -> "list[int]":
    """Of a value, with the sizes of a call."""
    return [size if isinstance(size, int) else int(size.xreplace(sizes)) for size in value.sizes]
