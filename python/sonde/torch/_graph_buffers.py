"""Which value of the program each buffer of generated code holds.

Inductor knows it while it generates the code: ``buffers_of``. ``values_of`` is for whoever knows
the program by the graph that Dynamo traced: a value of that one is the last node that AOTAutograd
made of it, where nothing else was joined into that node. Pure; nothing here imports torch.
"""

import re
from typing import Any

from sonde.torch._graph_nodes import NodeFacts

#: Operators that give the elements of their first argument, in the same order.
SAME_ELEMENTS = frozenset(
    "view reshape _unsafe_view unsqueeze squeeze flatten unflatten alias detach view_as reshape_as"
    " contiguous to float half bfloat16 type_as".split()
)
#: Operators that give memory to be filled: others that have a part in such a node fill it.
NEW = frozenset(("empty", "empty_like", "empty_strided", "new_empty"))
#: Of nodes that Inductor never makes of several: what is behind one was not joined into it.
_ALONE = frozenset(("mm", "bmm", "wait_tensor"))
_VIEWS = frozenset(("view", "reshape", "_unsafe_view", "unsqueeze", "squeeze", "alias", "detach"))


def buffers_of(lowering: Any) -> dict[str, str]:
    """The node whose value a buffer holds, exactly, by the buffer's name."""
    found = {}
    for name, buffer in getattr(lowering, "name_to_buffer", {}).items():
        node = _origin(buffer)
        if node is not None:
            found[name] = node.name
    return found


def held_by(lowering: Any, graph: Any) -> dict[str, str]:
    """The buffer that holds the value of a node, "" for none; all nodes in their order."""
    of_node = {node: buffer for buffer, node in buffers_of(lowering).items()}
    held: dict[str, str] = {}
    for node in graph.nodes:
        held[node.name] = of_node.get(node.name, "")
        if not held[node.name] and node.args and _name(node.target) in _VIEWS:
            held[node.name] = held.get(getattr(node.args[0], "name", ""), "")
    return held


def values_of(
    held: "dict[str, str]", dynamo: "dict[str, NodeFacts]", mapping: "dict[str, Any]"
) -> dict[str, str]:
    """The buffer that holds what a node of Dynamo gives, for those that are in memory."""
    order = {name: at for at, name in enumerate(held)}
    places = {name: at for at, name in enumerate(dynamo)}
    joined = mapping.get("postToPre", {})
    last_of = {}
    for name, images in mapping.get("preToPost", {}).items():
        known = [image for image in images if image in order]
        if name in places and known:
            last_of[name] = max(known, key=order.__getitem__)
    found = {}
    for name, last in last_of.items():
        is_alone = _base(last) in _ALONE
        # A product with a sum behind it is one node: it is the sum, and not the product.
        is_whole = dynamo[name].operator in NEW or all(
            places.get(other, -1) <= places[name]
            or dynamo[other].operator in SAME_ELEMENTS
            or (is_alone and last_of.get(other, last) != last)  # it only reads what was written
            for other in joined.get(last, ())
        )
        if held[last] and is_whole:
            found[name] = held[last]
    return found


def _base(name: str) -> str:
    """``mm`` of the node ``mm_3``."""
    return re.sub(r"_\d+$", "", name)


def _name(target: Any) -> str:
    """``view`` of ``aten.view.default``."""
    packet = getattr(target, "overloadpacket", None)
    return str(getattr(packet, "__name__", ""))


def _origin(buffer: Any) -> Any:
    """The node whose value a buffer holds. Of a fused one that node which no other of them uses;
    None of reductions in parts, whose buffer may hold a sum for a mean."""
    node = buffer.get_origin_node() if hasattr(buffer, "get_origin_node") else None
    if node is not None:
        return node
    if type(getattr(buffer, "data", None)).__name__ != "Pointwise":
        return None
    origins = {each for each in getattr(buffer, "origins", ()) if hasattr(each, "users")}
    while True:
        last = [each for each in origins if not any(user in origins for user in each.users)]
        # What wants the value in memory is among them: it does not compute it.
        others = {each for each in last if not _is_pointwise(each)}
        if not others or others == origins:
            break
        origins -= others
    if len(last) != 1:
        return None
    value = last[0].meta.get("val")
    try:
        sizes = [str(size) for size in buffer.get_size()]
        fits = [str(size) for size in value.shape] == sizes and value.dtype == buffer.get_dtype()
    except (AttributeError, NotImplementedError, TypeError):
        return None
    return last[0] if fits else None


def _is_pointwise(node: Any) -> bool:
    name = str(node.target)
    tags = [str(tag) for tag in getattr(node.target, "tags", ())]
    is_pointwise = any(tag.endswith("pointwise") for tag in tags)
    return is_pointwise or any(word in name for word in ("view", "expand", "convert_element_type"))
