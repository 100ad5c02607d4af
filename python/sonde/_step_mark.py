"""Steps that a program marks itself.

Threads: any. Does nothing in a process in which nobody counts steps.
"""

from typing import Callable, Optional

_listener: Optional[Callable[[], None]] = None


def listen(listener: Optional[Callable[[], None]]) -> None:
    """``listener`` is called at the end of each step from now on; None: nobody."""
    global _listener
    _listener = listener


def step() -> None:
    """Ends a step and begins the next one: call it at the end of each iteration.

    From the first call on Sonde's guess where steps are (docs/reference/steps.md) rests. Under
    ``sonde run``; a ``profile`` of the program's own has ``prof.step()``.
    """
    if _listener is not None:
        _listener()
