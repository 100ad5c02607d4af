"""What the compiled code of a run was made of: calls of kernels, and what a check of them found.

Reads ``compiled_*.json`` and ``compile_check_*.csv`` in the folder of a dump.
"""

import csv
import glob
import json
import os
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Compiled:
    """Of all processes of a run. ``sites``: calls of kernels; ``checks``: rows of the check of
    generated kernels; ``random``: operators that draw numbers, with their modules."""

    sites: "list[dict[str, Any]]" = field(default_factory=list)
    checks: "list[dict[str, str]]" = field(default_factory=list)
    random: "list[str]" = field(default_factory=list)

    def differing(self) -> "list[dict[str, str]]":
        """Values that are not what eager operators give."""
        return [row for row in self.checks if row["result"] == "differs"]

    def checked(self) -> int:
        """How many values were compared."""
        return sum(row["result"] != "not checked" for row in self.checks)

    def sites_of(self, module: str, backward: bool = False) -> "list[dict[str, Any]]":
        """Calls that compute for a module's forward, or backward: its own, else those that it
        shares."""
        found = [site for site in self.sites if site["backward"] == backward]
        own = [site for site in found if site["module"] == module]
        return own or [site for site in found if module in site["also"]]

    def checks_of(self, site: "dict[str, Any]") -> "list[dict[str, str]]":
        """Rows of one call."""
        call = f"{os.path.basename(site['file'])}({site['line']})"
        return [row for row in self.checks if row["call"] == call]


def graphs(folder: str) -> int:
    """How many graphs torch compiled in a run with a dump."""
    return sum(content["graphs"] for content in _reports(folder))


def _reports(folder: str) -> "list[dict[str, Any]]":
    found = []
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "compiled_*.json"))):
        with open(path, encoding="utf-8") as file:
            found.append(json.load(file))
    return found


def read(folder: str) -> Compiled:
    """Of a run with a check of its kernels."""
    found = Compiled()
    for content in _reports(folder):
        found.sites += content["kernels"]
        found.random += [_random(each) for each in content["random"]]
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "compile_check_*.csv"))):
        with open(path, encoding="utf-8", newline="") as file:
            found.checks += csv.DictReader(file)
    return found


def _random(found: "dict[str, str]") -> str:
    return f"{found['operator']} ({found['module']})" if found["module"] else found["operator"]
