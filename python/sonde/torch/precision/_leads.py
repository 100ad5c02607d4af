"""Names for outermost modules: the variable, attribute or place by which the program calls them."""

import dis
import os
import sys
import weakref
from collections.abc import Iterator
from types import CodeType, ModuleType
from typing import Any

_OURS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_CONTAINERS = ("ModuleList", "ModuleDict", "Sequential")  # whose modules are named by their place
_MOST_ITEMS = 10000  # of a list that is looked through


class Leads:
    """Each model keeps its lead, and no two have one."""

    def __init__(self) -> None:
        self._given: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()

    def of(self, model: Any) -> str:
        """ "critic." for a model that is called as ``critic(x)`` or ``self.critic(x)``,
        "agents.left." for ``agents["left"](x)``."""
        if model in self._given:
            return self._given[model]
        names = [*names_of(model), type(model).__name__.lower()]
        taken = set(self._given.values())
        free = (name for name in names if f"{name}." not in taken)
        name = next(free, names[0])
        lead, number = f"{name}.", 1
        while lead in taken:
            lead, number = f"{name}_{number}.", number + 1
        self._given[model] = lead
        return lead


def names_of(model: Any) -> "list[str]":
    """The names that the calling code has for an object, nearest frame first."""
    found: list[str] = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_OURS) and f"{os.sep}torch{os.sep}" not in file:
            loops = _loop_variables(frame.f_code)
            for names in (frame.f_locals, frame.f_globals):
                found += _in(dict(names), model, loops)
        frame = frame.f_back
    return found


def _in(names: "dict[str, Any]", model: Any, loops: "set[str]") -> Iterator[str]:
    """Of one frame; a loop's variable, which holds one after the other, comes last."""
    own = [name for name, value in names.items() if value is model and _is_public(name)]
    yield from (name for name in own if name not in loops)
    attributes = [
        (name, held) for value in list(names.values()) for name, held in _attributes(value)
    ]
    yield from (name for name, held in attributes if held is model)
    for name, held in [*names.items(), *attributes]:
        if isinstance(name, str) and _is_public(name):
            yield from (f"{name}.{key}" for key in _places(held, model))
    yield from (name for name in own if name in loops)


def _is_public(name: str) -> bool:
    return name != "self" and not name.startswith("_")


def _attributes(value: Any) -> "Iterator[tuple[str, Any]]":
    """Of an object and of its class; classes and torch itself have too many."""
    own = getattr(value, "__dict__", None)
    if isinstance(value, type) or not isinstance(own, dict):
        return
    if isinstance(value, ModuleType) and value.__name__.partition(".")[0] == "torch":
        return
    modules = own.get("_modules")
    yield from ((name, held) for name, held in list(own.items()) if isinstance(name, str))
    if isinstance(modules, dict) and type(value).__name__ not in _CONTAINERS:
        yield from list(modules.items())
    for kind in type(value).__mro__[:-1]:
        if not kind.__module__.startswith("torch"):
            yield from list(vars(kind).items())


def _places(holder: Any, model: Any) -> "Iterator[str]":
    """Keys or numbers of an object in a dict or list, or in what torch has for them."""
    if type(holder).__name__ in _CONTAINERS:
        holder = getattr(holder, "_modules", None)
    if isinstance(holder, dict):
        items: Any = holder.items()
    elif isinstance(holder, (list, tuple)):
        items = enumerate(holder)
    else:
        return
    if len(holder) <= _MOST_ITEMS:
        for key, value in list(items):
            if value is model and type(key) in (str, int):
                yield str(key)


def _loop_variables(code: CodeType) -> "set[str]":
    """Names that a ``for`` of this code gives a value."""
    found: set[str] = set()
    is_target = False
    for step in dis.get_instructions(code):
        if step.opname.startswith("STORE_") and is_target:
            found.update(step.argval if isinstance(step.argval, tuple) else (step.argval,))
        is_target = step.opname == "FOR_ITER" or (
            is_target and step.opname.startswith(("STORE_", "UNPACK_", "CACHE", "EXTENDED_ARG"))
        )
    return found
