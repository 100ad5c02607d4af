"""Gradients of what modules of compiled code got and gave.

In the graph a value that needs gradients passes a function that gives it on, and whose backward
hands the gradient to an argument that is added to the graph for this: autograd computes "its
gradient" as it computes that of each other argument, so the compiled backward has one more output,
and no operator of ours. Such an argument has no content that anything reads. Statistics share one,
with a row for each gradient; where whole tensors are wanted each has one of its own.

As hooks of modules see it: of what a module got, the gradient that comes through the module, so
the uses inside of the call are led through the function; of what it gave, that of all uses outside.
Values that are written in place have no such function. Threads: any.
"""

from dataclasses import dataclass
from typing import Any, Optional

from sonde.torch.precision._graph_calls import Call, Calls, Written, tensors_in
from sonde.torch.precision._graph_notes import Key, by_number
from sonde.torch.precision._graph_outputs import STATISTICS, Recorded, Value, shape_of

_COLUMNS = len(STATISTICS) + 1  # the last one: whether the gradient exists
_FLOATS = ("torch.float32", "torch.float64", "torch.float16", "torch.bfloat16")
_functions: dict[str, Any] = {}


@dataclass
class Gradients:
    """Of one graph. ``values``: of each row, what it is the gradient of."""

    values: "list[Value]"
    dtypes: "list[Any]"
    device: Any
    is_table: bool

    def arguments(self, sizes: "dict[Any, int]", are_wanted: bool) -> "list[Any]":
        """To be added to those of a call; gradients come to them."""
        import torch

        with torch.inference_mode(False):
            if self.is_table:
                shape = (len(self.values), _COLUMNS)
                return [torch.zeros(shape, device=self.device, requires_grad=are_wanted)]
            return [
                torch.empty(
                    shape_of(value.sizes, sizes),
                    dtype=dtype,
                    device=self.device,
                    requires_grad=are_wanted,
                )
                for value, dtype in zip(self.values, self.dtypes)
            ]


def through(value: Any, place: Any) -> Any:
    """In the graph: the value, whose gradient goes to ``place``, too, in whole."""
    return _function("whole").apply(value, place)


def through_table(value: Any, row: Any) -> Any:
    """The same for statistics."""
    return _function("table").apply(value, row)


def _function(kind: str) -> Any:
    """Made once torch is there."""
    if kind not in _functions:
        import torch

        class Passing(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, value: Any, _: Any) -> Any:
                ctx.set_materialize_grads(False)
                return value.view_as(value)

            @staticmethod
            def backward(ctx: Any, gradient: Any) -> Any:
                if gradient is None:
                    return None, None
                return gradient, gradient if kind == "whole" else _numbers(torch, gradient)

        _functions[kind] = Passing
    return _functions[kind]


def _numbers(torch: Any, gradient: Any) -> Any:
    value = gradient.float()
    norm = torch.linalg.vector_norm(value)
    found = [value.amax(), value.amin(), value.mean(), norm if value.dim() else value]
    return torch.stack([*found, torch.ones_like(found[0])])


class Marker:
    """Puts the functions into a graph. ``inputs``: the example inputs of the compiler, to which
    those of the new arguments are added."""

    def __init__(self, inputs: "list[Any]") -> None:
        self.inputs = inputs

    def prepare(self, graph_module: Any) -> None:
        """Gives the module a graph of its own: Dynamo looks at the arguments of its own graph once
        more when it is compiled."""
        import torch

        if not torch.is_grad_enabled():
            return
        own = torch.fx.Graph()
        copies: dict[Any, Any] = {}
        own.output(own.graph_copy(graph_module.graph, copies))
        for node, copied in copies.items():
            if node.op == "placeholder":
                copied._dynamo_source = getattr(node, "_dynamo_source", None)
        graph_module.graph = own

    def mark(
        self, graph: Any, calls: Calls, events: "list[tuple[bool, Recorded]]", tensors: bool
    ) -> Optional[Gradients]:
        """None where nothing needs a gradient."""
        import torch

        if not torch.is_grad_enabled():
            return None
        places = _Places(graph, calls, tensors)
        for begins, recorded in events:
            if begins:
                recorded.to_args = [
                    places.entering(number, recorded.call)
                    for number in tensors_in(recorded.call.args)
                    if places.needs(number)
                ]
        for begins, recorded in events:
            if not begins:
                recorded.to_results = [
                    places.leaving(number, recorded.call)
                    for number in tensors_in(recorded.call.results)
                    if places.needs(number)
                ]
        return places.finish(self.inputs)


