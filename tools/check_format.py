"""Formatting of C++ (clang-format 19) and Python (ruff, with its lint rules).

Usage: check_format.py [--fix] [--ruff PYTHON_WITH_RUFF]. With --fix the files are changed.
"""

import argparse
import shutil
import subprocess
import sys

import source_tree


def clang_format():
    tool = shutil.which("clang-format-19")
    if not tool:
        sys.exit("clang-format-19 is missing: run make setup")
    return tool


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("--ruff", metavar="PYTHON", default=sys.executable)
    arguments = parser.parse_args()

    cpp = [str(path) for path in source_tree.cpp_files()]
    python = [str(path) for path in source_tree.tracked_files(".py")]
    ruff = [arguments.ruff, "-m", "ruff"]
    commands = []
    if cpp:
        how = ["-i"] if arguments.fix else ["--dry-run", "-Werror", "-ferror-limit=1"]
        commands.append([clang_format(), *how, *cpp])
    commands.append([*ruff, "format", "--quiet", *([] if arguments.fix else ["--diff"]), *python])
    commands.append(
        [
            *ruff,
            "check",
            "--quiet",
            "--output-format=concise",
            *(["--fix"] if arguments.fix else []),
            *python,
        ]
    )
    codes = [subprocess.run(c, cwd=source_tree.ROOT, check=False).returncode for c in commands]
    if any(codes) and not arguments.fix:
        print("make format puts most of this right")
    return 1 if any(codes) else 0


if __name__ == "__main__":
    sys.exit(main())
