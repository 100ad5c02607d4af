"""Modules of the kernels of compiled code of which torch kept no notes: by its parameters.

A kernel that reads a parameter works for the module of that; one that reads none lies between two
that do, and works for what both have in common: what is between the products of an MLP is the MLP.
Pure.
"""

import re
from typing import Any, Optional

from sonde.torch import _graph_sites
from sonde.torch._graph_nodes import NodeFacts
from sonde.torch._graph_sites import Call, GraphTable

_UNPACKED = re.compile(r"\n\s+([a-z]\w*(?:, \w+)*,?) = args\n")
_NAME = re.compile(r"\b[a-z]\w*_\d+\b")
_TEXT = re.compile(r"'([^']+)'")


def inputs_of(text: str) -> list[str]:
    """Names of the inputs of a generated module, in their order."""
    found = _UNPACKED.search(text)
    return [name.strip() for name in found[1].split(",") if name.strip()] if found else []


def table_of(text: str, parameters: "dict[str, str]", chain_of: Any) -> "dict[str, Any]":
    """``parameters``: names in the model ("layers.0.mlp.weight") by names in the text;
    ``chain_of`` gives the modules down to a path, or () where there is none."""
    calls = _graph_sites.calls_in(text)
    lines = text.split("\n")
    known = [_module_of(lines[call.line - 1], parameters, chain_of) for call in calls]
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


def _module_of(line: str, parameters: "dict[str, str]", chain_of: Any) -> Optional[str]:
    """Of the last parameter that a call reads; or of a name of a layer that it is passed."""
    for text in _TEXT.findall(line):
        for start in range(text.count(".") + 1):
            path = text.split(".", start)[-1]
            if len(chain_of(path)) > 1 and chain_of(path)[-1][0] == path:
                return path
    read = [parameters[name] for name in _NAME.findall(line) if name in parameters]
    return read[-1].rpartition(".")[0] if read else None


def _between(known: "list[Optional[str]]", place: int) -> Optional[str]:
    before = next((each for each in reversed(known[:place]) if each is not None), None)
    behind = next((each for each in known[place + 1 :] if each is not None), None)
    if before is None or behind is None:
        return before if behind is None else behind
    common = []
    for left, right in zip(before.split("."), behind.split(".")):
        if left != right:
            break
        common.append(left)
    return ".".join(common)
