"""``"graph": "boundaries"``: what compiled code has in memory anyway, between its kernels.

Nothing is compiled again and nothing is computed otherwise: while a step is recorded a second form
of the generated code runs (``_graph_twin``), with the same kernels, that shows its buffers. Those
that hold the results of modules become entries; what a kernel computes for itself only has none.
Threads: any.
"""

import threading
from dataclasses import dataclass
from typing import Any, Optional

from sonde.torch import _graphs
from sonde.torch._graph_buffers import NEW, SAME_ELEMENTS
from sonde.torch.precision import _errors
from sonde.torch.precision._graph_calls import Calls, Written
from sonde.torch.precision._graph_notes import by_number
from sonde.torch.precision._graph_outputs import (
    Given,
    Kept,
    Number,
    Plan,
    Recorded,
    Value,
    size_of,
    symbols_of,
)
from sonde.torch.precision._graph_twin import twin_of

_WAIT = "wait_tensor"  # before it a collective may still write


@dataclass
class Looked:
    """Statistics of a buffer, not read yet."""

    dtype: str
    count: int
    table: Any


class _Thread(threading.local):
    """``found``: by node of Dynamo, while a recorded call of compiled code runs."""

    found: "Optional[dict[str, Any]]" = None
    service: Any = None


current = _Thread()


def plan_of(graph_module: Any) -> Optional[Plan]:
    """What to look for in a graph that Dynamo traced, which stays as it is."""
    graph = graph_module.graph
    (output,) = [node for node in graph.nodes if node.op == "output"]
    if not isinstance(output.args[0], (tuple, list)):
        return None
    calls = Calls(graph)
    reader = _Reader(graph, calls, output.args[0])
    found = {key: reader.recorded(call) for key, call in calls.by_key.items()}
    events = [(begins, found[call.key]) for begins, call in calls.events]
    whole = ("tuple", [reader.leaf(node, None) for node in output.args[0]])
    return Plan(events, whole, symbols_of(graph), 0, False, reader.given, is_of_memory=True)


def follow(compiled: Any, function: Any, plan: Plan) -> None:
    """``function`` of a generated module, which a compiled graph calls, shows its buffers in calls
    that are recorded."""
    file, text = _graphs.file_of(function), getattr(compiled, "source_code", None)
    original = compiled.current_callable
    if not file or not text or original is None:
        return
    twins: list[Any] = []

    def call(inputs: Any) -> Any:
        if current.found is None:
            return original(inputs)
        if not twins:
            twins.append(_twin(text, function, file, plan) or original)
        return twins[0](inputs)

    call._boxed_call = True  # type: ignore[attr-defined]
    compiled.current_callable = call


def _twin(text: str, function: Any, file: str, plan: Plan) -> Any:
    writers = {name: value.writer for value in kept_in(plan) for name in value.names}
    nodes: dict[str, list[str]] = {}
    for node, buffer in _graphs.table_of(file).get("values", {}).items():
        if node in writers:
            nodes.setdefault(buffer, []).append(node)
    if not nodes:
        return None

    def look(buffer: str, tensor: Any, writer: str) -> None:
        found, collector = current.found, current.service.collector
        is_tensor = isinstance(tensor, collector.torch.Tensor)  # else of several results
        if found is None or not is_tensor or not collector.enter():
            return
        try:
            seen = _seen(collector.torch, tensor, current.service.config.needs_tensors)
            for node in nodes[buffer]:
                # What another one than the last writes is not the value yet, or of a copy's source.
                if writers[node] in ("", writer):
                    found[node] = seen
        except Exception as problem:  # noqa: BLE001: the boundary to the user's program
            collector.failed(problem)
        finally:
            collector.leave()

    try:
        return twin_of(text, function, set(nodes), look)
    except Exception as problem:  # noqa: BLE001: the boundary to the user's program
        _errors.warning(f"a compiled graph says nothing of its modules: {problem!r}")
        return None


def _seen(torch: Any, tensor: Any, is_whole: bool) -> Any:
    """The memory may soon be another value's: statistics, or a copy."""
    with torch.no_grad():
        value = tensor.detach()
        is_plain = value.is_floating_point() and value.element_size() > 1
        if is_whole or not is_plain or value.numel() == 0:
            return value.clone()
        wide = value if value.element_size() > 2 else value.float()
        low, high = torch.aminmax(wide)
        numbers = (high, low, wide.mean(), torch.linalg.vector_norm(wide))
        return Looked(str(value.dtype), value.numel(), torch.stack(numbers))


def kept_in(plan: Plan) -> "list[Kept]":
    """Of all calls."""
    found: list[Kept] = []
    for begins, recorded in plan.events:
        if begins:
            trees = (recorded.args, recorded.kwargs, recorded.results)
            found += [each for tree in trees for each in leaves(tree) if isinstance(each, Kept)]
    return found


