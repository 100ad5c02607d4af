"""Names what stands in a configuration without effect, one line each.

A file may hold blocks of other tasks, and of the reference tool's other parts, which are left
alone. Every other key that nobody reads is reported with the nearest one that is read, or with the
place where it belongs: a misspelt key that is passed over in silence costs its user a whole run.
"""

import difflib
from typing import Any

from sonde.torch.precision import _errors

OF_REFERENCE = (
    *("tensor", "statistics", "acc_check", "structure", "diff_check", "exception_dump"),
    "nan_check",
)
TASKS = (*OF_REFERENCE, "overflow_check", "nan_watch")
COMMON = (
    *("task", "dump_path", "rank", "step", "level", "async_dump", "async_dump_limit_mb"),
    *("extra_info", "hidden_modules", "precision", "risk_level", "dump_enable", "weights"),
    *("custom_op_namespaces", "load", "requests", "graph", "graph_backend"),
)
OF_TASKS = (
    *("scope", "list", "tensor_list", "data_mode", "summary_mode", "slice", "request_id"),
    *("bench_path", "tensor_format", "overflow_nums", "diff_nums"),
)
OF_CHECKS = ("white_list", "black_list", "error_data_path")
_OF_SLICES = ("dim", "size", "begin", "end")
_OF_LOAD = ("path", "modules", "step", "rank", "dump_after_load")
_OF_REQUESTS = ("ids", "prompt", "next", "tokens", "from_step")
# Of the reference tool's other frameworks and releases.
_OTHER_BLOCKS = ("free_benchmark", "grad_probe", "run_ut")
_OTHER_OF_TASKS = ("device", "file_format", "precision", "check_mode", "backward_input")
_OTHER_OF_CHECKS = ("is_online", "nfs_path", "host", "port", "rank_list", "tls_path")
# What these do elsewhere, a program does by calls.
_CALLS = {
    "seed": "call seed_all(seed)",
    "is_deterministic": "call seed_all(seed, mode=True)",
    "enable_dataloader": "call start(), stop() and step()",
}
# Too far from the right ones to be found by their letters.
_SYNONYMS = {
    **dict.fromkeys(("path", "output", "output_path", "out", "dir", "folder"), "dump_path"),
    **dict.fromkeys(("stat", "stats", "summary"), "statistics"),
    **dict.fromkeys(("mode", "summary"), "summary_mode"),
    **dict.fromkeys(("start", "from"), "begin"),
    **dict.fromkeys(("stop", "to"), "end"),
    **dict.fromkeys(("names", "apis", "filter"), "list"),
    **dict.fromkeys(("axis",), "dim"),
}
# Keys that only some tasks read.
_ONLY_OF = {
    "overflow_nums": ("overflow_check", "nan_watch"),
    "diff_nums": ("tensor", "diff_check"),
    "bench_path": ("tensor", "diff_check"),
}
# What the packaged configuration of the reference tool has in blocks that are not used.
_DEFAULTS: "tuple[Any, ...]" = (None, [], ["all"], "", "statistics")
_COMMENTS = ("_", "//", "#")
_NEAR = 0.7
_SHOWN = 60  # letters of a wrong value


def nearest(word: Any, known: "tuple[str, ...] | list[str]") -> "str | None":
    """The known word that was probably meant, None where none is near."""
    if not isinstance(word, str):
        return None
    plain = {item.lower().replace("_", ""): item for item in known}
    typed = word.lower().replace("_", "").replace("-", "").replace(" ", "")
    if word.lower() in _SYNONYMS and _SYNONYMS[word.lower()] in known:
        return _SYNONYMS[word.lower()]
    near = difflib.get_close_matches(typed, list(plain), 1, _NEAR)
    return plain[near[0]] if near else None


def hint(value: Any, allowed: "tuple[str, ...] | list[str]") -> str:
    """What a refused value was, and which one was probably meant, to be put behind the reason."""
    near = nearest(value, allowed)
    shown = repr(value)
    shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "..."
    return f" (it is {shown}" + (f"; did you mean {near!r}?)" if near else ")")


