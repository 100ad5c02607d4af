"""A graph from the text that Inductor keeps of it: nodes by their names, lines of the program.

Nothing of the text is executed: names are looked up in torch, everything else is a constant.
"""

import ast
import operator
import re
from typing import Any

_LINE = re.compile(r"\s*# File: (.+):(\d+) in (\S+?)(?:, code:|$)")
_NOWHERE = re.compile(r"\s*# No stacktrace")


class NotRead(Exception):
    """The text has something that cannot be made again; the reason in words."""


def graph_module(torch: Any, text: str) -> Any:
    """Raises ``NotRead``."""
    readable = text.replace("class <lambda>(", "class Graph(")
    try:
        tree = ast.parse(readable)
        (forward,) = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    except (SyntaxError, ValueError, RecursionError):
        raise NotRead("the text of the graph cannot be read") from None
    made = _Maker(torch, _lines_of(readable)).graph(forward)
    return torch.fx.GraphModule(torch.nn.Module(), made)


def _lines_of(text: str) -> "dict[int, str]":
    """Of each line of the text, where in the program its node comes from."""
    found, place = {}, ""
    for number, line in enumerate(text.split("\n"), 1):
        comment = _LINE.match(line)
        if comment is not None:
            place = f'  File "{comment[1]}", line {comment[2]}, in {comment[3]}\n'
        elif _NOWHERE.match(line):
            place = ""
        found[number] = place
    return found


class _Maker:
    def __init__(self, torch: Any, lines: "dict[int, str]") -> None:
        self._torch = torch
        self._lines = lines
        self._graph = torch.fx.Graph()
        self._names: dict[str, Any] = {
            "torch": torch,
            "device": torch.device,
            "inf": float("inf"),
            "nan": float("nan"),
        }

    def graph(self, forward: ast.FunctionDef) -> Any:
        for argument in forward.args.args[1:]:
            self._names[argument.arg] = self._graph.placeholder(argument.arg)
        for statement in forward.body:
            self._take(statement)
        return self._graph

    def _take(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Return) and statement.value is not None:
            self._graph.output(self._value(statement.value))
            return
        targets: list[ast.expr] = []
        if isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        elif isinstance(statement, ast.Assign):
            targets = statement.targets
        value = getattr(statement, "value", None)
        if isinstance(value, ast.Constant) and (value.value is None or not targets):
            return  # a node's last use, or a text
        if len(targets) != 1 or not isinstance(targets[0], ast.Name) or value is None:
            raise NotRead(f"line {statement.lineno} of the graph cannot be read")
        self._names[targets[0].id] = self._node(targets[0].id, value)

    def _node(self, name: str, value: ast.expr) -> Any:
        if isinstance(value, ast.Subscript):
            target: Any = operator.getitem
            args = (self._value(value.value), self._value(value.slice))
            kwargs: dict[str, Any] = {}
        elif isinstance(value, ast.Call):
            target = self._value(value.func)
            args = tuple(self._value(each) for each in value.args)
            kwargs = {each.arg or "": self._value(each.value) for each in value.keywords}
        else:
            raise NotRead(f"{name} is a constant, which is not kept")
        node = self._graph.create_node("call_function", target, args, kwargs, name=name)
        node.meta["stack_trace"] = self._lines.get(value.lineno, "")
        return node

    def _value(self, value: ast.expr) -> Any:
        if isinstance(value, (ast.Tuple, ast.List)):
            kind = tuple if isinstance(value, ast.Tuple) else list
            return kind(self._value(each) for each in value.elts)
        if isinstance(value, ast.Name) and value.id in self._names:
            return self._names[value.id]
        if isinstance(value, ast.Attribute):
            return self._attribute(value)
        if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
            return -self._value(value.operand)
        if isinstance(value, ast.Call) and self._value(value.func) is self._torch.device:
            words = {each.arg or "": self._value(each.value) for each in value.keywords}
            return self._torch.device(*(self._value(each) for each in value.args), **words)
        try:
            return ast.literal_eval(value)
        except ValueError:
            raise NotRead(f"{ast.unparse(value)} of the graph is not known") from None

    def _attribute(self, value: ast.Attribute) -> Any:
        if isinstance(value.value, ast.Name) and value.value.id == "self":
            raise NotRead(f"{ast.unparse(value)} is a constant, which is not kept")
        try:
            return getattr(self._value(value.value), value.attr)
        except (AttributeError, RuntimeError):
            raise NotRead(f"torch has no {ast.unparse(value)}") from None
