"""Names of modules and parameters of the models that this process holds.

Compiled code that another process made knows neither: it is called with the parameters, and what
they are called is known by their models, which are looked for among the interpreter's objects.
Threads: any. Cost: a walk over all objects, half a second in a large process.
"""

import functools
import gc
import sys
import types
from typing import Any

from sonde.torch._graph_nodes import Module

_LISTS = ("ModuleList", "ModuleDict")  # nobody calls them
_WRAPPER = "_orig_mod"
_OF_TORCH = ("_parameters", "_buffers", "_modules")  # and hooks, which hold nothing of the model
_DEEPEST, _MOST_SEEN, _MOST_ITEMS = 3, 200, 32  # of what a module keeps


class Models:
    """The models of one moment: modules that are part of no other."""

    def __init__(self) -> None:
        torch = sys.modules["torch"]
        kind = torch.nn.Module
        modules = [each for each in gc.get_objects() if issubclass(type(each), kind)]
        inner = {
            id(child)
            for module in modules
            for child in vars(module).get("_modules", {}).values()
            if child is not None
        }
        self._roots = [each for each in modules if id(each) not in inner]
        self._tensor = torch.Tensor

    def tensors(self) -> "dict[tuple[int, tuple[int, ...]], list[tuple[Any, str]]]":
        """Model, and paths of the modules that hold them, of parameters, buffers and tensors that
        were made of these (packed weights), by place and sizes."""
        found: dict[tuple[int, tuple[int, ...]], list[tuple[Any, str]]] = {}
        for root in self._roots:
            for path, module in root.named_modules(remove_duplicate=False):
                own = (root, _without_wrapper(path))
                for tensor in _held(module, self._tensor):
                    key = key_of(tensor)
                    if key is not None and own not in found.setdefault(key, []):
                        found[key].append(own)
        return found

    def place_of(self, inside: "list[Module]") -> Module:
        """Path in its model, and class, of the module that has these inside; the path is "" where
        several do or it is the model, the class where they differ."""
        places = set()
        for root in self._roots:
            for path, module in root.named_modules():
                if all(_class_at(module, steps) == name for steps, name in inside):
                    places.add((_without_wrapper(path), _class_at(module, "")))
        classes = {name for _, name in places}
        path = next(iter(places))[0] if len(places) == 1 else ""
        return path, classes.pop() if len(classes) == 1 else ""


def _held(module: Any, kind: Any) -> "list[Any]":
    """Tensors of a module: its own, and those behind functions and objects that it keeps."""
    state = vars(module)
    found = [*state.get("_parameters", {}).values(), *state.get("_buffers", {}).values()]
    seen: set[int] = set()
    rest = [(value, 0) for name, value in state.items() if name not in _OF_TORCH]
    while rest and len(seen) < _MOST_SEEN:
        value, depth = rest.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, kind):
            found.append(value)
        elif depth < _DEEPEST:
            rest += [(inner, depth + 1) for inner in _inside(value)]
    return [each for each in found if each is not None]


def _inside(value: Any) -> "list[Any]":
    """What an object holds; nothing of modules of the model, classes and modules of Python."""
    if isinstance(value, (list, tuple)):
        return list(value[:_MOST_ITEMS])
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, types.FunctionType):
        return [cell.cell_contents for cell in value.__closure__ or () if _is_full(cell)]
    if isinstance(value, types.MethodType):
        return [value.__self__]
    if isinstance(value, (type, types.ModuleType)) or hasattr(type(value), "named_modules"):
        return []
    return list(getattr(value, "__dict__", {}).values())[:_MOST_ITEMS]


def _is_full(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


_places: "dict[tuple[Module, ...], Module]" = {}


def place_of(inside: "list[Module]") -> Module:
    """``Models.place_of``, found once."""
    key = tuple(inside)
    if key not in _places:
        _places[key] = Models().place_of(inside)
    return _places[key]


def _class_at(module: Any, path: str) -> str:
    """Of the module inside; "" where there is none."""
    for step in ("", *(path.split(".") if path else ())):
        module = vars(module).get("_modules", {}).get(step) if step else module
        if module is not None:
            module = vars(module).get("_modules", {}).get(_WRAPPER, module)
        if module is None:
            return ""
    return type(module).__name__


def key_of(tensor: Any) -> "tuple[int, tuple[int, ...]] | None":
    """By which a tensor is the same as another one; None where it has no memory of its own."""
    try:
        place = tensor.data_ptr()
        return (place, tuple(int(size) for size in tensor.shape)) if place else None
    except (RuntimeError, TypeError, AttributeError, NotImplementedError):
        return None  # fake, lazy, or none at all


def layer_named(value: Any) -> str:
    """Operators of servers are passed the name of their layer, as a text or in an object."""
    for text in (value, getattr(value, "value", None), getattr(value, "name", None)):
        if isinstance(text, str):
            return text
    return ""


def chain_of(root: Any, path: str) -> tuple[Module, ...]:
    """The modules from a model to the one at a path; lists are left out."""
    chain: list[Module] = [("", type(root).__name__)]
    module, steps = root, []
    for step in path.split(".") if path else []:
        children = vars(module).get("_modules", {})
        if _WRAPPER in children:
            module = children[_WRAPPER]
            children = vars(module).get("_modules", {})
        module = children.get(step)
        if module is None:
            break
        steps.append(step)
        if type(module).__name__ not in _LISTS:
            chain.append((".".join(steps), type(module).__name__))
    return tuple(chain)


def _without_wrapper(name: str) -> str:
    return ".".join(step for step in name.split(".") if step != _WRAPPER)
