"""Refuses words that have a plainer one, in names, comments, messages and documents.

    check_words.py [FILE|FOLDER ...]        without arguments: all files that git tracks

A name counts by its parts: `is_told`, `ToldBy` and `TOLD_MS` each hold "told". A phrase may
continue in the next line of a comment or in the next part of a text. A line that quotes the text of
another program ends with a comment `quotes: NAME`, where NAME is one of QUOTED.
"""

import itertools
import re
import sys
from functools import cache
from pathlib import Path

import source_tree

# (words or phrases, replacement). Commas separate phrases, `/` separates forms of a word. A phrase
# without blanks but with capitals (`MiddleOf`) is part of a name: "in the middle of" passes.
WORDS = (
    ("told, untold, tell/tells/telling", "reported, known, passed to; state, report, show"),
    ("told/tell/tells/telling apart", "distinguished by, distinguish"),
    ("told/tell/tells by, ToldBy", "recognized by, recognize"),
    ("is/are/was/were/be/been/being said, said", "reported, printed, stated, logged"),
    ("anew", "again; a file is rewritten or recreated, a process restarts"),
    ("begin/begins/began/start/starts/started anew", "restart, restarts"),
    ("made/make/makes/written/write/writes anew", "rewritten, recreated, rebuilt"),
    ("MiddleOf, middleOf, the middle one", "median"),
    ("middle ns/us/ms/time/value/rank/link/deviation/step, aboveMiddle", "median"),
    ("meeting/meetings", "rendezvous; the process that leads it is the coordinator"),
    ("stray/strays", "outlier; or name it: events outside any step, unmatched counters"),
    ("hand/hands/handed/handing on", "pass on, forward, copy"),
    ("heed/heeds/heeded/heeding", "respect, have an effect; the contrary is ignore"),
    ("kin, its/their kin", "name the similar ones"),
    ("whereabouts", "location, path"),
    ("thereof, hereof, whereof", "of it, of which"),
    ("folk/folks", "people, users"),
    ("so to speak", "leave it out"),
    ("have/has/had the last word", "decide"),
    ("what it is without, what they are without", "name what is missing"),
    ("beside each/one other/another", "side by side, in parallel, in the same folder"),
    ("mend/mends/mended/mending", "fix, repair"),
    ("unasked, without asking", "automatically, by default"),
    ("by hand", "manually; or name the way"),
    ("at hand", "available, present, current"),
    ("bears, that/which bear", "has, supports"),
    ("forsake/forsakes/forsaken", "leave, abandon"),
    ("betimes", "early"),
    ("hitherto, heretofore", "so far"),
    ("henceforth, henceforward", "from then on"),
    ("whilst", "while"),
    ("amongst", "among"),
    ("withal", "also"),
    ("forthwith", "immediately"),
    ("wherewith, whereupon, wherein, therewith", "with which, then, in which"),
    ("naught, aught", "nothing, anything"),
    ("nigh", "near, almost"),
    ("thrice", "three times"),
)

# Programs whose texts a line may quote.
QUOTED = ("CANN", "MindSpore", "MindStudio Insight", "msProbe", "msprof", "msprof-analyze")
QUOTED += ("Nsight Systems", "Perfetto", "TensorBoard", "torch", "torch_npu", "vLLM")

# Texts of others, data, this list and its tests.
NOT_OURS = re.compile(
    r"(^|/)(LICENSE|package-lock\.json)$|/(testdata|seeds|corpus|golden)/|^test/fuzz/"
    r"|\.(bin|db|gz|ico|json|lock|npy|png|pt|safetensors|svg|woff2)$"
    r"|^tools/check_words\.py$|^test/lint/test_check_words\.py$"
)

# The parts of names and the words of texts, without the prefix of a text (f"...").
WORD = re.compile(r"(?![fFrRbB]{1,2}[\"'])(?:[A-Z]?[a-z]+|[A-Z]+(?![a-z]))")
# Between two words of a phrase: nothing in a name, blanks, `_`, marks of comments and texts.
GAP = re.compile(r"(?:[\s_#/*\"'`]|[fFrRbB]{1,2}(?=[\"']))*")
QUOTES = re.compile(r"quotes: (" + "|".join(map(re.escape, QUOTED)) + r")\b")

# std::to_string(count), " rows": a number that is not fixed, and a plural.
COUNTED = re.compile(
    r"to_string\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)\s*,\s*\""
    r" (calls|captures|cores|elements|entries|files|folders|items|kernels|lines|links|messages"
    r"|operators|packages|pairs|parameters|parts|ranks|records|replicas|requests|results|rows"
    r"|rules|runs|samples|seconds|sessions|slices|steps|tasks|tensors|terms|threads|times|tokens"
    r"|traces|values)\b"
)
FIXED = re.compile(r"\bk[A-Z]")


@cache
def phrases():
    """first word -> [(its words, whether it is a part of a name, replacement)], longest first."""
    found = {}
    for texts, better in WORDS:
        for text in texts.split(", "):
            is_name = " " not in text and WORD.sub("", text) == "" and len(WORD.findall(text)) > 1
            choices = [WORD.findall(text)] if is_name else None
            for words in choices or itertools.product(*(w.split("/") for w in text.split())):
                key = tuple(word.lower() for word in words)
                found.setdefault(key[0], []).append((key, is_name, better))
    for rows in found.values():
        rows.sort(key=lambda row: -len(row[0]))
    return found


def _length(words, places, text, start):
    """The length in words of the longest phrase that begins at ``start``, and its replacement;
    (0, "") for none. ``places``: the matches of ``words`` in the text."""
    for key, is_name, better in phrases().get(words[start], ()):
        end = start + len(key)
        if tuple(words[start:end]) != key:
            continue
        gaps = [text[places[i].end() : places[i + 1].start()] for i in range(start, end - 1)]
        if all(gap == "" if is_name else GAP.fullmatch(gap) for gap in gaps):
            return len(key), better
    return 0, ""


def faults(text):
    """(line number, the words, what to write instead) of each phrase in a text."""
    triggers = phrases().keys()
    if triggers.isdisjoint(word.lower() for word in WORD.findall(text)):
        return
    places = list(WORD.finditer(text))
    words = [place[0].lower() for place in places]
    lines = text.split("\n")
    start = 0
    while start < len(words):
        length, better = (
            _length(words, places, text, start) if words[start] in triggers else (0, "")
        )
        if length:
            line = text.count("\n", 0, places[start].start()) + 1
            if not QUOTES.search(lines[line - 1]):
                yield line, " ".join(words[start : start + length]), better
        start += length or 1


def plurals(text):
    """(line number, the words, what to write instead) of each number before a fixed plural."""
    for match in COUNTED.finditer(text):
        if not FIXED.search(match[1]):
            line = text.count("\n", 0, match.start(2)) + 1
            yield line, f'a number and "{match[2]}"', "base::CountOf (base/count_of.h)"


def main(arguments):
    roots = [Path(name) for name in arguments]
    count = 0
    for path in source_tree.tracked_files(""):
        is_asked = not roots or any(root == path or root in path.parents for root in roots)
        if not is_asked or NOT_OURS.search(str(path)):
            continue
        text = source_tree.read(path)
        is_program = path.suffix in (".cc", ".h") and not path.stem.endswith("_test")
        for line, words, better in (*faults(text), *(plurals(text) if is_program else ())):
            count += 1
            print(f"{path}:{line}: {words}: better {better}")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
