"""Calls of the cells below the models that were given, and of the operators that cells hold.

``nn.Cell.__call__`` is replaced on its class while something is recorded. Nothing is changed in
compiled code, which calls no cell.
"""

import functools
import weakref
from typing import Any, Optional

from sonde.mindspore.precision._collector import Collector


class _Held:
    """Stands for an operator in the cell that holds it."""

    def __init__(self, primitive: Any, name: str, collector: Collector) -> None:
        self._sonde_primitive = primitive
        self._sonde_name = name
        self._sonde_collector = collector

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        collector = self._sonde_collector
        if kwargs or not collector.running or collector.nesting.is_inside:
            return self._sonde_primitive(*args, **kwargs)
        return collector.call_primitive(self._sonde_name, self._sonde_primitive, args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sonde_primitive, name)


class CellCalls:
    """Of one process. ``with_cells``: cells are recorded; ``with_primitives``: operators that they
    hold are."""

    def __init__(self, mindspore: Any, collector: Collector, level: str) -> None:
        self._cell_class: Any = mindspore.nn.Cell
        self._primitive_class: Any = mindspore.ops.Primitive
        self._collector = collector
        self._with_cells = level in ("L0", "mix")
        self._with_primitives = level in ("L1", "mix")
        self._names: dict[int, tuple[Any, str]] = {}
        self._handles: list[Any] = []
        self._known: set[int] = set()  # models
        self._held: list[tuple[Any, str, Any]] = []
        self._original: Optional[Any] = None

    def add_model(self, model: Any) -> None:
        """Cells of a model, or of several."""
        several = isinstance(model, (list, tuple))
        for index, one in enumerate(model if several else [model]):
            if id(one) in self._known:
                continue
            self._known.add(id(one))
            prefix = f"{index}." if several else ""
            for path, cell in one.cells_and_names():
                if path and self._with_cells:
                    self._add(cell, f"Cell.{prefix}{path}.{type(cell).__name__}")

    def _add(self, cell: Any, base: str) -> None:
        self._names[id(cell)] = (weakref.ref(cell), base)
        for name, parameter in _own_parameters(cell).items():
            if parameter.requires_grad:
                hook = functools.partial(self._collector.parameter_gradient, base, name)
                self._handles.append(parameter.register_hook(lambda grad, hook=hook: hook(grad)))

    def install(self, model: Any) -> None:
        """From now on calls are recorded."""
        if self._with_primitives and model is not None:
            for one in model if isinstance(model, (list, tuple)) else [model]:
                for _, cell in one.cells_and_names():
                    self._hold(cell)
        if self._with_cells and self._original is None:
            self._original = self._cell_class.__call__
            self._cell_class.__call__ = self._wrapper(self._original)

    def remove(self) -> None:
        """Puts everything back."""
        if self._original is not None:
            self._cell_class.__call__ = self._original
            self._original = None
        for holder, name, primitive in self._held:
            if isinstance(holder.get(name), _Held):
                holder[name] = primitive
        self._held.clear()

    def _hold(self, cell: Any) -> None:
        for holder in (vars(cell), vars(cell).get("_primitives")):
            for name, value in list((holder or {}).items()):
                if isinstance(value, self._primitive_class) and not name.startswith("_"):
                    title = f"Primitive.{name}.{type(value).__name__}"
                    holder[name] = _Held(value, title, self._collector)
                    self._held.append((holder, name, value))

    def _wrapper(self, original: Any) -> Any:
        names, collector = self._names, self._collector

        @functools.wraps(original)
        def call(cell: Any, *args: Any, **kwargs: Any) -> Any:
            known = names.get(id(cell))
            if known is None or known[0]() is not cell or not collector.running:
                return original(cell, *args, **kwargs)
            if collector.nesting.is_inside:
                return original(cell, *args, **kwargs)
            return self._call(cell, known[1], original, args, kwargs)

        return call

    def _call(self, cell: Any, base: str, original: Any, args: Any, kwargs: Any) -> Any:
        collector = self._collector
        forward = collector.begin_cell(base, args, kwargs)
        try:
            around = collector.around_cell(forward, args)
            if around is not None:
                args = around.arguments(args)
            result = original(cell, *args, **kwargs)
            collector.end_cell(forward, result, _own_parameters(cell))
        finally:
            collector.leave_cell()
        return result if around is None else around.result(result)


def _own_parameters(cell: Any) -> "dict[str, Any]":
    """By the names that the cell has for them."""
    return dict(getattr(cell, "_params", None) or {})
