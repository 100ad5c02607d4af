"""Graphs of generated modules, with what the buffers of their kernels hold.

Inductor forgets a graph once its code is written; only code that this process compiles has one, so
its caches of graphs are off (compiled kernels are still taken from theirs). Threads: any.
"""

import re
import threading
from dataclasses import dataclass
from typing import Any, Optional

from sonde._seams import Around, Part, Seam, when_imported
from sonde.torch._graph_buffers import buffers_of
from sonde.torch._graph_nodes import facts_of

_SINCE = (2, 10)  # of torch
_KERNEL = re.compile(r"^(cpp_\w+) = async_compile\.cpp_pybinding\(", re.MULTILINE)
_SIGNATURE = re.compile(r"void\s+kernel\((.*?)\)\s*\{", re.DOTALL)
_PARAMETER = re.compile(r"(\w+)\s*(?:,|$)")
_ALLOCATED = re.compile(r"\s*(\w+) = empty_strided")
_ASIDE = re.compile(r"\s*(?:#|del |assert_)")
_REUSE = re.compile(r"\s*(\w+) = (?:reinterpret_tensor\()?(\w+)\b.*#\s*reuse")


@dataclass
class CheckedGraph:
    """``nodes`` of the graph by name; ``buffers``: the node whose value a buffer holds, exactly;
    ``roles``: names of the parameters of each kernel."""

    nodes: dict[str, Any]
    buffers: dict[str, str]
    roles: dict[str, list[str]]
    lines: list[str]

    def before(self, name: str, line: int) -> Optional[str]:
        """The buffer whose content a name has in front of the call in a line; None where the memory
        is new: of a value that only this kernel has, a kernel may take over the buffer."""
        for text in reversed(self.lines[: line - 1]):
            reused = _REUSE.match(text)
            allocated = _ALLOCATED.match(text)
            if reused is not None and reused[1] == name:
                name = reused[2]
            elif allocated is not None and allocated[1] == name:
                return None
            elif not _ASIDE.match(text) and re.search(rf"\b{name}\b", text):
                return name
        return name


class Graphs:
    """By the generated module's file."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._graphs: dict[str, Any] = {}

    def install(self) -> None:
        """From now on."""
        when_imported("torch._inductor.config", _without_cache)
        when_imported("torch._functorch.config", _without_cache)
        for seam in self.seams():
            seam.install()

    def seams(self) -> tuple[Seam, ...]:
        """Code as it is generated."""
        part = Part("GraphLowering.compile_to_module", self._generated)
        return (Seam("graphs of compiled code", "torch._inductor.graph", (part,), since=_SINCE),)

    def of(self, file: str) -> Optional[CheckedGraph]:
        """None where this process did not compile it."""
        with self._lock:
            return self._graphs.get(file)

    def files(self) -> "list[str]":
        """In the order of their compilation, the latest last."""
        with self._lock:
            return list(self._graphs)

    def share(self, file: str, other: str, text: str) -> None:
        """Another file has the same calls, of kernels of its own."""
        with self._lock:
            known = self._graphs[file]
            lines = text.split("\n")
            self._graphs[other] = CheckedGraph(known.nodes, known.buffers, roles_in(text), lines)

    def random(self) -> "list[dict[str, str]]":
        """Operators that draw random numbers, with the module of each."""
        with self._lock:
            nodes = [node for graph in self._graphs.values() for node in graph.nodes.values()]
        facts = [facts_of(node) for node in nodes if is_random(node)]
        places = {(each.operator, each.modules[-1][0] if each.modules else "") for each in facts}
        return [{"operator": operator, "module": module} for operator, module in sorted(places)]

    def _generated(self, lowering: Any) -> Around:
        module = yield
        file = getattr(module, "__file__", None)
        graph = getattr(getattr(lowering, "module", None), "graph", None)
        if not file or graph is None:
            return
        with open(file, encoding="utf-8") as source:
            text = source.read()
        nodes = {node.name: node for node in graph.nodes}
        made = CheckedGraph(nodes, buffers_of(lowering), roles_in(text), text.split("\n"))
        with self._lock:
            self._graphs.pop(file, None)
            self._graphs[file] = made


def _without_cache(config: Any) -> None:
    for name in ("fx_graph_cache", "fx_graph_remote_cache", "enable_autograd_cache"):
        if hasattr(config, name):
            setattr(config, name, False)


def roles_in(text: str) -> dict[str, list[str]]:
    """Names of the parameters of each kernel that a generated module has in C++."""
    roles = {}
    for found in _KERNEL.finditer(text):
        end = text.find("\n''')", found.end())
        signature = _SIGNATURE.search(text, found.end(), end if end > 0 else len(text))
        names = signature[1].replace("\n", " ") if signature is not None else ""
        roles[found[1]] = _PARAMETER.findall(names)
    return roles


def is_random(node: Any) -> bool:
    """Whether the value differs from call to call."""
    tags = getattr(node.target, "tags", ())
    return any(str(tag).endswith("nondeterministic_seeded") for tag in tags) or (
        "random" in str(node.target) or "seed" in str(node.target)
    )
