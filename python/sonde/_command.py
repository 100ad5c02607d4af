"""The console script ``sonde`` of the wheel: becomes the native command that the wheel holds."""

import os
import sys
from importlib import metadata


def _binary() -> str:
    """Path of the native command: beside this file, or where an editable install put it."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "sonde")
    if os.path.isfile(beside):
        return beside
    try:
        return str(metadata.distribution("sonde").locate_file("sonde/bin/sonde"))
    except metadata.PackageNotFoundError:
        return beside


def main() -> None:
    """Replaces this process by the command, so that signals and exit status are its own."""
    binary = _binary()
    if sys.argv[1:2] == ["cluster"]:  # with --engine it starts this Python, which may have one
        os.environ.setdefault("SONDE_ENGINE_PYTHON", sys.executable)
    try:
        os.execv(binary, ["sonde", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"sonde: error: cannot run {binary}: {error.strerror}; install the package again")
