"""``acl_save()``: writes one tensor as a numbered file."""

import itertools
import os
import re
from typing import Any

from sonde._new_file import create_new

_FORBIDDEN = re.compile(r"[^A-Za-z0-9_.:/\-]")
_numbers = itertools.count()


def acl_save(x: Any, path: str) -> Any:
    """Saves ``x`` as ``<path without its ending>_<number>.pt`` and gives a copy in host memory.

    One counter numbers all files of the process.
    """
    folder, name = _check(path)
    import torch

    host = x.detach().cpu().contiguous().clone()
    base = name.rpartition(".")[0] or name
    target = os.path.join(folder, f"{base}_{next(_numbers)}.pt")
    with open(target, "wb", opener=create_new) as file:
        torch.save(host, file)
    return host


def _check(path: str) -> "tuple[str, str]":
    if not path:
        raise RuntimeError("Save path is empty")
    if len(path) > 4096:
        raise RuntimeError(f"Save path exceeds maximum length: {path}")
    folder, name = os.path.split(path)
    if not name or len(name) > 255:
        raise RuntimeError(f"Save filename length invalid: {path}")
    if ".." in path.split("/"):
        raise RuntimeError(f"Save path contains path traversal '..': {path}")
    found = _FORBIDDEN.search(path)
    if found:
        raise RuntimeError(f"Save path contains invalid character '{found[0]}': {path}")
    folder = folder or "."
    if not os.path.exists(folder):
        raise RuntimeError(f"Parent directory does not exist: {folder}")
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent path is not a directory: {folder}")
    if not os.access(folder, os.W_OK):
        raise RuntimeError(f"Parent directory is not writable: {folder}")
    return folder, name
