"""Results of `sonde cluster` for tests that compare ways to come to them."""

import sqlite3
import subprocess
import zipfile

EIGHT = "ascend_pt/synth8_tp_pp_dp"
TEXTS = "ascend_pt/qwen3_tp1_pp2"

# The first compares with another file, the second needs marks: these traces have neither.
_WITHOUT = {"calibrate_npu_gpu", "mstx2commop"}
_WITH_BASE = {"cluster_time_compare_summary", "cluster_compare_baseline", "trace_diff"}
_WORDS = {
    "module_statistic": ("--export_type", "text"),
    "hccl_sum": ("--export_type", "notebook"),
    "communication_bottleneck": ("--rank_id", "3"),
    "compute_op_sum": ("--rank_list", "1,4,5"),
    "filter_db": ("--min_duration", "20"),
}


def all_modes(sonde):
    """Those of the help that these traces suffice for; none where the command is not built."""
    if not sonde.is_file():
        return []
    done = subprocess.run([sonde, "cluster", "--help"], capture_output=True, text=True, check=True)
    lines = done.stdout.partition("\nModes:\n")[2].partition("\n\n")[0].splitlines()
    modes = [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "]
    return [mode for mode in modes if mode not in _WITHOUT]


def words_of(mode, folder):
    """The options of a mode, so that each form of results is tried."""
    base = ("--bp", folder) if mode in _WITH_BASE else ()
    return ("-m", mode, "-d", folder, *base, *_WORDS.get(mode, ()))


def contents(folder):
    """All cells of all tables, and all other files; of a workbook all but when it was made."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".db":
            with sqlite3.connect(path) as db:
                tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
                for (table,) in tables.fetchall():
                    found[name, table] = db.execute(f'SELECT * FROM "{table}"').fetchall()
        elif path.suffix == ".xlsx":
            with zipfile.ZipFile(path) as book:
                for part in set(book.namelist()) - {"docProps/core.xml"}:
                    found[name, part] = book.read(part)
        elif path.is_file():
            found[name] = path.read_bytes()
    return found
