"""Refuses programs and libraries that search a folder which is not theirs for libraries.

Each part of an RPATH or RUNPATH must begin with $ORIGIN: an empty part is the current folder, where
anybody may have planted a library, and an absolute one is there on the machine of the build only.
Looks at how build/dev would link everything, and at what is built in any preset.
"""

import re
import subprocess
import sys

from source_tree import ROOT

OPTION = re.compile(r"-rpath[,= ](\"[^\"]*\"|[^\s,]+)")
ENTRY = re.compile(r"\((RPATH|RUNPATH)\)[^\[]*\[([^\]]*)\]")
NEEDED = re.compile(r"\(NEEDED\)[^\[]*\[([^\]]*/[^\]]*)\]")


def faults_of(text):
    """What is wrong with a search path, by part."""
    for part in text.split(":"):
        if not part:
            yield "an empty part, which is the current folder"
        elif part != "$ORIGIN" and not part.startswith("$ORIGIN/"):
            yield f"'{part}', which is not below $ORIGIN"


def check_options(path, problems):
    """Of the link commands that Ninja will run."""
    for text in sorted({match[1] for match in OPTION.finditer(path.read_text())}):
        plain = text.strip('"').replace("\\$$", "$").replace("$$", "$")
        for fault in faults_of(plain):
            problems.append(f"{path.relative_to(ROOT)}: links with -rpath {plain}: {fault}")


def check_built(path, problems):
    if path.is_symlink() or not path.is_file() or path.open("rb").read(4) != b"\x7fELF":
        return
    command = ["readelf", "--wide", "-d", str(path)]
    reported = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    where = path.relative_to(ROOT)
    for kind, text in ENTRY.findall(reported):
        for fault in faults_of(text):
            problems.append(f"{where}: {kind} [{text}] has {fault}")
    for text in NEEDED.findall(reported):
        problems.append(f"{where}: needs {text} by its path")


def main():
    problems = []
    ninja = ROOT / "build" / "dev" / "build.ninja"
    if ninja.is_file():
        check_options(ninja, problems)
    for part in ("bin", "lib"):
        for path in sorted((ROOT / "build").glob(f"*/{part}/*")):
            check_built(path, problems)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
