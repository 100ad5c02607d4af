"""Tracebacks of our own errors, of which users see a line: with ``SONDE_DEBUG=1``."""

import os
import sys
import traceback


def trace() -> None:
    """Prints the error that is being handled to standard error, if there is one and it is wanted.

    Called after the error was reported in one line; needs nothing of the program, raises nothing.
    """
    if os.environ.get("SONDE_DEBUG") != "1" or sys.exc_info()[0] is None:
        return
    try:
        sys.stderr.write(traceback.format_exc())
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass  # the program closed its standard error
