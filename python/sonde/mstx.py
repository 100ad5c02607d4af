"""Ranges and marks of a program's own, with the calls of ``torch_npu.npu.mstx``.

Without a recording that asks for markers every call returns at once. Messages and domains are
texts; ``stream`` is accepted for compatibility and has no effect on the CPU. A wrong argument
gives a Python warning and the call does nothing.

Threads: any. ``range_push``/``range_pop`` nest on their thread, and within a task of asyncio on
their task, whose ranges may cross those of others; a range of ``range_start`` may end on another
thread.
"""

import functools
import inspect
import itertools
import sys
import threading
import warnings
import weakref
from typing import Any, Callable, Optional, TypeVar

from sonde import _native

_Function = TypeVar("_Function", bound=Callable[..., Any])

_numbers = itertools.count(1)
_open_ranges: dict[int, int] = {}  # number given to the program -> number of the recorder


class _ThreadStack(threading.local):
    """Open pushed ranges of one thread, outermost first."""

    def __init__(self) -> None:
        self.domains: list[str] = []
        # Ranges popped while a range of another domain was open above them: the recorder nests
        # all domains of a thread together, so they end with that range.
        self.ended: list[bool] = []


_stack = _ThreadStack()
# Of tasks that have pushed: domain and number of each open range, outermost first.
_task_stacks: "weakref.WeakKeyDictionary[Any, list[tuple[str, int]]]" = weakref.WeakKeyDictionary()


def _task() -> Any:
    """The task of asyncio that runs on this thread, None without."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or asyncio._get_running_loop() is None:
        return None
    return asyncio.current_task()


def _recorder() -> Optional[_native.Recorder]:
    """The recorder while markers are recorded, else None."""
    recorder = _native.loaded_recorder()
    if recorder is not None and recorder.features() & _native.FEATURE_MARKERS:
        return recorder
    return None


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=4)


def _valid(call: str, message: Any, stream: Any, domain: Any) -> bool:
    if not isinstance(message, str) or not message:
        _warn(
            f"Invalid message for mstx.{call} {'function' if call == 'mark' else 'func'}. "
            f"Please {'provide a' if call == 'mark' else 'input'} valid message string."
        )
        return False
    if stream is not None and type(stream).__name__ not in ("Stream", "ExternalStream"):
        _warn(f"Invalid stream for mstx.{call} func. Please input valid stream.")
        return False
    return _valid_domain(call, domain)


def _valid_domain(call: str, domain: Any) -> bool:
    if isinstance(domain, str) and domain:
        return True
    _warn(f"Invalid domain for mstx.{call} func. Please input valid domain string.")
    return False


def mark(message: str, stream: Any = None, domain: str = "default") -> None:
    """Marks this moment."""
    if not _valid("mark", message, stream, domain):
        return
    recorder = _recorder()
    if recorder is not None:
        data = message.encode("utf-8", "replace")
        recorder.fast.sonde_mark_text(data, len(data), recorder.domain(domain))


def range_start(message: str, stream: Any = None, domain: str = "default") -> int:
    """Begins a range that any thread may end; its number (from 1), 0 where nothing is recorded."""
    if not _valid("range_start", message, stream, domain):
        return 0
    recorder = _recorder()
    if recorder is None:
        return 0
    data = message.encode("utf-8", "replace")
    native = recorder.fast.sonde_range_start_text(data, len(data), recorder.domain(domain))
    if native == 0:
        return 0
    number = next(_numbers)
    _open_ranges[number] = native
    return number


def range_end(range_id: int, domain: str = "default") -> None:
    """Ends a range of ``range_start``; 0 and ranges that ended are ignored."""
    if not isinstance(range_id, int) or isinstance(range_id, bool):
        _warn(
            "Invalid message for mstx.range_end function. "
            "Please provide the return value from mstx.range_start."
        )
        return
    if not _valid_domain("range_end", domain):
        return
    native = _open_ranges.pop(range_id, 0)
    recorder = _native.loaded_recorder()
    if native and recorder is not None:
        recorder.fast.sonde_range_end(native)


def range_push(message: str, stream: Any = None, domain: str = "default") -> int:
    """Opens a nested range; ranges of the domain open around it, -1 where nothing is recorded."""
    if not _valid("range_push", message, stream, domain):
        return -1
    recorder = _recorder()
    if recorder is None:
        return -1
    task = _task()
    if task is not None:
        return _push_of_task(task, message, domain)
    depth = _depth(domain)
    data = message.encode("utf-8", "replace")
    recorder.fast.sonde_range_push_text(data, len(data), recorder.domain(domain))
    _stack.domains.append(domain)
    _stack.ended.append(False)
    return depth


def range_pop(domain: str = "default") -> int:
    """Closes the innermost range of the domain; ranges still open around it, -1 for none open."""
    if not _valid_domain("range_pop", domain):
        return -1
    task = _task()
    if task is not None and task in _task_stacks:
        return _pop_of_task(task, domain)
    for index in range(len(_stack.domains) - 1, -1, -1):
        if _stack.domains[index] == domain and not _stack.ended[index]:
            _stack.ended[index] = True
            break
    else:
        return -1
    recorder = _native.loaded_recorder()
    while _stack.ended and _stack.ended[-1]:
        _stack.ended.pop()
        _stack.domains.pop()
        if recorder is not None:
            recorder.range_pop()
    return _depth(domain)


def _push_of_task(task: Any, message: str, domain: str) -> int:
    stack = _task_stacks.setdefault(task, [])
    depth = sum(name == domain for name, _ in stack)
    stack.append((domain, range_start(message, domain=domain)))
    return depth


def _pop_of_task(task: Any, domain: str) -> int:
    stack = _task_stacks[task]
    for place in range(len(stack) - 1, -1, -1):
        if stack[place][0] == domain:
            range_end(stack.pop(place)[1], domain)
            return sum(name == domain for name, _ in stack)
    return -1


def _depth(domain: str) -> int:
    return sum(name == domain and not ended for name, ended in zip(_stack.domains, _stack.ended))


def mstx_range(
    message: str, stream: Any = None, domain: str = "default"
) -> Callable[[_Function], _Function]:
    """Decorator: one range around each call, or each awaiting of a coroutine function, unfinished
    where it raises."""

    def decorate(function: _Function) -> _Function:
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                number = range_start(message, stream, domain)
                try:
                    result = await function(*args, **kwargs)
                except BaseException:
                    _open_ranges.pop(number, None)
                    raise
                range_end(number, domain)
                return result

            return awaited  # type: ignore[return-value]

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            number = range_start(message, stream, domain)
            try:
                result = function(*args, **kwargs)
            except BaseException:
                _open_ranges.pop(number, None)
                raise
            range_end(number, domain)
            return result

        return call  # type: ignore[return-value]

    return decorate


class annotate:  # the name that programs use
    """Context manager and decorator for one range, which ends in any case.

    As a decorator without a message it takes the function's name.
    """

    def __init__(self, message: str = "", stream: Any = None, domain: str = "default") -> None:
        self._message = message
        self._stream = stream
        self._domain = domain
        self._number = 0

    def __enter__(self) -> "annotate":
        self._number = range_start(self._message, self._stream, self._domain)
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        range_end(self._number, self._domain)

    def __call__(self, function: _Function) -> _Function:
        message = self._message or function.__name__
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                with annotate(message, self._stream, self._domain):
                    return await function(*args, **kwargs)

            return awaited  # type: ignore[return-value]

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with annotate(message, self._stream, self._domain):
                return function(*args, **kwargs)

        return call  # type: ignore[return-value]
