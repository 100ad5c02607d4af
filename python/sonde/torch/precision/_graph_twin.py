"""The code of a generated module once more, which shows what its buffers hold on the way.

The same kernels are called in the same order on the same values: behind each call that writes a
wanted buffer stands a call of ours. The module itself stays as it is, so nothing is compiled again,
and where nobody looks nothing is slower. A buffer is a name of one value: where Inductor uses its
memory again the name is another one. Pure; nothing here imports torch.
"""

import ast
import re
import types
from typing import Any, Callable, Optional

from sonde.torch import _graph_sites
from sonde.torch.compile_check._graphs import roles_in

#: What a twin calls: the name of a buffer, the tensor, and the operator of torch that wrote it
#: ("" for a kernel that the compiler generated).
Look = Callable[[str, Any, str], None]

_LOOK = "_sonde_look"
_RUNNERS = ("runner", "call", "recursively_apply_fns")  # what a generated module makes of a class
_ASIDE = ("get_args", "benchmark_compiled_module")
_WAIT = "_c10d_functional.wait_tensor.default"
_OPERATOR = re.compile(r"torch\.ops\.([\w.]+)")


def twin_of(text: str, function: Any, buffers: "set[str]", look: Look) -> Callable[[Any], Any]:
    """``function`` is that of the module with this text that is called with a list of arguments.
    Raises ``ValueError`` where the text has another form."""
    scope = dict(function.__globals__)
    scope[_LOOK] = look
    tree = _Looking(buffers, roles_in(text), scope).visit(ast.parse(text))
    code = ast.Module([node for node in tree.body if _is_code(node)], [])
    exec(compile(ast.fix_missing_locations(code), str(scope.get("__file__")), "exec"), scope)
    name = getattr(function, "__name__", "")
    if isinstance(function, types.MethodType):
        made = getattr(scope.get("runner"), name, None)
    else:
        made = scope.get(name)
    if made is None or getattr(made, "__code__", None) is function.__code__:
        raise ValueError(f"the generated code has no {name}")
    return made  # type: ignore[no-any-return]


def _is_code(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign):
        return all(isinstance(each, ast.Name) and each.id in _RUNNERS for each in node.targets)
    return isinstance(node, ast.ClassDef) or (
        isinstance(node, ast.FunctionDef) and node.name not in _ASIDE
    )


class _Looking(ast.NodeTransformer):
    """Puts looks into lists of statements."""

    def __init__(
        self, buffers: "set[str]", roles: "dict[str, list[str]]", scope: "dict[str, Any]"
    ) -> None:
        self._buffers = buffers
        self._roles = roles
        self._scope = scope
        self._seen: set[str] = set()

    def visit_Expr(self, node: ast.Expr) -> Any:
        return self._with_looks(node, node.value, "")

    def visit_Assign(self, node: ast.Assign) -> Any:
        target = node.targets[0]
        result = target.id if isinstance(target, ast.Name) else ""
        is_part = isinstance(node.value, ast.Subscript)  # of an operator with several results
        if is_part and result in self._buffers:
            return [node, _look_at(result, node, "")]
        return self._with_looks(node, node.value, result)

    def _with_looks(self, node: ast.stmt, call: ast.expr, result: str) -> Any:
        if not isinstance(call, ast.Call) or not _graph_sites.is_kernel(ast.unparse(call.func)):
            return node
        names = [name for name in self._written(call, result) if name in self._buffers]
        operator = _OPERATOR.fullmatch(ast.unparse(call.func))
        writer = operator[1].split(".")[1] if operator is not None else ""
        return [node, *(_look_at(name, node, writer) for name in dict.fromkeys(names))]

    def _written(self, call: ast.Call, result: str) -> "list[str]":
        """Names that have a new value behind a call; one that is met first has, by whomever it was
        written."""
        function = ast.unparse(call.func)
        out = [name for each in call.keywords if each.arg == "out" for name in _names(each.value)]
        writes = set() if out else self._writing(function, len(call.args))
        found = [result, *out]
        for at, argument in enumerate(call.args):
            for name in _names(argument):
                if writes is None or at in writes or name not in self._seen:
                    found.append(name)
                self._seen.add(name)
        return found

    def _writing(self, function: str, count: int) -> "Optional[set[int]]":
        """Positions of the arguments that a kernel writes; None where nobody knows."""
        roles = self._roles.get(function)
        if roles is not None and len(roles) == count:
            return {at for at, role in enumerate(roles) if "out_ptr" in role}
        operator = _OPERATOR.fullmatch(function)
        found: Any = self._scope.get("torch") if operator is not None else None
        for step in ("ops", *operator[1].split(".")) if operator is not None else ():
            found = getattr(found, step, None)
        schema = getattr(found, "_schema", None)
        if schema is None:
            return None
        if operator is not None and operator[1] == _WAIT:
            return {0}  # what a collective wrote is there behind it
        alias = [argument.alias_info for argument in schema.arguments]
        return {at for at, info in enumerate(alias) if info is not None and info.is_write}


def _names(node: ast.expr) -> "list[str]":
    return [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]


def _look_at(name: str, behind: ast.stmt, writer: str) -> ast.stmt:
    call = ast.parse(f"{_LOOK}({name!r}, {name}, {writer!r})").body[0]
    for node in ast.walk(call):
        ast.copy_location(node, behind)
    return call
