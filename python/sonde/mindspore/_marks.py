"""Ranges and marks of ``mindspore.profiler.mstx``, which records them on an NPU alone.

Ours are recorded; the original is called where it would do anything. Ranges of one name can be
followed, recorded or not: they are the steps of ``--profile-step-mark``. Threads: any.
"""

import functools
import itertools
from typing import Any, Callable, Optional

from sonde import mstx
from sonde._seams import Part, Seam

_OURS = 1 << 62  # numbers of ranges that the original does not know
_FOLLOWED = 1 << 61  # of those, ranges that are followed and not recorded

_is_installed = False


def install() -> None:
    """Changes MindSpore, which is imported or will be. Once a process."""
    global _is_installed
    if not _is_installed:
        _is_installed = True
        for seam in seams():
            seam.install()


def seams() -> "tuple[Seam, ...]":
    """What is changed."""
    parts = (
        Part("Mstx.mark", replace=_marked),
        Part("Mstx.range_start", replace=_started),
        Part("Mstx.range_end", replace=_ended),
    )
    return (Seam("ranges of the program (mstx)", "mindspore.profiler.mstx", parts),)


class _Followed:
    """Ranges of one name."""

    def __init__(self, name: str, begins: Callable[[], None], ends: Callable[[], None]) -> None:
        self.name, self._begins, self._ends = name, begins, ends
        self._numbers = itertools.count(1)
        self._open: set[int] = set()

    def begin(self, number: int) -> int:
        """A range was started; the number that the program gets."""
        given = number or _OURS | _FOLLOWED | next(self._numbers)
        self._open.add(given)
        self._begins()
        return given

    def end(self, number: int) -> None:
        """A range was ended, followed or not."""
        if number in self._open:
            self._open.discard(number)
            self._ends()


_followed: Optional[_Followed] = None


def follow(name: str, begins: Callable[[], None], ends: Callable[[], None]) -> None:
    """Calls ``begins`` and ``ends`` around each range of this name, on the thread of the call."""
    global _followed
    install()
    _followed = _Followed(name, begins, ends)


def _is_text(message: Any, domain: Any) -> bool:
    return isinstance(message, str) and bool(message) and isinstance(domain, str) and bool(domain)


def _marked(original: Any) -> Any:
    @functools.wraps(original)
    def mark(message: str, stream: Any = None, domain: str = "default") -> None:
        if _is_text(message, domain):
            mstx.mark(message, domain=domain)
        original(message, stream, domain)

    return mark


def _started(original: Any) -> Any:
    @functools.wraps(original)
    def range_start(message: str, stream: Any = None, domain: str = "default") -> int:
        number = start(message, stream, domain)
        if _followed is not None and message == _followed.name:
            return _followed.begin(number)
        return number

    def start(message: str, stream: Any, domain: str) -> int:
        theirs = original(message, stream, domain)
        ours = mstx.range_start(message, domain=domain) if _is_text(message, domain) else 0
        if not ours:
            return theirs
        if theirs:
            _pairs[theirs] = ours
            return theirs
        return _OURS | ours

    return range_start


_pairs: "dict[int, int]" = {}  # ranges that both have


def _ended(original: Any) -> Any:
    @functools.wraps(original)
    def range_end(range_id: int, domain: str = "default") -> None:
        if _followed is not None:
            _followed.end(range_id)
        if isinstance(range_id, int) and range_id & _OURS:
            if not range_id & _FOLLOWED:
                mstx.range_end(range_id & ~_OURS, domain)
            return
        original(range_id, domain)
        ours = _pairs.pop(range_id, 0)
        if ours:
            mstx.range_end(ours, domain)

    return range_end
