"""msprof-analyze beside Sonde on runs that nobody recorded results of: it is run, here and now.

Databases whose times were changed at random, some ranks of a job, a job of several steps, a
recording of which only the database of communication is there, other ranks and levels: the tests of
the recorded results (test/e2e/test_*_golden.py) compare cells the same way. What differs for a
reason stands there, in docs/cluster.md and docs/compare.md, or below.
"""

import csv
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "test" / "e2e"))

import test_advisor_golden as advisor  # noqa: E402
import test_cluster_golden as cluster  # noqa: E402
import test_compare_golden as compare  # noqa: E402
from more_steps import more_steps  # noqa: E402
from workbook import sheets_of  # noqa: E402

SONDE = ROOT / "build" / os.environ.get("PRESET", "dev") / "bin" / "sonde"
PEER = Path(sys.executable).parent / "msprof-analyze"
DATA = Path(os.environ.get("SONDE_SHARED_DATA", ROOT.parent / "shared" / "data")) / "ascend_pt"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="needs data: no reference data")

# Of tables with moments, and of the profiler's own communication and steps.
MOMENTS = ("TASK", "COMMUNICATION_OP", "CANN_API", "PYTORCH_API")
ANALYSED = ("CommAnalyzerBandwidth", "CommAnalyzerTime", "StepTraceTime", "CommAnalyzerMatrix")
LENGTHS = {
    "transit_time", "elapse_time", "wait_time", "synchronization_time", "idle_time", "computing",
    "free", "communication", "overlapped", "stage", "bubble", "transit_size",
}  # fmt: skip


def lengthen(folder, seed):
    """Every third range takes up to 3 us longer, every second value of an analysis up to 30 %."""
    for path in sorted(folder.glob("*/ASCEND_PROFILER_OUTPUT/*.db")):
        numbers = random.Random(f"{seed} {path.parent.parent.name} {path.name}")
        with closing(sqlite3.connect(path)) as database, database:
            database.create_function("below", 1, numbers.randrange)
            for table in MOMENTS + ANALYSED:
                facts = database.execute(f"PRAGMA table_info({table})").fetchall()
                names = {fact[1] for fact in facts}
                if table in MOMENTS and "endNs" in names:
                    database.execute(
                        f"UPDATE {table} SET endNs = endNs + below(3000) WHERE rowid % 3 = 1"
                    )
                for name in sorted(LENGTHS & names if table in ANALYSED else ()):
                    database.execute(
                        f"UPDATE {table} SET {name} = round({name} * (1 + below(300) / 1000.0), 6)"
                        f" WHERE rowid % 2 = 1 AND {name} > 0"
                    )


@pytest.fixture(name="input_of")
def make_input(tmp_path):
    """input_of(name) is a new copy: the peer writes into what it reads."""

    def made(name):
        made_before = len(list(tmp_path.glob("db/*")))
        target = tmp_path / "db" / f"{made_before}_{Path(name).name.replace(' ', '_')}"
        source, _, ranks = name.partition(" ranks ")
        target.parent.mkdir(exist_ok=True)
        if ranks:
            cluster.copied_ranks(DATA / source, target, {int(rank) for rank in ranks})
        else:
            shutil.copytree(DATA / re.sub(" (lengthened|three steps)$", "", source), target)
        for path in target.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        if name.endswith(" lengthened"):
            lengthen(target, name)
        if name.endswith(" three steps"):
            more_steps(target, 3, name)
        return target

    return made


