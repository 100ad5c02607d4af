"""Beside the table of values: calls of all kernels of compiled code, and what draws random numbers.

``compiled_<process>.json``: ``kernels``, each with its generated ``file`` and ``line``, ``module``
and ``class``, ``also`` (other modules that it computes for), ``operators``, ``lines`` of the
program; ``random``: operators with their modules. Calls: once, at the end of the process.
"""

import json
import os
from typing import Any

from sonde import _report
from sonde._new_file import create_new
from sonde.torch import _graphs


def write(path: str, random: "list[dict[str, str]]") -> None:
    """Costs one line where it cannot."""
    tables = _graphs.tables()
    kernels = [site for file, table in tables.items() for site in _sites(file, table)]
    partial = f"{path}.{os.getpid()}.part"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(partial, "w", encoding="utf-8", opener=create_new) as file:
            json.dump({"random": random, "kernels": kernels}, file, indent=1)
        os.replace(partial, path)
    except OSError as problem:
        _report.log(f"{path} cannot be written: {problem.strerror}", error=True)


def _sites(file: str, table: "dict[str, Any]") -> "list[dict[str, Any]]":
    found = []
    for line, site in table["sites"].items():
        module, kind = _graphs.module_of(table, site["module"]) if "module" in site else ("", "")
        found.append({
            "file": file,
            "line": int(line),
            "kernel": site["kernel"],
            "module": module,
            "class": kind,
            "also": [_graphs.module_of(table, number)[0] for number in site.get("also", [])],
            "operators": site["operators"],
            "lines": _graphs.lines_of(table, site),
            "backward": table["backward"],
        })  # fmt: skip
    return found
