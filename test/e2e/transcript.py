"""Cases as text: what is typed, and what comes. A file has several, in an empty folder each.

    ## What it is about
    for mode, says                  the case is repeated for each of the indented lines below it
      slow_rank | rank 5 is slow
    $ sonde cluster -m {mode} -d DATA/ascend_pt/db/level1 -o out
    [1]                             the exit status, 0 where none is given
    + {says}                        standard output has it, "- " has it not
    ! sonde: error:                 exactly one line of standard error has it, "!- " none
    $ result SELECT count(*) FROM SlowRank
    | 8                             exactly these lines
    $ ask DATA/field/05-no-pid/trace.json
    > SELECT count(*) FROM slice    the rest of the line before

`DATA/` is the folder of shared data. Beside `sonde` there are: `ask TRACE STATEMENT`, which is
`sonde query` without its head; `copy FROM TO` of a folder; `remove GLOB`; `blank GLOB BYTES`, which
makes zeros of all behind the first bytes; `change GLOB STATEMENT` of databases; `files GLOB`; of
the database of `sonde cluster -o out` `result STATEMENT` and `tables`. UPDATE_CASES=1 writes the
lines of "|" as they come, for a person to look at.
"""

import itertools
import os
import re
import shlex
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

RESULT = "out/cluster_analysis_output/cluster_analysis.db"


@dataclass
class Step:
    """A command, and what is expected of it."""

    text: str
    status: int = 0
    expected: list = field(default_factory=list)  # (kind, text)


@dataclass
class Case:
    file: Path
    title: str
    steps: list = field(default_factory=list)
    values: dict = field(default_factory=dict)

    @property
    def name(self):
        return " ".join([self.title, *map(str, self.values.values())][:2])


def read(file):
    """The cases of a file; those that are repeated once for each of their lines."""
    cases = []
    for part in re.split(r"^## ", file.read_text(encoding="utf-8"), flags=re.M)[1:]:
        title, *lines = part.splitlines()
        names, rows, steps = [], [], []
        for line in lines:
            if line.startswith("for "):
                names = line[4:].split(", ")
            elif line.startswith("  "):
                rows.append([cell.strip() for cell in line.split(" | ")])
            elif line.startswith("$ "):
                steps.append(Step(line[2:]))
            elif line.startswith("> "):
                steps[-1].text += " " + line[2:]
            elif found := re.fullmatch(r"\[(\d+)\]", line):
                steps[-1].status = int(found[1])
            elif line:
                kind, _, text = line.partition(" ")
                assert kind in ("+", "-", "!", "!-", "|"), f"{file.name}: {line}"
                steps[-1].expected.append((kind, text))
        for row in rows or [[]]:
            cases.append(Case(file, title, steps, dict(zip(names, row, strict=True))))
    return cases


def rows_of(path, statement):
    with closing(sqlite3.connect(path)) as database:
        return [",".join(map(str, row)) for row in database.execute(statement)]


def change(path, statement):
    with closing(sqlite3.connect(path)) as database:
        database.execute(statement)
        database.commit()


class Place:
    """The folder of a case, and what can be done in it."""

    def __init__(self, run_sonde, data, folder):
        self.run_sonde, self.data, self.folder = run_sonde, data, folder

    def found(self, pattern):
        paths = sorted(self.folder.glob(pattern))
        assert paths, f"nothing is {pattern}"
        return paths

    def run(self, text):
        """Status, lines of standard output and of standard error."""
        verb, _, rest = text.partition(" ")
        if verb == "sonde":
            words = [word.replace("DATA/", f"{self.data}/") for word in shlex.split(rest)]
            done = self.run_sonde(*words, cwd=self.folder)
            return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()
        first, _, more = rest.replace("DATA/", f"{self.data}/").partition(" ")
        lines = []
        if verb == "ask":
            done = self.run_sonde("query", first, more, "--format", "csv", cwd=self.folder)
            out = done.stdout.replace(f"{self.data}/", "DATA/").splitlines()[1:]
            return done.returncode, out, done.stderr.splitlines()
        if verb == "copy":
            shutil.copytree(first, self.folder / more)
        elif verb == "remove":
            for path in self.found(first):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        elif verb == "blank":
            for path in self.found(first):
                content = path.read_bytes()
                path.write_bytes(content[: int(more)] + bytes(len(content) - int(more)))
        elif verb == "change":
            for path in self.found(first):
                change(path, more)
        elif verb == "result":
            lines = rows_of(self.folder / RESULT, rest)
        elif verb == "tables":
            if (self.folder / RESULT).exists():
                lines = rows_of(self.folder / RESULT, "SELECT name FROM sqlite_master ORDER BY 1")
        elif verb == "files":
            lines = [str(path.relative_to(self.folder)) for path in sorted(self.folder.glob(rest))]
        else:
            raise AssertionError(f"no such command: {text}")
        return 0, lines, []


def faults(step, status, out, err, fill):
    """What came otherwise."""
    if status != step.status:
        yield f"[{step.status}]: [{status}]"
    for kind, text in step.expected:
        text = fill(text)
        at = [line for line in (err if kind.startswith("!") else out) if text in line]
        if {"+": not at, "-": at, "!": len(at) != 1, "!-": at, "|": False}[kind]:
            yield f"{kind} {text}"
    exact = [fill(text) for kind, text in step.expected if kind == "|"]
    if exact and exact != out:
        yield "\n".join(f"| {line}" for line in exact)


def check(case, place):
    """Raises with the command, and all that came of it."""

    def fill(text):
        for name, value in case.values.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    for step in case.steps:
        status, out, err = place.run(fill(step.text))
        found = list(faults(step, status, out, err, fill))
        if found and os.environ.get("UPDATE_CASES") == "1" and not case.values:
            update(case.file, step, out)
            continue
        came = itertools.chain([f"[{status}]"], (f"  {x}" for x in out), (f"! {x}" for x in err))
        assert not found, "\n".join([f"$ {fill(step.text)}", "expected:", *found, "came:", *came])


def update(file, step, out):
    """Writes the lines of "|" of a command as they came."""
    before = "".join(f"| {text}\n" for kind, text in step.expected if kind == "|")
    text = file.read_text(encoding="utf-8")
    typed = "[ \\n>]+".join(map(re.escape, step.text.split(" ")))
    begin = text.index(before, re.search(rf"\$ {typed}\n", text).end())
    after = "".join(f"| {line}\n" for line in out)
    file.write_text(text[:begin] + after + text[begin + len(before) :], encoding="utf-8")
