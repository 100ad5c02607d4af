"""Names for outermost modules: the variable or attribute by which the program calls them."""

import os
import sys
import weakref
from typing import Any, Optional

_OURS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Leads:
    """Each model keeps its lead, and no two have one."""

    def __init__(self) -> None:
        self._given: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()

    def of(self, model: Any) -> str:
        """ "critic." for a model that is called as ``critic(x)`` or ``self.critic(x)``."""
        if model in self._given:
            return self._given[model]
        name = name_of(model) or type(model).__name__.lower()
        taken = set(self._given.values())
        lead, number = f"{name}.", 1
        while lead in taken:
            lead, number = f"{name}_{number}.", number + 1
        self._given[model] = lead
        return lead


def name_of(model: Any) -> Optional[str]:
    """The name that the calling code has for an object, nearest frame first."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_OURS) and f"{os.sep}torch{os.sep}" not in file:
            name = _in(frame.f_locals, model) or _in(frame.f_globals, model)
            if name is not None:
                return name
        frame = frame.f_back
    return None


def _in(names: "dict[str, Any]", model: Any) -> Optional[str]:
    for name, value in list(names.items()):
        if value is model and name != "self" and not name.startswith("_"):
            return name
    for value in list(names.values()):
        attributes = getattr(value, "__dict__", None) if not isinstance(value, type) else None
        if not isinstance(attributes, dict):
            continue
        for name, held in [*attributes.items(), *dict(attributes.get("_modules") or {}).items()]:
            if held is model and isinstance(name, str):
                return name
    return None
