"""Files of results as tables of cells, and the columns in which two of them differ.

No code of the project reads them: csv, json, sqlite3. Moments stay integers of nanoseconds.
"""

import csv
import json
import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import ascend_reader as reader

Row = dict[str, object]
Tables = dict[str, list[Row]]

NEAR_US = 0.2  # of a sum of times that were rounded to nanoseconds
# These stand for a column: see differing_columns.
TABLE = "(table)"
ROWS = "(rows)"
LACKING = "(rows that ours lack)"

# Columns of databases that hold numbers of STRING_IDS, and those that join tables.
TEXT_IDS = {
    "name", "taskType", "opType", "inputDtypes", "inputFormats", "inputDataTypes", "inputShapes",
    "outputFormats", "outputDataTypes", "outputShapes", "attrInfo", "groupName", "opName",
    "algType", "component", "operatorName", "type", "mode", "stack",
}  # fmt: skip
NOT_TEXT = {("CANN_API", "type"), ("PYTORCH_API", "type"), ("NPU_INFO", "name")}
TASK_IDS = "globalTaskId"


@dataclass(frozen=True)
class Difference:
    """A column that differs on purpose: which sets, file and table, and why."""

    sets: str
    file: str
    table: str
    column: str
    reason: str

    def is_of(self, name: str) -> bool:
        """Whether the line is about that set."""
        return fnmatchcase(name, self.sets)

    def covers(self, name: str, file: str, table: str, column: str) -> bool:
        """Whether the line is about that column of that set."""
        places = ((name, self.sets), (file, self.file), (table, self.table), (column, self.column))
        return all(fnmatchcase(given, pattern) for given, pattern in places)


