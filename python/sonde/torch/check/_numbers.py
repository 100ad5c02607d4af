"""What the native command judges by: for each result and gradient how far the device's lies from
that in double precision, and what of the operands the tolerance is made of. One JSON object a line;
``precision/check/check_numbers.h`` reads it.
"""

import json
import math
from typing import Any, Optional

from sonde.torch.check._calls import Outcome, Run

# Columns of an operand: is a float, elements, last axis, length, mean, largest, unit roundoff.
_NO_OPERAND: "list[float]" = []


def lines(torch: Any, call: str, outcome: Outcome, is_random: bool) -> "list[str]":
    """Of one call."""
    exact = outcome.exact or outcome.wide
    operands = _operands(torch, outcome.arguments)
    out = []
    for direction, device, truth, given, forward in (
        ("forward", _flat(outcome.device.output), _flat(exact.output), operands, []),
        ("backward", *_gradients(outcome.device, exact), _of(torch, outcome.gradient), operands),
    ):
        for number, (ours, true) in enumerate(zip(device, truth)):
            result = _result(torch, ours, true)
            if result is None:
                continue
            head = {"call": call, "direction": direction, "index": number}
            context = {"inputs": given, "forward": forward, "random": is_random}
            out.append(json.dumps({**head, **result, **context}))
    return out


def not_run(call: str, reason: str) -> str:
    """The line of a call that could not be checked."""
    return json.dumps({"call": call, "not_run": reason})


def _gradients(device: Run, exact: Run) -> "tuple[list, list]":
    return device.gradients or [], exact.gradients or []


def _flat(value: Any) -> list:
    if isinstance(value, dict):
        value = list(value.values())
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _of(torch: Any, gradient: Any) -> list:
    return [] if gradient is None else [_operand(torch, gradient)]


def _operands(torch: Any, values: Any) -> list:
    """Of all tensors and numbers among arguments."""
    if isinstance(values, dict):
        values = list(values.values())
    if isinstance(values, (list, tuple)):
        return [item for value in values for item in _operands(torch, value)]
    if isinstance(values, torch.Tensor):
        return [_operand(torch, values)]
    if isinstance(values, float) and math.isfinite(values):
        return [[1, 1, 1, abs(values), values, abs(values), 0]]
    return []


def _operand(torch: Any, tensor: Any) -> "list[float]":
    values = tensor.detach()
    count, last = values.numel(), values.shape[-1] if values.dim() else 1
    if not values.is_floating_point():
        return [0, count, last, 0, 0, 0, 0]
    unit = torch.finfo(values.dtype).eps / 2
    values = values.cpu()
    least, largest = _ends(torch, values)
    if not math.isfinite(least + largest):
        values = values.double().reshape(-1)
        values = values[torch.isfinite(values)]
        least, largest = _ends(torch, values)
    if values.numel() == 0:
        return [1, count, last, 0, 0, 0, unit]
    # Added up in double precision, without a copy in it.
    norm = float(torch.linalg.vector_norm(values, dtype=torch.float64))
    mean = float(values.sum(dtype=torch.float64)) / values.numel()
    return [1, count, last, norm, mean, max(abs(least), abs(largest)), unit]


def _ends(torch: Any, values: Any) -> "tuple[float, float]":
    """Smallest and largest; NaN where there is one among them."""
    if values.numel() == 0:
        return 0.0, 0.0
    least, largest = torch.aminmax(values)
    return float(least), float(largest)


def _result(torch: Any, ours: Any, true: Any) -> "Optional[dict[str, Any]]":
    if not isinstance(ours, torch.Tensor) or not isinstance(true, torch.Tensor):
        return None
    ours, true = ours.detach().cpu(), true.detach()
    known = {"dtype": str(ours.dtype), "shape": list(ours.shape), "output": _operand(torch, true)}
    if ours.shape != true.shape:
        return {**known, "problem": f"shape {list(true.shape)} in double precision"}
    if not ours.is_floating_point():
        if ours.is_complex():
            return None
        return {**known, "error": 0, "places": int((ours != true).sum()), "not_finite": 0}
    unit = torch.finfo(ours.dtype).eps / 2
    known["output"] = [*known["output"][:6], unit]
    a, b = ours.double().reshape(-1), true.double().reshape(-1)
    apart = a - b
    error = float(torch.linalg.vector_norm(apart))
    if math.isfinite(error):  # then every element of both is
        return {**known, "error": error, "places": 0, "not_finite": 0}
    both = torch.isfinite(a) & torch.isfinite(b)
    # What is beyond the type's largest is infinite in it by rights.
    same = (a == b) | (torch.isnan(a) & torch.isnan(b)) | (a == b.to(ours.dtype).double())
    off = int((~both & ~same).sum())
    error = float(torch.linalg.vector_norm(torch.where(both, apart, 0.0)))
    return {**known, "error": error, "places": 0, "not_finite": off}
