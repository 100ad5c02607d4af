"""Reads ``config.json`` and the constructor's arguments into one checked object.

Keys that nobody reads are named (``_known_keys``). Every check raises ``ProbeError`` with the text
that users of the reference tool know.
"""

import json
import os
from dataclasses import dataclass, field
from typing import Any, Optional

from sonde.torch.precision import _errors, _known_keys, _load

TASKS = list(_known_keys.OF_REFERENCE)
# Of the generation before, and of our own.
MORE_TASKS = ("overflow_check", "nan_watch")
FILE_TASKS = ("tensor", "statistics", "structure", "nan_check", "diff_check", *MORE_TASKS)
LEVELS = ["L0", "L1", "L2", "mix", "debug"]
SUMMARY_MODES = ["statistics", "md5", "xor"]
DATA_MODES = ["all", "input", "output", "forward", "backward"]
GRAPHS = ["complete", "boundaries"]
RISK_LEVELS = ["CORE", "FOCUS", "ALL"]
_SWITCHES = ("async_dump", "extra_info", "dump_enable", "hidden_modules", "weights")
_MAX_NUMBER = 1000000
_MAX_NAME = 255  # bytes, of a file


@dataclass
class Config:
    """What to record. Empty lists of ranks and steps mean all."""

    task: str = "statistics"
    dump_path: Optional[str] = None
    rank: list[int] = field(default_factory=list)
    step: list[int] = field(default_factory=list)
    level: str = "L1"
    async_dump: bool = False
    async_dump_limit_mb: int = 1024  # of tensors that wait to be written
    extra_info: bool = True
    hidden_modules: bool = False  # also modules whose class has a __call__ of its own
    precision: str = "low"
    risk_level: str = "FOCUS"
    dump_enable: Optional[bool] = None
    scope: list[str] = field(default_factory=list)
    parts: "list[str]" = field(default_factory=list)  # "list" of the file
    tensor_list: "list[str]" = field(default_factory=list)
    data_mode: "list[str]" = field(default_factory=lambda: ["all"])
    summary_mode: str = "statistics"
    slices: "list[dict[str, int]]" = field(default_factory=list)
    request_id: Optional[str] = None
    bench_path: Optional[str] = None
    tensor_format: str = "pt"  # of tensors
    diff_nums: int = 1
    load: Optional[dict] = None
    weights: bool = False  # of a server, before they are packed
    requests: Optional[dict] = None  # of a server, see sonde/vllm/_requests.py
    graph: Optional[str] = None  # "complete": also of modules in compiled code
    graph_backend: str = ""  # what compiles in the place of Inductor
    custom_op_namespaces: "list[str]" = field(default_factory=lambda: ["_C_ascend"])

    overflow_nums: int = 1

    @property
    def saves_tensors(self) -> bool:
        """Whether there is a folder of tensors beside the JSON files."""
        return self.task in ("tensor", "diff_check", *MORE_TASKS) or (
            self.task == "statistics" and bool(self.tensor_list)
        )

    @property
    def has_gradients(self) -> bool:
        """Whether gradients of what modules get and give are recorded."""
        phases = {"forward", "backward"} & set(self.data_mode)
        return self.task != "structure" and (not phases or "backward" in phases)

    @property
    def needs_tensors(self) -> bool:
        """Whether statistics of whole values are not enough: tensors, or parts of them."""
        is_plain = self.task == "statistics" and self.summary_mode == "statistics"
        has_parts = bool(self.slices or self.tensor_list) or self.request_id is not None
        return not is_plain or has_parts


def number_list(values: Any, what: str) -> "list[int]":
    """Sorted numbers of ``[0, "3", "5-7"]``."""
    if values is None:
        return []
    if not isinstance(values, list):
        raise _errors.refuse(f"{what} is invalid, it should be a list")
    if len(values) > _MAX_NUMBER:
        raise _errors.refuse(f"{what} is invalid, its length cannot exceed {_MAX_NUMBER}")
    numbers: set[int] = set()
    for value in values:
        numbers.update(_numbers_of(value, what))
    return sorted(numbers)


