"""Reads the ``SONDE_...`` variables; docs/reference/environment.md describes each.

An impossible value costs one line on standard error and becomes the default.
"""

import os
from dataclasses import dataclass, field
from typing import Callable, Optional

from sonde._inject import _daemon

_SWITCH_WORDS = {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False}

LEVELS = {
    "level_none": "Level_none",
    "level0": "Level0",
    "level1": "Level1",
    "level2": "Level2",
}
EXPORT_TYPES = ("text", "db")


@dataclass
class Options:
    """What ``sonde run`` asks for. Steps count from 0; -1 as end means: to the end."""

    step_start: Optional[int] = None
    step_end: int = -1
    step_mark: str = ""
    ranks: list[int] = field(default_factory=lambda: [-1])
    level: str = ""  # a name that ``level_of`` knows
    export_type: list[str] = field(default_factory=lambda: ["text"])
    data_simplification: bool = False
    with_cpu: bool = True
    with_stack: bool = False
    with_memory: bool = False
    record_shapes: bool = False
    with_modules: bool = True
    mstx: bool = True
    request_text: bool = False
    gc_threshold_ms: Optional[float] = None
    keep_last_s: int = 0
    save_path: str = "./profile"
    analyse: bool = True
    wait: bool = False
    routes: bool = True
    control: Optional[str] = None
    config_path: Optional[str] = None
    daemon: bool = False  # a watched file is named: that alone

    @property
    def on_request(self) -> bool:
        """Whether recording waits for a request or a changed file."""
        return self.control is not None or self.config_path is not None or self.daemon

    def level_of(self, serves: bool) -> str:
        """The level that was asked for. Else a server has what vLLM's own plug-in for Ascend
        records: where the CPU is the device, level 1 is the same recording and more files."""
        return self.level or ("level1" if serves else "level0")

    def wants_rank(self, rank: int) -> bool:
        """Whether a rank is chosen; a program of one process without rank counts as rank 0."""
        return self.ranks == [-1] or max(rank, 0) in self.ranks


def _number(text: str) -> int:
    return int(text)


def _seconds(text: str) -> int:
    if not 0 <= int(text) < 2**32:
        raise ValueError(text)
    return int(text)


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.replace(",", " ").split()]


def _switch(text: str) -> bool:
    return _SWITCH_WORDS[text.lower()]


def _level(text: str) -> str:
    if text.lower() not in LEVELS:
        raise ValueError(text)
    return text.lower()


def _export_types(text: str) -> list[str]:
    kinds = text.lower().replace(",", " ").split()
    if not kinds or any(kind not in EXPORT_TYPES for kind in kinds):
        raise ValueError(text)
    return list(dict.fromkeys(kinds))


# Variable, attribute, reader.
_TABLE: tuple[tuple[str, str, Callable[[str], object]], ...] = (
    ("SONDE_PROFILE_STEP_START", "step_start", _number),
    ("SONDE_PROFILE_STEP_END", "step_end", _number),
    ("SONDE_PROFILE_STEP_MARK", "step_mark", str),
    ("SONDE_PROFILE_RANKS", "ranks", _numbers),
    ("SONDE_PROFILE_LEVEL", "level", _level),
    ("SONDE_PROFILE_EXPORT_TYPE", "export_type", _export_types),
    ("SONDE_PROFILE_DATA_SIMPLIFICATION", "data_simplification", _switch),
    ("SONDE_PROFILE_WITH_CPU", "with_cpu", _switch),
    ("SONDE_PROFILE_WITH_STACK", "with_stack", _switch),
    ("SONDE_PROFILE_WITH_MEMORY", "with_memory", _switch),
    ("SONDE_PROFILE_RECORD_SHAPES", "record_shapes", _switch),
    ("SONDE_PROFILE_WITH_MODULES", "with_modules", _switch),
    ("SONDE_PROFILE_MSTX", "mstx", _switch),
    ("SONDE_PROFILE_REQUEST_TEXT", "request_text", _switch),
    ("SONDE_PROFILE_GC_THRESHOLD_MS", "gc_threshold_ms", float),
    ("SONDE_KEEP_LAST_SECONDS", "keep_last_s", _seconds),
    ("SONDE_PROFILE_SAVE_PATH", "save_path", str),
    ("SONDE_PROFILE_ANALYSE", "analyse", _switch),
    ("SONDE_PROFILE_WAIT", "wait", _switch),
    ("SONDE_PROFILE_ROUTES", "routes", _switch),
    ("SONDE_CONTROL", "control", str),
    ("PROF_CONFIG_PATH", "config_path", str),
    ("SONDE_CONFIG_PATH", "config_path", str),
)


def read(complain: Callable[[str], None]) -> Options:
    """Options of this process; ``complain`` gets one line for each impossible value."""
    options = Options()
    for variable, attribute, reader in _TABLE:
        text = os.environ.get(variable, "").strip()
        if not text:
            continue
        try:
            setattr(options, attribute, reader(text))
        except (ValueError, KeyError):
            default = getattr(options, attribute)
            complain(f"{variable}={text} is not possible, {default} is used")
    _check_steps(options, complain)
    options.daemon = options.config_path is None and _daemon.is_wanted(complain)
    return options


def _check_steps(options: Options, complain: Callable[[str], None]) -> None:
    start, end = options.step_start, options.step_end
    if start is not None and start < 0:
        complain("SONDE_PROFILE_STEP_START must be >= 0, 0 is used")
        start = options.step_start = 0
    if end != -1 and end <= (start or 0):
        complain("SONDE_PROFILE_STEP_END must be > SONDE_PROFILE_STEP_START or -1, -1 is used")
        options.step_end = -1
    if options.step_end != -1 and start is None:
        options.step_start = 0