def run(tool, folder, *words):
    """Below the folder, which is made."""
    folder.mkdir()
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    done = subprocess.run(
        [str(word) for word in (tool, *words, "-o", folder / "out")],
        cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    return folder / "out", done.stdout + done.stderr


MODES = (
    "all", "communication_time", "communication_matrix", "communication_group_map",
    "communication_time_sum", "communication_matrix_sum", "cluster_time_summary",
    "module_statistic", "operator_mfu", "compute_op_sum", "hccl_sum", "cann_api_sum", "slow_rank",
    "slow_link", "communication_bottleneck", "computational_op_masking", "free_analysis",
    "ep_load_balance",
)  # fmt: skip
SYNTH = "synth8_tp_pp_dp"
# All that have a subject in two ranks without parallel sizes, or without a profiler's database.
BASE = MODES[:6]
RUNS = [(f"{SYNTH} lengthened", mode) for mode in MODES]
RUNS += [(f"{SYNTH} ranks 2367", mode) for mode in MODES]
RUNS += [(f"{SYNTH} three steps", mode) for mode in MODES]
RUNS += [("db/level1 lengthened", mode) for mode in (*BASE, "hccl_sum", "cann_api_sum")]
RUNS += [("qwen3_tp1_pp2", mode) for mode in BASE]
# None of these ranks is slow, and rank 0 is not among them: neither tool has a table.
WITHOUT_TABLES = {(f"{SYNTH} ranks 2367", m) for m in ("slow_rank", "communication_bottleneck")}


def tables_below(folder):
    tables = {}
    for path in folder.rglob("cluster_analysis.db"):
        tables.update(cluster.db_tables(path))
    return {name: rows for name, rows in tables.items() if rows}


@pytest.mark.parametrize(("name", "mode"), RUNS)
def test_a_mode_gives_what_the_peer_gives(name, mode, input_of, tmp_path, monkeypatch):
    # It sums up gaps between moments that are floating point there, each 256 ns apart.
    monkeypatch.setattr(cluster, "COARSE_US", 0.513)
    theirs, their_words = run(PEER, tmp_path / "t", "cluster", "-m", mode, "-d", input_of(name))
    ours, our_words = run(SONDE, tmp_path / "o", "cluster", "-m", mode, "-d", input_of(name))
    expected, found = tables_below(theirs), tables_below(ours)
    assert bool(expected) != ((name, mode) in WITHOUT_TABLES), their_words
    assert set(found) - cluster.OWN_TABLES == set(expected), our_words
    for table, rows in expected.items():
        cluster.check_table(table, found[table], rows, has_ties=True)


# With the words of a user, on the job of three steps. Not here: --rank_list of `all` and the two
# communication modes, and --step_id of free_analysis. They have an effect here and none there
# (docs/cluster.md).
WORDS = [(mode, words) for mode in MODES if mode not in ("free_analysis", *BASE[:3])
         for words in ("--step_id 51", "--step_id 52 --rank_list 0,1,4,5")]  # fmt: skip
WORDS += [(mode, "--step_id 51") for mode in BASE[:3]]
WORDS += [
    (mode, "--top_num 3") for mode in ("compute_op_sum", "hccl_sum", "cann_api_sum", "slow_link")
]
WORDS += [
    ("hccl_sum", "--top_num 1 --step_id 51"),
    ("compute_op_sum", "--exclude_op_name"),
    ("free_analysis", "--rank_list 2,3,6,7 --top_num 5"),
    ("communication_bottleneck", "--rank_id 3"),
    ("communication_bottleneck", "--rank_id 3 --top_num 3 --rank_list 2,3,6,7"),
    ("computational_op_masking", "--parallel_types tp,pp"),
    ("computational_op_masking", "--parallel_types tp;pp"),
]


@pytest.mark.parametrize(("mode", "words"), WORDS)
def test_a_mode_with_words_gives_what_the_peer_gives(mode, words, input_of, tmp_path):
    tables = []
    for name, tool in (("t", PEER), ("o", SONDE)):
        folder = input_of(f"{SYNTH} three steps")
        out, printed = run(
            tool, tmp_path / name, "cluster", "-m", mode, "-d", folder, *words.split()
        )
        tables.append(tables_below(out))
        assert tables[-1], printed
    expected, found = tables
    assert set(found) - cluster.OWN_TABLES == set(expected)
    for table, rows in expected.items():
        cluster.check_table(table, found[table], rows, has_ties=True)


RANK0, RANK1 = "rank0_ascend_pt", "rank1_ascend_pt"
PAIRS = [
    ("text/level0", RANK0, "text/level0", RANK1, ()),
    ("text/level0", RANK1, "text/level0", RANK0, ("--disable_module",)),
    ("text/level1", RANK1, "text/level1", RANK0, ()),
    ("text/level1", RANK1, "text/level1", RANK0, ("--disable_module", "--use_input_shape")),
    ("text/level1", RANK1, "text/level1", RANK0, ("--enable_memory_compare",)),
    ("text/level1", RANK1, "db/level1", RANK1, ()),
    ("text/level0", RANK0, "db/level1", RANK0, ("--disable_module",)),
    ("db/level1", RANK1, "db/level1", RANK0, ("--disable_module",)),
    ("db/level1", RANK1, "db/level1", RANK0, ("--enable_kernel_compare",)),
    ("db/level1 lengthened", RANK0, "db/level1", RANK0, ()),
    (f"{SYNTH} three steps", "node0_1000*", SYNTH, "node1_1006*", ("--enable_profiling_compare",)),
]


def unname_groups(folder):
    """Sonde calls and pairs groups by those names (docs/compare.md), the peer by communicator."""
    for path in folder.rglob("profiler_metadata.json"):
        path.unlink()
    for path in folder.rglob("ascend_pytorch_profiler_*.db"):
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("DELETE FROM META_DATA WHERE name = 'parallel_group_info'")


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: " ".join((*pair[:4], *pair[4])))
def test_a_comparison_is_that_of_the_peer(pair, input_of, tmp_path):
    new_set, new_rank, old_set, old_rank, options = pair
    sides = {
        # Which side is a database the tests of recorded results see by its path.
        set_: DATA / set_ if set_.startswith("text") else input_of(set_)
        for set_ in (new_set, old_set)
    }
    for set_ in (new_set, old_set):
        if set_.startswith(SYNTH):
            unname_groups(sides[set_])
    new, old = next(sides[new_set].glob(new_rank)), next(sides[old_set].glob(old_rank))
    words = ("compare", "-d", new, "-bp", old, *options)
    case = tmp_path / ("text" if "text" in new_set + old_set else "databases")
    case.mkdir()
    (case / "command.txt").write_text(f"msprof-analyze {' '.join(map(str, words))} -o x")
    books = []
    for name, tool in (("t", PEER), ("o", SONDE)):
        out, printed = run(tool, tmp_path / name, *words)
        found = list(out.glob("performance_comparison_result_*.xlsx"))
        assert len(found) == 1, printed
        books.append(sheets_of(found[0]))
    theirs, ours = books
    assert set(ours) == set(theirs)
    for sheet, rows in theirs.items():
        first = compare.HEADING_ROWS - 1
        texts = [["" if cell is None else str(cell) for cell in row] for row in rows[first:]]
        compare.compare_sheet(sheet, ours[sheet][first:], texts, case)


ADVISED = [
    f"db/level0/{RANK0}", f"text/level0/{RANK1}", f"text/level1/{RANK1}", f"db/level1/{RANK1}",
]  # fmt: skip


@pytest.mark.parametrize("name", ADVISED)
def test_advice_is_that_of_the_peer(name, tmp_path):
    words = ("advisor", "all", "-d", DATA / name, "-l", "en")
    theirs, _ = run(PEER, tmp_path / "t", *words)
    ours, printed = run(SONDE, tmp_path / "o", *words)
    (their_book,) = theirs.rglob("*.xlsx")
    books = list((ours / "log").glob("*.xlsx"))
    assert len(books) == 1, printed
    case = tmp_path / re.sub("/", "_", f"of_{name}")
    case.mkdir()
    for sheet, rows in sheets_of(their_book).items():
        with (case / f"sheet_{advisor.file_name(sheet)}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    assert not advisor.differences(books[0], case)
