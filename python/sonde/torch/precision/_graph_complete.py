"""``"graph"``: what the modules of compiled code got, gave, and got as gradients.

Modules in compiled code are called by nobody, and a hook on one makes the compiler compile another
program. So Dynamo traces without hooks. ``complete``: each graph gets what is to be recorded as
more outputs (``_graph_outputs``, ``_graph_gradients``); ``boundaries``: graphs stay as they are,
and buffers are looked at (``_graph_boundaries``). The function that is made of a graph leads to us:
what it gives becomes entries as if the modules had been called (``_graph_entries``), while the
debugger records. Graphs that were compiled before ``watch`` give nothing. Threads: any.
"""

import functools
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable, Optional

from sonde._seams import Around, Part, Seam
from sonde.torch import _graphs
from sonde.torch.precision import _errors, _graph_backend, _graph_boundaries, _graph_notes
from sonde.torch.precision._config import Config
from sonde.torch.precision._graph_backward import Backward
from sonde.torch.precision._graph_entries import Entries
from sonde.torch.precision._graph_gradients import Marker
from sonde.torch.precision._graph_outputs import Plan, insert, sizes_of

COMPLETE = "complete"

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
        if config.graph != COMPLETE:
            _graphs.watch()  # it knows what buffers hold
    return _watched[0]


def is_known(torch: Any) -> bool:
    """Whether this torch is one whose graphs are known."""
    return tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2]) >= _SINCE


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
        Seam(
            "buffers of compiled graphs",
            "torch._inductor.output_code",
            (Part("CompiledFxGraph.post_compile", watching.loaded),),
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
        self._plans: list[Plan] = []  # of graphs whose buffers are looked at
        self._thread = threading.local()

    def report(self) -> None:
        """Once, after something was recorded: how many modules have results in memory."""
        seen = [plan.seen for plan in self._plans if plan.seen is not None]
        self._plans = [] if seen else self._plans
        visible, calls = (sum(counts) for counts in zip(*seen)) if seen else (0, 0)
        if calls:
            more = '; "graph": "complete" records all, and compiles another program'
            _errors.info(
                f"compiled code: {visible} of {calls} calls of modules have results in memory, "
                f"which are recorded{more if visible < calls else ''}"
            )

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
            self._thread.plan = plan
            try:
                compiled = compiler(model_, inputs, *args, **kwargs)
            finally:
                self._thread.is_inside = False
                self._thread.plan = None
            return compiled if plan is None else self._read(compiled, plan)

        return changed

    def loaded(self, compiled: Any, *args: Any, **kwargs: Any) -> Around:
        """``post_compile`` runs before the first call, of new graphs and of those of a cache."""
        plan, function = getattr(self._thread, "plan", None), compiled.current_callable
        yield
        options = next((each for each in args if isinstance(each, dict)), kwargs)
        if plan is not None and plan.is_of_memory and not options.get("is_backward"):
            _graph_boundaries.follow(compiled, function, plan)

    def _insert(self, model: Any, inputs: "list[Any]") -> Optional[Plan]:
        has_marker = self.config.has_gradients and self.config.graph == COMPLETE
        marker = Marker(inputs) if has_marker else None
        graph, count = model.graph, len(inputs)
        try:
            if self.config.graph == COMPLETE:
                plan = insert(model, self.config.needs_tensors, marker)
            else:
                plan = _graph_boundaries.plan_of(model)
                self._plans += [plan] if plan is not None else []
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
            with call.looking():
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
        self._kept: Optional[dict[Any, Any]] = None  # what was in memory
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

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Around the call: compiled code shows its buffers."""
        if not self.records or not self._plan.is_of_memory:
            yield
            return
        thread, self._kept = _graph_boundaries.current, {}
        thread.found, thread.service = self._kept, self._service
        try:
            yield
        finally:
            thread.found = thread.service = None

    def record(self, results: Any) -> None:
        """Entries of the call."""
        collector = self._service.collector
        if not collector.enter():
            return
        try:
            plan = self._plan
            added = list(results[len(results) - plan.outputs :]) if plan.outputs else []
            kept = self._kept
            if kept is not None:
                kept.update(enumerate(results))
            calls = Entries(self._service, plan, self._sizes, self._given, added, kept).write()
            if self._places:
                Backward(self._service, plan, self._sizes, calls).wait(self._places)
        except Exception as problem:  # noqa: BLE001: the boundary to the user's program
            collector.failed(problem)
        finally:
            collector.leave()
