"""The calls of kernels in a module that Inductor generated, and what each of them computes.

A call is known by its line: layers that are alike call the same function. Pure.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Optional

from sonde.torch._graph_nodes import Frame, Module, NodeFacts
from sonde.torch._graph_work import Work

_KERNEL = (
    r"cpp_\w+|\w+\.run|extern_kernels\.\w+|torch\.ops\.[\w.]+|aten\.[\w.]+|inductor_ops\.\w+"
    r"|fallback\w*"
)
_CALL = re.compile(rf"\s+(?:(?P<result>\w+(?:, \w+)*) = )?(?P<kernel>{_KERNEL})\((?P<args>.*)\)$")
_HANDLE = re.compile(r"\s*# \[Provenance debug handles\] (\S+:\d+)")
_NODES = re.compile(r"\s*# Topologically Sorted Source Nodes: \[(.*?)\], Original ATen: \[(.*)\]")
_BEGIN = "async_compile.wait(globals())"
_END = ("def get_args():", "def benchmark_compiled_module(")
_PARTS_SHOWN = 8  # modules and lines of one kernel that are kept besides the first


@dataclass
class Call:
    """``handle``: Inductor's name of this call in its own tables; "" where it kept none.
    ``text``: what the line passes and gets."""

    line: int
    kernel: str
    text: str = ""
    handle: str = ""
    nodes: list[str] = field(default_factory=list)  # of the graph before AOTAutograd
    operators: list[str] = field(default_factory=list)

    @property
    def is_generated(self) -> bool:
        """Whether Inductor wrote the kernel, from several nodes; others compute one."""
        return self.kernel.startswith(("cpp_", "triton_"))

    @property
    def base(self) -> str:
        """``mm`` of ``extern_kernels.mm``, as nodes are named by it."""
        steps = self.kernel.split(".")
        return steps[-2] if self.kernel.startswith(("torch.ops.", "aten.")) else steps[-1]


def calls_in(source: str) -> list[Call]:
    """Of a generated module, in the order of their lines."""
    calls: list[Call] = []
    begin = source.find(_BEGIN)
    first = source.count("\n", 0, begin) + 1 if begin >= 0 else 1
    handle, nodes, operators = "", [], []  # type: ignore[var-annotated]
    for number, line in enumerate(source[max(begin, 0) :].split("\n"), first):
        if line.startswith(_END):
            break
        if (found := _HANDLE.match(line)) is not None:
            handle = found[1]
        elif (found := _NODES.match(line)) is not None:
            nodes, operators = _words(found[1]), _words(found[2])
        elif (found := _CALL.match(line)) is not None:
            kernel = found["kernel"].removesuffix(".run") if ".run" in line else found["kernel"]
            text = f"{found['result'] or ''} {found['args']}"
            calls.append(Call(number, kernel, text, handle, nodes, operators))
            handle, nodes, operators = "", [], []
    return calls


def is_kernel(function: str) -> bool:
    """Whether generated code that calls this calls a kernel."""
    return re.fullmatch(_KERNEL, function) is not None


def _base(name: str) -> str:
    """``mm`` of the node ``mm_3``."""
    return re.sub(r"_\d+$", "", name)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


@dataclass
class Sources:
    """What is known of the nodes of one graph: ``post`` of those that Inductor compiled, in their
    order; ``dynamo`` of those that Dynamo traced; ``mapping`` as Inductor keeps it."""

    post: dict[str, NodeFacts]
    dynamo: dict[str, NodeFacts]
    mapping: dict[str, Any]
    called: set[str] = field(default_factory=set)  # operators that have a call of their own
    work: Work = field(default_factory=Work)

    def flops_of(self, call: Call) -> Optional[int]:
        """Of a call that computes one node that of its own; None unknown."""
        post = self._post_of(call)
        return self.work.flops_of(post if call.is_generated else post[-1:])

    def nodes_of(self, call: Call) -> list[NodeFacts]:
        """Of the nodes that a call computes; the last is the one whose value it stores last."""
        post = self._post_of(call)
        if not post:
            return [self.dynamo[name] for name in call.nodes if name in self.dynamo]
        known = [facts for name in post for facts in [self._post_facts(name)] if facts is not None]
        return known if any(each.modules for each in known) else self._traced(call, known) + known

    def _post_of(self, call: Call) -> list[str]:
        """Names of the nodes of a call among those that Inductor compiled, in the same order."""
        post = self.mapping.get("cppCodeToPost", {}).get(call.handle, [])
        if not post:
            return []
        place = self._places()
        post = sorted(post, key=lambda name: place.get(name, -1))
        if call.is_generated:
            # What wants the value in memory is among them: another call computes it.
            post = [name for name in post if _base(name) not in self.called] or post
        else:
            own = next((name for name in post if _base(name) == call.base), post[-1])
            post = [name for name in post if name != own] + [own]
        return post

    def _traced(self, call: Call, known: list[NodeFacts]) -> list[NodeFacts]:
        """Where the compiler joined nodes into one (a sum of gradients into a product) the notes of
        the new one are gone, but the comment above its call names what it was traced from."""
        traced = [self.dynamo[name] for name in call.nodes if name in self.dynamo]
        return [replace(each, operator=known[-1].operator) if known else each for each in traced]

    def _places(self) -> dict[str, int]:
        order = self.post or self.mapping.get("postToPre", {})
        return {name: place for place, name in enumerate(order)}

    def _post_facts(self, name: str) -> Optional[NodeFacts]:
        facts = self.post.get(name)
        if facts is not None and facts.modules:
            return facts
        before = [
            self.dynamo[each]
            for each in self.mapping.get("postToPre", {}).get(name, [])
            if each in self.dynamo
        ]
        of_module = [each for each in before if each.modules]
        if not of_module:
            return facts or (before[-1] if before else None)
        last = of_module[-1]
        return NodeFacts(
            operator=facts.operator if facts else last.operator,
            modules=last.modules,
            frames=facts.frames if facts and facts.frames else last.frames,
            shape=facts.shape if facts else "",
        )


class GraphTable:
    """Sites of one generated module as JSON; modules and frames are stored once."""

    def __init__(self) -> None:
        self._modules: dict[tuple[str, str, int], int] = {}
        self._frames: dict[Frame, int] = {}
        self.sites: dict[str, Any] = {}

    def add(self, call: Call, nodes: list[NodeFacts]) -> None:
        """One call with its nodes; that of the owner is the last one with a module."""
        owner = next((each for each in reversed(nodes) if each.modules), None)
        site: dict[str, Any] = {"kernel": call.kernel}
        operators = list(dict.fromkeys(each.operator for each in nodes)) or call.operators
        site["operators"] = operators
        if owner is not None:
            site["module"] = self._module(owner.modules)
            others = dict.fromkeys(
                self._module(each.modules) for each in reversed(nodes) if each.modules
            )
            site["also"] = [number for number in others if number != site["module"]][:_PARTS_SHOWN]
        main = owner if owner is not None and owner.frames else None
        main = main or next((each for each in reversed(nodes) if each.frames), None)
        if main is not None:
            site["frames"] = [self._frame(frame) for frame in main.frames]
            lines = dict.fromkeys(self._frame(each.frames[0]) for each in nodes if each.frames)
            site["lines"] = [line for line in lines if line != site["frames"][0]][:_PARTS_SHOWN]
        shape = nodes[-1].shape if nodes else ""
        if shape:
            site["output"] = shape
        self.sites[str(call.line)] = site

    def add_work(self, call: Call, moved: Optional[int], flops: Optional[int]) -> None:
        """Bytes and floating-point operations; None unknown."""
        for name, number in (("bytes", moved), ("flops", flops)):
            if number is not None:
                self.sites[str(call.line)][name] = number

    def fill(self) -> None:
        """Calls of which no node has a module (sums of gradients) get what those around have in
        common."""
        known = [self._chain(site) for site in self.sites.values()]
        for place, site in enumerate(self.sites.values()):
            if known[place]:
                continue
            before = next((each for each in reversed(known[:place]) if each), None)
            behind = next((each for each in known[place + 1 :] if each), None)
            common = before or behind or []
            if before and behind:
                common = [one for one, other in zip(before, behind) if one == other]
            if before or behind:
                site.update(also=[], by="kernels around it")
            if common:
                site["module"] = common[-1]

    def _chain(self, site: dict[str, Any]) -> list[int]:
        around = [module[2] for module in self._modules]
        chain: list[int] = []
        number = site.get("module", -1)
        while number >= 0:
            chain.insert(0, number)
            number = around[number]
        return chain

    def json(self) -> dict[str, Any]:
        """``modules``: [path, class, number of the module around it or -1]."""
        return {
            "modules": [list(module) for module in self._modules],
            "frames": [list(frame) for frame in self._frames],
            "sites": self.sites,
        }

    def _module(self, modules: Iterable[Module]) -> int:
        number = -1
        for path, name in modules:
            number = self._modules.setdefault((path, name, number), len(self._modules))
        return number

    def _frame(self, frame: Frame) -> int:
        return self._frames.setdefault(frame, len(self._frames))


def table_of(text: str, sources: Sources) -> dict[str, Any]:
    """Of the text of a generated module."""
    table = GraphTable()
    calls = calls_in(text)
    sources.called = {call.base for call in calls if not call.is_generated}
    moved = sources.work.bytes_of((call.line, call.text) for call in calls)
    for call in calls:
        table.add(call, sources.nodes_of(call))
        table.add_work(call, moved.get(call.line), sources.flops_of(call))
    table.fill()
    return table.json()


def share_with_module(table: dict[str, Any]) -> float:
    """Of the calls, those whose module is known; 1 where there are none."""
    sites = table["sites"].values()
    known = sum("module" in site and "by" not in site for site in sites)
    return known / len(sites) if sites else 1.0


def with_root(table: dict[str, Any], name: str) -> dict[str, Any]:
    """The table with the module that was compiled, of a class, around all others: where a method of
    it was compiled, nothing called it."""
    sites = {
        line: {
            **site,
            # What lies between kernels of two modules has the root in common.
            **({"module": site.get("module", -1) + 1} if "module" in site or "by" in site else {}),
            "also": [number + 1 for number in site.get("also", [])],
        }
        for line, site in table["sites"].items()
    }
    modules = [["", name, -1], *([path, kind, n + 1] for path, kind, n in table["modules"])]
    return {**table, "modules": modules, "sites": sites}
