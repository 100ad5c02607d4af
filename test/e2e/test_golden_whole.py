"""Every file and column of what torch_npu made of raw folders, beside what Sonde makes of them.

The folders themselves are the list: a file that nothing reads fails, and so does a column that
differs without a line in golden_differences.txt, or a line that no column needs.
"""

import os
import subprocess
from pathlib import Path

import ascend_reader as reader
import golden_columns as golden
import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("SONDE_SHARED_DATA", ROOT.parent / "shared" / "data"))
LIST = Path(__file__).with_name("golden_differences.txt")
# Sets that are made of a part of another's raw folder.
FRAMEWORK_ONLY = "framework_only_"


def sets() -> list[Path]:
    """Folders of results of torch_npu, of all its releases."""
    return sorted(path for path in DATA.glob("golden/torch_npu-*/*") if path.is_dir())


@pytest.fixture(name="made", scope="module", params=sets(), ids=lambda path: path.name)
def analyse(request, tmp_path_factory, sonde):
    """(folder of torch_npu's results, of ours)"""
    theirs, folder = request.param, tmp_path_factory.mktemp("golden")
    raw = theirs.name.removeprefix(FRAMEWORK_ONLY)
    span = reader.copy_of(DATA / f"ascend_pt/raw/{raw}_ascend_pt", folder / "span_ascend_pt")
    if theirs.name.startswith(FRAMEWORK_ONLY):
        for prof in span.glob("PROF_*"):
            prof.rename(folder / prof.name)
    forms = "db" if any(theirs.glob("*.db")) else "text"
    done = subprocess.run(
        [sonde, "analyse", span, "--export-type", forms, "-o", folder / "out"],
        capture_output=True, text=True, check=False,
        env=os.environ | {"XDG_CACHE_HOME": str(folder / "cache")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (output,) = (folder / "out").rglob("ASCEND_PROFILER_OUTPUT")
    return theirs, output


def differences(theirs: Path, ours: Path, excuses: list[golden.Difference]) -> set[tuple]:
    """(file, table, column) of what is not equal; a file that is missing is one, too."""
    found = set()
    for path in sorted(theirs.rglob("*")):
        name = str(path.relative_to(theirs))
        if not (ours / name).exists():
            found.add((name, "", "(file)"))
            continue
        mine = golden.tables_of(ours / name)
        for table, rows in golden.tables_of(path).items():
            columns = {column for row in rows for column in row} | {golden.ROWS}
            excused = {
                column for column in columns
                if any(e.covers(theirs.name, name, table, column) for e in excuses)
            }  # fmt: skip
            for column in golden.differing_columns(rows, mine.get(table, []), excused):
                found.add((name, table, column))
    return found


def test_each_column_is_torch_npus_or_differs_on_purpose(made):
    theirs, ours = made
    excuses = [excuse for excuse in golden.listed(LIST) if excuse.is_of(theirs.name)]
    found = differences(theirs, ours, excuses)
    unexplained = {
        place for place in found if not any(e.covers(theirs.name, *place) for e in excuses)
    }
    assert not unexplained, "\n".join(map(" | ".join, sorted(unexplained)))
    needless = [e for e in excuses if not any(e.covers(theirs.name, *place) for place in found)]
    assert not needless
