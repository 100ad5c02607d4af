"""Operators that libraries have registered with torch (``torch.ops.NAMESPACE``): which are
recorded, and which of their arguments they write to."""

from typing import Any


def registered(torch: Any, namespaces: "list[str]") -> "dict[str, dict[int, str]]":
    """Operators of these namespaces, "_C.rotary_embedding", with the places and names of the
    arguments that their schema marks as changed."""
    found: dict[str, dict[int, str]] = {}
    wanted = tuple(f"{namespace}::" for namespace in namespaces)
    if not wanted:
        return found
    for schema in torch._C._jit_get_all_schemas():
        if not schema.name.startswith(wanted):
            continue
        changed = found.setdefault(schema.name.replace("::", ".", 1), {})
        for place, argument in enumerate(schema.arguments):
            alias = getattr(argument, "alias_info", None)
            if alias is not None and alias.is_write:
                changed[place] = argument.name
    return found


def changed_values(changed: "dict[int, str]", args: tuple, kwargs: "dict[str, Any]") -> tuple:
    """The arguments of a call that it was to write to."""
    values = []
    for place, name in changed.items():
        if place < len(args):
            values.append(args[place])
        elif name in kwargs:
            values.append(kwargs[name])
    return tuple(values)
