"""Modules of the kernels of compiled code of which torch kept no notes: by its parameters.

A kernel that reads a parameter works for the module of that; one that reads none lies between two
that do, and works for what both have in common: what is between the products of an MLP is the MLP.
Of a parameter that modules share, the module is the one that is nearest to those around. Pure.
"""

import functools
import re
from typing import Any, Optional

from sonde.torch import _graph_sites
from sonde.torch._graph_nodes import NodeFacts
from sonde.torch._graph_sites import Call, GraphTable

_UNPACKED = re.compile(r"\n\s+([a-z]\w*(?:, \w+)*,?) = args\n")
_NAME = re.compile(r"\b[a-z]\w*_\d+\b")
_TEXT = re.compile(r"'([^']+)'")
_EMBEDDING = "Embedding"  # of a weight that it shares with a product, only look-ups are its own


def inputs_of(text: str) -> list[str]:
    """Names of the inputs of a generated module, in their order."""
    found = _UNPACKED.search(text)
    return [name.strip() for name in found[1].split(",") if name.strip()] if found else []


def table_of(text: str, owners: "dict[str, list[str]]", chain_of: Any) -> "dict[str, Any]":
    """``owners``: paths of the modules that hold a parameter, by its name in the text; ``chain_of``
    gives the modules down to a path."""
    calls = _graph_sites.calls_in(text)
    lines = text.split("\n")
    may_be = [_owners(lines[call.line - 1], call, owners, chain_of) for call in calls]
    known = [paths[0] if len(paths) == 1 else None for paths in may_be]
    for place, paths in enumerate(may_be):
        if len(paths) > 1:
            known[place] = max(paths, key=functools.partial(_nearness, known, place))
    table = GraphTable()
    for place, call in enumerate(calls):
        path = known[place]
        if path is None:
            path = _between(known, place)
        table.add(call, [] if path is None else [_facts(call, chain_of(path))])
    return table.json()


def _facts(call: Call, chain: Any) -> NodeFacts:
    names = call.operators or [call.kernel]
    return NodeFacts(operator=names[-1], modules=chain)


def _owners(line: str, call: Call, owners: "dict[str, list[str]]", chain_of: Any) -> "list[str]":
    """Of the last parameter that a call reads; or of a name of a layer that it is passed."""
    for text in _TEXT.findall(line):
        for start in range(text.count(".") + 1):
            path = text.split(".", start)[-1]
            if len(chain_of(path)) > 1 and chain_of(path)[-1][0] == path:
                return [path]
    read = [owners[name] for name in _NAME.findall(line) if name in owners]
    if not read:
        return []
    looks_up = "embedding" in call.kernel
    fitting = [path for path in read[-1] if (_EMBEDDING in chain_of(path)[-1][1]) == looks_up]
    return fitting or read[-1]


def _around(known: "list[Optional[str]]", place: int) -> "tuple[Optional[str], Optional[str]]":
    before = next((each for each in reversed(known[:place]) if each is not None), None)
    behind = next((each for each in known[place + 1 :] if each is not None), None)
    return before, behind


def _nearness(known: "list[Optional[str]]", place: int, path: str) -> int:
    """Steps of a path that it has in common with the one before, and the one behind."""
    return sum(len(_common(path, each)) for each in _around(known, place) if each is not None)


def _common(left: str, right: str) -> "list[str]":
    common = []
    for one, other in zip(left.split("."), right.split(".")):
        if one != other:
            break
        common.append(one)
    return common


def _between(known: "list[Optional[str]]", place: int) -> Optional[str]:
    before, behind = _around(known, place)
    if before is None or behind is None:
        return before if behind is None else behind
    return ".".join(_common(before, behind))
