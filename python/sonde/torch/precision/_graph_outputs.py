"""What modules got and gave, as more outputs of a graph that Dynamo traced.

Statistics of such a value are taken by operators of torch, which the compiler fuses with what
computes the value: nothing is materialised for them, and one table is one more output. Where whole
tensors are wanted each value is an output of its own. A value that is written in place is looked at
where the call gets it, or behind the call's last use of it. What the graph itself gets is recorded
as it is given, and is not looked at here. Nothing here imports torch.
"""

from dataclasses import dataclass, field
from typing import Any, Callable, Optional

from sonde.torch.precision._graph_calls import NOT_COMPUTED, Call, Calls, Written
from sonde.torch.precision._graph_notes import by_number

#: Numbers of a value in the table, in the order of the record.
STATISTICS = ("Max", "Min", "Mean", "Norm")
_HALF = ("torch.float16", "torch.bfloat16")
_FLOATS = ("torch.float32", "torch.float64", *_HALF)
_INTEGERS = ("torch.uint8", *(f"torch.int{bits}" for bits in (8, 16, 32, 64)))
_EXACT = 1 << 24  # integers below it are exact in the table
_BOOL = "torch.bool"


@dataclass(frozen=True)
class Value:
    """``row`` of the table, or of the outputs where whole tensors are wanted; ``sizes`` are
    numbers, or expressions where they vary."""

    row: int
    dtype: str
    sizes: tuple[Any, ...]
    requires_grad: bool

    @property
    def is_half(self) -> bool:
        """Whether the statistics are of the value before it is rounded."""
        return self.dtype in _HALF

    def is_exact(self, row: "list[float]") -> bool:
        """Whether integers are what the table says."""
        return self.dtype not in _INTEGERS or max(abs(row[0]), abs(row[1])) < _EXACT

    def numbers(self, row: "list[float]") -> "list[Any]":
        """Of the table, as a record of the value's type has them."""
        if self.dtype in _FLOATS:
            return row if self.sizes else [row[0]] * len(STATISTICS)
        convert: Callable[[float], Any] = bool if self.dtype == _BOOL else int
        return [convert(row[0]), convert(row[1]), None, None]


@dataclass(frozen=True)
class Given:
    """An argument of the graph, by its position."""

    position: int


@dataclass(frozen=True)
class Number:
    """A size that varies: an expression."""

    expression: Any


@dataclass(frozen=True)
class Kept:
    """A value that generated code may have in memory: by the first of the nodes of Dynamo in
    ``names`` that is, which hold the same elements. ``result``: or as an output of the graph.
    ``writer``: the operator that writes it in place, "" for none."""

    names: tuple[str, ...]
    result: Optional[int]
    value: Value
    writer: str = ""


@dataclass
class Recorded:
    """Of one call of a module, as in the notes but with ``Value``, ``Given``, ``Number``, ``Kept``
    or None in the places of nodes' numbers. ``to_results``, ``to_args``: rows of the gradients."""

    call: Call
    args: Any
    kwargs: Any
    results: Any
    to_results: "list[Any]" = field(default_factory=list)
    to_args: "list[Any]" = field(default_factory=list)


@dataclass
class Plan:
    """What was put into one graph. ``events``: calls begin (True) and end, in order. ``whole``:
    outputs of the graph. ``symbols``: the argument, and its dimension, that a size is read from.
    ``outputs``: how many were added; ``is_table``: they are a table of statistics;
    ``is_of_memory``: none were, and buffers are looked at; ``seen``: of how many calls results were
    there, and of how many in all, once they were recorded."""

    events: list[tuple[bool, Recorded]]
    whole: Any
    symbols: dict[Any, tuple[int, Optional[int]]]
    outputs: int
    is_table: bool
    given: "set[int]"
    gradients: Any = None
    is_of_memory: bool = False
    seen: Optional[tuple[int, int]] = None


def insert(graph_module: Any, tensors: bool = False, gradients: Any = None) -> Optional[Plan]:
    """Changes the graph; None, and no change, where it has nothing to look at. ``tensors``: whole
    ones are wanted; ``gradients``: what marks them (``_graph_gradients``), if they are."""
    if gradients is not None:
        gradients.prepare(graph_module)
    graph = graph_module.graph
    (output,) = [node for node in graph.nodes if node.op == "output"]
    if not isinstance(output.args[0], (tuple, list)):
        return None
    calls = Calls(graph)
    table = _Table(graph, calls, tensors)
    found = {key: table.recorded(call) for key, call in calls.by_key.items()}
    whole = (
        "tuple",
        [_leaf(table.add(node, calls.last_use(node, None))) for node in output.args[0]],
    )
    events = [(begins, found[call.key]) for begins, call in calls.events]
    made = gradients.mark(graph, calls, events, tensors) if gradients is not None else None
    if not table.outputs and not table.given and made is None:
        return None
    added = table.put_before(output)
    graph_module.recompile()
    return Plan(events, whole, symbols_of(graph), added, not tensors, table.given, made)


