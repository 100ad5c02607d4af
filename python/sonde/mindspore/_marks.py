"""Ranges and marks of ``mindspore.profiler.mstx``, which records them on an NPU alone.

Ours are recorded; the original is called where it would do anything. Threads: any.
"""

import functools
from typing import Any

from sonde import mstx
from sonde._seams import Part, Seam

_OURS = 1 << 62  # numbers of ranges that the original does not know


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
        if isinstance(range_id, int) and range_id & _OURS:
            mstx.range_end(range_id & ~_OURS, domain)
            return
        original(range_id, domain)
        ours = _pairs.pop(range_id, 0)
        if ours:
            mstx.range_end(ours, domain)

    return range_end
