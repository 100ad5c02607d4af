"""Runs a function once a module's own code has run, however the module comes to be imported.

Modules that are loaded already are handled at once, those that are being loaded when they are done.
A finder in front of the others returns a loader that notifies us; it stays, so that it also sees
the import after one that failed, a reload, and a module whose spec somebody asked for before. A
module that runs as ``__main__`` (``python -m``) has no import: its code gets a call of ours in
front of its last part, ``if __name__ == "__main__"``. What came past
our finder is found at the next import.

Threads: any; functions are called on the thread that imports.
"""

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import CodeType, ModuleType
from typing import Any, Callable, Optional

from sonde import _report

#: Gets the module. An error of it costs one line.
Change = Callable[[Any], None]

_MAIN = ("__main__", "__mp_main__")


class _Loader(importlib.abc.Loader):
    """The module's own loader, which notifies us at its end."""

    def __init__(self, inner: Any, name: str) -> None:
        self._inner = inner
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._inner, attribute)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Optional[ModuleType]:
        """As the module's own."""
        create = getattr(self._inner, "create_module", None)
        return None if create is None else create(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Runs the module's code; it sees its own loader, as does whoever asks it later."""
        spec = module.__spec__
        if spec is not None and spec.loader is self:
            spec.loader = self._inner
        if getattr(module, "__loader__", None) is self:
            module.__loader__ = self._inner
        self._inner.exec_module(module)
        _finder.loaded(self._name, module)

    def get_code(self, name: str) -> Optional[CodeType]:
        """For ``python -m``."""
        code = self._inner.get_code(name)
        try:
            return _with_run_main(self._inner, name, code) or code
        except Exception:  # noqa: BLE001: code that cannot be changed stays as it is
            return code


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the awaited modules as everybody else would, with a loader that notifies us."""

    def __init__(self) -> None:
        self.changes: dict[str, list[Change]] = {}
        self._past: set[str] = set()  # awaited modules that are not known to be loaded

    def find_spec(
        self, name: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        """Found by the other finders, None where it is not awaited."""
        self.look_around()
        if name not in self.changes:
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)  # not of every hook of old
            if finder is self or find is None:
                continue
            spec = find(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, name)
                return spec
        return None

    def add(self, name: str, change: Change) -> None:
        """Awaits a module."""
        changes = self.changes.setdefault(name, [])
        if change in changes:
            return
        changes.append(change)
        module = _main_of(name)
        if module is not None:
            _apply(change, module)
        module = sys.modules.get(name)
        if module is None:
            self._past.add(name)
        elif not _becomes_loaded(module, name) and not _is_loading(module):
            _apply(change, module)
        else:
            self._past.add(name)

    def loaded(self, name: str, module: ModuleType) -> None:
        """The module's code has run."""
        self._past.discard(name)
        for change in list(self.changes.get(name, ())):
            _apply(change, module)

    def look_around(self) -> None:
        """Finds awaited modules that came another way than through our loader."""
        for name in [name for name in list(self._past) if name in sys.modules]:
            module = sys.modules[name]
            if module is not None and not _is_lazy(module) and not _is_loading(module):
                self.loaded(name, module)


_finder = _Finder()


def when_imported(name: str, change: Change) -> None:
    """Calls ``change(module)`` after the module's own code has run, each time that it does; once
    however often it is asked for."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    _finder.add(name, change)


def look_around() -> None:
    """Handles what was imported past us. For callers that are about to report the state."""
    _finder.look_around()


def run_main(scope: "dict[str, Any]", name: str) -> None:
    """Called by the code of a module that runs as ``__main__``."""
    module = sys.modules.get(str(scope.get("__name__")))
    if scope.get("__name__") in _MAIN and module is not None and vars(module) is scope:
        _finder.loaded(name, module)


def _apply(change: Change, module: Any) -> None:
    try:
        change(module)
    except Exception as problem:  # noqa: BLE001: the program must go on without us
        _report.log(f"the hook on the import of {module.__name__} failed: {problem!r}", error=True)


def _is_loading(module: Any) -> bool:
    return bool(getattr(_spec_of(module), "_initializing", False))


def _is_lazy(module: Any) -> bool:
    return type(module) is importlib.util._LazyModule  # type: ignore[attr-defined]


def _spec_of(module: Any) -> Any:
    try:
        return object.__getattribute__(module, "__spec__")  # which loads no lazy module
    except AttributeError:
        return None


def _becomes_loaded(module: Any, name: str) -> bool:
    """Whether this is a lazy module: it is loaded by the loader in its spec, ours from now on."""
    if not _is_lazy(module):
        return False
    spec = _spec_of(module)
    if spec is not None and not isinstance(spec.loader, _Loader):
        spec.loader = _Loader(spec.loader, name)
    return True


def _main_of(name: str) -> Optional[ModuleType]:
    """The module ``__main__`` where it is this one and runs already."""
    module = sys.modules.get("__main__")
    spec = getattr(module, "__spec__", None)
    return module if module is not None and getattr(spec, "name", None) == name else None


def _with_run_main(loader: Any, name: str, code: Optional[CodeType]) -> Optional[CodeType]:
    """The module's code that calls ``run_main`` before its last part, None without that part."""
    source = loader.get_source(name)
    if code is None or source is None:
        return None
    tree = ast.parse(source, code.co_filename)
    places = [at for at, node in enumerate(tree.body) if _asks_for_main(node)]
    if not places:
        return None
    call = ast.parse(
        f"__import__({__name__!r}, fromlist=['run_main']).run_main(globals(), {name!r})"
    ).body[0]
    for node in ast.walk(call):
        ast.copy_location(node, tree.body[places[-1]])
    tree.body.insert(places[-1], call)
    return compile(tree, code.co_filename, "exec", dont_inherit=True)


def _asks_for_main(node: ast.stmt) -> bool:
    """``if __name__ == "__main__":``"""
    test = node.test if isinstance(node, ast.If) else None
    names = [part.id for part in ast.walk(test) if isinstance(part, ast.Name)] if test else []
    return "__name__" in names
