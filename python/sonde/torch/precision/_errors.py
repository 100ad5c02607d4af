"""The exceptions that programs which use the reference tool know, and its log lines."""

import difflib
import os
import sys
import time
from typing import Optional

from sonde import _debug


class ProbeError(Exception):
    """A wrong parameter or wrong use; known to existing programs as ``MsprobeException``."""

    INVALID_PARAM = "[msprobe] 无效参数："
    RECURSION_LIMIT = "[msprobe] 递归调用超过限制："
    WRONG_USE = "[msprobe] Invalid interface usage: "

    def __init__(self, kind: str, text: str = "") -> None:
        super().__init__(kind + text)


class PathError(Exception):
    """A path that cannot be used; known to existing programs as ``FileCheckException``."""

    ILLEGAL_PATH = "[msprobe] 非法文件路径： "
    INVALID_FILE = "[msprobe] 无效文件： "
    NO_PERMISSION = "[msprobe] 文件权限错误： "

    def __init__(self, kind: str, text: str = "") -> None:
        super().__init__(kind + text)


class ScopeError(Exception):
    """A range of calls that cannot be; known to existing programs as ``ScopeException``."""

    def __init__(self, text: str) -> None:
        super().__init__("[msprobe] Invalid scope: " + text)


ProbeError.__name__ = ProbeError.__qualname__ = "MsprobeException"
PathError.__name__ = PathError.__qualname__ = "FileCheckException"
ScopeError.__name__ = ScopeError.__qualname__ = "ScopeException"


def rank_of_launcher() -> Optional[str]:
    """The rank that a launcher of several processes gave this one; None where it is alone."""
    size = os.environ.get("WORLD_SIZE", "")
    rank = os.environ.get("RANK", "")
    return rank if size.isdigit() and int(size) > 1 and rank.isdigit() else None


def _log(level: str, text: str) -> None:
    rank = rank_of_launcher()
    if rank is not None and level != "INFO":
        text = f"[rank {rank}] {text}"  # else equal lines of several ranks read as repeats of one
    try:
        sys.stderr.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} [{level}] {text}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass  # the program closed its standard error


def info(text: str) -> None:
    """One line of what goes on."""
    _log("INFO", text)


def warning(text: str) -> None:
    """One line of what is probably not meant so."""
    _log("WARNING", text)
    _debug.trace()


def error(text: str) -> None:
    """One line of what cannot be done."""
    _log("ERROR", text)
    _debug.trace()


class Loud:
    """What frameworks touch of the debugger's inside is there; the rest is missed aloud.

    They look with ``hasattr`` and go on without, so an exception alone would be seen by nobody.
    """

    def __getattr__(self, name: str) -> object:
        text = f"{type(self).__name__} has no attribute {name!r} in Sonde's probe"
        if not name.startswith("__") and name not in _missed:
            _missed.add(name)
            near = difflib.get_close_matches(name, [n for n in dir(self) if n[0] != "_"], 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            warning(f"{text}{hint}: what the program does with it has no effect")
        raise AttributeError(text)


_missed: "set[str]" = set()


def ranges(numbers: "list[int]") -> str:
    """Sorted numbers: "0-2, 5"; many are cut short."""
    most = 8
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in parts]
    return ", ".join(texts[:most]) + (", ..." if len(texts) > most else "")


def refuse(text: str) -> ProbeError:
    """Logs a wrong setting and gives the exception to raise, with the same text."""
    error(text)
    return ProbeError(ProbeError.INVALID_PARAM, text)
