"""Layout of torch's ranges by its own headers, for a torch that the adapter does not know.

The headers of the wheel are compiled, nothing is linked or run: the offsets stand in the assembly
text. Takes some seconds once for each torch; the result is kept in the user's cache folder. The
adapter believes it only if its self-test then passes.
"""

import hashlib
import json
import os
import shutil
import subprocess
from typing import Any, Optional

from sonde._new_file import create_new

_TIMEOUT_S = 120
_COMPILERS = ("c++", "g++", "clang++")
_STANDARDS = ("-std=c++20", "-std=c++17")
_NAMES = ("thread", "scope", "name", "kind", "sequence", "inputs", "forward_thread")
# The adapter has these for all versions; where they differ nothing can be read.
_FIXED = {"thread": 88, "scope": 96, "name": 160}

# Standard headers and those of torch come first: only the one class is to lose its privacy. The
# index of a variant is behind its largest member.
_PROGRAM = """
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
#include <ATen/core/ivalue.h>
#include <ATen/core/operator_name.h>
#include <c10/util/SmallVector.h>
#define private public
#include <ATen/record_function.h>
#undef private
using Range = at::RecordFunction;
using Name = decltype(Range::fn_);
extern "C" const unsigned long long sonde_layout[];
const unsigned long long sonde_layout[] = {
    offsetof(Range, step_callbacks_.thread_id_), offsetof(Range, step_callbacks_.scope_),
    offsetof(Range, fn_), offsetof(Range, fn_) + sizeof(Name) - alignof(Name),
    offsetof(Range, sequence_nr_), offsetof(Range, inputs_), offsetof(Range, fwd_thread_id_)};
"""


class LayoutError(RuntimeError):
    """The headers could not be asked; the text is one line."""


def options(torch: Any) -> "dict[str, Any]":
    """Options for ``sonde_torch_attach``. Raises ``LayoutError``."""
    include = os.path.join(os.path.dirname(torch.__file__), "include")
    if not os.path.exists(os.path.join(include, "ATen", "record_function.h")):
        raise LayoutError("this torch has no headers")
    new_strings = bool(getattr(torch._C, "_GLIBCXX_USE_CXX11_ABI", True))
    path = _cache_path(torch, include, new_strings)
    offsets = _cached(path)
    if offsets is None:
        offsets = _compile(include, new_strings)
        _keep(path, offsets)
    for name, expected in _FIXED.items():
        if offsets[name] != expected:
            raise LayoutError(f"its ranges have the {name} at {offsets[name]}, not {expected}")
    return {
        "layout_old_strings": not new_strings,
        **{f"layout_{name}": offsets[name] for name in _NAMES if name not in _FIXED},
    }


def _compile(include: str, new_strings: bool) -> "dict[str, int]":
    compiler = next(filter(None, map(shutil.which, _compilers())), None)
    if compiler is None:
        raise LayoutError("no C++ compiler was found")
    problem = ""
    for standard in _STANDARDS:
        command = [compiler, "-S", "-O0", "-w", "-x", "c++", standard, "-DNDEBUG", "-I", include]
        command += [f"-D_GLIBCXX_USE_CXX11_ABI={int(new_strings)}", "-o", "-", "-"]
        try:
            done = subprocess.run(
                command,
                input=_PROGRAM,
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_S,
                check=False,
                env={
                    k: v for k, v in os.environ.items() if k not in ("SONDE_ATTACH", "LD_PRELOAD")
                },
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise LayoutError(f"{compiler} failed: {error}") from None
        if done.returncode == 0:
            return _read_assembly(done.stdout)
        lines = [line for line in done.stderr.splitlines() if "error" in line]
        problem = lines[0] if lines else f"status {done.returncode}"
    raise LayoutError(f"{compiler} does not take its headers: {problem}")


def _compilers() -> list[str]:
    wished = os.environ.get("CXX", "").split()
    return [*wished[:1], *_COMPILERS]


def _read_assembly(text: str) -> "dict[str, int]":
    """Numbers of the table ``sonde_layout``: ``.quad``, ``.xword`` or ``.zero 8`` lines."""
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("sonde_layout:"):
            break
    numbers = []
    for _, line in zip(_NAMES, lines):
        words = line.split()
        if len(words) < 2 or not words[1].isdigit():
            break
        numbers.append(0 if words[0] == ".zero" else int(words[1]))
    if len(numbers) != len(_NAMES):
        raise LayoutError("the compiler's assembly text is not understood")
    return dict(zip(_NAMES, numbers))


def _cache_path(torch: Any, include: str, new_strings: bool) -> str:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    key = f"{torch.__version__} {include} {new_strings} {_PROGRAM}"
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    return os.path.join(base, "sonde", f"torch-layout-{digest}.json")


def _cached(path: str) -> "Optional[dict[str, int]]":
    try:
        with open(path, encoding="utf-8") as file:
            offsets = json.load(file)
        return {name: int(offsets[name]) for name in _NAMES}
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None


def _keep(path: str, offsets: "dict[str, int]") -> None:
    partial = f"{path}.{os.getpid()}.part"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(partial, "w", encoding="utf-8", opener=create_new) as file:
            json.dump(offsets, file)
        os.replace(partial, path)
    except OSError:
        pass  # the next process compiles again
