"""What the scripts know of the documents: marked blocks, sections, and how Chinese follows English.

A marked block quotes a command or a file, and a script writes it:

    <!-- output head=12: sonde cluster -d demo -->      what the command prints (docs_outputs.py)
    <!-- file: examples/gallery/nan_watch.json -->      the text of a file of the tree

Between the mark and the next fence nothing else may stand. `head=N` keeps the first N lines,
`from=TEXT` begins at the first line that has TEXT, `to=TEXT` ends before the next one that has it;
blanks in TEXT are written as `_`.

NAME.zh.md is the Chinese of NAME.md. Below each of its headings stands `<!-- en:DIGEST -->`, the
digest of the English section that it was translated from, without what scripts write.
"""

import hashlib
import re
from dataclasses import dataclass

import source_tree

MARK = re.compile(r"^<!-- (output|file)((?: \w+=\S+)*): (.+?) -->\n", re.MULTILINE)
FENCE = re.compile(r"^```[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^(#{1,6}) (.+)$", re.MULTILINE)
STAMP = re.compile(r"^<!-- en:([0-9a-f]{8}) -->$", re.MULTILINE)
WIDTH = 100


@dataclass
class Block:
    """A mark and the fenced text behind it; `begin` and `end` bound that text in the document."""

    kind: str
    options: dict[str, str]
    command: str
    begin: int
    end: int
    text: str


@dataclass
class Section:
    """A heading and what stands below it, down to the next heading of any level."""

    level: int
    title: str
    text: str
    begin: int


def documents():
    """Paths of the documents that may hold marked blocks."""
    return [
        path
        for path in source_tree.tracked_files(".md")
        if len(path.parts) == 1 or path.parts[0] == "docs"
    ]


def marked_blocks(text):
    """The marked blocks of a document; ValueError names a mark that has no fence behind it."""
    blocks = []
    for mark in MARK.finditer(text):
        fence = FENCE.match(text, mark.end())
        if not fence:
            raise ValueError(f"no fenced block follows the mark of: {mark[3]}")
        options = dict(word.split("=", 1) for word in mark[2].split())
        blocks.append(Block(mark[1], options, mark[3], fence.start(1), fence.end(1), fence[1]))
    return blocks


def shown(command):
    """The command as a terminal shows it, in lines of at most WIDTH where it has blanks there."""
    lines = ["$"]
    for word in command.split(" "):
        if len(lines[-1]) + len(word) > WIDTH - 4:
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += f" {word}"
    return "\n".join(lines) + "\n"


def sections(text):
    """The sections of a document; headings inside of fences are none."""
    blank = FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return [
        Section(len(head[1]), head[2], text[head.end() : end], head.end())
        for head, end in spans(HEADING, blank)
    ]


def spans(pattern, text):
    """(match, where the next match begins) for each match; the last one reaches to the end."""
    found = list(pattern.finditer(text))
    return [
        (match, found[i + 1].start() if i + 1 < len(found) else len(text))
        for i, match in enumerate(found)
    ]


def without_written(text):
    """A text with the contents of its marked blocks left out: scripts write these."""
    for block in reversed(marked_blocks(text)):
        text = text[: block.begin] + text[block.end :]
    return text


def digest(section):
    """What a translation of the section is stamped with."""
    words = " ".join(f"{section.title}\n{without_written(section.text)}".split())
    return hashlib.sha256(words.encode()).hexdigest()[:8]


def code_blocks(text):
    """The fenced blocks of a document as both languages have them: without comments and contents
    of marked blocks."""
    found = (match[1] for match in FENCE.finditer(without_written(text)))
    return [
        re.sub(r"[ \t]+", " ", re.sub(r"(?m)(^|\s+)#.*$", "", block)).strip() for block in found
    ]
