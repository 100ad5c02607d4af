"""What Sonde does not have of msProbe comes from an msProbe that is installed beside it.

``install()`` lets the import system find its modules below ours, and ``attribute()`` its names;
where none is installed both report what is missing. Nothing is loaded before a program asks for it.
"""

import contextlib
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import threading
from types import ModuleType
from typing import Any, Optional

# Modules that hold, in one release or another, what `msprobe.pytorch` and `msprobe.mindspore`
# export: ours answer.
_DEBUGGER = ("PrecisionDebugger", "module_dump", "module_dump_end")
_OURS = {
    "msprobe.pytorch.debugger.precision_debugger": _DEBUGGER,
    "msprobe.pytorch.dump.debugger.precision_debugger": _DEBUGGER,
    "msprobe.mindspore.debugger.precision_debugger": ("PrecisionDebugger",),
    "msprobe.mindspore.dump.debugger.precision_debugger": ("PrecisionDebugger",),
}
# The same, where no msProbe is installed whose module holds more.
_OURS_ALONE = {
    "msprobe.pytorch.debugger": (),
    "msprobe.pytorch.dump": (),
    "msprobe.pytorch.dump.debugger": (),
    "msprobe.pytorch.common": ("seed_all",),
    "msprobe.pytorch.common.utils": ("seed_all",),
    "msprobe.mindspore.debugger": (),
    "msprobe.mindspore.dump": (),
    "msprobe.mindspore.dump.debugger": (),
    "msprobe.mindspore.common": ("seed_all",),
    "msprobe.mindspore.common.utils": ("seed_all",),
}
# Packages of msProbe, and the probe of ours that answers for each.
_PROBES = {
    "msprobe.pytorch": "sonde.torch.precision",
    "msprobe.mindspore": "sonde.mindspore.precision",
}
# The installed module behind ours is imported by a name of this beginning, in the same package: so
# the import system's locks hold for it, and its relative imports lead to what ours find, too.
_BEHIND = "_installed_module_"
_HOW = "no msProbe is installed to take it from (pip install mindstudio-probe)"
_HERE = os.path.dirname(os.path.realpath(__file__))
_reported: "set[str]" = set()
_loading: "set[int]" = set()  # threads that are in `_load`


def folder() -> Optional[str]:
    """Where the installed package lies, None without; an editable one has a finder of its own."""
    for finder in list(sys.meta_path):
        find = getattr(finder, "find_spec", None)
        if find is None or (getattr(type(finder), "__module__", "") or "").startswith(
            ("msprobe.", "sonde.")
        ):
            continue
        spec = find("msprobe", _others() if finder is importlib.machinery.PathFinder else None)
        if spec is not None and spec.origin and spec.submodule_search_locations:
            place = os.path.dirname(spec.origin)
            if os.path.realpath(place) != _HERE:
                return place
    return None


def _others() -> "list[str]":
    """The search path without us."""
    here = os.path.dirname(_HERE)
    return [place for place in sys.path if os.path.realpath(place or os.getcwd()) != here]


def extend(path: "list[str]", *below: str) -> None:
    """Lets a package's ``__path__`` go on in the installed one."""
    installed = folder()
    if installed is not None:
        place = os.path.join(installed, *below)
        if place not in path:
            path.append(place)


def attribute(module: str, name: str) -> Any:
    """An attribute of the installed module of that name, or a module below it."""
    if name.startswith(("__", _BEHIND)):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    installed = folder()
    if installed is not None:
        loaded = _load(module, installed)
        if loaded is not None and hasattr(loaded, name):
            return getattr(loaded, name)
    try:
        return importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError as problem:
        if problem.name != f"{module}.{name}":
            raise  # it is there, and lacks something
    text = f"{module}.{name} is not part of Sonde's probe, and {_HOW}"
    if installed is not None:
        text = f"neither Sonde's probe nor the msProbe at {installed} has {module}.{name}"
    if installed is None or loaded is None:
        _report(text)  # an import statement replaces the text of the exception by its own
    raise AttributeError(text)


def names(module: str, but: "tuple[str, ...]") -> "list[str]":
    """What an import of everything would take of the installed module."""
    installed = folder()
    if installed is None:
        return []
    loaded = _load(module, installed)
    if loaded is None:
        return []
    public = getattr(loaded, "__all__", [name for name in vars(loaded) if name[0] != "_"])
    return [name for name in public if name not in but]


def _report(text: str) -> None:
    if text not in _reported:
        _reported.add(text)
        print(f"sonde: error: {text}", file=sys.stderr)


