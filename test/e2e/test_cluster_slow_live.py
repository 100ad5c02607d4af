"""A training on this machine with one slow rank: `sonde cluster -m slow_rank` names it, and why.

The example is what it is; a launcher beside it slows one of its ranks down, in three ways. All
ranks record with the CPU as the device, as `sonde run` does.
"""

import os
import sqlite3
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
RANKS = 2
SLOW = 1

# Each rank is the example with the planted cause around one of its parts.
LAUNCHER = """
import gc
import os
import runpy
import subprocess
import sys
import time

import torch

sys.path.insert(0, {examples!r})
import tiny_gpt


class Node:
    pass


def loads_slowly():
    from torch.utils.data import DataLoader, Dataset
    found = Dataset.__init_subclass__

    def prepare(cls, **words):
        found(**words)
        get = cls.__getitem__

        def slow(self, index):
            time.sleep(0.01)
            return get(self, index)

        cls.__getitem__ = slow

    Dataset.__init_subclass__ = classmethod(prepare)


def computes_more():
    forward = tiny_gpt.TinyGpt.forward
    weights = torch.ones(640, 640)

    def slow(self, *inputs):
        for _ in range(6):
            torch.mm(weights, weights)
        return forward(self, *inputs)

    tiny_gpt.TinyGpt.forward = slow


def collects_garbage():
    kept = []
    for _ in range(400_000):
        one, other = Node(), Node()
        one.other, other.other = other, one
        kept.append(one)
    step = torch.optim.AdamW.step

    def slow(self, *words, **named):
        gc.collect()
        return step(self, *words, **named)

    slow.hooked = getattr(step, "hooked", None)
    torch.optim.AdamW.step = slow
    globals()["kept"] = kept


def shares_its_processor():
    os.sched_setaffinity(0, {{max(os.sched_getaffinity(0))}})
    busy = "import os; parent = os.getppid()\\nwhile os.getppid() == parent: pass"
    subprocess.Popen([sys.executable, "-I", "-S", "-c", busy], env={{}})


def main():
    program, way, slow_rank = sys.argv[1:4]
    if os.environ["RANK"] == slow_rank and way != "none":
        {{"data loading": loads_slowly, "compute": computes_more,
          "garbage collection": collects_garbage, "busy": shares_its_processor}}[way]()
    sys.argv = [program, *sys.argv[4:]]
    runpy.run_path(program, run_name="__main__")


main()
"""


def record(run_sonde, python, tmp_path, way):
    launcher = tmp_path / "launcher.py"
    launcher.write_text(LAUNCHER.format(examples=str(EXAMPLES)))
    done = run_sonde(
        "run", "--profile-save-path", "out", "--profile-gc-threshold-ms", "1", "--",
        sys.executable, "-m", "torch.distributed.run", f"--nproc_per_node={RANKS}",
        "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0",
        launcher, EXAMPLES / "train_tiny_gpt.py", way, str(SLOW),
        "--steps", "12", "--batch", "4", "--layers", "2", "--width", "64",
        env={"OMP_NUM_THREADS": "1", "PYTHON_EXEC": python}, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return tmp_path / "out"


def slow_ranks(run_sonde, tmp_path, folder):
    out = tmp_path / "result"
    done = run_sonde("cluster", "-m", "slow_rank", "-d", folder, "-o", out)
    assert done.returncode == 0, done.stderr
    database = sqlite3.connect(out / "cluster_analysis_output" / "cluster_analysis.db")
    # Without a cause there is no such table.
    known = database.execute("SELECT count(*) FROM sqlite_master WHERE name = 'SlowRankCause'")
    statement = "SELECT rankId, cause, hostActivity FROM SlowRankCause WHERE causeOrder = 1"
    rows = database.execute(statement).fetchall() if known.fetchone()[0] else []
    database.close()
    return rows, done.stdout


@pytest.mark.skipif((os.cpu_count() or 1) < RANKS, reason="needs a processor for each rank")
@pytest.mark.parametrize(("way", "causes", "activity"), [
    ("data loading", {"host"}, "data loading"),
    ("compute", {"more work", "slow kernel"}, None),
    ("garbage collection", {"host"}, "garbage collection"),
])  # fmt: skip
def test_the_rank_that_was_slowed_down_is_named(
    run_sonde, prepared, tmp_path, way, causes, activity
):
    folder = record(run_sonde, prepared.python, tmp_path, way)
    rows, printed = slow_ranks(run_sonde, tmp_path, folder)
    assert [row[0] for row in rows] == [SLOW], printed
    assert rows[0][1] in causes, printed
    if activity is not None:
        assert rows[0][2] == activity, printed


@pytest.mark.skipif((os.cpu_count() or 1) < RANKS, reason="needs a processor for each rank")
def test_a_rank_that_waits_for_its_processor_is_not_slow(run_sonde, prepared, tmp_path):
    """Another program takes half of its processor: the machine is busy, its program is the same."""
    folder = record(run_sonde, prepared.python, tmp_path, "busy")
    rows, printed = slow_ranks(run_sonde, tmp_path, folder)
    assert rows == [], printed
    # Where tests run beside it, the other rank waits as long, and neither has a sentence.
    assert "none is slow by its program" in printed
    done = run_sonde(
        "query",
        "out",
        f"SELECT sum(unserved_ns) > 0 FROM slow_rank_work WHERE rank = {SLOW}",
        "--format",
        "csv",
    )
    assert done.stdout.split()[-1] == "true", done.stdout
