"""Messages of the profiler API on standard output, in the form that users' scripts look for.

``[YYYY-MM-DD HH:MM:SS] [LEVEL] [pid] profiler.py: text``, local time. Warnings appear on rank 0
only and may be switched off by ``TORCH_NPU_WARNING_DISABLE=1``.
"""

import functools
import os
import time
from typing import Any, Callable, TypeVar

from sonde import _debug

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _print(level: str, text: str) -> None:
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    print(f"[{stamp}] [{level}] [{os.getpid()}] profiler.py: {text}", flush=True)


def _warnings_off() -> bool:
    for name in ("TORCH_NPU_WARNING_DISABLE", "TORCH_NPU_DISABLED_WARNING"):
        if os.environ.get(name) == "1":
            return True
    rank = os.environ.get("RANK")
    return rank is not None and rank != "0"


def info(text: str) -> None:
    """Prints an INFO line."""
    _print("INFO", text)


def warning(text: str) -> None:
    """Prints a WARNING line unless warnings are off in this process."""
    if not _warnings_off():
        _print("WARNING", text)
        _debug.trace()


def error(text: str) -> None:
    """Prints an ERROR line."""
    _print("ERROR", text)
    _debug.trace()


def guarded(default: Any = None, name: str = "") -> Callable[[_Function], _Function]:
    """Decorator: an exception becomes an ERROR line (of the call ``name``, else the function's)
    and the call returns ``default``.

    A program goes on whatever its profiler does. Where the method's object names the exception as
    ``program_error``, it is the program's own and passes.
    """

    def decorate(function: _Function) -> _Function:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except Exception as problem:  # the boundary to the user's program
                if args and getattr(args[0], "program_error", None) is problem:
                    raise
                error(f"Call {name or function.__name__} failed. Exception: {problem}")
                return default

        return call  # type: ignore[return-value]

    return decorate
