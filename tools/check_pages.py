"""Refuses marked blocks that nobody wrote, quoted output without a mark, and Chinese pages that are
not in step with the English ones. `make lint` runs it; pages.py explains marks and stamps.

check_pages.py [--stamp NAME.zh.md...]   --stamp: these were translated from the English of today
"""

import re
import sys
from pathlib import Path

import pages
import source_tree
from source_tree import ROOT

# Pages that quote output only by marks; others may have sessions that cannot be repeated here.
QUOTED = {f"docs/{name}.md" for name in (
    "view", "compare", "precision", "probe", "cluster", "advisor", "vllm", "find-out-why",
)}  # fmt: skip
LINK = re.compile(r"\]\(([^)#\s]*)")


def check_blocks(path, text):
    """Yields a line for each marked block that does not hold what its mark names."""
    try:
        blocks = pages.marked_blocks(text)
    except ValueError as problem:
        yield f"{path}: {problem}"
        return
    for block in blocks:
        if block.kind == "file":
            source = ROOT / block.command
            if not source.is_file():
                yield f"{path}: no such file: {block.command}"
            elif block.text != source.read_text(encoding="utf-8"):
                yield f"{path}: differs from {block.command}: run make docs-outputs"
        elif not block.text.startswith(pages.shown(block.command)):
            yield f"{path}: not the output of its command, run make docs-outputs: {block.command}"
        elif block.text.count("\n") <= pages.shown(block.command).count("\n"):
            yield f"{path}: the marked block is empty, run make docs-outputs: {block.command}"
    if str(path).replace(".zh.md", ".md") in QUOTED:
        begins = {block.begin for block in blocks}
        for fence in pages.FENCE.finditer(text):
            if fence[1].startswith("$ ") and fence.start(1) not in begins:
                yield f"{path}: output that no mark names: {fence[1].splitlines()[0]}"


def english_of(path):
    return Path(str(path).replace(".zh.md", ".md"))


def check_translation(path, text):
    """Yields a line for each way in which a Chinese page is not in step with its English one."""
    english = source_tree.read(english_of(path))
    ours, theirs = pages.sections(text), pages.sections(english)
    if [section.level for section in ours] != [section.level for section in theirs]:
        yield f"{path}: other headings than {english_of(path)}: {len(ours)} and {len(theirs)}"
        return
    for one, other in zip(ours, theirs, strict=True):
        stamp = pages.STAMP.search(one.text)
        if not stamp:
            yield f"{path}: no stamp below '{one.title}'"
        elif stamp[1] != pages.digest(other):
            yield (
                f"{path}: '{one.title}' was translated from an earlier '{other.title}': translate, "
                f"then run tools/check_pages.py --stamp {path}"
            )
        if pages.code_blocks(one.text) != pages.code_blocks(other.text):
            yield f"{path}: other commands below '{one.title}' than the English page has"
        if marks(one.text) != marks(other.text):
            yield f"{path}: other marked blocks below '{one.title}' than the English page has"
        if links(one.text) != links(other.text):
            odd = ", ".join(sorted(links(one.text) ^ links(other.text)))
            yield f"{path}: other links below '{one.title}' than the English page has: {odd}"


def marks(text):
    return [(block.kind, block.options, block.command) for block in pages.marked_blocks(text)]


def links(text):
    """Where links lead; a Chinese page and its English one count as the same, and pages alone."""
    found = (link.replace(".zh.md", ".md") for link in LINK.findall(pages.FENCE.sub("", text)))
    return {link for link in found if link}


def stamp(path):
    """Writes the stamps of a page again."""
    text = (ROOT / path).read_text(encoding="utf-8")
    theirs = pages.sections(source_tree.read(english_of(path)))
    ours = pages.sections(text)
    if len(ours) != len(theirs):
        sys.exit(f"{path}: other headings than {english_of(path)}")
    for one, other in reversed(list(zip(ours, theirs, strict=True))):
        body = pages.STAMP.sub("", one.text, count=1).lstrip("\n")
        stamped = f"\n\n<!-- en:{pages.digest(other)} -->\n\n{body}"
        text = text[: one.begin] + stamped + text[one.begin + len(one.text) :]
    (ROOT / path).write_text(text, encoding="utf-8")


def main():
    if sys.argv[1:2] == ["--stamp"]:
        for name in sys.argv[2:]:
            stamp(name)
        return 0
    problems = []
    for path in pages.documents():
        text = source_tree.read(path)
        problems += check_blocks(path, text)
        if path.name.endswith(".zh.md"):
            try:
                problems += check_translation(path, text)
            except ValueError:
                continue  # a mark without a fence, which check_blocks names
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
