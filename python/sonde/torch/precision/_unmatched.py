"""What a configuration asked for and the program never had; reported when the program ends.

Without it a misspelt name or a step too far gives an empty dump that nothing explains.
"""

import difflib
from typing import TYPE_CHECKING

from sonde.torch.precision import _errors

if TYPE_CHECKING:
    from sonde.torch.precision._service import Service

_SHOWN = 8  # names, or ranges of steps, of one line


def ranges(numbers: "list[int]") -> str:
    """Sorted numbers: "0-2, 5"; many are cut short."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in parts]
    return ", ".join(texts[:_SHOWN]) + (", ..." if len(texts) > _SHOWN else "")


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


def report(service: "Service") -> None:
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
    if service.loader is not None:
        service.loader.warn_of_unmatched(service.step_number)


def _is_wanted(service: "Service") -> bool:
    config = service.config
    rank = service.rank if service.rank is not None else service.framework_rank()
    return not config.rank or rank in config.rank or bool(service.recorded)


def _warn_of_steps(service: "Service") -> None:
    if service.has_enough:
        return  # it ended because what was looked for was found
    had = service.watched.union(service.recorded)
    never = [step for step in service.config.step if step not in had]
    if never:
        _errors.warning(
            f"never recorded: step {ranges(never)}; the program came to step {service.step_number}"
        )


def _warn_of_names(service: "Service") -> None:
    scope = service.collector.scope
    config = service.config
    if config.task == "nan_watch":
        return  # only calls with NaN are seen by name
    for part in scope.unmatched[:_SHOWN]:
        _errors.warning(f"no call matched {part!r}" + nearest_name(part, scope.seen))
    for part in sorted(service.collector.unsaved)[:_SHOWN]:
        _errors.warning(f"no call matched {part!r} of tensor_list: no tensor is saved for it")


def _warn_of_namespaces(service: "Service") -> None:
    config = service.config
    if config.level not in ("L1", "mix"):
        return
    for namespace in config.custom_op_namespaces:
        if namespace not in service.apis.namespaces and namespace != "_C_ascend":
            _errors.warning(f"custom_op_namespaces: torch has no operators named {namespace}.*")
