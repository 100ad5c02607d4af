"""Cases as text: what is typed, and what comes. A file has several, in an empty folder each.

    let issues SELECT code, count FROM import_issue    @issues stands for the statement; $1 for what
                                    follows the name; {Q} for a text whose name is in capitals
    ## What it is about
    for mode, says                  the case is repeated for each of the indented lines below it
      slow_rank | rank 5 is slow
    for mode = all | slow_rank      the same of one value
    $ sonde cluster -m {mode} -d DATA/ascend_pt/db/level1 -o out
    [1]                             the exit status, 0 where none is given
    + {says}                        a line of standard output has it, "- " none has it
    ~ rank \\d+ is slow              a line of standard output has what the expression matches
    ! sonde: error:                 exactly one line of standard error has it, "!- " none; "!= ":
                                    standard error is one line, which begins so
    $ result SELECT count(*) FROM SlowRank
    | 8                             exactly these lines; an empty one alone: none
    $ ask DATA/field/05-no-pid/trace.json
    > SELECT count(*) FROM slice    the rest of the line before
    ? SELECT count(*) FROM track    of the trace that was asked before

`DATA/` is the folder of shared data. What can be typed beside `sonde` is in case_place.py. Of a
case that is repeated, steps before the first that differs are done once, where the steps after it
change no input. UPDATE_CASES=1 writes the lines of "|" as they come, for a person to look at.
"""

import itertools
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from case_place import CHANGES


@dataclass
class Step:
    """A command, and what is expected of it."""

    text: str
    status: int = 0
    expected: list = field(default_factory=list)  # (kind, text)
    content: list = field(default_factory=list)  # of a file that it writes
    lines: list = field(default_factory=list)  # numbers of those of the command, and of "|"

    @property
    def verb(self):
        return re.sub(r"^(\w+=\S* )+", "", self.text).partition(" ")[0]


@dataclass
class Case:
    file: Path
    title: str
    steps: list = field(default_factory=list)
    values: dict = field(default_factory=dict)

    @property
    def name(self):
        return " ".join([self.title, *map(str, self.values.values())][:2])

    def fill(self, text):
        for name, value in self.values.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    def count_in_common(self):
        """How many steps are the same for all rows, and need be done once."""
        texts = [[step.text, *step.content, *(text for _, text in step.expected)]
                 for step in self.steps]  # fmt: skip
        differs = [any(f"{{{name}}}" in text for name in self.values for text in of_step)
                   for of_step in texts]  # fmt: skip
        first = differs.index(True) if True in differs else 0
        changes = any(step.verb in CHANGES or "{" in step.verb for step in self.steps[first:])
        return 0 if changes else first


class Reader:
    """Of a file of cases, line by line."""

    def __init__(self, file):
        self.file, self.cases, self.texts = file, [], {}
        self.names, self.rows, self.title, self.steps = [], [], None, []
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines()):
            self.take(line, number)
        self.end_case()

    def take(self, line, number):
        kind, _, text = line.partition(" ")
        if line.startswith("## "):
            self.end_case()
            self.title = text
        elif kind == "let":
            name, _, value = text.partition(" ")
            self.texts[name] = value
        elif self.title is None:
            assert not line or line.startswith(("# ", "  ")), f"{self.file.name}: {line}"
            if line.startswith("  "):
                self.texts[next(reversed(self.texts))] += " " + line.strip()
        elif kind == "for" and " = " in text:
            name, _, values = text.partition(" = ")
            self.names, self.rows = [name], [[self.named(value)] for value in values.split(" | ")]
        elif kind == "for":
            self.names = text.split(", ")
        elif line.startswith("  "):
            line = self.named(line)
            self.rows.append([cell.strip() for cell in re.split(r"\s\|(?=\s|$)", line)])
        elif kind in ("$", "?"):
            self.steps.append(Step("? " + self.named(text) if kind == "?" else self.named(text)))
            self.steps[-1].lines.append(number)
        elif kind == ">":
            self.steps[-1].text += " " + self.named(text)
            self.steps[-1].lines.append(number)
        elif kind == "<":
            self.steps[-1].content.append(text)
        elif found := re.fullmatch(r"\[(\d+)\]", line):
            self.steps[-1].status = int(found[1])
        elif line and kind != "#":
            assert kind in ("+", "-", "~", "!", "!-", "!=", "|"), f"{self.file.name}: {line}"
            self.steps[-1].expected.append((kind, self.named(text)))
            self.steps[-1].lines += [number] if kind == "|" else []

    def named(self, text):
        """With the texts of the file in place of their names."""
        if found := re.fullmatch(r"(.*?)@(\w+)(?: (.*))?", text):
            if found[2] in self.texts:
                text = found[1] + self.texts[found[2]].replace("$1", found[3] or "")
        for name, value in self.texts.items():
            if name.isupper():
                text = text.replace(f"{{{name}}}", value)
        return text

    def end_case(self):
        for row in self.rows or [[]] if self.title is not None else []:
            values = dict(zip(self.names, row, strict=True))
            self.cases.append(Case(self.file, self.title, self.steps, values))
        self.names, self.rows, self.title, self.steps = [], [], None, []


