"""Compares every planted pair and reports whether the summary named the fault's kind and place."""

import json
import re
from dataclasses import dataclass

from faults import KINDS
from pairs import golden_of, name_of

ROUNDING = ("rounding", "backend")


@dataclass
class Verdict:
    case: dict
    kind: str
    place: str
    text: str
    hit: bool
    alarm: bool

    def line(self):
        case = self.case
        planted = f"{case['kind']} {case['place'] or ''}"
        mode = f"{case['level']} {case['task']} {case['summary']}"
        return f"{name_of(case)}: {planted.strip()} ({mode}) -> {self.kind}: {self.place}"


def apis_below(construct, module):
    """Names of all calls below a module, itself included, by the tree of a mix dump."""
    whole = not module
    prefix = f"Module.{module}."
    found = set()
    for name in construct:
        seen = 0
        while name and seen < 100:
            if whole or name.startswith(prefix):
                found.add(name)
                break
            name, seen = construct.get(name), seen + 1
    below = set()
    for name in construct:
        at, seen = name, 0
        while at and seen < 100:
            if at in found:
                below.add(name)
                break
            at, seen = construct.get(at), seen + 1
    return below


def call_of(text):
    """The call in a row's full name."""
    found = re.match(
        r"(Module\..*?\.(?:forward|backward|parameters_grad)\.\d+|.*?\.\d+\.(?:forward|backward))",
        text,
    )
    return found.group(1) if found else text


def right_place(case, place, text, construct):
    """`construct` of the golden run in mode mix, where modules and their calls are recorded."""
    kind = case["kind"]
    if kind == "input":
        # Whatever gets the input first; in the two towers either does.
        first = ("embed", "stem", "down.0", "layers.0", "router", "left.0", "right.0")
        below = set().union(*(apis_below(construct, name) for name in first))
        call = call_of(place)
        return call in below or construct.get(call, "") is None
    if kind == "mask":
        return call_of(place) in apis_below(construct, "layers.0")
    if case["place"] and place.startswith(f"Module.{case['place']}."):
        return True
    if kind == "nan_head" and "only in the target" in text:
        return True  # the planted calls themselves
    below = apis_below(construct, case["place"])
    if call_of(place) in below or (not case["place"] and place):
        return True
    if kind in ("skip", "nan_head", "reduction", "scale"):
        # Names of the golden run that the explanation gives.
        mentioned = set(re.findall(r"[A-Z]\w+\.[\w.]+\.(?:forward|backward)(?:\.\d+)?", text))
        return bool(mentioned & below)
    return False


def read_summary(text):
    """(kind, place, its lines) of the summary's first finding; steps are walked in order."""
    for part in text.split("  first      ")[1:]:
        kind, _, rest = part.partition(": ")
        place = rest.split("\n")[0]
        # What another rank did is reported by its own comparison.
        if kind not in ("no difference", "rounding only", "another rank differs"):
            return (
                kind,
                place,
                part.split("\n  module")[0] + part.partition("\n  module")[2].split("\n")[0],
            )
    kinds = [part.partition(": ")[0] for part in text.split("  first      ")[1:]]
    for kind in ("another rank differs", "rounding only"):
        if kind in kinds:
            return kind, "", ""
    return kinds[0], "", ""


def compare(probe, root, case, output):
    target, golden = root / name_of(case), root / name_of(golden_of(case))
    return probe("compare", "-tp", target, "-gp", golden, "-o", output).stdout


def construct_of(root, case):
    tree = {**golden_of(case), "level": "mix", "task": "statistics", "summary": "statistics"}
    folder = root / name_of({**tree, "training": True}) / "step0"
    path = sorted(folder.glob("*/construct.json"))[-1]  # of the rank where faults sit
    return json.loads(path.read_text())


def judge(probe, root, case, output):
    text = compare(probe, root, case, output)
    kind, place, lines = read_summary(text)
    expected = set(KINDS[case["kind"]])
    if case["summary"] == "md5":
        # Checksums do not show by how much.
        if case["kind"] in ROUNDING or {"operator differs", "not finite from here"} & expected:
            expected.add("differs, size unknown")
    if case["kind"] == "reduction" and case["level"] == "L0":
        # The outermost module's own code, of which nothing is recorded at this level.
        expected.add("changed input")
    right = kind in expected
    alarm = case["kind"] in (*ROUNDING, "nothing") and not right
    if case["kind"] not in (*ROUNDING, "nothing"):
        right = right and right_place(case, place, lines, construct_of(root, case))
    return Verdict(case, kind, place, text, right, alarm)