def _file_of(module: str, installed: str) -> Optional[str]:
    place = os.path.join(installed, *module.split(".")[1:])
    for path in (os.path.join(place, "__init__.py"), f"{place}.py"):
        if os.path.isfile(path):
            return path
    return None


def _name_behind(module: str, file: str) -> str:
    if os.path.basename(file) == "__init__.py":
        return f"{module}.{_BEHIND}"
    package, _, leaf = module.rpartition(".")
    return f"{package}.{_BEHIND}{leaf}"


def _spec_behind(name: str) -> Optional[importlib.machinery.ModuleSpec]:
    """The inverse of `_name_behind`, and where it lies."""
    package, _, leaf = name.rpartition(".")
    leaf = leaf[len(_BEHIND) :]
    installed = folder()
    if installed is None:
        return None
    file = _file_of(f"{package}.{leaf}" if leaf else package, installed)
    if file is None:
        return None
    return importlib.machinery.ModuleSpec(name, _Behind(name, file), origin=file)


def _load(module: str, installed: str) -> Optional[ModuleType]:
    """The installed module behind ours, None without; from then on ours has its names, too."""
    file = _file_of(module, installed)
    if file is None:
        return None
    name = _name_behind(module, file)
    thread = threading.get_ident()
    if thread in _loading:  # its own modules ask for what it has so far
        return importlib.import_module(name) if name in sys.modules else None
    _loading.add(thread)
    try:
        if name not in sys.modules:
            _enter_circle(module, installed)
        loaded = importlib.import_module(name)
    except Exception as problem:
        _report(
            f"the msProbe at {installed} cannot be imported ({type(problem).__name__}: {problem}); "
            "Sonde's own part of it works without"
        )
        raise
    finally:
        _loading.discard(thread)
    _hand_over(sys.modules[module], loaded)
    return loaded


def _enter_circle(module: str, installed: str) -> None:
    """The package's modules import each other in a circle, which holds only if it is entered where
    the package itself enters it: in the module that ours answers for."""
    for other in _OURS:
        file = _file_of(other, installed)
        if other.startswith(f"{module}.") and file is not None:
            importlib.import_module(_name_behind(other, file))


def _load_first(name: str) -> None:
    """The installed package before a module of it, as everywhere; one that fails has been
    reported."""
    installed = folder()
    framework = ".".join(name.split(".")[:2])
    if framework not in _PROBES or framework == name or not installed:
        return
    if threading.get_ident() not in _loading and _file_of(name, installed) is not None:
        with contextlib.suppress(Exception):
            _load(framework, installed)


def _hand_over(ours: ModuleType, loaded: ModuleType) -> None:
    """A release may export what is called as one of its modules: its name is the export then."""
    known = vars(ours)
    for name, value in vars(loaded).items():
        is_module_below = isinstance(known.get(name), ModuleType)
        if name[0] != "_" and (name not in known or is_module_below):
            known[name] = value


class _Behind(importlib.machinery.SourceFileLoader):
    """Loads an installed package in our place, with the folder that it lies in."""

    def exec_module(self, module: ModuleType) -> None:
        if self.is_package(module.__name__):
            module.__path__ = [os.path.dirname(self.path)]
        super().exec_module(module)

    def is_package(self, fullname: str) -> bool:
        return os.path.basename(self.path) == "__init__.py"


class _Loaded(importlib.abc.Loader):
    """A module that came while its finder was asked: it is not run again."""

    def __init__(self, module: ModuleType) -> None:
        self._module, self._spec = module, module.__spec__

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec


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
        if name.rpartition(".")[2].startswith(_BEHIND):
            return _spec_behind(name)
        # Who only asks whether it is there gets None: `importlib.util.find_spec`.
        is_imported = sys._getframe(2).f_code is not importlib.util.find_spec.__code__
        if not self._last and is_imported:
            _load_first(name)
            # Left there, the import system would run it again; it puts it back at once, and holds
            # the module's lock meanwhile.
            loaded = sys.modules.pop(name, None)
            if loaded is not None:
                return importlib.machinery.ModuleSpec(name, _Loaded(loaded))
        if self._last and is_imported and folder() is None:
            raise ModuleNotFoundError(f"{name} is not part of Sonde's probe, and {_HOW}", name=name)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        framework = ".".join(module.__name__.split(".")[:2])
        ours = importlib.import_module(_PROBES[framework])
        for name in {**_OURS, **_OURS_ALONE}[module.__name__]:
            setattr(module, name, getattr(ours, name))
        module.__getattr__ = functools.partial(attribute, module.__name__)  # type: ignore[method-assign]


def install() -> None:
    """Once a process, by the package itself."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(last=False))
        sys.meta_path.append(_Finder(last=True))
