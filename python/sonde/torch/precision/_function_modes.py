"""A program's own ``TorchFunctionMode`` does not see what the probe calls.

Modes of the calling thread are taken off their stack while the probe is at work, and put back in
their order; the native side does it around its own work. Tensors with a ``__torch_function__`` of
their own keep it.
"""

from typing import Any, Callable

_NAMES = ("_len_torch_function_stack", "_pop_torch_function_stack", "_push_on_torch_function_stack")


def callbacks(torch: Any) -> "dict[str, Any]":
    """How many modes there are, and how they are hidden and shown; empty for an older torch."""
    if not all(hasattr(torch._C, name) for name in _NAMES):
        return {}
    count, pop, push = (getattr(torch._C, name) for name in _NAMES)

    def hide() -> list:
        return [pop() for _ in range(count())]

    def show(modes: list) -> None:
        for mode in reversed(modes):
            push(mode)

    return {"count_modes": count, "hide_modes": hide, "show_modes": show}


def run(torch: Any, function: "Callable[..., Any]", *args: Any) -> Any:
    """The same for what is done at the begin and end of a step."""
    count = getattr(torch._C, _NAMES[0], None)
    if count is None or not count():
        return function(*args)
    functions = callbacks(torch)
    modes = functions["hide_modes"]()
    try:
        return function(*args)
    finally:
        functions["show_modes"](modes)
