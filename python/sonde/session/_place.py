"""Where span folders go: shared by ``tensorboard_trace_handler`` and ``profile``.

The place is a setting of the process, as in torch_npu: the handler made last decides, so that a
program may wrap the handler in a function of its own.
"""

import os
from typing import Optional

DIRECTORY_MODE = 0o750
EXPORT_ONLY_FOLDER = "export_only_prof_dir"

_directory: Optional[str] = None
_worker_name: Optional[str] = None


def set_place(directory: Optional[str], worker_name: Optional[str]) -> None:
    """Sets the parent folder (None: the default) and the first part of the folders' names."""
    global _directory, _worker_name
    _directory = os.path.abspath(directory) if directory is not None else _default_directory()
    _worker_name = worker_name
    os.makedirs(_directory, mode=DIRECTORY_MODE, exist_ok=True)


def place() -> tuple[str, Optional[str]]:
    """Parent folder and worker name for the next capture."""
    return _directory or _default_directory(), _worker_name


def _default_directory() -> str:
    root = os.environ.get("ASCEND_WORK_PATH")
    return os.path.join(os.path.abspath(root), "profiling_data") if root else os.getcwd()


def export_only_directory() -> str:
    """Parent folder of captures that live as long as their profile object."""
    root = os.environ.get("ASCEND_WORK_PATH") or os.getcwd()
    return os.path.join(os.path.abspath(root), EXPORT_ONLY_FOLDER)