def _numbers_of(value: Any, what: str) -> "range | list[int]":
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise _errors.refuse(f"{what} element {value} must be an integer or string.")
    if isinstance(value, int):
        if not 0 <= value <= _MAX_NUMBER:
            raise _errors.refuse(
                f"Each element of {what} must be between 0 and {_MAX_NUMBER}, "
                f"currently it is {value}."
            )
        return [value]
    if value.isdecimal() and value.isascii():
        return _numbers_of(int(value), what)
    if "-" not in value or value.strip("0123456789-"):
        raise _errors.refuse(
            f'The string parameter for {what} only supports formats like "3" or "3-5". '
            f'Now string parameter for {what} is "{value}".'
        )
    first, _, last = value.partition("-")
    if not first.isdecimal() or not last.isdecimal():
        raise _errors.refuse("The hyphen(-) must start and end with decimal numbers.")
    low, high = int(first), int(last)
    if low > high:
        raise _errors.refuse(
            f"For the hyphen(-) in {what}, the left boundary ({low}) cannot be greater than "
            f"the right boundary ({high})."
        )
    if high > _MAX_NUMBER:
        raise _errors.refuse(f"The boundaries must fall within the range of [0, {_MAX_NUMBER}].")
    return range(low, high + 1)


def _check_kind(block: dict, key: str, kind: type, name: str) -> Any:
    value = block.get(key)
    if value is not None and not isinstance(value, kind):
        raise _errors.refuse(f"{key} is invalid, it should be {name}")
    return value


def _text_list(block: dict, key: str) -> "list[str]":
    value = block.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or any(not isinstance(item, str) for item in value):
        raise _errors.refuse(f"{key} is invalid, it should be a list[str]")
    return value


def _choice(value: Any, key: str, allowed: "list[str]") -> str:
    if value not in allowed:
        hint = _known_keys.hint(value, allowed)
        raise _errors.refuse(f"{key} is invalid, it should be one of {allowed}{hint}")
    return value


def content_of(path: Any) -> dict:
    """Of a file, not yet checked."""
    if not isinstance(path, str):
        raise _errors.refuse("config_path must be a string")
    if not os.path.exists(path):
        _errors.error(f"The file path {path} does not exist.")
        raise _errors.PathError(
            _errors.PathError.ILLEGAL_PATH, f"The file path {path} does not exist."
        )
    if not path.endswith(".json"):
        raise _errors.PathError(
            _errors.PathError.INVALID_FILE, f"The file {path} does not end in .json."
        )
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file, object_pairs_hook=_known_keys.without_repeats)
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as problem:
        raise _errors.PathError(
            _errors.PathError.INVALID_FILE, f"{path} cannot be read: {problem}"
        ) from None
    if not isinstance(content, dict):
        raise _errors.PathError(_errors.PathError.INVALID_FILE, f"{path} must hold an object")
    return content


def read(
    config_path: Optional[str],
    task: Any = None,
    dump_path: Any = None,
    level: Any = None,
    step: Any = None,
) -> Config:
    """Configuration of a file and the arguments that win over it."""
    content = content_of(config_path) if config_path else {}
    return check(content, task, dump_path, level, step)


def check(
    content: dict,
    task: Any = None,
    dump_path: Any = None,
    level: Any = None,
    step: Any = None,
) -> Config:
    """The same of what a file holds."""
    _known_keys.name_unknown(content, task or content.get("task") or "statistics")
    if task is not None and task not in [*TASKS, *MORE_TASKS]:
        hint = _known_keys.hint(task, [*TASKS, *MORE_TASKS])
        raise _errors.refuse(f"task must be one of {TASKS}{hint}")
    if dump_path is not None and not isinstance(dump_path, str):
        raise _errors.refuse("dump_path must be a string")
    if "\0" in (dump_path or ""):
        raise _errors.refuse("dump_path must not hold a null character")
    if level is not None and level not in LEVELS:
        hint = _known_keys.hint(level, LEVELS)
        raise _errors.refuse(f"level must be one of {LEVELS}{hint}")
    config = Config()
    _read_common(content, config)
    if task is None and content and config.task not in FILE_TASKS:
        raise Exception(f"task {config.task} is invalid, it is not in the {list(FILE_TASKS)}")
    config.task = task or config.task
    config.dump_path = dump_path or config.dump_path
    config.level = level or config.level
    if step is not None:
        config.step = number_list(step, "step")
    block = _check_kind(content, config.task, dict, "an object") or {}
    _read_task(block, config)
    _check_together(config)
    return config


def check_rank(rank_id: Any) -> None:
    """Refuses what `start(rank_id=...)` does not take."""
    if rank_id is None:
        return
    if isinstance(rank_id, bool) or not isinstance(rank_id, int):
        raise _errors.refuse(f"{rank_id} must be an integer.")
    if rank_id < 0:
        raise _errors.refuse(f"{rank_id} must be greater than or equal to 0.")


