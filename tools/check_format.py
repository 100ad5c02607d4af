"""Formatting of C++ (clang-format) and Python (ruff, with its lint rules).

Usage: check_format.py [--fix]. With --fix the files are changed. `make lint` and `make format`
run it with the Python of the lint environment.
"""

import argparse
import subprocess
import sys

import source_tree


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fix", action="store_true")
    fix = parser.parse_args().fix

    cpp = [str(path) for path in source_tree.cpp_files()]
    python = [str(path) for path in source_tree.tracked_files(".py")]
    clang_format, ruff = source_tree.lint_tool("clang-format"), source_tree.lint_tool("ruff")
    commands = (
        [clang_format, *(["-i"] if fix else ["--dry-run", "-Werror", "-ferror-limit=1"]), *cpp],
        [ruff, "format", "--quiet", *([] if fix else ["--diff"]), *python],
        [ruff, "check", "--quiet", "--output-format=concise", *(["--fix"] if fix else []), *python],
    )
    codes = [subprocess.run(c, cwd=source_tree.ROOT, check=False).returncode for c in commands]
    if any(codes) and not fix:
        print("make format puts most of this right")
    return 1 if any(codes) else 0


if __name__ == "__main__":
    sys.exit(main())
