"""Refuses stale pointers in the documentation: what it names must exist.

Checked are the paths, links, `make` targets and `sonde` commands of README.md, CONTRIBUTING.md and
docs/. A path is inline code that begins with a top-level folder or file of this tree. Commands are
taken from inline code and from fenced blocks.
"""

import re
import sys
from pathlib import Path

import source_tree
from source_tree import ROOT

INLINE_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")
PATH = re.compile(r"^[\w.@-]+(?:/[\w.@*<>-]*)*$")
MAKE = re.compile(r"(?:^|[\s`(;&])make\s+((?:[A-Z_]+=\S*\s+)*)([a-z][a-z0-9-]*)")
SONDE = re.compile(r"(?:^\$?\s*|[`(;&]\s*|=\S+\s+)sonde\s+([a-z][a-z-]*)")


def documents():
    return [
        p for p in source_tree.tracked_files(".md") if len(p.parts) == 1 or p.parts[0] == "docs"
    ]


def make_targets():
    return set(re.findall(r"^([a-z][a-z0-9-]*):", source_tree.read(Path("Makefile")), re.MULTILINE))


def commands():
    """The subcommands: src/cli has one file for each, named cmd_<name>.cc."""
    return {
        path.stem[len("cmd_") :].replace("_", "-")
        for path in (ROOT / "src" / "cli").glob("cmd_*.cc")
    }


def top_level():
    return {path.parts[0] for path in source_tree.tracked_files("")}


def code_of(text):
    """Every piece of code in a document: fenced blocks line by line, then inline code."""
    for block in FENCE.findall(text):
        yield from (line.strip() for line in block.splitlines())
    yield from INLINE_CODE.findall(FENCE.sub("", text))


def paths_of(text, tops):
    for code in INLINE_CODE.findall(FENCE.sub("", text)):
        if PATH.match(code) and "/" in code and code.split("/")[0] in tops:
            yield code


def path_exists(name):
    pattern = re.sub(r"<[^>]*>", "*", name.rstrip("/"))
    return any(ROOT.glob(pattern)) if "*" in pattern else (ROOT / pattern).exists()


def check(document, targets, subcommands, tops):
    """Yields one line for each stale pointer of a document."""
    text = source_tree.read(document)
    for name in paths_of(text, tops):
        if not path_exists(name):
            yield f"{document}: no such path: {name}"
    for link in LINK.findall(text):
        if "://" not in link and not (ROOT / document.parent / link).exists():
            yield f"{document}: dead link: {link}"
    for code in code_of(text):
        for _, target in MAKE.findall(code):
            if target not in targets:
                yield f"{document}: no such target: make {target}"
        for command in SONDE.findall(code):
            if command not in subcommands:
                yield f"{document}: no such command: sonde {command}"


def main():
    targets, subcommands, tops = make_targets(), commands(), top_level()
    problems = [
        line for document in documents() for line in check(document, targets, subcommands, tops)
    ]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
