"""Entries of the backward of compiled code, in the order in which an eager program has them.

Autograd calls the whole compiled backward as one function. Then it hands out all gradients, of
parameters, too. They wait here until all have come, or until autograd ends, and become entries as
if the modules had been called one behind another. Threads: those of autograd, under the GIL.
"""

from typing import Any, Optional

from sonde.torch.precision._graph_entries import Backwards, record_of
from sonde.torch.precision._graph_outputs import STATISTICS, Plan, Value
from sonde.torch.precision._modules import own_parameters


class Backward:
    """Of one call of compiled code. ``calls``: of modules, in the order of backward."""

    def __init__(
        self, service: Any, plan: Plan, sizes: "dict[Any, int]", calls: "list[Backwards]"
    ) -> None:
        self._service = service
        self._plan = plan
        self._sizes = sizes
        self._calls = calls
        self._gradients: Optional[Any] = None  # of what modules got and gave
        self._rows: list[list[float]] = []
        self._of_parameters: dict[str, list[tuple]] = {}  # by prefix of a module
        self._missing: set[tuple[str, str]] = set()
        self._is_awaited = False

    def wait(self, places: "list[Any]") -> None:
        """For the gradients of the arguments that were added, and of parameters."""
        import torch

        if not torch.is_grad_enabled():
            return
        torch.autograd.graph.register_multi_grad_hook(places, self._came)
        modules = self._service.modules
        for call in self._calls:
            for key in modules.graded_parameters(call.module):
                self._missing.add((call.prefix, key))
                modules.holders[call.prefix] = self

    def hold(self, prefix: str, key: str, value: Any, count: int) -> None:
        """A parameter has its gradient; see ``Collector.gradient``."""
        self._of_parameters.setdefault(prefix, []).append((key, value, count))
        self._missing.discard((prefix, key))
        self._look()

    def _came(self, gradients: Any) -> None:
        if self._service.modules.on and not self._service.collector.is_child:
            self._gradients = gradients
            self._look()

    def _look(self) -> None:
        """Whether all is there. What never comes has come when autograd ends."""
        import torch

        if self._gradients is not None and not self._missing:
            self.write()
        elif not self._is_awaited:
            self._is_awaited = True
            engine = torch.autograd.Variable._execution_engine  # type: ignore[attr-defined]
            engine.queue_callback(self.write)

    def write(self) -> None:
        """Once: what has come."""
        collector = self._service.collector
        self._is_awaited = False
        was_free = collector.enter()
        try:
            if self._service.modules.on:
                self._write(collector)
        except Exception as problem:  # noqa: BLE001: the boundary to the user's program
            collector.failed(problem)
        finally:
            if was_free:
                collector.leave()
            self._gradients = None
            self._of_parameters = {}

    def _write(self, collector: Any) -> None:
        is_table = self._plan.gradients.is_table
        first = self._gradients[0] if self._gradients is not None else None
        self._rows = first.tolist() if is_table and first is not None else []
        complete = self._complete()
        for at, call in enumerate(self._calls):
            to_results = tuple(map(self._of, call.recorded.to_results))
            to_args = tuple(map(self._of, call.recorded.to_args))
            is_entry = any(each is not None for each in to_results)
            if is_entry and call.begins:
                collector.begin_module(call.name)
            # As autograd hands them out: of parameters before of what the module got, if it does.
            for prefix in complete.get(at, ()):
                self._write_parameters(collector, prefix)
            if is_entry and call.begins != bool(to_args):
                collector.backward(call.name, to_results, to_args)
            if is_entry and not call.begins:
                collector.end_module(call.name)
        for prefix in list(self._of_parameters):
            self._write_parameters(collector, prefix)

    def _complete(self) -> "dict[int, list[str]]":
        """Modules whose parameters have all parts of their gradients with a call, by its place: one
        that modules share waits for the last of them. Modules are in the order of forward."""
        last: dict[int, int] = {}  # by parameter
        owned: dict[str, list[int]] = {}
        for at, call in enumerate(self._calls):
            if call.begins:
                continue
            owned[call.prefix] = [id(each) for each in own_parameters(call.module).values()]
            last.update(dict.fromkeys(owned[call.prefix], at))
        found: dict[int, list[str]] = {}
        for prefix, parameters in reversed(list(owned.items())):
            if parameters:
                found.setdefault(max(last[each] for each in parameters), []).append(prefix)
        return found

    def _write_parameters(self, collector: Any, prefix: str) -> None:
        for key, value, count in self._of_parameters.pop(prefix, ()):
            collector.gradient(prefix, key, value, count)

    def _of(self, value: Optional[Value]) -> Any:
        if value is None or self._gradients is None:
            return None
        if not self._plan.gradients.is_table:
            return self._gradients[value.row]
        row = self._rows[value.row] if self._rows else None
        if row is None or row[len(STATISTICS)] == 0:
            return None
        return record_of(value, self._sizes, row[: len(STATISTICS)], [])
