"""Floating-point operations of matrix products, as ranges ``<flops>-<operator>`` (``with_flops``).

While installed, the products of torch are wrapped where programs look them up, and wherever another
module holds the same function under the same name. Of nested calls on one thread only the
outermost counts. Inside compiled code nothing is counted.

Cost: some microseconds a call. Threads: install and remove from one thread at a time.
"""

import functools
import math
import sys
import threading
from typing import Any, Callable

from sonde import mstx
from sonde.session import _console

DOMAIN = "mfu_flops"


# The parameters are named as torch names them, so that calls by keyword fit, too.
def _product(left: Any, right: Any) -> int:
    """[m, k] by [k, n]."""
    return 2 * left.shape[0] * right.shape[1] * left.shape[1]


def _mm(input: Any, right: Any, *_: Any, **__: Any) -> int:
    return _product(input, right)


def _addmm(input: Any, left: Any, right: Any, *_: Any, **__: Any) -> int:
    return _product(left, right)


def _bmm(input: Any, right: Any, *_: Any, **__: Any) -> int:
    return 2 * input.shape[0] * input.shape[1] * right.shape[2] * input.shape[2]


def _matmul(input: Any, right: Any, *_: Any, **__: Any) -> int:
    rows = input.shape[-2] if input.dim() > 1 else 1
    columns = right.shape[-1] if right.dim() > 1 else 1
    batch = _broadcast(input.shape[:-2], right.shape[:-2])
    return 2 * batch * rows * input.shape[-1] * columns


def _broadcast(left: Any, right: Any) -> int:
    size = max(len(left), len(right))
    pairs = zip((1,) * (size - len(left)) + tuple(left), (1,) * (size - len(right)) + tuple(right))
    return math.prod(max(a, b) for a, b in pairs)


def _linear(input: Any, weight: Any, *_: Any, **__: Any) -> int:
    columns = weight.shape[0] if weight.dim() > 1 else 1
    return 2 * math.prod(input.shape[:-1]) * columns * input.shape[-1]


_FORMULAS: "tuple[tuple[str, str, Callable[..., int]], ...]" = (
    ("torch", "mm", _mm),
    ("torch", "addmm", _addmm),
    ("torch", "bmm", _bmm),
    ("torch", "matmul", _matmul),
    ("torch.nn.functional", "linear", _linear),
)

_thread = threading.local()
_patched: "list[tuple[Any, str, Any, Any]]" = []  # module, name, original, wrapper


def install() -> None:
    """Wraps the products; nothing where they are wrapped already."""
    if _patched:
        return
    _show_originals_to_compiler()
    compiler = getattr(sys.modules["torch"], "compiler", None)
    is_compiling = getattr(compiler, "is_compiling", None) or (lambda: False)
    for module_name, name, formula in _FORMULAS:
        original = getattr(sys.modules[module_name], name)
        wrapper = _wrap(original, name, formula, is_compiling)
        for module in list(sys.modules.values()):
            if getattr(module, "__dict__", {}).get(name) is original:
                setattr(module, name, wrapper)
                _patched.append((module, name, original, wrapper))


def _show_originals_to_compiler() -> None:
    """torch.compile lists torch's functions once, by identity: it must not list our wrappers."""
    try:
        from torch._dynamo import trace_rules

        trace_rules.get_torch_obj_rule_map()
    except (ImportError, AttributeError) as problem:
        _console.warning(f"with_flops may disturb torch.compile: {problem}")


def remove() -> None:
    """Puts back what is still ours."""
    for module, name, original, wrapper in _patched:
        if module.__dict__.get(name) is wrapper:
            setattr(module, name, original)
    _patched.clear()


def _wrap(
    original: Any, name: str, formula: Callable[..., int], is_compiling: Callable[[], bool]
) -> Any:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if is_compiling() or getattr(_thread, "inside", False):
            return original(*args, **kwargs)
        _thread.inside = True
        number = 0
        try:
            flops = _count(name, formula, args, kwargs)
            if flops >= 0:
                number = mstx.range_start(f"{flops}-{name}", domain=DOMAIN)
            return original(*args, **kwargs)
        finally:
            _thread.inside = False
            mstx.range_end(number, domain=DOMAIN)

    return call


def _count(name: str, formula: Callable[..., int], args: Any, kwargs: "dict[str, Any]") -> int:
    """-1 where the call is not one that the formula knows."""
    try:
        return formula(*args, **_positional(kwargs))
    except Exception as problem:  # the call itself reports a wrong argument
        _console.warning(f"Failed to count the FLOPs of {name}: {problem}")
        return -1


def _positional(kwargs: "dict[str, Any]") -> "dict[str, Any]":
    """Names that torch gives to the operands, in the words of the formulas."""
    words = {"mat1": "left", "mat2": "right", "other": "right"}
    return {words.get(name, name): value for name, value in kwargs.items()}
