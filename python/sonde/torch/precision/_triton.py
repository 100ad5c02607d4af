"""Launches of Triton kernels: ``kernel[grid](...)`` ends in ``run`` of the kernel's class.

A kernel marks nothing that it writes to: all its arguments are read again after the launch.
"""

import functools
import sys
from typing import Any, Callable

# Where the classes are; those of what is not loaded are looked for at the next start.
_CLASSES = (
    ("triton.runtime.jit", "JITFunction"),
    ("triton.runtime.autotuner", "Autotuner"),
    ("triton.runtime.autotuner", "Heuristics"),
    ("triton.runtime.interpreter", "InterpretedFunction"),
)


def loaded_classes() -> "list[type]":
    """Classes of kernels that the program has."""
    found = (getattr(sys.modules.get(module), name, None) for module, name in _CLASSES)
    # Libraries put stand-ins there where Triton is of no use.
    return [kind for kind in found if isinstance(kind, type) and "run" in vars(kind)]


def name_of(kernel: Any) -> str:
    """Of its entries: ``Triton.<function>``."""
    for holder in (getattr(kernel, "fn", None), kernel):
        name = getattr(holder, "__name__", None)
        if isinstance(name, str) and name:
            return f"Triton.{name}"
    return f"Triton.{type(kernel).__name__}"


def launching(original: Callable, wrap: Callable[[str, Callable], Callable]) -> Callable:
    """Stands for ``run`` of a class. ``wrap(name, function)`` makes what records calls."""
    launchers: dict[int, tuple[Any, Callable]] = {}  # kernels live as long as the process

    @functools.wraps(original)
    def run(kernel: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("warmup"):
            return original(kernel, *args, **kwargs)  # nothing is launched
        found = launchers.get(id(kernel))
        if found is None:
            launcher = wrap(name_of(kernel), functools.partial(original, kernel))
            found = launchers[id(kernel)] = (kernel, launcher)
        return found[1](*args, **kwargs)

    return run


def written(torch: Any, args: tuple, kwargs: "dict[str, Any]") -> tuple:
    """The results of a launch: its arguments, of the named ones only tensors."""
    return (*args, *(value for value in kwargs.values() if isinstance(value, torch.Tensor)))
