"""No file that msprof-analyze left is forgotten: each is compared by a test, or stands here."""

from fnmatch import fnmatchcase

import test_advisor_golden
import test_cluster_golden
import test_compare_golden
from test_compare_golden import DATA

# Files of recorded runs of msprof-analyze that describe the run, or that nothing compares, and why.
NOT_COMPARED = {
    "*/*/command.txt": "the command of the run",
    "*/*/input.txt": "how its input is made",
    "*/*/input_changes.txt": "what the reference wrote into its input",
    "advisor/*/console.txt": "the advice of the sheets and blocks, drawn as a table",
    "advisor/*/cluster_analysis_output/*": "what the mode `all` writes: compared there",
    "compare/npu_*gpu*/sheet_*.csv": "the trace of a GPU was not kept",
    "communication_*/db_level1_text/*/tables/*.csv": "a database among texts: that of db_level1_db",
}


def test_each_file_of_msprof_analyze_is_compared():
    """The tests of its modes name what they read; all else is here, with its reason."""
    root = DATA / "golden/msprof-analyze"
    files = {path for path in root.rglob("*") if path.is_file()}
    read = {path for module in (test_cluster_golden, test_compare_golden, test_advisor_golden)
            for path in module.compared_files()}  # fmt: skip
    assert read <= files
    left = {str(path.relative_to(root)) for path in files - read}
    forgotten = [name for name in left if not any(fnmatchcase(name, one) for one in NOT_COMPARED)]
    assert not sorted(forgotten)
    assert all(any(fnmatchcase(name, one) for name in left) for one in NOT_COMPARED if files)
