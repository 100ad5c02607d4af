"""C++ checks: headers compile alone (g++), clang-tidy is content.

Usage: check_cpp.py headers|tidy [--all] [FILE...]. Needs build/dev/compile_commands.json, which
`cmake --preset dev` writes. What passed is remembered.

Without --all and FILE only what changed is looked at (source_tree.changed_files): sources with all
that are compiled together with them or include a changed header first, and headers that no source
includes first. clang-tidy reads sources as the build does, some together: their headers cost most.
"""

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import sys

import source_tree
from result_cache import key_of, run_checks, tool_version

# The public C interface must be usable from C.
C_OPTIONS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-Iinclude")
COMMANDS = source_tree.ROOT / "build" / "dev" / "compile_commands.json"


# What a file that the build made includes: the sources that are compiled together.
TOGETHER = re.compile(r'(?m)^#include "(.+\.cc)"$')
# Reported for each source in such a file.
NOT_TOGETHER = "-bugprone-suspicious-include"


def relative(path):
    return os.path.relpath(path, source_tree.ROOT)


def compiled_units():
    """[(file that is compiled, sources in it, compiler options)] of the dev preset, names from the
    root."""
    units = []
    for entry in json.loads(COMMANDS.read_text()):
        words = shlex.split(entry["command"])
        while words and not words[0].endswith(("g++", "c++", "gcc", "cc", "clang++")):
            words.pop(0)
        kept, skip = [], False
        for word in words[1:]:
            if skip or word in ("-c", entry["file"]):
                skip = False
            elif word in ("-o", "-MF", "-MT"):
                skip = True
            else:
                kept.append(word)
        path = relative(entry["file"])
        made = path.startswith("build/")
        together = TOGETHER.findall(source_tree.read(path)) if made else []
        units.append((path, [f"src/{name}" for name in together] or [path], kept))
    return units


def readable(options):
    """Options without the place of this clone, so that another one knows what passed."""
    return shlex.join(options).replace(str(source_tree.ROOT), ".")


def header_checks(units):
    """Each header with the options of a source beside it (or of any source, for public headers)."""
    flags = {source: options for _, sources, options in units for source in sources}
    compiler = shutil.which("g++") or "c++"
    version = tool_version(compiler)
    checks = []
    for path in source_tree.tracked_files(".h"):
        beside = [
            options
            for name, options in flags.items()
            if os.path.dirname(name) == str(path.parent) and name.endswith(".cc")
        ]
        options = max(beside or list(flags.values()), key=len)
        command = [
            compiler,
            *options,
            "-fsyntax-only",
            "-include",
            str(path),
            "-x",
            "c++",
            os.devnull,
        ]
        checks.append(
            (f"{path} alone", key_of(path, "header", version, readable(command)), command)
        )
        if path.parts[0] == "include" and 'extern "C"' in source_tree.read(path):
            command = [
                "gcc",
                *C_OPTIONS,
                "-fsyntax-only",
                "-include",
                str(path),
                "-x",
                "c",
                os.devnull,
            ]
            checks.append((f"{path} as C", key_of(path, "C", version, readable(command)), command))
    return checks


def included_first(source):
    """The header of this tree that a source includes before all else, or None."""
    first = next(iter(source_tree.includes(source)), None)
    return source_tree.resolve(first[1]) if first and first[0] == '"' else None


def tidy_checks(units):
    tool = source_tree.lint_tool("clang-tidy")
    version = tool_version(tool) + (source_tree.ROOT / ".clang-tidy").read_text()
    tracked = {str(path) for path in source_tree.tracked_files(".cc")}
    checks = []
    for file, sources, options in units:
        sources = [source for source in sources if source in tracked]
        if sources:
            command = [
                tool,
                "-p",
                str(COMMANDS.parent),
                f"--checks={NOT_TOGETHER}",
                "--quiet",
                file,
            ]
            keys = [key_of(source, "tidy", version, readable(options)) for source in sources]
            checks.append(
                (" ".join(sources), hashlib.sha256("".join(keys).encode()).hexdigest(), command)
            )
    return checks


def is_wanted(check, arguments, changed):
    names = check[0].split()
    if arguments.files:
        return any(name in arguments.files for name in names)
    return arguments.all or any(
        name in changed or str(included_first(name)) in changed for name in names if "." in name
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("headers", "tidy"))
    parser.add_argument("files", nargs="*", help="only these")
    parser.add_argument("--all", action="store_true", help="not only what changed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    if not COMMANDS.exists():
        sys.exit(f"{COMMANDS} is missing: run cmake --preset dev")

    units = compiled_units()
    checks = (header_checks if arguments.kind == "headers" else tidy_checks)(units)
    changed = source_tree.changed_files()
    if arguments.kind == "headers":
        # The others are first in their source; --all checks them in the nightly job.
        changed -= {str(included_first(name)) for _, names, _ in units for name in names}
    checks = [check for check in checks if is_wanted(check, arguments, changed)]
    failures = run_checks(checks, arguments.jobs)
    for title, output in failures:
        print(f"-- {title}\n{output}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
