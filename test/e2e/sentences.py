"""What is wrong with the sentences about a trace: each check gives the faults that it found."""

import re
from collections.abc import Callable

from corpus import Asked, slow_ranks

Check = Callable[[Asked], list[str]]

SHARE = re.compile(r"(?<![\d.+-])(\d+(?:\.\d+)?) ?%(?! (?:longer|more|slower|higher|faster|above))")
# 100.04 % is printed as 100.0 %, as sums of rounded parts are.
MOST_PERCENT = 100.05
NEGATIVE_FREE = re.compile(r"\b[Ff]ree[^\n%]{0,20}\s-\d")
TIMES = (
    "computing_ns", "not_overlapped_ns", "overlapped_ns", "communication_ns", "free_ns",
    "stage_ns", "bubble_ns", "copying_ns", "idle_ns",
)  # fmt: skip
# What these gain is idle time of the device, whatever time they name.
WAITS = {"device_waits", "small_kernels", "host_synchronisation"}
ROUNDING_US = 1.0


def evidence_runs(asked: Asked) -> list[str]:
    """Each finding has a statement, and that has rows."""
    faults = []
    for finding in asked.findings:
        statement = finding["evidence"]
        if not statement:
            faults.append(f"no evidence: {finding['message']}")
        elif not asked.rows(f"SELECT count(*) AS n FROM ({statement})")[0]["n"]:
            faults.append(f"nothing comes of '{statement}': {finding['message']}")
    return faults


def advice_has_evidence(asked: Asked) -> list[str]:
    """Each advice counts what it is about, and has a statement with rows."""
    faults = []
    for one in asked.advice:
        name = f"{one['rule']}: {one['description']}"
        if not one["occurrences"]:
            faults.append(f"no evidence: {name}")
        if not one["statement"]:
            faults.append(f"no statement: {name}")
        elif not asked.rows_behind(one):
            faults.append(f"nothing comes of '{one['statement']}': {name}")
    return faults


def shares_are_parts(asked: Asked) -> list[str]:
    """Nothing is more than all of it."""
    return [
        f"{command}: {share} %: {line.strip()}"
        for command, text in asked.everything.items()
        for line in text.splitlines()
        for share in SHARE.findall(line)
        if float(share) > MOST_PERCENT
    ]


def gains_are_there(asked: Asked) -> list[str]:
    """A gain is at most the time it is taken from: what the advice names, or the idle time."""
    idle = (
        "SELECT coalesce(sum(end_ns - start_ns), 0) AS ns FROM overlap_analysis WHERE type = 'Idle'"
    )
    idle_us = float(str(asked.rows(idle)[0]["ns"])) / 1e3
    faults = []
    for one in asked.advice:
        gain, total = one["gain(us)"], one["total_time(us)"]
        if gain is None:
            continue
        most = idle_us if one["rule"] in WAITS else total
        if gain < 0 or (most is not None and gain > most + ROUNDING_US):
            faults.append(f"{one['rule']} gains {gain} us of {most} us")
    return faults


GRAPHS = re.compile(r"CUDA [Gg]raph|ACL [Gg]raph|\bgraph mode\b")
FUSED = re.compile(r"fused (?:optimizer|Adam)|Fused ?Adam", re.IGNORECASE)
FOLLOWED = {
    GRAPHS: "SELECT count(*) AS n FROM slice WHERE name ILIKE '%GraphLaunch%'",
    FUSED: "SELECT count(*) AS n FROM slice WHERE name ILIKE '%\\_fused\\_adam%' ESCAPE '\\' "
           "OR name ILIKE '%FusedAdam%'",
}  # fmt: skip


def advice_is_news(asked: Asked) -> list[str]:
    """Nothing is advised that the trace does already."""
    return [
        f"{one['rule']} advises what the trace does: {one['suggestion']}"
        for one in asked.advice
        for words, statement in FOLLOWED.items()
        if words.search(one["suggestion"]) and asked.rows(statement)[0]["n"]
    ]


def one_slow_rank(asked: Asked) -> list[str]:
    """All commands that say which rank is slow say the same."""
    named = {
        command: ranks
        for command, text in asked.everything.items()
        if (ranks := slow_ranks(text)) is not None
    }
    if len({frozenset(ranks) for ranks in named.values()}) > 1:
        return [f"slow ranks: {named}"]
    return [
        f"{command} accuses rank {rank}, which is not there"
        for command, ranks in named.items()
        for rank in ranks
        if rank not in asked.ranks
    ]


def times_are_times(asked: Asked) -> list[str]:
    """No part of a step is below zero, and parts add up."""
    least = ", ".join(f"min({name}) AS {name}" for name in TIMES)
    row = asked.rows(f"SELECT {least} FROM step_trace")[0]
    faults = [f"{name}: {row[name]}" for name in TIMES if (row[name] or 0) < 0]
    apart = asked.rows(
        "SELECT * FROM step_trace WHERE computing_ns + not_overlapped_ns + free_ns - bubble_ns "
        "<> stage_ns OR overlapped_ns + not_overlapped_ns <> communication_ns"
    )
    faults += [f"parts do not add up: {row}" for row in apart[:3]]
    for command, text in asked.everything.items():
        faults += [f"{command}: {line.strip()}" for line in text.splitlines()
                   if NEGATIVE_FREE.search(line)]  # fmt: skip
    return faults


def tables_of(summary: str) -> dict[str, list[str]]:
    """Lines of the tables of a summary, by their headings."""
    tables: dict[str, list[str]] = {}
    for part in summary.split("\n\n"):
        lines = part.strip("\n").splitlines()
        if len(lines) > 2 and lines[1].startswith("  "):
            tables[lines[0]] = lines[2:]
    return tables


ZERO = re.compile(r"^0(\.0+)?%?$")


def zeros_have_a_reason(asked: Asked) -> list[str]:
    """No table of times of a summary has nothing but zeros."""
    faults = []
    for heading, lines in tables_of(asked.summary).items():
        cells = [
            cell for line in lines for cell in line.split() if re.fullmatch(r"\d+\.\d+%?", cell)
        ]
        if cells and all(ZERO.match(cell) for cell in cells):
            faults.append(f"zeros alone: {heading}: {lines[0].strip()}")
    return faults


CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        evidence_runs, advice_has_evidence, shares_are_parts, gains_are_there, advice_is_news,
        one_slow_rank, times_are_times, zeros_have_a_reason,
    )
}  # fmt: skip
