"""``"graph_backend"``: another back end of torch.compile in the place of Inductor.

Programs name Inductor by saying nothing. Where two back ends are to be compared, what Dynamo traced
goes to the other one, with the same statistics; Inductor draws the random numbers of the eager
program then, which are others by default. Threads: any.
"""

from typing import Any, Callable

from sonde._seams import when_imported
from sonde.torch.precision import _errors


def check(name: str) -> None:
    """Raises ``ProbeError`` where torch has no such back end. Imports torch's compiler."""
    when_imported("torch._inductor.config", _random_as_eager)
    from torch._dynamo.backends import registry

    if name not in registry.list_backends(exclude_tags=()):
        usual = ", ".join(registry.list_backends())
        raise _errors.refuse(f"graph_backend: torch has no back end {name!r}; it has {usual}")


def _random_as_eager(config: Any) -> None:
    config.fallback_random = True


def instead_of(compile_fx: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Inductor's function where no name is given."""
    if not name or name == "inductor":
        return compile_fx

    def compiled(model: Any, example_inputs: Any, *_: Any, **__: Any) -> Any:
        from torch._dynamo.backends import registry

        return registry.lookup_backend(name)(model, example_inputs)

    return compiled
