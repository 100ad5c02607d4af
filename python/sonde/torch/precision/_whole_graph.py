"""Modules that ``torch.compile(fullgraph=True)`` made one graph of.

A hook inside would break the graph in two, which torch refuses, and the program would end: such a
module is seen from outside only.
"""

from __future__ import annotations

from typing import Any

from sonde.torch.precision import _errors

_WRAPPER = "_orig_mod"


def _is_wrapper(module: Any) -> bool:
    """Whether ``torch.compile`` put this module around another one."""
    return type(module).__name__ == "OptimizedModule"


def unwrapped(model: Any) -> list[tuple[str, Any]]:
    """``named_modules()`` as if nothing were compiled."""
    return [
        (".".join(step for step in name.split(".") if step != _WRAPPER), module)
        for name, module in model.named_modules()
        if not _is_wrapper(module)
    ]


def warn_of_compiled(module: Any, name: str) -> None:
    """Warns that a compiled module is seen in part."""
    is_compiled = getattr(module, "_compiled_call_impl", None) is not None
    if is_compiled or _is_wrapper(module):
        _errors.warning(
            f"{name} is compiled (torch.compile): its inside is recorded in part. Calls that "
            "the compiler puts together are no entries; run without it for all of them."
        )


def inside_whole_graphs(modules: list[tuple[str, Any]]) -> set[int]:
    """The ``id()`` of the modules that nothing may look at, of a model's ``named_modules()``; warns
    of each graph in a line."""
    closed: set[int] = set()
    for name, module in modules:
        is_wrapped = _is_wrapper(module)  # then it is called as a module
        if not _is_whole_graph(module):
            continue
        closed.update(id(inside) for inside in module.modules() if inside is not module)
        if not is_wrapped:
            closed.add(id(module))
        _errors.warning(
            f"{name or type(module).__name__} is compiled with fullgraph=True: the modules inside "
            "are no entries, since a look at them would break the graph; compile without it to see "
            "them."
        )
    return closed


def are_inductors(modules: list[tuple[str, Any]]) -> bool:
    """Whether Inductor compiles all modules of a model that are to be compiled, if any."""
    contexts = [_context(module) for _, module in modules]
    return all(is_inductor(each.callback) for each in contexts if hasattr(each, "callback"))


def is_inductor(backend: Any) -> bool:
    """Whether a back end of torch.compile is Inductor, below what torch puts around it."""
    while hasattr(backend, "_torchdynamo_orig_backend"):
        backend = backend._torchdynamo_orig_backend
    return getattr(backend, "compiler_name", "") == "inductor"


def _context(module: Any) -> Any:
    if _is_wrapper(module):
        return getattr(module, "dynamo_ctx", None)
    return _context_of(getattr(module, "_compiled_call_impl", None))


def _is_whole_graph(module: Any) -> bool:
    """Whether the module is compiled, and torch refuses to compile it in pieces."""
    context = _context(module)
    if context is None:
        return False
    fullgraph = getattr(context, "fullgraph", None)
    if fullgraph is not None:
        return bool(fullgraph)
    # Before torch 2.9 it is known by the callback that compiles frames.
    converts = getattr(getattr(context, "callback", None), "_torchdynamo_orig_callable", None)
    return type(converts).__name__ == "ConvertFrameAssert"


def _context_of(compiled: Any) -> Any:
    """The compiler's context of a function that ``module.compile()`` made; None without."""
    while compiled is not None:
        code = getattr(compiled, "__code__", None)
        names = code.co_freevars if code is not None else ()
        for name, cell in zip(names, getattr(compiled, "__closure__", None) or ()):
            if name == "self" and hasattr(cell.cell_contents, "callback"):
                return cell.cell_contents
        compiled = getattr(compiled, "__wrapped__", None)
    return None
