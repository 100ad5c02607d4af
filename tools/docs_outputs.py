"""Writes the marked blocks of the documents again (see pages.py): `make docs-outputs`.

docs_outputs.py BIN [FILE...]    BIN: the folder of the command `sonde`

What a command printed is taken from the transcripts of `make demo`, `make demo-gallery` and
`make demo-vllm`; analyses that no transcript holds are run now, on what these recorded. Paths of
the machine, times in names and process numbers are left out.
"""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pages
from source_tree import ROOT

TRANSCRIPTS = ("build/transcripts/demo.txt", "build/transcripts/gallery.txt")
COMMAND = re.compile(r"^\$ (.+)$", re.MULTILINE)
PROGRESS = re.compile(r"^[A-Z][\w ]*: \d+/\d+(?: Done)?\n", re.MULTILINE)
SECONDS = 120
WIDTH = 110


def transcripts():
    """command -> what it printed."""
    found = {}
    for name in TRANSCRIPTS:
        path = ROOT / name
        if not path.exists():
            sys.exit(f"there is no {name}: run make demo OPEN=0 and make demo-gallery OPEN=0 first")
        text = path.read_text(encoding="utf-8")
        for mark, end in pages.spans(COMMAND, text):
            found[mark[1]] = text[mark.end() + 1 : end]
    return found


def run(command, bin_folder):
    """What an analysis prints on standard output; it must end well."""
    if not command.startswith("sonde ") or command.startswith(("sonde run", "sonde view")):
        sys.exit(f"no transcript has this command, and only analyses are run here: {command}")
    path = f"{bin_folder.resolve()}:{os.environ['PATH']}"
    done = subprocess.run(
        command, shell=True, cwd=ROOT, env={**os.environ, "PATH": path}, text=True, check=False,
        capture_output=True, timeout=SECONDS,
    )  # fmt: skip
    if done.returncode != 0:
        sys.exit(f"exit status {done.returncode} of: {command}\n{done.stderr}")
    return done.stdout


def cleaned(text):
    """Without what differs from machine to machine and from second to second, and progress."""
    text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]|[^\n]*\r(?!\n)", "", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "<time>", text)
    text = PROGRESS.sub("", text).replace(f"{ROOT}/", "").replace(str(Path.home()), "~")
    text = re.sub(r"_\d{14,20}(?=[._/\s]|$)", "_<time>", text, flags=re.MULTILINE)
    text = re.sub(r"(rank\d+|server|[\w-]+)_\d+_<time>", r"\1_<pid>_<time>", text)
    return "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines())


def chosen(text, options):
    """The lines that a mark asks for, with `...` where lines are left out."""
    lines = text.splitlines()
    first, last = 0, len(lines)
    if "from" in options:
        words = options["from"].replace("_", " ")
        first = next((i for i, line in enumerate(lines) if words in line), None)
        if first is None:
            sys.exit(f"no line of the output has '{words}'")
    if "to" in options:
        words = options["to"].replace("_", " ")
        last = next((i for i in range(first + 1, len(lines)) if words in lines[i]), last)
    if "head" in options:
        last = min(last, first + int(options["head"]))
    kept = lines[first:last]
    while kept and not kept[-1]:
        kept.pop()
    before = ["..."] if first > 0 else []
    after = ["..."] if any(lines[last:]) else []
    return "\n".join([*before, *(wrapped(line) for line in kept), *after]) + "\n"


def wrapped(line):
    """A sentence in lines of a page's width, as a terminal would break it; rows of tables stay."""
    if "|" in line or "  " in line.lstrip():
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(line, WIDTH, subsequent_indent=f"{indent}  ", break_long_words=False,
                         break_on_hyphens=False)  # fmt: skip


def written(block, outputs, bin_folder):
    """The text of a marked block as it must be now."""
    if block.kind == "file":
        return (ROOT / block.command).read_text(encoding="utf-8")
    if block.command not in outputs:
        outputs[block.command] = run(block.command, bin_folder)
    return pages.shown(block.command) + chosen(cleaned(outputs[block.command]), block.options)


def main():
    bin_folder = Path(sys.argv[1])
    outputs = transcripts()
    names = [Path(name) for name in sys.argv[2:]] or pages.documents()
    for name in names:
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        new = text
        for block in reversed(pages.marked_blocks(text)):
            new = new[: block.begin] + written(block, outputs, bin_folder) + new[block.end :]
        if new != text:
            path.write_text(new, encoding="utf-8")
            print(f"written: {name}")


if __name__ == "__main__":
    main()
