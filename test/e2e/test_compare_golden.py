"""`sonde compare` against what the reference tool made of the same traces, cell by cell.

Every recorded run whose inputs are there is repeated. Times of the store are whole nanoseconds,
those of the reference's texts have binary fractions: numbers agree to a nanosecond for each of the
durations in a sum, and what is rounded may differ by a step of the rounding where it stands on the
border. What differs for a reason is named below, and in docs/compare.md.
"""

import csv
import math
import os
import re
import sqlite3
from pathlib import Path

import pytest
from workbook import sheets_of

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
DATA = Path(os.environ.get("SONDE_SHARED_DATA", SHARED))
GOLDEN = DATA / "golden" / "msprof-analyze" / "compare"
HEADING_ROWS = 3
NUMBER = re.compile(r"-?\d+\.?\d*(?:[eE][-+]?\d+)?")


def golden_runs():
    """Recorded runs whose inputs are there: the trace of a GPU was not kept."""
    if not GOLDEN.is_dir():
        return []
    return sorted(
        run
        for run in GOLDEN.iterdir()
        if "gpu_trace.json" not in (run / "command.txt").read_text(encoding="utf-8")
    )


def compared_files():
    """Every file that the tests here read as what has to come out."""
    return {sheet for run in golden_runs() for sheet in run.glob("sheet_*.csv")}


def words_of(run):
    """The options of the recorded command, its inputs as they lie here."""
    words = (run / "command.txt").read_text(encoding="utf-8").split()[2:]
    for option in ("-d", "-bp"):
        place = words.index(option) + 1
        words[place] = str(DATA / "ascend_pt" / words[place])
    place = words.index("-o")
    return words[:place] + words[place + 2 :]


def golden_rows(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))[HEADING_ROWS - 1 :]


def plain(text):
    """Texts as they are meant: line ends of a workbook are escaped."""
    return str(text).replace("_x000D_", "").replace("\r", "").strip("\n")


def number(cell):
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None


def close(ours, theirs, slack):
    return math.isclose(ours, theirs, rel_tol=1e-6, abs_tol=slack)


def same_cell(ours, theirs, slack):
    """Numbers, also those within a text, to the slack."""
    a, b = number(ours), number(theirs)
    if a is not None and b is not None:
        return close(a, b, slack)
    ours, theirs = plain(ours), plain(theirs)
    if ours == theirs:
        return True
    if NUMBER.sub("#", ours) != NUMBER.sub("#", theirs):
        return False
    pairs = zip(NUMBER.findall(ours), NUMBER.findall(theirs), strict=True)
    return all(close(float(x), float(y), slack) for x, y in pairs)


def slack_of(sheet, heading, run):
    """What rounding may do to a column of whole nanoseconds beside one of binary fractions."""
    if sheet.startswith("Memory") and any(sides_of_databases(run)):
        if "Details" in heading:
            return 0.26  # there moments are doubles of microseconds, which are 0.25 apart
        return 2e-3 if "ms" in heading else 1e-9
    if "text" not in run.name:
        return 1e-9
    if "Diff" in heading:
        return 2e-4 if "Ratio" in heading else 0.0101
    if sheet == "KernelCompare":
        return 0.0101
    # op_statistic.csv holds sums that were rounded before; modules sum hundreds of kernels.
    return 1e-2 if sheet in ("KernelTypeCompare", *COLUMNS) else 2.5e-3


def without_residues(rows):
    """The overview without what is nothing but the error of sums of fractions, and without the
    ratios of such small rests of large sums."""
    kept = []
    for row in rows:
        if row[0] == "\tOther":
            if all(abs(number(cell) or 0) < 1e-9 for cell in (row[1], row[4])):
                continue
            row = [*row[:-1], "a ratio of rests"]
        kept.append(row)
    return kept


def without_copies(rows):
    """Copies of memory count as free time, as where the reference does not find their stream."""
    free = next(row for row in rows if row[0] == "Free Time")
    rows = [row for row in rows if row[0] != "\tSDMA"]
    return [["\tFree", *free[1:]] if row[0] == "\tFree" else row for row in rows]


def names_with_several_connections(run):
    """Operators that the reference counts once for each connection that a database gives them."""
    names = set()
    for word in words_of(run):
        for path in Path(word).glob("ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_*.db"):
            database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
            rows = database.execute(
                "SELECT DISTINCT s.value FROM PYTORCH_API p JOIN STRING_IDS s ON s.id = p.name"
                " JOIN CONNECTION_IDS c ON c.id = p.connectionId GROUP BY p.rowid"
                " HAVING count(*) > 1"
            )
            names.update(name for (name,) in rows)
            database.close()
    return names


