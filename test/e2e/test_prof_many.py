"""PROF_* folders of many tasks: each finds its launch, its operator and its counters."""

import sys
from pathlib import Path

import prof_runs
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench/raw"))

import make_prof  # noqa: E402

SPAN = "PROF_000001_20250109081616713_0004200ABCDEFGHA"


@pytest.mark.parametrize(("chip", "numbers"), [(5, 97), (5, 65535), (15, 1 << 24)])
def test_all_are_joined(tmp_path, ask, chip, numbers):
    """Numbers of tasks restart again and again; nothing is left over and nothing is mixed up."""
    folder = tmp_path / SPAN
    _, tasks = make_prof.write(folder, 1.5, chip, numbers)
    assert prof_runs.issues(ask, folder) == {}
    joined = ask(folder, "SELECT count(*), count(*) FILTER (connection_id > 0) FROM device_task")
    assert joined == [[str(tasks)] * 2]
    # Operators come one after the other, each launched by the call before it.
    (numbers,) = ask(
        folder,
        """SELECT count(*), count(*) FILTER (regexp_extract(name, '[0-9]+')::INT =
               (number + number // 49) % 40), count(*) FILTER (cycles = 39600)
           FROM (SELECT name, row_number() OVER (ORDER BY ts) - 1 AS number,
                        (SELECT value FROM device_task_pmu p WHERE p.task_id = t.task_id
                             AND p.metric = 'aic_total_cycles') AS cycles
                 FROM device_task t WHERE op_type LIKE 'Operator%')""",
    )
    kernels, right, counted = (int(number) for number in numbers)
    assert kernels == right == counted > 1000
    assert ask(folder, "SELECT count(*) FROM communication_op") == [[str((tasks - kernels) // 12)]]
