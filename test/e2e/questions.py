"""What the commands answer to a question: questions.txt has where each of them says it."""

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import corpus

LIST = Path(__file__).with_name("questions.txt")


@dataclass(frozen=True)
class Source:
    """Who is asked, where the answer is, in which unit and how exactly it is printed."""

    command: str
    place: str
    unit_ns: float
    near_ns: float


def questions() -> dict[str, list[Source]]:
    """The sources of each question."""
    found = defaultdict(list)
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            question, command, place, unit, near = line.split(" | ")
            found[question].append(Source(command, place, float(unit), float(near)))
    return found


def of_statement(asked: corpus.Asked, statement: str) -> list[float] | None:
    """First cells of the rows of a statement."""
    by = "trace, process_id, device_id" if asked.is_job else "process_id, device_id"
    rows = asked.rows(statement.replace("GROUP BY BY", f"GROUP BY {by}"))
    cells = [next(iter(row.values())) for row in rows]
    return [float(str(cell)) for cell in cells if cell is not None] or None


def of_steps(summary: str, column: str) -> list[float] | None:
    """A column of the table of steps; cells lie below the ends of their headings."""
    lines = summary.splitlines()
    at = next((i for i, line in enumerate(lines) if line.startswith("Mean step")), None)
    if at is None:
        return None
    if "without" in lines[at] and column != "steps":
        return None  # warm-up and fragments, which others count
    headings = [(m[0], m.end()) for m in re.finditer(r"\S+(?: \S+)*", lines[at + 1])]
    end = next((end for heading, end in headings if heading == column), None)
    if end is None:
        return None
    cells = []
    for line in lines[at + 2 :]:
        if not line.startswith("  "):
            break
        is_unknown = " no work of a device is known" in line or line.endswith("-")
        if not is_unknown:
            cells.append(float(line[:end].split()[-1]))
    return cells or None


def of_operators(summary: str, heading: str) -> list[float] | None:
    """The largest time of a table of a summary."""
    part = summary.partition(f"{heading} (")[2].splitlines()
    if len(part) < 3:
        return None
    times = [float(m[1]) for line in part[2:3] if (m := re.search(r"(\d+\.\d{3}) +\S+%$", line))]
    return times or None


LOST = re.compile(r"(\d+) of \d+ calls that launched work ha(?:s|ve) none")


def of_lost(summary: str) -> list[float] | None:
    """Launches without work, from the sentence about them."""
    found = LOST.search(summary)
    if found:
        return [float(found[1])]
    return [0.0] if "launches with their work 100.0%" in summary else None


def of_page(page: corpus.Page, result: str, column: str) -> list[float] | None:
    """The mean of a column for each device of each trace."""
    traces = [trace["id"] for trace in page.ask("/api/session")["traces"]]
    numbers = ",".join(map(str, traces))
    answer = page.ask(f"/api/results?traces={numbers}&name={result}")
    names = [entry["name"] for entry in answer["columns"]]
    sums = defaultdict(list)
    for part in answer["parts"]:
        rows = part["rows"]
        for row in json.loads(rows) if isinstance(rows, str) else rows:
            cells = dict(zip(names, row, strict=True))
            sums[part["trace"], cells["process_id"], cells["device_id"]].append(
                float(cells[column])
            )
    return [sum(values) / len(values) for values in sums.values()] or None


def of_cluster(asked: corpus.Asked, column: str) -> list[float] | None:
    """The mean of a column for each rank.

    The mode gives what the traces deliver; where their rows say otherwise, a finding says so.
    """
    if any(finding["rule"] == "delivered" for finding in asked.findings):
        return None
    sums = defaultdict(list)
    for row in asked.steps_of_cluster:
        cells = {re.sub(r"[ (]+", "_", name.lower()).strip(")"): cell for name, cell in row.items()}
        if cells["type"] == "rank":
            sums[cells["index"]].append(float(str(cells[column])))
    return [sum(values) / len(values) for values in sums.values()] or None


def of_overall(advised: dict, row: str) -> list[float] | None:
    """A row of the overview of a single rank."""
    rows = advised.get("Overall Summary", {"data": []})["data"]
    return [float(time) for name, time, *_ in rows if name == row] or None


def of_compare(asked: corpus.Asked, stage: str) -> list[float] | None:
    """A time of a step; none where warm-up and fragments are left out, since others count all.

    "steps" is how many of them count.
    """
    stages = asked.compared.get("stages", [])
    if stage == "steps":
        return [float(stages[0]["base_steps"])] if has_steps(asked) and stages else None
    if any("left out" in notice for notice in asked.compared.get("notices", [])):
        return None
    return [one["base_ms"] for one in stages if one["stage"] == stage] or None


def has_steps(asked: corpus.Asked) -> bool:
    """Whether the trace has any: else `compare` takes all of it for one."""
    return not any("has no steps" in notice for notice in asked.compared.get("notices", []))


def of_mode(asked: corpus.Asked, statement: str) -> list[float] | None:
    """First cells of a table of a cluster mode; none of a trace alone, or where no rank has it."""
    if len(asked.ranks) < 2:
        return None
    try:
        return of_statement(asked, statement)
    except AssertionError as error:
        if "no rank holds" in str(error):
            return None
        raise


def of_copies(summary: str) -> list[float] | None:
    """The sum of the copies by direction."""
    times = []
    for line in summary.partition("Copies by direction")[2].splitlines()[2:]:
        if not line.startswith("  "):
            break
        times.append(float(line.split()[-1]))
    return [sum(times)] if times else None


def of_share(summary: str, what: str) -> list[float] | None:
    """A share of what a summary speaks for."""
    found = re.search(rf"{what} (\d+\.\d)%", summary)
    return [float(found[1])] if found else None


def answer_of(source: Source, asked: corpus.Asked, page: corpus.Page) -> list[float] | None:
    """In ns, or as a number; None where the command does not say."""
    kind, _, rest = source.place.partition(" ")
    if kind == "sql":
        found = of_statement(asked, rest)
    elif kind == "step":
        found = of_steps(asked.summary, rest)
    elif kind == "top":
        found = of_operators(asked.summary, rest)
    elif kind == "lost":
        found = of_lost(asked.summary)
    elif kind == "mode":
        found = of_mode(asked, rest)
    elif kind == "copies":
        found = of_copies(asked.summary)
    elif kind == "covered":
        found = None if asked.is_job else of_share(asked.summary, rest)
    elif kind == "cluster":
        found = of_cluster(asked, rest)
    elif kind == "compare":
        found = of_compare(asked, rest)
    elif kind == "page":
        found = of_page(page, *rest.split())
    else:
        assert kind == "overall", source
        found = of_overall(asked.advised, rest) if not asked.is_job else None
    return None if found is None else sorted(value * source.unit_ns for value in found)


def agree(answers: dict[Source, list[float]]) -> bool:
    """Whether all are the same to what the coarser of two prints."""
    first, *others = answers.items()
    return all(
        len(first[1]) == len(values)
        and all(abs(a - b) <= first[0].near_ns + source.near_ns
                for a, b in zip(first[1], values, strict=True))
        for source, values in others
    )  # fmt: skip


def disagreement(question: str, asked: corpus.Asked, page: corpus.Page) -> dict[str, list[float]]:
    """The answers by command where they differ."""
    answers = {}
    for source in questions()[question]:
        answer = answer_of(source, asked, page)
        if answer is not None:
            answers[source] = answer
    if not answers or agree(answers):
        return {}
    return {source.command: values for source, values in answers.items()}
