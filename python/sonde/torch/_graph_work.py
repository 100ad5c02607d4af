"""How much a kernel of compiled code moves and computes, from the graph that Inductor compiles.

Bytes are those of Inductor's scheduler (``get_read_write_buffers_sizes``): each buffer that a
kernel reads or writes counts once, at most with its size. Floating-point operations are those of
torch's own formulas (``torch.utils.flop_counter``: products, convolutions, attention). What
Inductor generates is estimated: an operation for each element of a pointwise operator's result and
of a reduction's input; what only moves values has none. Sizes that are not numbers (dynamic shapes)
and operators without a formula leave a number unknown. Threads: any.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Optional

_WORD = re.compile(r"\w+")
_REDUCTIONS = frozenset(
    "sum mean prod amax amin max min argmax argmin any all var var_mean std norm linalg_vector_norm"
    " cumsum cumprod".split()
)
# Pointwise for torch, but they compute nothing.
_MOVES = frozenset("clone copy _to_copy convert_element_type alias fill full_like".split())
# Products that torch's list does not have: two operations for each element of the result and of
# the last dimension of the first operand.
_PRODUCTS = frozenset(("mkldnn._linear_pointwise", "mkl._mkl_linear", "_C.onednn_mm"))


@dataclass
class Work:
    """Of a graph: ``traffic`` has the buffers that each kernel writes and its bytes, ``flops`` the
    operations of nodes by name; what is unknown is not in it."""

    traffic: "list[tuple[frozenset[str], int]]" = field(default_factory=list)
    flops: dict[str, int] = field(default_factory=dict)

    def bytes_of(self, calls: "Iterable[tuple[int, str]]") -> dict[int, int]:
        """Of (line, text) of calls in their order. The first that names a buffer writes it."""
        found: dict[int, int] = {}
        left = list(self.traffic)
        for line, text in calls:
            words = set(_WORD.findall(text))
            own = [each for each in left if each[0] & words]
            if own:
                left = [each for each in left if each not in own]
                found[line] = sum(size for _, size in own)
        return found

    def flops_of(self, nodes: "Iterable[str]") -> Optional[int]:
        """Of the nodes together; None where one is unknown, or there are none."""
        counts = [self.flops.get(name) for name in nodes]
        known = [count for count in counts if count is not None]
        return sum(known) if known and len(known) == len(counts) else None


def work_of(lowering: Any) -> Work:
    """Of a graph that was just compiled, while Inductor still works on it."""
    work = Work()
    for node in getattr(lowering.scheduler, "nodes", None) or ():
        if _has_numbers(lowering, node):
            size = node.get_read_write_buffers_sizes()
            work.traffic.append((frozenset(node.get_buffer_names()), int(size)))
    for node in lowering.module.graph.nodes:
        count = node_flops(node) if node.op == "call_function" else None
        if count is not None:
            work.flops[node.name] = count
    return work


def node_flops(node: Any) -> Optional[int]:
    """None where no formula knows it, or a size is no number."""
    from torch.utils.flop_counter import flop_registry

    value = node.meta.get("val")
    packet = getattr(node.target, "overloadpacket", None)
    name = str(packet) if packet is not None else ""
    try:
        if packet in flop_registry:
            args, kwargs = _values(node.args), _values(node.kwargs)
            return _number(flop_registry[packet](*args, **kwargs, out_val=value))
        if name in _PRODUCTS:
            return _number(2 * math.prod(value.shape) * _values(node.args)[0].shape[-1])
        return _number(_estimate(node, name.rsplit(".", 1)[-1], value))
    except (AttributeError, IndexError, TypeError, ValueError, AssertionError):
        return None


def _estimate(node: Any, name: str, value: Any) -> Any:
    import torch

    if name in _REDUCTIONS:
        return math.prod(_values(node.args)[0].shape)
    if torch.Tag.pointwise in getattr(node.target, "tags", ()) and name not in _MOVES:
        return math.prod(value.shape)
    is_inductors = getattr(node.target, "namespace", "") in ("aten", "prims", "inductor")
    return 0 if is_inductors else None  # views, copies, gathers; others are not known


def _values(args: Any) -> Any:
    from torch.utils._pytree import tree_map

    return tree_map(lambda each: each.meta["val"] if hasattr(each, "meta") else each, args)


def _number(count: Any) -> Optional[int]:
    return count if isinstance(count, int) else None


def _has_numbers(lowering: Any, node: Any) -> bool:
    """Whether the sizes of all that a kernel reads and writes are numbers."""
    for dependency in (*node.read_writes.reads, *node.read_writes.writes):
        buffer = lowering.name_to_buffer.get(dependency.name)
        buffer = lowering.graph_inputs.get(dependency.name) if buffer is None else buffer
        size = getattr(buffer, "get_size", lambda: ())
        try:
            if any(getattr(each, "free_symbols", None) for each in size()):
                return False
        except NotImplementedError:  # of an operator that gives nothing, or several
            continue
    return True
