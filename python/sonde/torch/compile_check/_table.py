"""What a compile check found: a table of the values of all kernels, and a line at the end."""

import atexit
import csv
import os
import threading
from dataclasses import dataclass
from typing import Any, Callable, Optional

from sonde import _report
from sonde._new_file import create_new
from sonde.session import _metadata
from sonde.torch import _graphs as _tables
from sonde.torch.compile_check import _sites
from sonde.torch.compile_check._reference import Judgement

COLUMNS = (
    *("result", "kernel", "call", "module", "class", "lines", "value", "node", "type"),
    *("elements", "differing", "error", "explained", "scale", "why", "file"),
)
_SHOWN = 5  # kernels in the line at the end


@dataclass
class Found:
    """One value: ``judgement`` None where it could not be checked, for the reason in ``why``."""

    file: str
    line: int
    kernel: str
    value: str
    type: str
    elements: int
    node: str = ""
    why: str = ""
    place: str = ""  # of its node in the program, "model.py(12)"
    judgement: Optional[Judgement] = None

    @property
    def result(self) -> str:
        """In a word."""
        if self.judgement is None:
            return "not checked"
        return "differs" if self.judgement.differing else "agrees"


def process_name() -> str:
    """In names of files: by rank where there is one."""
    rank = _metadata.rank()[0]
    return f"rank{rank}" if rank >= 0 else f"process{os.getpid()}"


class Table:
    """Rows of this process; written at its end, and after each value that differs. ``random``:
    what of the compiled code draws random numbers."""

    def __init__(self, folder: str, random: "Callable[[], list[dict[str, str]]]") -> None:
        self._random = random
        self._folder = os.path.abspath(folder)
        self._lock = threading.Lock()
        self._found: list[Found] = []

    def add(self, found: "list[Found]") -> None:
        """Values of one call."""
        with self._lock:
            self._found += found
            if any(each.result == "differs" for each in found):
                self._write()

    def write_at_exit(self) -> None:
        """Also of a process that ends by an exception."""
        atexit.register(self._end)

    def finish(self) -> None:
        """Writes what there is."""
        with self._lock:
            self._write()

    def counts(self) -> "dict[str, int]":
        """Values by their result, in words that are names."""
        with self._lock:
            results = [each.result for each in self._found]
        return {
            "values": len(results),
            "agrees": results.count("agrees"),
            "differs": results.count("differs"),
            "not_checked": results.count("not checked"),
        }

    def _end(self) -> None:
        path = os.path.join(self._folder, f"compiled_{process_name()}.json")
        _sites.write(path, self._random())
        with self._lock:
            if not self._found:
                return
            self._write()
            _report.log(f"compile_check: {self.sentence()}")

    @property
    def path(self) -> str:
        """Of the table."""
        return os.path.join(self._folder, f"compile_check_{process_name()}.csv")

    def _write(self) -> None:
        os.makedirs(self._folder, exist_ok=True)
        partial = f"{self.path}.{os.getpid()}.part"
        with open(partial, "w", encoding="utf-8", newline="", opener=create_new) as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            writer.writerows(_row(each) for each in self._found)
        os.replace(partial, self.path)

    def sentence(self) -> str:
        """All in one line."""
        kernels = {(each.file, each.line) for each in self._found}
        checked = [each for each in self._found if each.judgement is not None]
        differs = [each for each in checked if each.result == "differs"]
        text = f"{len(kernels)} calls of generated kernels, {len(checked)} values"
        if len(checked) < len(self._found):
            text += f" ({len(self._found) - len(checked)} more could not be checked)"
        if not differs:
            return f"{text}: all agree with eager operators but for rounding; {self.path}"
        names = list(dict.fromkeys(_name(each) for each in differs))
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return f"{text}: {len(differs)} differ: {'; '.join(names[:_SHOWN])}{more}; {self.path}"


def _name(found: Found) -> str:
    module, _, lines = _place(found)
    assert found.judgement is not None
    where = ", ".join(part for part in (module, lines.split(", ")[0]) if part)
    name = f"{found.kernel} ({where})" if where else found.kernel
    return f"{name}: {found.judgement.error:.3g} of {found.judgement.scale:.3g}"


def _place(found: Found) -> "tuple[str, str, str]":
    """Module, its class, and source lines of a call, as ``_graphs`` knows them."""
    table = _tables.table_of(found.file)
    site = table.get("sites", {}).get(str(found.line))
    if site is None:
        return "", "", found.place
    module, kind = _tables.module_of(table, site["module"]) if "module" in site else ("", "")
    return module, kind, ", ".join(_tables.lines_of(table, site))


def _row(found: Found) -> "list[Any]":
    judgement = found.judgement
    numbers: list[Any] = ["", "", "", ""]
    if judgement is not None:
        numbers = [judgement.differing, judgement.error, judgement.explained, judgement.scale]
    call = f"{os.path.basename(found.file)}({found.line})"
    return [
        *(found.result, found.kernel, call, *_place(found), found.value, found.node, found.type),
        *(found.elements, *numbers, found.why, found.file),
    ]