class _Places:
    def __init__(self, graph: Any, calls: Calls, tensors: bool) -> None:
        self._graph = graph
        self._calls = calls
        self._tensors = tensors
        self._written = Written(graph)
        self._nodes = by_number(graph)
        self._same: dict[Any, list[Any]] = {}  # of a value, what was put in its place
        self._made: list[Any] = []
        self._known: dict[tuple[Any, Any], Value] = {}
        self._values: list[Any] = []  # examples
        self._rows: list[Value] = []

    def needs(self, number: int) -> bool:
        """Whether hooks of a module would hear of the gradient of a value."""
        node = self._nodes.get(number)
        value = getattr(node, "meta", {}).get("example_value")
        return bool(getattr(value, "requires_grad", False))

    def _can_pass(self, node: Any) -> bool:
        value = node.meta["example_value"]
        is_first = not self._values or value.device == self._values[0].device
        return str(value.dtype) in _FLOATS and node not in self._written and is_first

    def entering(self, number: int, call: Call) -> Optional[Value]:
        """The row of the gradient of what a call gets."""
        node = self._nodes[number]
        if (node, call.key) in self._known:
            return self._known[node, call.key]
        if not call.inside or not self._can_pass(node):
            return None
        for each in reversed([node, *self._same.get(node, ())]):
            users = [user for user in each.users if call.key in self._calls.of.get(user, ())]
            if users:
                around = _around(self._calls.of[call.inside[0]], call)
                made, row = self._put(each, call.inside[0].prev, node, around)
                self._replace(each, made, users)
                self._known[node, call.key] = row
                return row
        return None

    def leaving(self, number: int, call: Call) -> Optional[Value]:
        """The row of the gradient of what a call gives."""
        node = self._nodes[number]
        if call.key not in self._calls.of.get(node, ()) or not self._can_pass(node):
            return None
        made_inside = [
            each for each in self._same.get(node, ()) if call.key in self._calls.of[each]
        ]
        for each in reversed([node, *made_inside]):
            users = [user for user in each.users if self._leaves(user, call)]
            if users:
                around = _around(self._calls.of[node], call)
                made, row = self._put(each, self._behind(each, call), node, around)
                self._replace(each, made, users)
                return row
        return None

    def _leaves(self, user: Any, call: Call) -> bool:
        """Outside of a call; statistics are taken of the value itself."""
        if user.op != "output" and user not in self._calls.of:
            return False
        return self._calls.leaves(user, call)

    def _behind(self, node: Any, call: Call) -> Any:
        order = self._calls.order
        last = call.inside[-1]
        return last if order[last] > order.get(node, -1) else node

    def _put(
        self, node: Any, after: Any, original: Any, around: "tuple[Key, ...]"
    ) -> "tuple[Any, Value]":
        """After a node, but no input: those come first. ``around``: the calls that it is in."""
        value = original.meta["example_value"]
        while after.op == "placeholder" and after.next.op == "placeholder":
            after = after.next
        if _is_behind(node, after):
            after = node
        with self._graph.inserting_after(after):
            target = through if self._tensors else through_table
            made = self._graph.call_function(target, (node, None))
        row = Value(len(self._rows), str(value.dtype), _sizes(value), False)
        self._rows.append(row)
        self._values.append(value)
        self._made.append(made)
        self._same.setdefault(original, []).append(made)
        self._calls.of[made] = around
        self._calls.order[made] = self._calls.order.get(after, 0)
        return made, row

    def _replace(self, old: Any, new: Any, users: "list[Any]") -> None:
        for user in users:
            if user is not new:
                user.replace_input_with(old, new)

    def finish(self, inputs: "list[Any]") -> Optional[Gradients]:
        """Adds the arguments."""
        if not self._made:
            return None
        import torch

        first = self._values[0]
        with first.fake_mode if hasattr(first, "fake_mode") else torch.no_grad():
            if self._tensors:
                examples = [torch.empty(value.shape, dtype=value.dtype, device=value.device)
                            for value in self._values]  # fmt: skip
            else:
                shape = (len(self._rows), _COLUMNS)
                examples = [torch.zeros(shape, device=first.device)]
        places = [self._argument(at, each) for at, each in enumerate(examples)]
        inputs += [each.requires_grad_(True) for each in examples]
        if not self._tensors:
            places = self._rows_of(places[0])
        for made, place in zip(self._made, places):
            made.args = (made.args[0], place)
        dtypes = [value.dtype for value in self._values]
        return Gradients(self._rows, dtypes, first.device, not self._tensors)

    def _argument(self, number: int, example: Any) -> Any:
        inputs = [node for node in self._graph.nodes if node.op == "placeholder"]
        with self._graph.inserting_after(inputs[-1]) if inputs else _at_begin(self._graph):
            made = self._graph.placeholder(f"sonde_gradient_{number}")
        made._dynamo_source = None
        made.meta["example_value"] = example
        return made

    def _rows_of(self, argument: Any) -> "list[Any]":
        import operator

        import torch

        found = []
        with self._graph.inserting_after(argument):
            at = rows = self._graph.call_function(torch.unbind, (argument,))
        for number in range(len(self._rows)):
            with self._graph.inserting_after(at):
                at = self._graph.call_function(operator.getitem, (rows, number))
            found.append(at)
        return found


def _at_begin(graph: Any) -> Any:
    return graph.inserting_before(next(iter(graph.nodes)))


def _sizes(value: Any) -> "tuple[Any, ...]":
    return tuple(size if isinstance(size, int) else size.node.expr for size in value.shape)


def _is_behind(node: Any, other: Any) -> bool:
    """Whether a node comes after another one in their graph."""
    return node > other


def _around(keys: "tuple[Key, ...]", call: Call) -> "tuple[Key, ...]":
    """Of the calls that a node of a call is in, those around that call."""
    return keys[: keys.index(call.key)]
