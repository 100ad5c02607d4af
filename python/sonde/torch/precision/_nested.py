"""Tensors that need gradients, in lists, tuples and dicts: where hooks of modules look for them."""

from collections.abc import Iterator
from typing import Any


def find(value: Any, tensor_type: Any, found: list) -> None:
    """Adds those of a value to ``found``, in order."""
    if isinstance(value, tensor_type):
        if value.requires_grad:
            found.append(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            find(item, tensor_type, found)
    elif isinstance(value, dict):
        for item in value.values():
            find(item, tensor_type, found)


def replace(value: Any, tensor_type: Any, new: "Iterator[Any]") -> Any:
    """Walks as ``find`` does and puts the next of ``new`` at each place it found.

    Lists and dicts are changed in place: the module may rely on their identity.
    """
    if isinstance(value, tensor_type):
        return next(new) if value.requires_grad else value
    if isinstance(value, list):
        for index, item in enumerate(value):
            value[index] = replace(item, tensor_type, new)
    elif isinstance(value, dict):
        for key, item in value.items():
            value[key] = replace(item, tensor_type, new)
    elif isinstance(value, tuple):
        items = [replace(item, tensor_type, new) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value
