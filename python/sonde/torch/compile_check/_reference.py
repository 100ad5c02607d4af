"""Values of a graph's nodes by eager operators, twice: as the program's types have them, and with
64 bits, which separates rounding from errors.

Threads: any.
"""

import sys
from dataclasses import dataclass
from typing import Any

from sonde.torch.compile_check._graphs import is_random

_DEEPEST = 100  # nodes between a value and those that it is computed from
# A kernel computes with 32 bits and rounds once, where eager operators round each time; sums are
# added up in another order. Errors beyond these multiples of the type's rounding are none of it.
_OF_TYPE = 4.0
_OF_EAGER = 4.0
_OF_SUMS = 64.0  # of 32 bits, for each value that is as large as the largest


class Unknown(Exception):
    """A value that cannot be computed from what is known; the text says why."""


@dataclass(frozen=True)
class Judgement:
    """Of one value: elements that differ, the largest difference, what rounding explains."""

    elements: int
    differing: int
    error: float
    explained: float
    scale: float


class Evaluation:
    """Of nodes of one graph, from the tensors in ``known`` by the nodes' names."""

    def __init__(self, known: dict[str, Any], wide: bool) -> None:
        self._torch = sys.modules["torch"]
        self._wide = wide
        self._values = {name: self._as_known(value) for name, value in known.items()}

    def of(self, node: Any) -> Any:
        """Raises ``Unknown``."""
        return self._of(node, 0)

    def _as_known(self, value: Any) -> Any:
        if self._wide and value.is_floating_point():
            return value.to(self._torch.float64)
        return value

    def _of(self, node: Any, depth: int) -> Any:
        if node.name in self._values:
            return _shaped(self._values[node.name], node)
        if node.op != "call_function":
            raise Unknown(f"it needs {node.name}, which the kernel does not read")
        if depth > _DEEPEST:
            raise Unknown("it is too far from what the kernel reads")
        if is_random(node):
            raise Unknown(f"{node.name} is random")
        convert = self._torch.fx.map_arg
        args = convert(node.args, lambda each: self._of(each, depth + 1))
        kwargs = convert(node.kwargs, lambda each: self._of(each, depth + 1))
        try:
            value = self._call(node, args, dict(kwargs))
        except Unknown:
            raise
        except Exception as problem:  # noqa: BLE001: whatever an operator refuses
            raise Unknown(f"{node.target}: {str(problem).splitlines()[0][:80]}") from problem
        self._values[node.name] = value
        return value

    def _call(self, node: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        if not self._wide:
            return node.target(*args, **kwargs)
        is_float = self._torch.dtype
        floats = (self._torch.float16, self._torch.bfloat16, self._torch.float32)

        def wide(value: Any) -> Any:
            return self._torch.float64 if isinstance(value, is_float) and value in floats else value

        value = node.target(*map(wide, args), **{key: wide(each) for key, each in kwargs.items()})
        is_narrow = isinstance(value, self._torch.Tensor) and value.dtype in floats
        return value.to(self._torch.float64) if is_narrow else value


def _shaped(value: Any, node: Any) -> Any:
    """As the node has it: a buffer may hold the same in another shape."""
    expected = node.meta.get("val")
    if not hasattr(expected, "shape") or not hasattr(value, "reshape"):
        return value
    try:
        sizes = tuple(int(size) for size in expected.shape)
    except (TypeError, ValueError, RuntimeError):
        return value  # dimensions that vary
    if tuple(value.shape) != sizes and value.numel() == expected.numel():
        return value.reshape(sizes)
    return value


def judge(torch: Any, value: Any, eager: Any, wide: Any) -> Judgement:
    """Whether a value is that of the eager operators, but for rounding. Elements count as differing
    that are beyond it from both: a comparison may come out otherwise by the last bit."""
    value, eager, wide = (each.detach().reshape(-1) for each in (value, eager, wide))
    if not value.dtype.is_floating_point:
        differs = (value != eager) & (value != wide.to(value.dtype))
        count = int(differs.sum())
        return Judgement(value.numel(), count, float(count > 0), 0.0, 1.0)
    result, own, exact = (each.to(torch.float64) for each in (value, eager, wide))
    finite = torch.isfinite(exact) & torch.isfinite(own)
    magnitude = exact[finite].abs()
    scale = float(magnitude.max()) if magnitude.numel() else 0.0
    rounding = torch.finfo(value.dtype).eps
    sums = _OF_SUMS * torch.finfo(torch.float32).eps * scale
    spread = float((own[finite] - exact[finite]).abs().max()) if magnitude.numel() else 0.0
    allowed = _OF_TYPE * rounding * exact.abs() + _OF_EAGER * spread + sums
    wrong = (result - exact).abs() > allowed
    wrong &= (result - own).abs() > allowed
    wrong &= finite
    special = torch.isnan(result) != torch.isnan(own)
    special |= torch.isinf(own) & (result != own)
    # Where the eager value is infinite or none for its type alone, that of 64 bits decides.
    differs = wrong | (special & (torch.isnan(result) != torch.isnan(exact)))
    differs |= finite & ~torch.isfinite(result)
    errors = (result - exact).abs()[finite & torch.isfinite(result)]
    error = float(errors.max()) if errors.numel() else 0.0
    explained = float(allowed[finite].max()) if magnitude.numel() else 0.0
    return Judgement(value.numel(), int(differs.sum()), error, explained, scale)
