"""C++ checks that run a tool per file: every header compiles alone (g++), clang-tidy is content.

Usage: check_cpp.py headers|tidy [FILE...]. Needs build/dev/compile_commands.json, which
`cmake --preset dev` writes. What passed is remembered.
"""

import argparse
import json
import os
import shlex
import shutil
import sys

import source_tree
from result_cache import key_of, run_checks, tool_version

# The public C interface must be usable from C.
C_OPTIONS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-Iinclude")
COMMANDS = source_tree.ROOT / "build" / "dev" / "compile_commands.json"


def compile_flags():
    """{source path relative to the root: its compiler options} of the dev preset."""
    flags = {}
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
        path = os.path.relpath(entry["file"], source_tree.ROOT)
        flags[path] = kept
    return flags


def header_checks(flags):
    """Each header with the options of a source beside it (or of any source, for public headers)."""
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
            (f"{path} alone", key_of(path, "header", version, shlex.join(command)), command)
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
            checks.append(
                (f"{path} as C", key_of(path, "C", version, shlex.join(command)), command)
            )
    return checks


def tidy_checks(flags):
    tool = source_tree.lint_tool("clang-tidy")
    version = tool_version(tool) + (source_tree.ROOT / ".clang-tidy").read_text()
    checks = []
    for path in source_tree.tracked_files(".cc"):
        if str(path) in flags:
            command = [tool, "-p", str(COMMANDS.parent), "--quiet", str(path)]
            checks.append(
                (str(path), key_of(path, "tidy", version, shlex.join(flags[str(path)])), command)
            )
    return checks


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("headers", "tidy"))
    parser.add_argument("files", nargs="*", help="only these (default: all)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    if not COMMANDS.exists():
        sys.exit(f"{COMMANDS} is missing: run cmake --preset dev")

    flags = compile_flags()
    checks = (header_checks if arguments.kind == "headers" else tidy_checks)(flags)
    if arguments.files:
        checks = [check for check in checks if check[0].split()[0] in arguments.files]
    failures = run_checks(checks, arguments.jobs)
    for title, output in failures:
        print(f"-- {title}\n{output}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
