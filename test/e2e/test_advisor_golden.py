"""`sonde advisor` against the reference tool's findings on the same traces, sheet by sheet.

Every recorded run is repeated; rows are compared as sets, since equal values come in any order.
What differs for a reason is named below, and in docs/advisor.md.
"""

import csv
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from workbook import sheets_of

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
DATA = Path(os.environ.get("SONDE_SHARED_DATA", SHARED))
GOLDEN = DATA / "golden" / "msprof-analyze" / "advisor"


def golden_runs():
    return sorted(run for run in GOLDEN.iterdir()) if GOLDEN.is_dir() else []


def compared_files():
    """Every file that the tests here read as what has to come out."""
    patterns = ("sheet_*.csv", "blocks.json", "operator_tuning_file.cfg")
    return {path for run in golden_runs() for pattern in patterns for path in run.glob(pattern)}


def input_of(run, folder):
    """The trace of a recorded run; those with planted triggers are made."""
    recipe = run / "input.txt"
    if not recipe.exists():
        words = (run / "command.txt").read_text(encoding="utf-8").split()
        name = words[words.index("-d") + 1]
        return DATA / "ascend_pt" / ("synth8_tp_pp_dp" if name == "synth8" else name)
    which = recipe.read_text(encoding="utf-8").split()[-1]
    made = folder / "rank0_ascend_pt"
    source = DATA / "ascend_pt" / "text" / "level1" / "rank0_ascend_pt"
    tool = DATA / "tools" / "make_advisor_triggers.py"
    subprocess.run([sys.executable, tool, source, made, which], check=True)
    return made


def words_of(run, trace):
    words = (run / "command.txt").read_text(encoding="utf-8").split()[1:]
    kept = [words[1], "-d", str(trace), "-l", "en"]
    if "-cv" in words:
        kept += ["-cv", words[words.index("-cv") + 1]]
    if "-bp" in words:
        kept += ["-bp", str(trace.parent / "rank1_ascend_pt")]
    return kept


def golden_sheets(run):
    sheets = {}
    for path in sorted(run.glob("sheet_*.csv")):
        with path.open(newline="", encoding="utf-8") as file:
            sheets[path.stem.removeprefix("sheet_")] = list(csv.reader(file))
    return sheets


def plain(text):
    return str(text).replace("_x000D_", "").replace("\r", "").strip("\n")


def number(cell):
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None


def slack_of(sheet, run):
    """Times of the store are whole nanoseconds, those of texts have fractions of one."""
    is_sum = sheet in ("Byte_Alignment_Analysis", "AI_Core_Frequency_Issues") or "compare" in sheet
    return 0.011 if is_sum and ("text" in run.name or "trig" in run.name) else 1e-9


def same_cell(ours, theirs, slack):
    a, b = number(ours), number(theirs)
    if a is not None and b is not None:
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=slack)
    # Equal values come in any order: lines of a text are compared as a set.
    ours = {"true": "True", "false": "False"}.get(ours, plain(ours))
    return sorted(ours.split("\n")) == sorted(plain(theirs).split("\n"))


def same_row(ours, theirs, slack):
    width = max(len(ours), len(theirs))
    pad = [[*row, *[""] * (width - len(row))] for row in (ours, theirs)]
    return all(same_cell(a, b, slack) for a, b in zip(*pad, strict=True))


def without_copies(rows):
    """Copies of memory on the streams that compute count as SDMA, which the reference does not find
    in these captures: both together are the free time."""
    return [row for row in rows if row[0] not in ("    -- SDMA", "    -- Free")]


def expected(name, rows, run):
    """The recorded rows without what is different for a reason."""
    if name == "Overall_Summary":
        rows = without_copies(rows)
        if run.name.startswith("trig_all"):
            # Planted communication operations have counters of vector units: they are no kernels.
            rows = [row for row in rows if row[0] != "    -- Vector"]
    if name == "problems" and "_db" in run.name:
        # Databases have call stacks: the reference's query for them fails.
        rows = [row for row in rows if row[0] != "Affinity API Issues"]
    return rows


def file_name(sheet):
    """As the recorded files are called after their sheets."""
    return re.sub(r"[^A-Za-z0-9]+", "_", sheet)


def differences(book, run):
    ours = {file_name(name): rows for name, rows in sheets_of(book).items()}
    wrong = []
    for name, recorded in golden_sheets(run).items():
        if name == "Affinity_API_Issues" and "_db" in run.name:
            continue
        theirs = expected(name, recorded, run)
        left = expected(name, ours.get(name, []), run)
        for row in theirs:
            same = next((mine for mine in left if same_row(mine, row, slack_of(name, run))), None)
            if same is None:
                wrong.append(f"{name}: missing {row}")
            else:
                left.remove(same)
        wrong += [f"{name}: too many {row}" for row in left]
    return wrong


@pytest.fixture(scope="module", name="advised", params=golden_runs(), ids=lambda run: run.name)
def advise(request, sonde, cache_home, tmp_path_factory):
    """A recorded run, and the folder of our findings on its trace."""
    run, folder = request.param, tmp_path_factory.mktemp("advised")
    words = [sonde, "advisor", *words_of(run, input_of(run, folder)), "-o", folder / "out"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SONDE_")}
    environment["XDG_CACHE_HOME"] = str(cache_home)
    done = subprocess.run(list(map(str, words)), env=environment, cwd=folder, text=True,
                          capture_output=True, timeout=120, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return run, folder / "out"


def test_sheets(advised):
    run, out = advised
    (book,) = (out / "log").glob("*.xlsx")
    assert not differences(book, run), "\n".join(differences(book, run)[:20])


def blocks_of(page):
    """(section, title, priority) of each block of the page."""
    blocks = []
    for part in page.read_text(encoding="utf-8").split("<section><h2>")[1:]:
        section = part.split("</h2>")[0]
        for match in re.finditer(r'<details open class="(\w*)"[^>]*><summary>([^<]*)<', part):
            blocks.append((section, match[2], match[1] or None))
    return blocks


def test_blocks(advised):
    """The blocks of the page in their order within a section, with their priority. Fusible
    sequences have none in the reference; rules that it does not have come last."""
    run, out = advised
    (page,) = out.glob("mstt_advisor_*.html")
    recorded = json.loads((run / "blocks.json").read_text(encoding="utf-8"))
    theirs = [(block["section"], block["title"], block["priority"]) for block in recorded]
    ours = [block for block in blocks_of(page) if block[1] in {title for _, title, _ in theirs}]
    assert sorted(ours, key=lambda block: block[0]) == sorted(theirs, key=lambda block: block[0])


def test_tuning_list(advised):
    """The file for the operator tuner, name by name, where the reference wrote one."""
    run, out = advised
    written = [path.read_text() for path in out.glob("operator_tuning_file_*.cfg")]
    recorded = run / "operator_tuning_file.cfg"
    if recorded.exists():
        assert [set(json.loads(text)["tune_ops_name"]) for text in written] == [
            set(json.loads(recorded.read_text())["tune_ops_name"])
        ]
    elif "trig" not in run.name:
        assert not written
