"""``"graph": "complete"``: what the modules of compiled code got, gave, and got as gradients.

Modules in compiled code are called by nobody, and a hook on one makes the compiler compile another
program. So Dynamo traces without hooks, each graph gets what is to be recorded as more outputs
(``_graph_outputs``, ``_graph_gradients``), and the function that is made of it leads to us: what it
gives becomes entries as if the modules had been called (``_graph_entries``), while the debugger
records. Graphs that were compiled before ``watch`` give nothing. Threads: any.
"""

import functools
import threading
from typing import Any, Callable, Optional

from sonde._seams import Part, Seam
from sonde.torch.precision import _errors, _graph_backend, _graph_notes
from sonde.torch.precision._config import Config
from sonde.torch.precision._graph_backward import Backward
from sonde.torch.precision._graph_entries import Entries
from sonde.torch.precision._graph_gradients import Marker
from sonde.torch.precision._graph_outputs import Plan, insert, sizes_of

_SINCE = (2, 10)  # of torch
_watched: "list[_Watch]" = []


def watch(config: Optional[Config] = None) -> "_Watch":
    """Graphs that are compiled from now on say what their modules do, as a configuration wants it.
    Once a process."""
    if not _watched:
        _watched.append(_Watch())
        for seam in seams(_watched[0]):
            seam.install()
    if config is not None:
        _watched[0].config = config
    return _watched[0]


def seams(watching: "Optional[_Watch]" = None) -> tuple[Seam, ...]:
    """Graphs on their way to Inductor, and calls of modules that Dynamo traces."""
    watching = watching or _Watch()
    return (
        Seam(
            "values in compiled graphs",
            "torch._inductor.compile_fx",
            (Part("compile_fx", replace=watching.with_values),),
            since=_SINCE,
        ),
        Seam(
            "calls of modules in compiled graphs",
            "torch._dynamo.variables.nn_module",
            (Part("UnspecializedNNModuleVariable.call_function", _graph_notes.traced),),
            since=_SINCE,
            is_extra=True,
        ),
    )


class _Watch:
    """``graphs``: how many have values; ``traced``: how many came from Dynamo; ``service``:
    which records, if any; ``config``: what is wanted of graphs; ``backend``: what compiles them,
    if not Inductor."""

    def __init__(self) -> None:
        self.graphs = 0
        self.traced = 0
        self.service: Any = None
        self.config = Config()
        self.backend = ""
        self._thread = threading.local()

    def with_values(self, compile_fx: Callable[..., Any]) -> Callable[..., Any]:
        """Stands for ``compile_fx``, which calls itself for options: the outermost call counts."""

        @functools.wraps(compile_fx)
        def changed(model_: Any, example_inputs_: Any, *args: Any, **kwargs: Any) -> Any:
            if getattr(self._thread, "is_inside", False) or not hasattr(model_, "graph"):
                return compile_fx(model_, example_inputs_, *args, **kwargs)
            inputs = list(example_inputs_)
            plan = self._insert(model_, inputs)
            self.traced += 1
            compiler = _graph_backend.instead_of(compile_fx, self.backend)
            self._thread.is_inside = True
            try:
                compiled = compiler(model_, inputs, *args, **kwargs)
            finally:
                self._thread.is_inside = False
            return compiled if plan is None else self._read(compiled, plan)

        return changed

    def _insert(self, model: Any, inputs: "list[Any]") -> Optional[Plan]:
        marker = Marker(inputs) if self.config.has_gradients else None
        graph, count = model.graph, len(inputs)
        try:
            plan = insert(model, self.config.needs_tensors, marker)
        except Exception as problem:  # noqa: BLE001: the boundary to the user's program
            del inputs[count:]
            if model.graph is not graph:
                model.graph = graph
            _errors.warning(f"a compiled graph says nothing of its modules: {problem!r}")
            return None
        self.graphs += plan is not None
        return plan

    def _read(self, compiled: Any, plan: Plan) -> Any:
        def read(*args: Any, **kwargs: Any) -> Any:
            call = _Call(self.service, plan, args)
            results = compiled(*call.args, **kwargs)
            if call.records:
                call.record(results)
            return results[: len(results) - plan.outputs] if plan.outputs else results

        functools.update_wrapper(read, compiled)
        if hasattr(compiled, "serialize"):  # who keeps compiled code asks for it
            read.serialize = compiled.serialize  # type: ignore[attr-defined]
        return read


class _Call:
    """One call of compiled code. ``args`` for it; ``records``: whether it is recorded."""

    def __init__(self, service: Any, plan: Plan, args: "tuple[Any, ...]") -> None:
        self.args = args
        self.records = service is not None and service.modules.on
        self._service = service
        self._plan = plan
        self._places: list[Any] = []  # where gradients come to
        self._sizes: dict[Any, int] = {}
        self._given: dict[int, Any] = {}
        if self.records or plan.gradients is not None:
            self._look_at_arguments()

    def _look_at_arguments(self) -> None:
        """Before the call, since the callee may empty its arguments."""
        args, plan = self.args, self._plan
        is_boxed = len(args) == 1 and isinstance(args[0], list)
        values: Any = args[0] if is_boxed else args
        try:
            self._sizes = sizes_of(plan, values)
        except Exception as problem:  # noqa: BLE001: the boundary to the user's program
            self._service.collector.failed(problem)
            self.records = False
        if self.records:
            self._given = {at: values[at] for at in plan.given}
        if plan.gradients is None:
            return
        self._places = plan.gradients.arguments(self._sizes, self.records)
        if is_boxed:
            values += self._places
        else:
            self.args = (*args, *self._places)

    def record(self, results: Any) -> None:
        """Entries of the call."""
        collector = self._service.collector
        if not collector.enter():
            return
        try:
            plan = self._plan
            added = list(results[len(results) - plan.outputs :]) if plan.outputs else []
            calls = Entries(self._service, plan, self._sizes, self._given, added).write()
            if self._places:
                Backward(self._service, plan, self._sizes, calls).wait(self._places)
        except Exception as problem:  # noqa: BLE001: the boundary to the user's program
            collector.failed(problem)
        finally:
            collector.leave()