def name_unknown(content: "dict[str, Any]", task: Any) -> None:
    """Warns of each key of a configuration that is not read. ``task``: the one that runs, not
    yet checked."""
    _name(content, (*COMMON, *TASKS), "the configuration", _OTHER_BLOCKS)
    for name in TASKS:
        block = content.get(name)
        if not isinstance(block, dict):
            continue
        is_check = name == "acc_check"
        known = OF_CHECKS if is_check else OF_TASKS
        _name(block, known, repr(name), _OTHER_OF_CHECKS if is_check else _OTHER_OF_TASKS)
        slices = block.get("slice")
        for item in slices if isinstance(slices, list) else []:
            if isinstance(item, dict):
                _name(item, _OF_SLICES, f"'slice' of {name!r}")
    for name, keys in (("load", _OF_LOAD), ("requests", _OF_REQUESTS)):
        block = content.get(name)
        if isinstance(block, dict):
            _name(block, keys, repr(name))
    if task in TASKS:
        _name_idle(content, task)


def name_unknown_of_checks(content: "dict[str, Any]") -> None:
    """The same of what ``acc_check`` reads: its own block, in a file that may be a dump's, too."""
    block = content.get("acc_check")
    if isinstance(block, dict):
        _name(block, OF_CHECKS, "'acc_check'", _OTHER_OF_CHECKS)
    _name(content, (*COMMON, *TASKS), "the configuration", _OTHER_BLOCKS)


def _name(
    block: "dict[str, Any]", known: "tuple[str, ...]", where: str, others: "tuple[str, ...]" = ()
) -> None:
    for key in block:
        if key in known or key in others or key.startswith(_COMMENTS):
            continue
        if key in _CALLS and not block[key]:
            continue  # switched off, as it is anyway
        if isinstance(block[key], dict) and nearest(key, known) is None:
            continue  # a block of another tool
        _errors.warning(f"{key!r} in {where} " + _why(key, known))


def _why(key: str, known: "tuple[str, ...]") -> str:
    if key in _CALLS:
        return f"has no effect; {_CALLS[key]} instead"
    if known != OF_CHECKS and key in OF_CHECKS:
        return "has no effect there; it belongs into the block 'acc_check'"
    if known != OF_TASKS and key in OF_TASKS:
        return "has no effect there; it belongs into the block of the task"
    if known == OF_TASKS and key in COMMON:
        return "has no effect there; it belongs outside of that block"
    near = nearest(key, known)
    if near is not None:
        return f"is not known and has no effect; did you mean {near!r}?"
    belongs = nearest(key, OF_TASKS) if known != OF_TASKS else nearest(key, COMMON)
    if belongs is not None:
        place = "in the block of the task" if known != OF_TASKS else "outside of that block"
        return f"is not known and has no effect; did you mean {belongs!r} {place}?"
    return f"is not known and has no effect; known are {', '.join(known)}"


def _name_idle(content: "dict[str, Any]", task: str) -> None:
    """Settings that are spelt right, but not of the task that runs."""
    block = content.get(task)
    if isinstance(block, dict):
        for key, tasks in _ONLY_OF.items():
            if key in block and task not in tasks:
                _errors.warning(
                    f"{key!r} in {task!r} has no effect; it is for the task {' or '.join(tasks)}"
                )
        return
    for name in TASKS:
        other = content.get(name)
        if name in (task, "acc_check") or not isinstance(other, dict):
            continue
        if any(value not in _DEFAULTS for value in other.values()):
            _errors.warning(f"the block {name!r} has no effect: the task is {task!r}")


def without_repeats(pairs: "list[tuple[str, Any]]") -> "dict[str, Any]":
    """For ``json.load``: a key that stands twice in one object is reported, as the last one
    counts."""
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            _errors.warning(f"{key!r} is set twice in the configuration: the last value is used")
        content[key] = value
    return content
