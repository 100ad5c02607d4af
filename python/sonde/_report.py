"""Messages of a process below ``sonde run``: to people on standard error, to the launcher in
the run list (docs/reference/environment.md)."""

import os
import sys

from sonde import _debug


def log(text: str, error: bool = False) -> None:
    """One line for people; only errors where ``SONDE_QUIET=1``."""
    if not error and os.environ.get("SONDE_QUIET") == "1":
        return
    try:
        sys.stderr.write(f"sonde: {text}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass  # the program closed its standard error
    _debug.trace()


def has_launcher() -> bool:
    """Whether ``sonde run`` waits for the run list and does the rest at the end."""
    return bool(os.environ.get("SONDE_RUN_LIST"))


def note(kind: str, text: str) -> None:
    """Appends one line to the run list; whole lines, so that processes do not mix.

    The launcher makes the list and removes it when its command has ended: a process that outlives
    the command finds none, and must not leave a new one behind.
    """
    path = os.environ.get("SONDE_RUN_LIST")
    if not path:
        return
    line = f"{kind}\t{os.getpid()}\t{' '.join(text.split(chr(10)))}\n".encode("utf-8", "replace")
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        pass  # nobody waits for it any more
    except OSError as problem:
        log(f"cannot write the run list {path}: {problem.strerror}", error=True)