def check_folder(path: str) -> None:
    """Raises ``PathError`` where no dump can be written to; makes nothing."""
    place = os.path.abspath(path)
    if any(len(os.fsencode(part)) > _MAX_NAME for part in place.split(os.sep)):
        raise _errors.PathError(
            _errors.PathError.ILLEGAL_PATH, f"a name in the dump_path {path} is too long"
        )
    while not os.path.lexists(place):
        place = os.path.dirname(place)
    if not os.path.isdir(place):
        raise _errors.PathError(
            _errors.PathError.ILLEGAL_PATH,
            f"nothing can be written to the dump_path {path}: {place} is not a directory",
        )
    if not os.access(place, os.W_OK | os.X_OK):
        raise _errors.PathError(
            _errors.PathError.NO_PERMISSION,
            f"nothing can be written to the dump_path {path}: {place} is not writable",
        )


def _read_common(content: dict, config: Config) -> None:
    task = content.get("task")
    if task is not None and (not isinstance(task, str) or task not in [*TASKS, *MORE_TASKS]):
        hint = _known_keys.hint(task, [*TASKS, *MORE_TASKS])
        raise _errors.refuse(f"task is invalid, it should be one of {TASKS}{hint}")
    config.task = task or config.task
    config.dump_path = _check_kind(content, "dump_path", str, "a string")
    if "\0" in (config.dump_path or ""):
        raise _errors.refuse("dump_path is invalid, it must not hold a null character")
    config.rank = number_list(content.get("rank"), "rank")
    config.step = number_list(content.get("step"), "step")
    if content.get("level") is not None:
        config.level = _choice(content["level"], "level", LEVELS)
    for key in _SWITCHES:
        value = _check_kind(content, key, bool, "a boolean")
        if value is not None:
            setattr(config, key, value)
    limit = content.get("async_dump_limit_mb")
    if limit is not None:
        if type(limit) is not int or limit < 1:
            raise _errors.refuse("async_dump_limit_mb must be a number of at least 1")
        config.async_dump_limit_mb = limit
    if content.get("precision") is not None:
        config.precision = _choice(content["precision"], "precision", ["high", "low"])
    if "risk_level" in content:
        risk = content["risk_level"]
        config.risk_level = _choice(risk, "risk_level", RISK_LEVELS) if risk else "ALL"
    if content.get("custom_op_namespaces") is not None:
        config.custom_op_namespaces = _text_list(content, "custom_op_namespaces")
    if content.get("graph") is not None:
        config.graph = _choice(content["graph"], "graph", GRAPHS)
    config.graph_backend = _check_kind(content, "graph_backend", str, "a string") or ""
    if content.get("load") is not None:
        config.load = _load.check(content["load"], number_list)
    config.requests = content.get("requests")


def _read_task(block: dict, config: Config) -> None:
    config.scope = _text_list(block, "scope")
    config.parts = _text_list(block, "list")
    config.tensor_list = _text_list(block, "tensor_list")
    mode = block.get("summary_mode")
    mode = "statistics" if mode is None or mode == "" else mode
    if mode not in SUMMARY_MODES:
        hint = _known_keys.hint(mode, SUMMARY_MODES)
        raise _errors.refuse(
            f"summary_mode is invalid, summary_mode is not in {SUMMARY_MODES}.{hint}"
        )
    config.summary_mode = mode
    if config.task == "nan_watch":
        config.data_mode = ["forward"]  # hooks of gradients cost more than the rest
    if block.get("data_mode") is not None:
        config.data_mode = _data_mode(block)
    config.slices = _slices(block)
    request = block.get("request_id")
    if request is not None and not isinstance(request, str):
        raise _errors.refuse(
            f"request_id is invalid, it should be str, actual type={type(request).__name__}."
        )
    config.request_id = request
    config.bench_path = _check_kind(block, "bench_path", str, "a string")
    if block.get("tensor_format") is not None:
        config.tensor_format = _choice(block["tensor_format"], "tensor_format", ["pt", "npy"])
    overflows = block.get("overflow_nums", 1)
    if isinstance(overflows, bool) or not isinstance(overflows, int):
        raise _errors.refuse("overflow_num is invalid")
    if overflows != -1 and overflows <= 0:
        raise _errors.refuse("overflow_nums should be -1 or positive integer")
    config.overflow_nums = overflows
    number = block.get("diff_nums", 1)
    if isinstance(number, bool) or not isinstance(number, int):
        raise _errors.refuse("diff_num is invalid")
    if number != -1 and number <= 0:
        raise _errors.refuse("diff_nums should be -1 or positive integer")
    config.diff_nums = number


def _data_mode(block: dict) -> "list[str]":
    modes = _text_list(block, "data_mode") or ["all"]
    if "all" in modes and len(modes) > 1:
        raise _errors.refuse("'all' cannot be combined with other options in data_mode.")
    if len(modes) > 4:
        raise _errors.refuse("The number of elements in the data_made cannot exceed 4.")
    for mode in modes:
        if mode not in DATA_MODES:
            raise _errors.refuse(
                f"The element '{mode}' of data_mode {modes} is not in {DATA_MODES}."
                + _known_keys.hint(mode, DATA_MODES)
            )
    return modes