def read(file):
    """The cases of a file; those that are repeated once for each of their lines."""
    return Reader(file).cases


def faults(step, status, out, err, fill):
    """What came otherwise."""
    if status != step.status:
        yield f"[{step.status}]: [{status}]"
    for kind, text in step.expected:
        text = fill(text)
        at = [line for line in (err if kind.startswith("!") else out) if text in line]
        missed = {"+": not at, "-": at, "!": len(at) != 1, "!-": at, "|": False}
        if kind == "~":
            missed["~"] = not any(re.search(text, line) for line in out)
        if kind == "!=":
            missed["!="] = len(err) != 1 or not err[0].startswith(text)
        if missed[kind]:
            yield f"{kind} {text}"
    exact = [fill(text) for kind, text in step.expected if kind == "|"]
    if exact and exact != ([line.rstrip() for line in out] or [""]):
        yield "\n".join(f"| {line}" for line in exact)


# Where the steps in common of repeated cases were done: (file, title) -> Place.
DONE = {}


def place_of(case, new_place):
    """The folder of a case, and how many of its steps are done there."""
    common = case.count_in_common() if case.values else 0
    if not common:
        return new_place(), 0
    key = case.file, case.title
    if key not in DONE:
        place = new_place()
        run_steps(case, place, case.steps[:common])
        DONE[key] = place
    DONE[key].clear()
    return DONE[key], common


def check(case, new_place):
    """Raises with the command, and all that came of it. `new_place()` gives an empty folder."""
    place, done = place_of(case, new_place)
    run_steps(case, place, case.steps[done:])


def run_steps(case, place, steps):
    asked = []  # statements of one trace, which one process answers
    for step in [*steps, None]:
        if step is not None and step.text.startswith("? ") and step.status == 0:
            asked.append(step)
            continue
        answers = place.ask_all([case.fill(one.text[2:]) for one in asked])
        for one, answer in zip(asked, answers, strict=True):
            compare(case, one, *answer)
        asked = []
        if step is not None:
            content = [case.fill(line) for line in step.content]
            compare(case, step, *place.run(case.fill(step.text), content))


def compare(case, step, status, out, err):
    found = list(faults(step, status, out, err, case.fill))
    is_exact = any(kind == "|" for kind, _ in step.expected)
    differs = any(f"{{{name}}}" in text for name in case.values for _, text in step.expected)
    updates = os.environ.get("UPDATE_CASES") == "1" and is_exact and not differs
    if found and updates and status == step.status:
        update(case, step, out)
        return
    came = itertools.chain([f"[{status}]"], (f"  {x}" for x in out), (f"! {x}" for x in err))
    typed = case.fill(step.text)
    assert not found, "\n".join([f"$ {typed}", "expected:", *found, "came:", *came])


def update(case, step, out):
    """Writes the lines of "|" of a command as they came."""
    now = next(one for one in read(case.file) if one.title == case.title)
    lines = case.file.read_text(encoding="utf-8").splitlines()
    at = now.steps[case.steps.index(step)].lines
    exact = [number for number in at if lines[number].startswith("|")]
    if exact:
        new = [f"| {line}".rstrip() for line in out or [""]]
        lines[exact[0] : exact[-1] + 1] = new
        case.file.write_text("\n".join(lines) + "\n", encoding="utf-8")
