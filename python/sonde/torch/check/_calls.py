"""Runs one call three times: as the dump has it on a device, in the wider type that the reference
compares with, and with every float in double precision, each with its gradients.

Random numbers are drawn in the order of msProbe (arguments, wider run, device, gradient), so that
arguments that are made are the same; the run in double precision draws none of them.
"""

import dataclasses
from typing import Any, Callable, Optional

from sonde.torch.check import _entries
from sonde.torch.check._values import SHORT_FLOATS, Maker
from sonde.torch.precision import _names

_HOLDERS: "dict[str, tuple[str, Callable[[Any], Any]]]" = {
    "Functional": ("functional", lambda torch: torch.nn.functional),
    "Tensor": ("tensor", lambda torch: torch.Tensor),
    "Torch": ("torch", lambda torch: torch),
}
_NO_BACKWARD = frozenset({"repeat_interleave"})
_UNSUPPORTED_BACKWARD = frozenset({"masked_select"})
# Of several results the one whose gradient the dump has.
_RESULT_WITH_GRADIENT = {"topk": 0}
# These change what they are given as a view of it, which a detached tensor refuses.
_KEEPS_GRAPH = frozenset(
    {"resize_", "resize_as_", "set_", "transpose_", "t_", "squeeze_", "unsqueeze_"}
)
_KEEPS_TYPE = frozenset({"type_as"})

OUT_MESSAGE = (
    "function with out=... arguments don't support automatic differentiation, skip backward."
)
NONE_MESSAGE = "This API does not have backward input data, skip backward."
UNSUPPORTED_MESSAGE = "This API does not support backward ut, skip backward."
SEVERAL_MESSAGE = "Multiple backward is not supported."


@dataclasses.dataclass
class Run:
    """Results and gradients of one way to compute a call."""

    output: Any = None
    gradients: Optional[list] = None


@dataclasses.dataclass
class Outcome:
    """What one call gave."""

    device: Run
    wide: Run
    exact: Optional[Run]  # None: random, or the wide run is exact already
    arguments: list  # positional and named, as the dump has them
    gradient: Any = None  # that went backward
    message: str = ""  # why there is no backward


class Runner:
    """Runs calls of a dump on ``device``, a torch device."""

    def __init__(self, torch: Any, dump: _entries.Dump, device: Any) -> None:
        self.torch = torch
        self.dump = dump
        self.device = device
        self.maker = Maker(torch, dump.tensors)
        self._wider = {
            torch.float16: torch.float32,
            torch.bfloat16: torch.float32,
            torch.float32: torch.float64,
        }
        self._exact = dict.fromkeys((*self._wider, torch.float64), torch.float64)

    def run(self, call: str) -> Outcome:
        """Raises what torch raises."""
        kind, function = _entries.kind_and_function(call)
        record = self.dump.forward[call]
        has_out = "out" in (record.get("input_kwargs") or {})
        positional, named = self.maker.arguments(function, record, not has_out)
        message = OUT_MESSAGE if has_out else ""
        message += NONE_MESSAGE if function in _NO_BACKWARD else ""
        message += UNSUPPORTED_MESSAGE if function in _UNSUPPORTED_BACKWARD else ""
        goes_back = call in self.dump.backward and not message
        if kind not in _HOLDERS:
            # As with the reference: nothing to compare.
            return Outcome(Run(), Run(), None, [positional, named], message=message)
        call_of = _Call(self, function, resolve(self.torch, kind, function), goes_back)
        plan = self._plan(function, record, positional, named)
        wide = call_of.forward(positional, named, plan.widened, "cpu")
        device = call_of.forward(positional, named, _as_given, self.device, plan.autocast)
        out = Outcome(device, wide, None, [positional, named], message=message)
        if goes_back and wide.output is not None:
            self._backward(out, call_of, call)
        if plan.is_exact or self.is_random(function):
            return out
        with self.torch.random.fork_rng(devices=[]):
            out.exact = call_of.forward(positional, named, self._exactly, "cpu")
            if out.gradient is not None:
                call_of.backward(out.exact, out.gradient.type(self.torch.float64))
        return out

    def _backward(self, out: Outcome, call_of: "_Call", call: str) -> None:
        function = call_of.function
        several = isinstance(out.wide.output, (list, tuple))
        if several and function not in _RESULT_WITH_GRADIENT:
            out.message += SEVERAL_MESSAGE
            return
        records = self.dump.backward[call].get("input") or []
        gradient = self.maker.value(function, list(records))[0]
        wider = self._wider.get(gradient.dtype)
        call_of.backward(out.wide, gradient.type(wider) if wider else gradient)
        call_of.backward(out.device, gradient.detach().clone().to(self.device))
        out.gradient = gradient.detach()

    @staticmethod
    def is_random(function: str) -> bool:
        words = ("dropout", "rand", "bernoulli", "multinomial", "normal", "uniform", "rrelu")
        return any(word in function for word in words)

    def _plan(self, function: str, record: dict, positional: list, named: dict) -> "_Plan":
        """Types: which the wide run has, and which the device rounds to."""
        torch = self.torch
        floats = _types((positional, list(named.values())), torch, self._wider)
        every = _types((positional, list(named.values())), torch, self._exact)
        wide, autocast, is_mixed = None, None, False
        if len(floats) == 1:
            (autocast,) = floats
            wide = self._wider[autocast]
        elif floats:
            wide, is_mixed = torch.float32, True
            autocast = sorted(floats - {torch.float32}, key=str)[0]
        output = self._output_type(record)
        if not is_mixed and output is not None:
            is_mixed = autocast != output
            autocast = output
        if function in _KEEPS_TYPE:
            wide = None
        is_short = function in SHORT_FLOATS

        def widened(value: Any) -> Any:
            stays = wide is None or value.dtype not in self._wider or value.dtype is wide
            if stays or (is_short and value.dtype is torch.float32):
                return value
            return value.type(wide)

        is_double = wide is torch.float64 and not is_short
        return _Plan(widened, autocast if is_mixed else None, is_double or not every)

    def _exactly(self, value: Any) -> Any:
        return value.type(self.torch.float64) if value.dtype in self._exact else value

    def _output_type(self, record: dict) -> Any:
        results = record.get("output")
        first = results[0] if isinstance(results, list) and results else None
        name = first.get("dtype") if isinstance(first, dict) else None
        floats = ("torch.bfloat16", "torch.float16", "torch.float32", "torch.float64")
        return self.maker.dtype(name) if name in floats else None