def listed(path: Path) -> list[Difference]:
    """Lines 'sets | file | table | column | reason' of a list; others begin with '#'."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [line.split(" | ") for line in lines if line and not line.startswith("#")]
    assert all(len(row) == 5 and row[4].strip() for row in rows), path
    return [Difference(*(cell.strip().replace("[", "[[]") for cell in row)) for row in rows]


def flat(value: object, name: str = "") -> Row:
    """Leaves of a JSON value by the names on the way."""
    if not isinstance(value, (dict, list)):
        return {name: value}
    items = value.items() if isinstance(value, dict) else enumerate(value)
    leaves: Row = {}
    for key, inner in items:
        leaves.update(flat(inner, f"{name}.{key}" if name else str(key)))
    return leaves


def tables_of_timeline(events: list[dict]) -> Tables:
    """Events by the layer (name of the process), phase and category; tracks by their names."""
    layers, threads = {}, {}
    for event in events:
        if event["ph"] == "M" and event["name"] == "process_name":
            layers[event["pid"]] = event["args"]["name"]
        if event["ph"] == "M" and event["name"] == "thread_name":
            threads[event["pid"], event["tid"]] = event["args"]["name"]
    tables: Tables = defaultdict(list)
    for event in events:
        layer = layers.get(event.get("pid"), "no layer")
        row = flat({key: value for key, value in event.items() if key not in ("pid", "tid", "ph")})
        row["layer"] = layer
        if event["ph"] != "M":
            row["track"] = threads.get((event.get("pid"), event.get("tid")), "no name")
        tables[f"{event['ph']} {event.get('cat', layer)}"].append(row)
    return tables


def tables_of_json(path: Path) -> Tables:
    """A timeline, or nested values: a row for each, with its place."""
    content = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(content, list):
        return tables_of_timeline(content)
    return {"": [{"place": place, "value": value} for place, value in flat(content).items()]}


def tables_of_database(path: Path) -> Tables:
    """Texts in place of their numbers, so for modules, and the moments of tasks for theirs."""
    database = reader.open_db(path)
    names = [
        row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type='table'")
    ]
    texts = reader.strings_of(database) if "STRING_IDS" in names else {}
    joined: dict[str, dict] = {}
    if "TASK" in names:
        joined[TASK_IDS] = dict(database.execute(f"SELECT {TASK_IDS}, startNs FROM TASK"))
    if "ENUM_MODULE" in names:
        joined["moduleId"] = dict(database.execute("SELECT id, name FROM ENUM_MODULE"))
    tables: Tables = {}
    for table in names:
        columns = reader.columns_of(database, table)
        tables[table] = []
        for cells in database.execute(f'SELECT * FROM "{table}"'):
            row: Row = dict(zip(columns, cells, strict=True))
            for column, cell in row.items():
                if column in TEXT_IDS and (table, column) not in NOT_TEXT and isinstance(cell, int):
                    row[column] = texts.get(cell, cell)
                if column in joined:
                    row[column] = joined[column].get(cell)
            tables[table].append(row)
    database.close()
    return tables


def tables_of(path: Path) -> Tables:
    """The tables of a file of results; one without content has none."""
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8-sig") as file:
            return {"": [dict(row) for row in csv.DictReader(file)]}
    if path.suffix == ".json":
        return tables_of_json(path)
    if path.suffix == ".db":
        return tables_of_database(path)
    assert path.stat().st_size == 0, f"{path.name}: nothing reads this"
    return {}


def number(cell: object) -> float | int | None:
    """The number in a cell, exact where it is whole."""
    if isinstance(cell, (int, float)) and not isinstance(cell, bool):
        return cell
    text = str(cell).strip()
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return None


def same(ours: object, theirs: object) -> bool:
    """Texts that are equal, numbers to a rounding."""
    if ours == theirs:
        return True
    a, b = number(ours), number(theirs)
    if a is None or b is None:
        return False
    if isinstance(a, int) and isinstance(b, int) and max(a, b) > 2**53:
        return a == b
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=NEAR_US if max(a, b) > NEAR_US else 1e-4)


def order(cell: object) -> tuple:
    """Texts before numbers, each by size."""
    value = number(cell)
    return (0, str(cell), 0) if value is None else (1, "", value)


def sorted_by(rows: list[Row], columns: list[str]) -> list[Row]:
    """Rows in the order of their texts, then of their numbers."""

    def key(row: Row) -> list[tuple]:
        cells = [order(row.get(column)) for column in columns]
        return [c for c in cells if c[0] == 0] + [c for c in cells if c[0] == 1]

    return sorted(rows, key=key)


def lacking(theirs: list[Row], ours: list[Row], columns: list[str]) -> bool:
    """Whether ours lack a row of theirs, by texts and whole numbers alone."""

    def is_exact(column: str) -> bool:
        cells = [row.get(column) for row in [*theirs, *ours]]
        return not any(isinstance(number(cell), float) for cell in cells)

    exact = [column for column in columns if is_exact(column)]
    there = Counter(tuple(str(row.get(column)) for column in exact) for row in ours)
    return bool(Counter(tuple(str(row.get(c)) for c in exact) for row in theirs) - there)


def differing_columns(theirs: list[Row], ours: list[Row], excused: set[str]) -> set[str]:
    """Names of columns of theirs that ours do not have with the same cells, in the same rows.

    Rows may come in any order. TABLE: ours have none of them. ROWS: ours are more or fewer; then
    rows are compared where that is excused, and LACKING says that ours do not have all of theirs.
    """
    if theirs and not ours:
        return {TABLE}
    columns = list(dict.fromkeys(column for row in theirs for column in row))
    wrong = {column for column in columns if not any(column in row for row in ours)}
    if len(theirs) != len(ours):
        kept = [column for column in columns if column not in wrong | excused]
        is_short = ROWS in excused and lacking(theirs, ours, kept)
        return wrong | {ROWS} | ({LACKING} if is_short else set())
    for column in columns:
        a, b = (sorted((row.get(column) for row in rows), key=order) for rows in (ours, theirs))
        if not all(same(x, y) for x, y in zip(a, b, strict=True)):
            wrong.add(column)
    kept = [column for column in columns if column not in wrong | excused]
    pairs = zip(sorted_by(ours, kept), sorted_by(theirs, kept), strict=True)
    apart = Counter(c for a, b in pairs for c in kept if not same(a.get(c), b.get(c)))
    return wrong | set(apart)
