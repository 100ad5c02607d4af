"""What the lint scripts know of the tree: its files, its folders' order, what a file includes."""

import functools
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# A folder of src/ may use only the folders before it (and base).
FOLDER_ORDER = (
    "base",
    "capture",
    "record",
    "probe",
    "adapt",
    "store",
    "importers",
    "recipes",
    "job",
    "report",
    "exporters",
    "precision",
    "cluster",
    "compare",
    "advisor",
    "serve",
    "cli",
)

# These are loaded into the user's process (with a part of base) and use no third-party library.
RECORDER_FOLDERS = ("capture", "record", "probe", "adapt")

# A part of python/sonde (a folder or a file of it) may use only the parts before it.
PYTHON_ORDER = (
    "_debug",
    "_native",
    "_new_file",
    "_machine",
    "_analyse",
    "_command",
    "_report",
    "_step_mark",
    "_first_difference",
    "_seams",
    "_api_precision_compare",
    "mstx",
    "session",
    "torch",
    "mindspore",
    "_inject",
    "vllm",
    "_provide",
    "_provide_npu",
    "doctor",
    "engine",
)

# The list of hosts names each wherever it stands, and a host's entry what it is attached by.
PYTHON_LISTS = (
    "python/sonde/_inject/_hosts.py",
    "python/sonde/torch/_host.py",
    "python/sonde/mindspore/_host.py",
)

# How far back a change begins, by default.
LANDING_S = 24 * 3600

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def lint_tool(name):
    """A tool of the lint environment, whose Python runs these scripts (setup/python.sh lint)."""
    path = Path(sys.executable).parent / name
    if not path.exists():
        sys.exit(f"{name} is not beside {sys.executable}: run this by make lint or make format")
    return str(path)


def tracked_files(*suffixes):
    """Sorted paths from the root of the files that git tracks or would, with these suffixes."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split("\0")
    paths = (Path(name) for name in names if name.endswith(suffixes))
    return sorted(path for path in set(paths) if (ROOT / path).is_file())


def _git_lines(*command):
    done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def changed_files():
    """Paths that differ from the commit SONDE_LINT_BASE; where that is not set, from what HEAD was
    a day before its own date: a fresh clone knows no other beginning of the change."""
    base = os.environ.get("SONDE_LINT_BASE")
    if not base:
        date = next(iter(_git_lines("show", "-s", "--format=%ct", "HEAD")), "0")
        before = f"--before={int(date) - LANDING_S}"
        base = next(iter(_git_lines("rev-list", "-1", before, "HEAD")), "")
    if not base:  # a history of one day
        return {str(path) for path in tracked_files("")}
    names = _git_lines("diff", "--name-only", "--no-renames", base)
    return {*names, *_git_lines("ls-files", "--others", "--exclude-standard")}


def cpp_files():
    return tracked_files(".h", ".cc")


def folder_of(path):
    """The folder of src/ that holds this file, or None."""
    parts = Path(path).parts
    return parts[1] if len(parts) > 2 and parts[0] == "src" else None


@functools.cache
def read(path):
    return (ROOT / path).read_text(encoding="utf-8", errors="replace")


@functools.cache
def includes(path):
    """(quote, name, line number) of each include of a C++ file."""
    text = read(path)
    return tuple((m[1], m[2], text.count("\n", 0, m.start(2)) + 1) for m in INCLUDE.finditer(text))


@functools.cache
def resolve(name):
    """The file of this tree that an include names (counted from src/ or include/), or None."""
    for base in ("src", "include", "."):
        path = Path(base) / name
        if (ROOT / path).is_file():
            return path
    return None


def included_closure(path):
    """The file and every file of this tree that it includes, directly or not."""
    found, todo = set(), [Path(path)]
    while todo:
        current = todo.pop()
        if current not in found:
            found.add(current)
            todo.extend(p for p in (resolve(name) for _, name, _ in includes(current)) if p)
    return sorted(found)
