"""What happens around each call: which entry it has, which values, which parent.

One collector serves one configuration. Whatever goes wrong in here costs one line and one value,
never the user's program. Threads: any, under the interpreter's lock; nesting is kept per thread.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable, Optional

from sonde.mindspore.precision import _gradients, _stacks
from sonde.mindspore.precision._files import StepFiles
from sonde.mindspore.precision._values import Describer
from sonde.torch.precision import _errors
from sonde.torch.precision._config import Config
from sonde.torch.precision._scope import Scope


class _Nesting(threading.local):
    """Of one thread."""

    def __init__(self) -> None:
        self.cells: list[str] = []  # names of the open calls
        self.is_inside = False  # of a call that is recorded, or of the probe itself


class Collector:
    """Turns calls into entries of the dump."""

    def __init__(self, mindspore: Any, config: Config) -> None:
        self.config = config
        self.nesting = _Nesting()
        self.files: Optional[StepFiles] = None
        self.running = False
        self._scope = Scope(config)
        summary = "none" if config.task == "structure" else config.summary_mode
        self._values = Describer(mindspore, summary, config.precision == "high")
        self._numbers: dict[str, int] = {}  # of the next call, by name without it
        self._gradient_calls: dict[str, tuple[int, set[str]]] = {}
        self._reported: set[str] = set()
        self._at_once: set[str] = set()  # cells whose way back ends where it begins
        modes = set(config.data_mode)
        ways = modes & {"forward", "backward"} or {"forward", "backward"}
        sides = modes & {"input", "output"} or {"input", "output"}
        if "all" in modes:
            ways, sides = {"forward", "backward"}, {"input", "output"}
        self._forward, self._backward = "forward" in ways, "backward" in ways
        self._input, self._output = "input" in sides, "output" in sides

    @property
    def has_construct(self) -> bool:
        """Whether calls of functions stand in ``construct.json``."""
        return self.config.level == "mix"

    def begin_step(self) -> None:
        """Calls count from 0."""
        self._numbers.clear()
        self._gradient_calls.clear()
        self._at_once.clear()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What runs meanwhile on this thread is the probe's own."""
        kept, self.nesting.is_inside = self.nesting.is_inside, True
        try:
            yield
        except Exception as problem:  # noqa: BLE001: the boundary to the user's program
            self._say(problem)
        finally:
            self.nesting.is_inside = kept

    def _say(self, problem: Exception) -> None:
        text = f"{type(problem).__name__}: {problem}"
        if text not in self._reported:
            self._reported.add(text)
            _errors.warning(f"a value was not recorded: {text}")

    # Calls of functions

    def call(
        self,
        name: str,
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
        with_gradients: bool = True,
    ) -> Any:
        """An outermost call of a recorded function. ``name``: ``Mint.add``."""
        entry = f"{name}.{self._numbers.get(name, 0)}"
        is_wanted = self._begin_function(entry, args, kwargs)
        around: Optional[_gradients.Around] = None
        if is_wanted and with_gradients and self._hooks_gradients(name):
            around = self._around_function(f"{entry}.backward", self.has_gradients(args))
            args = around.arguments(args)
        self.nesting.is_inside = True
        try:
            result = function(*args, **kwargs)
        finally:
            self.nesting.is_inside = False
        self._end_function(name, entry, result, is_wanted)
        return result if around is None else around.result(result)

    def call_primitive(self, name: str, primitive: Any, args: Any) -> Any:
        """A call of an operator that a cell holds. ``name``: ``Primitive.dense.Dense``."""
        entry = f"{name}.{self._numbers.get(name, 0)}"
        is_wanted = self._begin_function(entry, args, {})
        hooked = is_wanted and self._hooks_gradients(name)
        if hooked:
            hook = self._gradient_hook(f"{entry}.backward", "output")
            args = tuple(
                _gradients.Each(hook).around(arg) if self._values.is_tensor(arg) else arg
                for arg in args
            )
        self.nesting.is_inside = True
        try:
            result = primitive(*args)
        finally:
            self.nesting.is_inside = False
        self._end_function(name, entry, result, is_wanted)
        if hooked and self._values.is_tensor(result):
            hook = self._gradient_hook(f"{entry}.backward", "input")
            return _gradients.Each(hook).around(result)
        return result

    def _begin_function(self, entry: str, args: Any, kwargs: Any) -> bool:
        forward = f"{entry}.forward"
        is_wanted = False
        with self.aside():
            is_wanted = self._scope.wants(forward)
            if self.has_construct and self.files is not None:
                self.files.parents[forward] = self._parent()
            if is_wanted and self._forward and self._input:
                self._add_inputs(forward, args, kwargs)
        return is_wanted

    def _end_function(self, name: str, entry: str, result: Any, is_wanted: bool) -> None:
        self._numbers[name] = self._numbers.get(name, 0) + 1
        if is_wanted and self._forward and self._output:
            with self.aside():
                self._add_output(f"{entry}.forward", result)

    def _hooks_gradients(self, name: str) -> bool:
        is_in_place = name.endswith("_") and not name.endswith("__")
        return self._backward and not is_in_place and _gradients.is_asked_for()

    def _around_function(self, backward: str, is_both: bool) -> _gradients.Around:
        def outputs(found: Any) -> None:
            self._gradient(backward, "input", found, is_last=False)

        def inputs(found: Any) -> None:
            self._gradient(backward, "output", found, is_last=False)

        kind = _gradients.Pair if is_both else _gradients.OnlyResult
        return kind(backward, outputs, inputs)

    def has_gradients(self, args: Any) -> bool:
        """Whether an argument of a call can have a gradient."""
        return any(self._values.is_tensor(arg) and arg.dtype.is_floating_point for arg in args)

    def _gradient_hook(self, backward: str, side: str) -> Callable[[Any], None]:
        def hook(gradient: Any) -> None:
            with self.aside():
                if self.files is None or not self._wants_side(side):
                    return
                self._place_backward(backward)
                listed = self.files.touch(backward).setdefault(side, [])
                listed.append(self._record(gradient, backward, f"{side}.{len(listed)}"))

        return hook

    # Calls of cells

    def begin_cell(self, base: str, args: Any, kwargs: Any) -> str:
        """``base``: ``Cell.layers.0.Layer``. The name of the call."""
        number = self._numbers.get(base, 0)
        self._numbers[base] = number + 1
        forward = f"{base}.forward.{number}"
        with self.aside():
            self._scope.begin_module(forward)
            if self.files is not None:
                self.files.parents[forward] = self._parent()
            if self._forward and self._input and self._scope.wants(forward):
                self._add_inputs(forward, args, kwargs)
        self.nesting.cells.append(forward)
        return forward

    def end_cell(self, forward: str, result: Any, parameters: "dict[str, Any]") -> None:
        """The call has returned."""
        with self.aside():
            if self._forward and self._output and self._scope.wants(forward):
                self._add_output(forward, result, is_last=True)
                entry = self.files.touch(forward) if self.files is not None else {}
                entry["parameters"] = {
                    name: self._record(value, forward, f"parameters.{name}")
                    for name, value in parameters.items()
                }
            self._scope.end_module(forward)

    def leave_cell(self) -> None:
        """It has ended, returned or not."""
        if self.nesting.cells:
            self.nesting.cells.pop()

    def around_cell(self, forward: str, args: Any) -> Optional[_gradients.Around]:
        """What sees the gradients of a call; None where nobody asks for them."""
        if not self._backward or not _gradients.is_asked_for():
            return None
        backward = _backward_of(forward)
        is_both = self.has_gradients(args)
        if not is_both:
            self._at_once.add(forward)

        def begins(found: Any) -> None:
            with self.aside():
                self._scope.begin_module(backward)
            self._gradient(backward, "input", found, is_last=True)

        def ends(found: Any) -> None:
            if any(value is not None for value in found):
                self._gradient(backward, "output", found, is_last=True)
            with self.aside():
                self._scope.end_module(backward)

        return (_gradients.Pair if is_both else _gradients.OnlyResult)(backward, begins, ends)

    def parameter_gradient(self, base: str, parameter: str, gradient: Any) -> None:
        """The gradient of one parameter of a cell came."""
        if not self.running or not self._backward:
            return
        with self.aside():
            number, seen = self._gradient_calls.get(base, (0, set()))
            if parameter in seen:
                number, seen = number + 1, set()
            seen.add(parameter)
            self._gradient_calls[base] = number, seen
            name = f"{base}.parameters_grad.{number}"
            if self.files is not None and self._scope.wants(f"{base}.backward.{number}"):
                self.files.touch(name)[parameter] = [self._record(gradient, name, parameter)]

    # Values

    def _parent(self) -> Optional[str]:
        return self.nesting.cells[-1] if self.nesting.cells else None

    def _place_backward(self, backward: str) -> None:
        assert self.files is not None
        is_cell = backward.startswith("Cell.")
        if not is_cell and not self.has_construct:
            return
        parent = self.files.parents.get(_forward_of(backward))
        while parent in self._at_once:
            parent = self.files.parents.get(parent or "")
        self.files.parents[backward] = None if parent is None else _backward_of(parent)

    def _wants_side(self, side: str) -> bool:
        return self._input if side == "input" else self._output

    def _gradient(self, backward: str, side: str, found: Any, is_last: bool) -> None:
        with self.aside():
            if self.files is None or not self._scope.wants(backward):
                return
            self._place_backward(backward)
            entry = self.files.touch(backward, is_last)
            if side == "input" and self._output:
                entry["output"] = []  # stays so where no argument has a gradient
            if self._wants_side(side):
                values = found if isinstance(found, tuple) else (found,)
                entry[side] = [
                    self._record(value, backward, f"{side}.{i}") for i, value in enumerate(values)
                ]
            for key in [key for key in ("input", "output") if key in entry]:
                entry[key] = entry.pop(key)  # in this order

    def _add_inputs(self, forward: str, args: Any, kwargs: Any) -> None:
        if self.files is None:
            return
        entry = self.files.touch(forward)
        if self.config.extra_info:
            self.files.add_stack(forward, _stacks.frames(3))
        if self.config.task == "structure":
            return
        entry["input_args"] = self._record(list(args), forward, "input")
        entry["input_kwargs"] = {
            key: self._keyword(key, value, forward) for key, value in kwargs.items()
        }

    def _keyword(self, key: str, value: Any, forward: str) -> Any:
        if key in ("dtype", "output_dtype"):
            return {"type": "mindspore.dtype", "value": None if value is None else str(value)}
        return self._record(value, forward, f"kwargs.{key}")

    def _add_output(self, forward: str, result: Any, is_last: bool = False) -> None:
        if self.files is None or self.config.task == "structure":
            return
        entry = self.files.touch(forward, is_last)
        values = list(result) if isinstance(result, tuple) else [result]
        entry["output"] = self._record(values, forward, "output")

    def _record(self, value: Any, entry: str, place: str) -> Any:
        files, config = self.files, self.config
        wanted = config.task == "tensor" or (
            config.task == "statistics" and any(part in entry for part in config.tensor_list)
        )
        if files is None or not wanted:
            return self._values.record(value, place, None)

        def save(array: Any, at: str) -> str:
            return files.save(array, f"{entry}.{at}")

        return self._values.record(value, place, save)


def _backward_of(forward: str) -> str:
    head, _, tail = forward.rpartition(".forward")
    return f"{head}.backward{tail}"


def _forward_of(backward: str) -> str:
    head, _, tail = backward.rpartition(".backward")
    return f"{head}.forward{tail}"