def leaves(tree: Any) -> "list[Any]":
    """Values of tensors in what is known of a call's arguments or results."""
    if tree is None or tree[0] == "value":
        return []
    kind, held = tree
    if kind == "tensor":
        return [held]
    parts = held.values() if isinstance(held, dict) else held
    return [leaf for part in parts for leaf in leaves(part)]


class _Reader:
    """Values of one graph, by what may hold them."""

    def __init__(self, graph: Any, calls: Calls, results: Any) -> None:
        self.given: set[int] = set()
        self._calls = calls
        self._written = Written(graph)
        self._nodes = by_number(graph)
        inputs = [node for node in graph.nodes if node.op == "placeholder"]
        self._inputs = {node: at for at, node in enumerate(inputs)}
        self._results = {node: at for at, node in reversed(list(enumerate(results)))}

    def recorded(self, call: Any) -> Recorded:
        """What is known of a call."""
        args, kwargs = self._tree(call.args, call, True), self._tree(call.kwargs, call, True)
        return Recorded(call, args, kwargs, self._tree(call.results, call, False))

    def _tree(self, noted: Any, call: Any, enters: bool) -> Any:
        if noted is None or noted[0] == "value":
            return noted
        kind, held = noted
        if kind == "tensor":
            node = self._nodes.get(held)
            return self.leaf(node, call, enters) if node is not None else None
        if isinstance(held, dict):
            return (kind, {name: self._tree(part, call, enters) for name, part in held.items()})
        return (kind, [self._tree(part, call, enters) for part in held])

    def leaf(self, node: Any, call: Any, enters: bool = False) -> Any:
        """None of what is no tensor, and of what cannot be known."""
        found = self._value(node, call, enters)
        return None if found is None else ("tensor", found)

    def _value(self, node: Any, call: Any, enters: bool) -> Any:
        value = getattr(node, "meta", {}).get("example_value")
        if value is None:
            return None
        if node in self._inputs and node not in self._written:
            self.given.add(self._inputs[node])
            return Given(self._inputs[node])
        expression = getattr(getattr(value, "node", None), "expr", None)
        if expression is not None:
            return Number(expression)
        if not hasattr(value, "untyped_storage") or node.op == "get_attr":
            return None
        names, writer = self._names(node, call, enters)
        result = self._results.get(node) if node not in self._written else None
        if not names and result is None:
            return None
        sizes = tuple(size_of(size) for size in value.shape)
        made = Value(0, str(value.dtype), sizes, bool(value.requires_grad))
        return Kept(names, result, made, writer)

    def _names(self, node: Any, call: Any, enters: bool) -> "tuple[tuple[str, ...], str]":
        """Nodes that hold the value, and the operator that must have written it; "" for any."""
        if node in self._written:
            last = self._written.last_writer(node)
            inside = call.inside if call is not None else ()
            if enters or last is None or not inside or not self._is_up_to(last, inside[-1]):
                return (), ""
            return self._as_last_written(node, last)
        found: list[str] = []
        while _word(node) in SAME_ELEMENTS and node.args and _is_alike(node, node.args[0]):
            found.append(node.name)
            node = node.args[0]
            if node.op == "placeholder":
                return tuple(found), ""
        if node in self._written and _word(node) not in NEW:
            # What was written before the last of them was made.
            names, writer = self._as_last_written(node, self._written.last_writer(node))
            return (*found, *names), writer
        return (*found, node.name), _WAIT if _word(node) == _WAIT else ""

    def _as_last_written(self, node: Any, last: Any) -> "tuple[tuple[str, ...], str]":
        """Of an output that an operator fills, or of a value that is summed over ranks in place."""
        node = _whole(node)
        if last is None:
            return (), ""
        if _word(last) == "copy_" and _whole(last.args[0]) is node and _is_alike(*last.args[:2]):
            names, writer = self._names(last.args[1], None, False)
            return (last.name, *names), writer
        is_operator = hasattr(last.target, "_schema") or hasattr(last.target, "overloads")
        if is_operator and not str(last.target).startswith("aten."):  # Inductor calls it as it is
            return (node.name,), _word(last).partition(".")[0]
        return ((node.name,) if _word(node) in NEW else ()), ""

    def _is_up_to(self, node: Any, last: Any) -> bool:
        return bool(self._calls.order[node] <= self._calls.order[last])


def _whole(node: Any) -> Any:
    """What was made first of the same elements."""
    while _word(node) in SAME_ELEMENTS and node.args and _is_alike(node, node.args[0]):
        node = node.args[0]
    return node


def _word(node: Any) -> str:
    target = node.target
    return target if isinstance(target, str) else str(getattr(target, "__name__", ""))


def _is_alike(node: Any, other: Any) -> bool:
    """Whether both hold as many elements of one type."""
    one = node.meta.get("example_value")
    two = getattr(other, "meta", {}).get("example_value")
    if not hasattr(one, "dtype") or not hasattr(two, "dtype"):
        return False
    return bool(one.dtype == two.dtype) and str(one.numel()) == str(two.numel())