def _slices(block: dict) -> "list[dict[str, int]]":
    slices = block.get("slice")
    if not slices:
        return []
    if not isinstance(slices, list):
        raise _errors.refuse("slice is invalid, it should be a list")
    for item in slices:
        if not isinstance(item, dict):
            raise _errors.refuse("slice is invalid, it should be a list[dict]")
        for key in ("dim", "size", "begin", "end"):
            value = item.get(key)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int):
                raise _errors.refuse(
                    f"Field '{key}' in slice must be an integer, got {type(value).__name__}"
                )
            if key in ("dim", "size") and value < 0:
                raise _errors.refuse(f"slice.{key} cannot be negative, got {value}")
    return slices


def _check_together(config: Config) -> None:
    """Refuses settings that exclude each other."""
    if config.task == "acc_check":
        raise ValueError("Processor not found for framework: pytorch, task: acc_check")
    if config.task == "exception_dump":
        raise _errors.refuse("task exception_dump is for MindSpore only")
    _check_bench(config)
    _check_graph(config)
    if config.task == "structure" and config.level not in ("L0", "mix"):
        _errors.warning(
            f"When the task is set to structure, the level should be L0 or mix, "
            f"currently it is {config.level}; mix is used."
        )
        config.level = "mix"
    if config.level == "L2":
        raise _errors.refuse("level L2 needs the kernels of an NPU: it is not supported here")
    if config.task == "nan_check" and config.level != "L1":
        raise _errors.refuse(
            f"When the task is set to nan_check, the level must be L1, but got {config.level}."
        )
    if config.task == "nan_watch" and config.scope:
        raise _errors.refuse("the task nan_watch sees no ranges of calls: use list, not scope")
    if config.task == "nan_watch" and config.level != "L1":
        if config.level == "debug":
            raise _errors.refuse("the task nan_watch does not go with the level debug")
        config.level = "L1"  # modules are found without hooks
    modes = config.data_mode
    if config.task == "nan_check" and "input" in modes and "output" not in modes:
        raise _errors.refuse(
            "task nan_check is designed for output scenarios, specifying 'input' in data_mode "
            "without 'output' is not supported. Please use 'output', 'all', or remove 'input' "
            "from data_mode."
        )
    if config.async_dump:
        _errors.warning("async_dump is True, it may cause OOM when dumping large tensor.")
        if config.task == "tensor" and not config.parts and config.level != "debug":
            raise _errors.refuse(
                "The parameters async_dump is true in tensor task, "
                "the parameters list cannot be empty."
            )
        if config.summary_mode == "md5":
            raise _errors.refuse(
                "The parameters async_dump is true, the parameters summary_mode cannot be md5."
            )
    if config.level == "debug" and config.tensor_list:
        _errors.warning("tensor_list is ignored at level debug.")
        config.tensor_list = []
    if not config.dump_path and not _loads_only(config):
        raise _errors.refuse("The dump_path not found.")


def _check_graph(config: Config) -> None:
    """Compiled code gives what its modules got and gave."""
    if config.graph_backend and config.graph != "complete":
        raise _errors.refuse('graph_backend needs "graph": "complete"')
    if config.graph is None:
        return
    wrong = without_graph(config)
    if wrong:
        raise _errors.refuse(
            f'"graph": "{config.graph}" does not go with {", ".join(wrong)}: it records values of '
            "modules (task statistics or tensor, level L0 or mix)"
        )


def without_graph(config: Config) -> "list[str]":
    """What of a configuration compiled code cannot give."""
    others = {
        f"the task {config.task}": config.task not in ("statistics", "tensor"),
        f"the level {config.level}": config.level not in ("L0", "mix"),
    }
    return [name for name, is_there in others.items() if is_there]


def _check_bench(config: Config) -> None:
    """A dump to compare with makes the task ``tensor`` another one."""
    if config.bench_path is not None and config.task in ("tensor", "diff_check"):
        if not os.path.isdir(config.bench_path):
            raise _errors.refuse(f"bench_path {config.bench_path} does not exist")
        config.task = "diff_check"
    if config.task != "diff_check":
        return
    if config.bench_path is None:
        raise _errors.refuse("diff_check needs bench_path, the dump to compare with")
    if config.summary_mode != "md5":
        raise _errors.refuse("diff_check needs the summary_mode md5, in both dumps")


def _loads_only(config: Config) -> bool:
    return config.load is not None and not config.load["dump_after_load"]
