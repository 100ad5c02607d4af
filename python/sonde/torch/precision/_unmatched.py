"""What a configuration asked for and the program never had; reported when the program ends.

Without it a misspelt name or a step too far gives an empty dump that nothing explains.
"""

import difflib
import os
from typing import Optional, Protocol

from sonde.torch.precision import _errors
from sonde.torch.precision._apis import Apis
from sonde.torch.precision._collector import Collector
from sonde.torch.precision._config import Config
from sonde.torch.precision._load import Loader

_SHOWN = 8  # names of one line


class Ended(Protocol):
    """What is asked of the service when the program ends."""

    config: Config
    collector: Collector
    apis: Apis
    loader: Optional[Loader]
    rank: Optional[int]
    has_begun: bool
    is_driven: bool
    recorded: "dict[int, str]"
    watched: "set[int]"

    @property
    def graphs(self) -> int: ...

    @property
    def step_number(self) -> int: ...

    @property
    def has_enough(self) -> bool: ...

    def framework_rank(self) -> Optional[int]: ...


def nearest_name(part: str, seen: "set[str]") -> str:
    """' (did you mean ...?)' by the calls that were seen, empty where none is near."""
    for name in sorted(seen):
        at = name.lower().find(part.lower())
        if at >= 0:
            return f" (did you mean {name[at : at + len(part)]!r}, as in {name}?)"
    near = difflib.get_close_matches(part, sorted(seen), 1, 0.7)
    if near:
        return f" (did you mean {near[0]!r}?)"
    words = {word for name in seen for word in name.split(".") if not word.isdigit()}
    near = difflib.get_close_matches(part, sorted(words), 1, 0.7)
    return f" (did you mean {near[0]!r}?)" if near else ""


def report(service: Ended) -> None:
    """One warning each; nothing where this process was not meant to record."""
    config = service.config
    if config.dump_enable is False or not _is_wanted(service):
        return
    if not service.has_begun:
        if not service.is_driven:
            _errors.warning("start() of the PrecisionDebugger was never called")
        return
    _warn_of_steps(service)
    is_recorded = bool(service.recorded or service.watched)
    if is_recorded and config.level != "debug":
        _warn_of_names(service)
    _warn_of_namespaces(service)
    is_eager = os.environ.get("TORCH_COMPILE_DISABLE") == "1"  # nothing is to be compiled
    if is_recorded and config.graph is not None and service.graphs == 0 and not is_eager:
        _errors.warning(
            f'"graph": "{config.graph}": torch compiled no graph with modules by Inductor after '
            "the debugger was made; the modules that Python called are recorded"
        )
    if service.loader is not None:
        service.loader.warn_of_unmatched(service.step_number)


def _is_wanted(service: Ended) -> bool:
    config = service.config
    rank = service.rank if service.rank is not None else service.framework_rank()
    return not config.rank or rank in config.rank or bool(service.recorded)


def _warn_of_steps(service: Ended) -> None:
    if service.has_enough:
        return  # it ended because what was looked for was found
    had = service.watched.union(service.recorded)
    never = [step for step in service.config.step if step not in had]
    if never:
        _errors.warning(
            f"never recorded: step {_errors.ranges(never)}; "
            f"the program came to step {service.step_number}"
        )


def _warn_of_names(service: Ended) -> None:
    scope = service.collector.scope
    config = service.config
    if config.task == "nan_watch":
        return  # only calls with NaN are seen by name
    for part in scope.unmatched[:_SHOWN]:
        _errors.warning(f"no call matched {part!r}" + nearest_name(part, scope.seen))
    for part in sorted(service.collector.unsaved)[:_SHOWN]:
        _errors.warning(f"no call matched {part!r} of tensor_list: no tensor is saved for it")


def _warn_of_namespaces(service: Ended) -> None:
    config = service.config
    if config.level not in ("L1", "mix"):
        return
    for namespace in config.custom_op_namespaces:
        if namespace not in service.apis.namespaces and namespace != "_C_ascend":
            _errors.warning(f"custom_op_namespaces: torch has no operators named {namespace}.*")