@dataclasses.dataclass
class _Plan:
    widened: Callable[[Any], Any]  # of one tensor
    autocast: Any  # the type of an autocast region around the device's run, or None
    is_exact: bool


class _Call:
    """One function and how it is called in one type on one device."""

    def __init__(self, runner: Runner, function: str, original: Any, goes_back: bool) -> None:
        self.runner = runner
        self.function = function
        self.original = original
        self.goes_back = goes_back
        self._given: dict[int, list] = {}

    def forward(
        self,
        positional: list,
        named: dict,
        widened: Callable[[Any], Any],
        device: Any,
        autocast: Any = None,
    ) -> Run:
        torch = self.runner.torch
        keeps = self.function in _KEEPS_GRAPH
        given = self._copy(positional, widened, device, keeps)
        other = {
            key: self._copy(value, widened, device, keeps or key == "out")
            for key, value in named.items()
            if key != "device"
        }
        if "device" in named and device != "cpu":
            other["device"] = device
        if autocast is None:
            run = Run(self.original(*given, **other))
        else:
            with torch.autocast(torch.device(device).type, dtype=autocast):
                run = Run(self.original(*given, **other))
        self._given[id(run)] = given
        return run

    def backward(self, run: Run, gradient: Any) -> None:
        """Gradients of the positional arguments, None where there is none."""
        output = run.output
        if isinstance(output, (list, tuple)):
            output = output[_RESULT_WITH_GRADIENT[self.function]]
        output.backward(gradient)
        run.gradients = _gradients(self._given[id(run)], self.runner.torch)

    def _copy(self, value: Any, widened: Callable[[Any], Any], device: Any, keeps: bool) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(self._copy(item, widened, device, keeps) for item in value)
        if not isinstance(value, self.runner.torch.Tensor):
            return value
        tracks = self.goes_back and value.requires_grad
        copy = widened(value)
        copy = value.clone() if copy is value else copy
        copy = (copy if keeps else copy.detach()).to(device)
        if tracks:
            copy = (copy.requires_grad_() * 1).type_as(copy)
            copy.retain_grad()
        return copy


def _as_given(value: Any) -> Any:
    return value


def resolve(torch: Any, kind: str, function: str) -> Any:
    """The function of this name, if the list of recorded functions has it: a dump is a file, and
    calls nothing else."""
    category, holder_of = _HOLDERS[kind]
    listed = _names.supported().get(category, [])
    path = next((name for name in listed if name in (function, f"linalg.{function}")), None)
    path = path or next((name for name in listed if name.rpartition(".")[2] == function), None)
    found = holder_of(torch) if path else None
    for part in (path or "").split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise ValueError(
            f"{kind}.{function} is not in the list of functions (support_wrap_ops.yaml; another "
            "one: SONDE_PROBE_OPS), or this torch lacks it"
        )
    return found


def _types(values: Any, torch: Any, known: dict) -> set:
    if isinstance(values, (list, tuple)):
        return set().union(*(_types(value, torch, known) for value in values))
    if isinstance(values, torch.Tensor) and values.dtype in known:
        return {values.dtype}
    return set()


def _gradients(values: Any, torch: Any) -> list:
    out = []
    for value in values:
        if isinstance(value, torch.Tensor):
            out.append(value.grad)
        elif isinstance(value, (list, tuple)):
            out.extend(_gradients(value, torch))
    return out