# Columns of each side: shapes and types, kernels, times that hold them; then those of differences
# and stacks of operators.
COLUMNS = {
    "ModuleCompareStatistic": ([((), 5, (6, 8)), ((), 9, (10, 12))], (13, 14, 15), ()),
    "ModuleCompare": ([((), 5, (6, 7)), ((), 9, (10, 11))], (12, 13, 14), (15, 16)),
    "OperatorCompare": ([((2, 3), 4, (5,)), ((7, 8), 9, (10,))], (11, 12), ()),
    "MemoryCompare": ([((2, 3), 4, ()), ((7, 8), 9, ())], (), ()),
}


def sides_of_databases(run):
    """Whether base and comparison are databases."""
    words = words_of(run)
    return ["/db/" in words[words.index(option) + 1] for option in ("-bp", "-d")]


def line_order(line):
    """Lines of an operator that stands in the tree several times come in another order there."""
    return NUMBER.sub("#", line), [round(float(text)) for text in NUMBER.findall(line)]


def lose_what_databases_lack(name, ours, theirs, run):
    """Blanks cells, in both, that the reference takes from a database in another way.

    It shows types of data as shapes, and other numbers of tasks; it has no stacks of operators, and
    loses kernels of operators with several connections: what it found has to be there.
    """
    sides, differences, stacks = COLUMNS[name]
    are_databases = sides_of_databases(run)
    for a, b in zip(ours, theirs, strict=False):
        loses = False
        for is_database, (shapes, kernels, times) in zip(are_databases, sides, strict=True):
            for at in shapes:
                a[at] = b[at] = "" if is_database else plain(b[at]).replace("N/A", "")
            if not is_database:
                continue
            found = [re.sub(r", \d+, ", ", ", plain(row[kernels])).split("\n") for row in (a, b)]
            if name.startswith("Module"):
                for at in times:
                    more = (number(a[at]) or 0) - (number(b[at]) or 0)
                    assert more > -1e-6, (name, a, b)
                    loses = loses or more > 1e-6
                    a[at] = b[at] if more > 1e-6 else a[at]
            found = [sorted(lines, key=line_order) for lines in found]
            a[kernels], b[kernels] = ("", "") if loses else ("\n".join(x) for x in found)
        for at in stacks if any(are_databases) else ():
            a[at] = b[at] = ""
        for at in differences if loses else ():
            a[at] = b[at] = ""


def explained(name, rows, run):
    """The rows without the cells whose difference docs/compare.md explains."""
    if name == "OverallMetrics":
        return without_copies(without_residues(rows))
    if name == "ApiCompare":
        repeated = names_with_several_connections(run)
        kept = (1, 3, 7)  # the name, and the time that is not counted twice
        return [
            [cell if at in kept or row[1] not in repeated else "" for at, cell in enumerate(row)]
            for row in rows
        ]
    return rows


def compare_sheet(name, ours, theirs, run):
    headings = theirs[0]
    assert [plain(cell) for cell in ours[0]] == headings, name
    ours, theirs = explained(name, ours, run), explained(name, theirs, run)
    if name in COLUMNS:
        lose_what_databases_lack(name, ours[1:], theirs[1:], run)
    slacks = [slack_of(name, heading, run) for heading in headings]
    wrong = []
    for at, (a, b) in enumerate(zip(ours[1:], theirs[1:], strict=False), start=HEADING_ROWS + 1):
        a = a + [""] * (len(b) - len(a))
        for column, (x, y) in enumerate(zip(a, b, strict=True)):
            if not same_cell(x, y, slacks[column]):
                cell = f"{name} row {at} {headings[column]}"
                wrong.append(f"{cell}: {str(x)[-400:]!r} is not {str(y)[-400:]!r}")
    assert not wrong, "\n".join(wrong[:10]) + f"\n{len(wrong)} cells differ"
    assert len(ours) == len(theirs), (name, len(ours), len(theirs))


@pytest.mark.parametrize("run", golden_runs(), ids=lambda run: run.name)
def test_recorded_run(run, run_sonde, shared_data, tmp_path):
    assert shared_data.is_dir()
    done = run_sonde("compare", *words_of(run), "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("performance_comparison_result_*.xlsx")
    ours = sheets_of(path)
    recorded = {sheet.stem.removeprefix("sheet_"): sheet for sheet in run.glob("sheet_*.csv")}
    assert set(ours) == set(recorded)
    for name in ours:
        compare_sheet(name, ours[name][HEADING_ROWS - 1 :], golden_rows(recorded[name]), run)