class _Table:
    """The values that are looked at in a graph: each once, on one device."""

    def __init__(self, graph: Any, calls: Calls, tensors: bool) -> None:
        self.outputs: list[Any] = []
        self.given: set[int] = set()
        self._graph = graph
        self._calls = calls
        self._tensors = tensors
        self._written = Written(graph)
        self._nodes = by_number(graph)
        inputs = [node for node in graph.nodes if node.op == "placeholder"]
        self._inputs = {node: at for at, node in enumerate(inputs)}
        self._begin = inputs[-1] if inputs else None
        self._rows: dict[tuple[Any, Any], Value] = {}
        self._last: dict[Any, Any] = {}  # what was put behind a node, in order
        self._device: Any = None

    def recorded(self, call: Call) -> Recorded:
        """What is known of a call."""
        front = self._calls.before(call)

        def entering(node: Any) -> Any:
            return self.add(node, front if front is not None else node)

        def leaving(node: Any) -> Any:
            return self.add(node, self._calls.last_use(node, call))

        return Recorded(
            call,
            self._tree(call.args, entering),
            self._tree(call.kwargs, entering),
            self._tree(call.results, leaving),
        )

    def _tree(self, noted: Any, add: Callable[[Any], Any]) -> Any:
        if noted is None or noted[0] == "value":
            return noted
        kind, held = noted
        if kind == "tensor":
            return _leaf(add(self._nodes.get(held)))
        if isinstance(held, dict):
            return (kind, {name: self._tree(part, add) for name, part in held.items()})
        return (kind, [self._tree(part, add) for part in held])

    def add(self, node: Any, after: Any) -> Any:
        """None of what is no tensor whose numbers can be taken."""
        value = getattr(node, "meta", {}).get("example_value")
        is_written = node in self._written if value is not None else False
        if node in self._inputs and not is_written:
            self.given.add(self._inputs[node])
            return Given(self._inputs[node])
        expression = getattr(getattr(value, "node", None), "expr", None)
        if expression is not None:
            return Number(expression)
        if not self._is_tensor(value) or node.op == "get_attr":
            return None
        place = after if is_written or node.op in NOT_COMPUTED else node
        if place.op == "placeholder":
            place = self._begin
        key = (node, place if is_written else None)
        if key not in self._rows:
            dtype = str(value.dtype)
            sizes = tuple(size_of(size) for size in value.shape)
            self._rows[key] = Value(len(self._rows), dtype, sizes, bool(value.requires_grad))
            self._take(node, place, dtype, is_written)
        return self._rows[key]

    def _is_tensor(self, value: Any) -> bool:
        dtype = str(getattr(value, "dtype", ""))
        if not self._tensors and dtype not in (*_FLOATS, *_INTEGERS, _BOOL):
            return False
        if not hasattr(value, "untyped_storage") or value.is_sparse:
            return False
        self._device = self._device or value.device
        is_empty = 0 in [size_of(size) for size in value.shape]
        return self._tensors or (value.device == self._device and not is_empty)

    def _take(self, node: Any, after: Any, dtype: str, is_written: bool) -> None:
        import torch

        graph = self._graph
        at = self._last.get(after, after)

        def put(method: Any, value: Any, *more: Any) -> Any:
            nonlocal at
            with graph.inserting_after(at):
                is_method = isinstance(method, str)
                at = (graph.call_method if is_method else graph.call_function)(
                    method, (value, *more)
                )
            return at

        value = put("detach", node)
        if self._tensors:
            self.outputs.append(put("clone", value) if is_written else value)
        elif dtype in _FLOATS:
            value = put("float", value) if dtype in _HALF else value
            numbers = [
                put(each, value) for each in ("amax", "amin", "mean", torch.linalg.vector_norm)
            ]
            is_wide = dtype == "torch.float64"
            self.outputs += [put("float", number) for number in numbers] if is_wide else numbers
        else:
            methods = ("any", "all") if dtype == _BOOL else ("amax", "amin")
            numbers = [put("float", put(each, value)) for each in methods]
            self.outputs += [*numbers, *numbers]
        self._last[after] = at

    def put_before(self, output: Any) -> int:
        """Makes them outputs behind those that are there; how many."""
        import torch

        added = list(self.outputs)
        if not self._tensors and added:
            with self._graph.inserting_before(output):
                added = [self._graph.call_function(torch.stack, (added,))]
        output.args = ((*output.args[0], *added),)
        return len(added)


def _leaf(value: Any) -> Any:
    return None if value is None else ("tensor", value)


def size_of(size: Any) -> Any:
    """A number, or an expression where it varies."""
    return size if isinstance(size, int) else size.node.expr


def symbols_of(graph: Any) -> "dict[Any, tuple[int, Optional[int]]]":
    """The argument, and its dimension, that a size is read from."""
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


def shape_of(sizes: "tuple[Any, ...]", known: "dict[Any, int]") -> "list[int]":
    """Of a value, with the sizes of a call."""
    return [size if isinstance(size, int) else int(size.xreplace(known)) for size in sizes]
