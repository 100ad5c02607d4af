"""``compiled_<process>.json`` in the folder of a dump of compiled code: how many ``graphs`` torch
compiled. Without it nobody could distinguish a program that compiles nothing. Threads: any."""

import atexit
import json
import os
from typing import Callable

from sonde import _report
from sonde._new_file import create_new
from sonde.torch.compile_check import process_name


def write_at_exit(folder: str, graphs: Callable[[], int]) -> None:
    """``graphs``: asked at the end of the process."""
    atexit.register(_write, os.path.abspath(folder), graphs)


def _write(folder: str, graphs: Callable[[], int]) -> None:
    path = os.path.join(folder, f"compiled_{process_name()}.json")
    try:
        os.makedirs(folder, exist_ok=True)
        with open(path, "w", encoding="utf-8", opener=create_new) as file:
            json.dump({"graphs": graphs()}, file)
    except OSError as problem:
        _report.log(f"{path} cannot be written: {problem.strerror}", error=True)
