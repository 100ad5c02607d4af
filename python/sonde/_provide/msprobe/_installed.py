"""What Sonde does not have of msProbe comes from an msProbe that is installed beside it.

``install()`` lets the import system find its modules below ours, and ``attribute()`` its names;
where none is installed both say what is missing. Nothing is loaded before a program asks for it.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any, Optional

# Modules that hold, in one release or another, what `msprobe.pytorch` exports: ours answer.
_OURS = {
    "msprobe.pytorch.debugger.precision_debugger": ("PrecisionDebugger",),
    "msprobe.pytorch.dump.debugger.precision_debugger": ("PrecisionDebugger",),
}
# The same, where no msProbe is installed whose module holds more.
_OURS_ALONE = {
    "msprobe.pytorch.debugger": (),
    "msprobe.pytorch.dump": (),
    "msprobe.pytorch.dump.debugger": (),
    "msprobe.pytorch.common": ("seed_all",),
    "msprobe.pytorch.common.utils": ("seed_all",),
}
_HOW = "no msProbe is installed to take it from (pip install mindstudio-probe)"
_told: "set[str]" = set()


def folder() -> Optional[str]:
    """Where the installed package lies, None without."""
    here = os.path.dirname(os.path.abspath(__file__))
    for place in sys.path:
        candidate = os.path.join(place or os.getcwd(), "msprobe")
        if os.path.abspath(candidate) != here and os.path.isfile(
            os.path.join(candidate, "__init__.py")
        ):
            return candidate
    return None


def extend(path: "list[str]", *below: str) -> None:
    """Lets a package's ``__path__`` go on in the installed one."""
    installed = folder()
    if installed is not None:
        place = os.path.join(installed, *below)
        if place not in path:
            path.append(place)


def attribute(module: str, name: str) -> Any:
    """An attribute of the installed module of that name."""
    if name.startswith("__"):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    installed = folder()
    if installed is None:
        text = f"{module}.{name} is not part of Sonde's probe, and {_HOW}"
        if name not in _told:
            _told.add(name)
            # An import statement replaces the text of the exception by its own.
            print(f"sonde: error: {text}", file=sys.stderr)
        raise AttributeError(text)
    return getattr(_load(module, installed), name)


def names(module: str, but: "tuple[str, ...]") -> "list[str]":
    """What an import of everything would take of the installed module."""
    installed = folder()
    if installed is None:
        return []
    loaded = _load(module, installed)
    public = getattr(loaded, "__all__", [name for name in vars(loaded) if name[0] != "_"])
    return [name for name in public if name not in but]


def _load(module: str, installed: str) -> ModuleType:
    """The installed package behind ours, under a name of its own."""
    name = f"{module}._installed_package"
    if name in sys.modules:
        return sys.modules[name]
    place = os.path.join(installed, *module.split(".")[1:])
    spec = importlib.util.spec_from_file_location(
        name, os.path.join(place, "__init__.py"), submodule_search_locations=[place]
    )
    if spec is None or spec.loader is None:
        raise AttributeError(f"{place} cannot be loaded")
    loaded = importlib.util.module_from_spec(spec)
    loaded.__package__ = module  # relative imports lead to the modules that ours find, too
    sys.modules[name] = loaded
    try:
        spec.loader.exec_module(loaded)
    except BaseException:
        del sys.modules[name]
        raise
    return loaded


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Ours before everybody's, and a word where nobody has a module."""

    def __init__(self, last: bool) -> None:
        self._last = last

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if not name.startswith("msprobe."):
            return None
        if name in (_OURS_ALONE if self._last else _OURS):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        if self._last and folder() is None:
            raise ModuleNotFoundError(f"{name} is not part of Sonde's probe, and {_HOW}", name=name)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        ours = importlib.import_module("sonde.torch.precision")
        for name in {**_OURS, **_OURS_ALONE}[module.__name__]:
            setattr(module, name, getattr(ours, name))


def install() -> None:
    """Once a process, by the package itself."""
    sys.meta_path.insert(0, _Finder(last=False))
    sys.meta_path.append(_Finder(last=True))
