"""What the comparison of a compiled run with its reference means, in words and for programs.

A kernel is blamed only where the check of it, on its own inputs, found that it differs.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from sonde._first_difference._kernels import Compiled

# Module.layers.1.act.ReLU.forward.0.output.0, and the same of gradients
_ENTRY = re.compile(
    r"Module\.(?P<path>.*)\.(?P<kind>\w+)\.(?P<phase>forward|backward|parameters_grad)\.\d+"
)
_SHOWN = 5  # kernels of a module


@dataclass
class Verdict:
    """``differs``: by more than rounding. ``lines``: (head, text), as they are printed."""

    golden: str
    target: str
    differs: bool
    first: str
    module: str = ""
    kind: str = ""
    phase: str = ""  # forward, backward or parameters_grad
    operators: "list[str]" = field(default_factory=list)
    kernels: "list[dict[str, Any]]" = field(default_factory=list)
    lines: "list[tuple[str, str]]" = field(default_factory=list)

    def json(self) -> "dict[str, Any]":
        """For ``--format json``."""
        return {
            "golden": self.golden,
            "target": self.target,
            "differs": self.differs,
            "first": self.first,
            "module": self.module,
            "class": self.kind,
            "phase": self.phase,
            "operators": self.operators,
            "kernels": self.kernels,
            "notes": [text for head, text in self.lines if head == "note"],
        }


def conclude(golden: str, target: str, compared: "dict[str, Any]", compiled: Compiled) -> Verdict:
    """Of two runs, by the names of their back ends."""
    made = Verdict(golden, target, bool(compared["differs"]), compared["first"])
    if made.differs:
        _add_place(made, compared["pairs"][compared["first_pair"]], compiled)
    else:
        values = sum(pair.get("values", 0) for pair in compared["pairs"])
        equal = sum(pair.get("equal", 0) for pair in compared["pairs"])
        text = (
            f"{values} values of modules (with gradients, where it trains), {equal} of them equal"
        )
        made.lines.append(("compared", text))
    _add_check(made, compiled)
    if compiled.random and made.differs:
        text = f"compiled code draws random numbers: {', '.join(compiled.random[:_SHOWN])}; "
        made.lines.append(("note", text + "what depends on them may differ without a fault"))
    made.lines.append(("note", "what no module of torch gets or gives is not compared"))
    return made


def _add_place(made: Verdict, pair: "dict[str, Any]", compiled: Compiled) -> None:
    found = _ENTRY.match(pair["place"])
    if found is not None:
        made.module, made.kind, made.phase = found["path"], found["kind"], found["phase"]
        where = "" if made.phase == "forward" else ", in backward"
        made.lines.append(("module", f"{made.module} ({made.kind}){where}"))
    made.lines += [("", text) for text in pair["evidence"]]
    for site in compiled.sites_of(made.module, made.phase not in ("", "forward")):
        made.operators += [each for each in site["operators"] if each not in made.operators]
        made.kernels.append(_kernel(site, compiled))
    if made.operators:
        made.lines.append(("operators", ", ".join(made.operators)))
    for kernel in made.kernels[:_SHOWN]:
        made.lines.append(("kernel", _in_words(kernel)))
    if len(made.kernels) > _SHOWN:
        made.lines.append(("", f"and {len(made.kernels) - _SHOWN} more kernels of this module"))
    if found is not None and compiled.sites and not made.kernels:
        made.lines.append(("note", "no kernel is known to compute for this module"))


def _kernel(site: "dict[str, Any]", compiled: Compiled) -> "dict[str, Any]":
    rows = compiled.checks_of(site)
    results = {row["result"] for row in rows}
    words = ("differs", "not checked", "agrees")  # the worst of its values
    return {
        "kernel": site["kernel"],
        "check": next((word for word in words if word in results), "not checked"),
        "lines": site["lines"],
        "operators": site["operators"],
        "call": f"{site['file']}({site['line']})",
    }


_CHECKS = {
    "differs": "differs from eager operators on its own inputs",
    "agrees": "agrees with eager operators on its own inputs",
    "not checked": "not checked by itself",
}


def _in_words(kernel: "dict[str, Any]") -> str:
    lines = f" ({kernel['lines'][0]})" if kernel["lines"] else ""
    return f"{kernel['kernel']}{lines}: {_CHECKS[kernel['check']]}; {kernel['call']}"


def _add_check(made: Verdict, compiled: Compiled) -> None:
    """What the check of all generated kernels found."""
    if not compiled.checks:
        return
    differing = compiled.differing()
    text = f"{compiled.checked()} of {len(compiled.checks)} values of generated kernels checked"
    made.lines.append(("kernels", f"{text} by themselves, {len(differing)} differ"))
    for row in differing[:_SHOWN]:
        where = ", ".join(part for part in (row["module"], row["lines"].split(", ")[0]) if part)
        error = f"{float(row['error']):.3g} of {float(row['scale']):.3g}"
        text = f"{row['kernel']} ({where}): off by {error}, rounding explains "
        made.lines.append(("", f"{text}{float(row['explained']):.3g}"))
    if (
        made.differs
        and not differing
        and any(kernel["check"] == "agrees" for kernel in made.kernels)
    ):
        text = (
            "the kernels that could be checked compute what their graph says: look for the fault "
        )
        made.lines.append(("note", text + "in how the graph was made (decompositions, passes)"))


def text_of(made: Verdict) -> str:
    """For people."""
    what = "first difference" if made.differs else "no difference beyond rounding"
    lines = [f"{made.golden} against {made.target}: {what}: {made.first}"]
    if not made.differs:
        lines = [f"{made.golden} against {made.target}: {what}"]
    lines += [f"  {head:<11}{text}" for head, text in made.lines]
    return "\n".join(lines)
