"""Kernels of generated modules lead to us: the first calls of each line are checked."""

import sys
import threading
from typing import Any, Optional

from sonde import _report
from sonde._seams import Around, Part, Seam
from sonde.torch import _graphs as _tables
from sonde.torch._graph_nodes import facts_of
from sonde.torch.compile_check._graphs import CheckedGraph, Graphs
from sonde.torch.compile_check._reference import Evaluation, Unknown, judge
from sonde.torch.compile_check._table import Found, Table

_PREFIX = "cpp_"  # of names of kernels, by which Inductor makes them
_BUILTIN = type(len)  # what a loaded kernel is
_MOST_BYTES = 1 << 30  # of the inputs of one call: larger ones are not copied
_watched: "list[_Check]" = []


def watch(folder: str, calls: int = 1) -> None:
    """Checks the first ``calls`` calls of each line from now on; the table goes to ``folder``. Call
    it before anything is compiled. Once a process."""
    if not _watched:
        _watched.append(_Check(folder, calls))
        _tables.watch()
        _watched[0].install()
        _watched[0].table.write_at_exit()


def start(folder: str) -> "_Check":
    """For code without its program: the caller finishes the table, and tables of the modules of
    generated code are left as they are."""
    check = _Check(folder, 1)
    check.install()
    return check


def seams() -> tuple[Seam, ...]:
    """Everything, for looking at only."""
    check = _Check("", 1)
    return (*check.seams(), *Graphs().seams())


class _Check:
    """``graphs`` that this process compiled; ``table`` of what was found."""

    def __init__(self, folder: str, calls: int) -> None:
        self._calls = calls
        self.graphs = Graphs()
        self._counts: dict[tuple[str, int], int] = {}
        self._lock = threading.Lock()
        self.table = Table(folder, self.graphs.random)

    def install(self) -> None:
        """Before anything is compiled."""
        self.graphs.install()
        for seam in self.seams():
            seam.install()

    def seams(self) -> tuple[Seam, ...]:
        """Generated modules as they are loaded."""
        part = Part("AsyncCompile.wait", self._loaded)
        title = "kernels of compiled code, to be checked"
        return (Seam(title, "torch._inductor.async_compile", (part,)),)

    def _loaded(self, _: Any, scope: dict[str, Any], *__: Any) -> Around:
        """A generated module calls ``wait(globals())`` when all its kernels are to be loaded."""
        yield
        file = str(scope.get("__file__"))
        for name, value in list(scope.items()):
            if name.startswith(_PREFIX) and isinstance(value, _BUILTIN):
                scope[name] = self._checked(file, name, value)

    def _checked(self, file: str, name: str, kernel: Any) -> Any:
        def call(*args: Any) -> Any:
            line = sys._getframe(1).f_lineno
            place = (file, line)
            count = self._counts.get(place, 0)
            if count >= self._calls:
                return kernel(*args)
            with self._lock:
                self._counts[place] = count + 1
            looked: Optional[_Call] = None
            try:
                looked = _Call.begin(self.graphs.of(file), file, line, name, args)
            except Exception as problem:  # noqa: BLE001: the program must go on without us
                _report.log(f"compile_check of {name}: {problem!r}", error=True)
            result = kernel(*args)
            if looked is not None:
                try:
                    self.table.add(looked.end())
                except Exception as problem:  # noqa: BLE001: the program must go on without us
                    _report.log(f"compile_check of {name}: {problem!r}", error=True)
            return result

        return call


class _Call:
    """One call of a kernel: its inputs as they were, then its outputs."""

    def __init__(self, graph: CheckedGraph, place: "tuple[str, int, str]") -> None:
        self._graph = graph
        self._place = place
        self._known: dict[str, Any] = {}
        self._outputs: list[tuple[str, Any]] = []

    @classmethod
    def begin(
        cls, graph: Optional[CheckedGraph], file: str, line: int, name: str, args: Any
    ) -> "Optional[_Call]":
        """None where nothing is known of the module."""
        torch = sys.modules["torch"]
        if graph is None or name not in graph.roles:
            return None
        call = cls(graph, (file, line, name))
        names = arguments_in(graph.lines[line - 1])
        roles = graph.roles[name]
        if len(names) != len(args) or len(roles) != len(args):
            return None
        tensors = [each for each in zip(names, roles, args) if isinstance(each[2], torch.Tensor)]
        # Of parts of one buffer the whole is among the inputs: it has no content yet.
        written = {_memory(value) for _, role, value in tensors if role.startswith("out_")}
        for text, role, value in tensors:
            if not text.isidentifier():
                continue
            is_read = role.startswith("in_") and _memory(value) not in written
            if is_read and value.nbytes <= _MOST_BYTES:
                held = graph.before(text, line) if role.startswith("in_out") else text
                node = held if held in graph.nodes else graph.buffers.get(held or "")
                if node is not None:
                    call._known[node] = value.detach().clone()
            if "out_ptr" in role:
                call._outputs.append((text, value))
        return call

    def end(self) -> list[Found]:
        """What each output is."""
        return [self._look_at(name, value) for name, value in self._outputs]

    def _look_at(self, name: str, value: Any) -> Found:
        torch = sys.modules["torch"]
        file, line, kernel = self._place
        found = Found(file, line, kernel, name, str(value.dtype)[6:], value.numel())
        found.node = self._graph.buffers.get(name, "")
        if not found.node:
            found.why = "it holds a part of a value"
            return found
        known = {key: each for key, each in self._known.items() if key != found.node}
        node = self._graph.nodes[found.node]
        frames = facts_of(node).frames
        found.place = f"{frames[0][0]}({frames[0][1]})" if frames else ""
        try:
            with torch.no_grad(), torch._C._DisableTorchDispatch():
                eager = Evaluation(known, wide=False).of(node)
                wide = Evaluation(known, wide=True).of(node)
        except Unknown as reason:
            found.why = str(reason)
            return found
        if eager.numel() != value.numel():
            found.why = "it is laid out otherwise"
            return found
        found.judgement = judge(torch, in_order(value, eager), eager, wide)
        return found


def _memory(tensor: Any) -> int:
    return tensor.untyped_storage().data_ptr()


def in_order(value: Any, eager: Any) -> Any:
    """A buffer's elements in the order of the node's dimensions."""
    return value.reshape(eager.shape) if value.shape != eager.shape else value


def arguments_in(line: str) -> list[str]:
    """Texts of the arguments of the call in a line."""
    begin = line.find("(") + 1
    parts, depth, at = [], 0, begin
    for place in range(begin, len(line)):
        letter = line[place]
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            if depth == 0:
                parts.append(line[at:place].strip())
                break
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(line[at:place].strip())
            at = place + 1
    return [part for part in parts if part]
