"""What torch's compiler knows of a node of its graphs: modules around it, user's lines, operator.

Dynamo notes the modules and lines of each node that it traces, AOTAutograd hands them on, to nodes
of backward too. Pure; nothing here imports torch.
"""

import os
import re
import sys
from dataclasses import dataclass
from typing import Any

#: A module on the way from the root: its path in it ("" is the root) and its class.
Module = tuple[str, str]
#: File, line, function.
Frame = tuple[str, int, str]

_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')
_SLICE = re.compile(r"\.slice\([^)]*\)")
_ITEM = re.compile(r"\[['\"]?([^\]'\"]+)['\"]?\]")
_CHILD = re.compile(r"\._modules\[['\"]([^'\"]+)['\"]\]")
_LOCAL = re.compile(r"[LG]\[['\"]([^'\"]+)['\"]\]")
_WRAPPER = "_orig_mod"  # what torch.compile puts around a model is no part of it


@dataclass(frozen=True)
class NodeFacts:
    """``modules`` from the root to the innermost; ``frames`` innermost first, without lines of
    torch's own library in front."""

    operator: str = ""
    modules: tuple[Module, ...] = ()
    frames: tuple[Frame, ...] = ()
    shape: str = ""


def facts_of(node: Any) -> NodeFacts:
    """Of a node of a Dynamo, AOTAutograd or Inductor graph."""
    meta = node.meta
    stack = meta.get("fwd_nn_module_stack") or meta.get("nn_module_stack") or {}
    modules = tuple(_module(path, kind) for path, kind in stack.values())
    return NodeFacts(
        operator=_operator(node),
        modules=modules,
        frames=_frames(meta.get("stack_trace") or getattr(node, "stack_trace", None) or ""),
        shape=_shape(meta.get("val", meta.get("example_value"))),
    )


def graph_facts(graph: Any) -> "dict[str, NodeFacts]":
    """Of the nodes that compute something, by name, in the order of the graph."""
    return {
        node.name: facts_of(node)
        for node in graph.nodes
        if node.op not in ("placeholder", "output", "get_attr")
    }


def module_path(source: str) -> str:
    """``L['self']._modules['layers']._modules['0'].mlp`` is ``layers.0.mlp``: the first name is
    that of a variable."""
    text = _LOCAL.sub(r"\1", source)
    text = _CHILD.sub(r".\1", text)
    text = _SLICE.sub("", text)
    text = _ITEM.sub(r".\1", text)
    steps = [step for step in text.split(".")[1:] if step and step not in ("_modules", _WRAPPER)]
    return ".".join(steps)


def _module(source: str, kind: Any) -> Module:
    name = getattr(kind, "__name__", None) or str(kind).rsplit(".", 1)[-1].rstrip("'>")
    return module_path(source), name


def _operator(node: Any) -> str:
    """``aten.mul`` where the node comes of an operator, else what Dynamo saw called."""
    target = node.meta.get("original_aten") or node.target
    packet = getattr(target, "overloadpacket", None)
    if packet is not None:
        return str(packet)
    if isinstance(target, str):
        return target
    return getattr(target, "__name__", str(target))


def _frames(text: str) -> "tuple[Frame, ...]":
    found = [(file, int(line), function) for file, line, function in _FRAME.findall(text)]
    found.reverse()
    of_user = next((place for place, frame in enumerate(found) if not _is_torchs(frame[0])), 0)
    return tuple(found[of_user:])


def _is_torchs(file: str) -> bool:
    """Dynamo keeps the lines of functions of torch that are written in Python (``F.pad``)."""
    torch = getattr(sys.modules.get("torch"), "__file__", None)
    return torch is not None and file.startswith(os.path.dirname(torch) + os.sep)


def _shape(value: Any) -> str:
    """``float32[2, 16, 64]``; dimensions that vary by their names."""
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        return ""
    sizes = ", ".join(str(size) for size in value.shape)
    return f"{str(value.dtype).removeprefix('torch.')}[{sizes}]"
