"""Steps of whole programs under ``sonde run``: a model that several threads call, evaluation
between epochs, scopes that are marked."""

import csv
import io

import pytest

CALLERS = """
import threading, torch
model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(6)]).eval()
batch = torch.rand(32, 64)
with torch.inference_mode():
    model(batch)
gate = threading.Barrier(3)
def serve():
    gate.wait()
    with torch.inference_mode():
        for _ in range(14):
            model(batch)
threads = [threading.Thread(target=serve) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""

BESIDE_THE_FIRST = """
import threading, torch
first_runs, second_ended = threading.Event(), threading.Event()
class Model(torch.nn.Module):
    def forward(self, batch):
        if not first_runs.is_set():
            first_runs.set()
            second_ended.wait()
        return batch.cumsum(0)
model = Model().eval()
def serve():
    first_runs.wait()
    model(torch.rand(8, 8))
    second_ended.set()
thread = threading.Thread(target=serve)
thread.start()
with torch.inference_mode():
    for _ in range(3):
        model(torch.rand(8, 8))
thread.join()
"""

EPOCHS = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.1), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(3):
    model.train()
    for _ in range(4):
        optimizer.zero_grad()
        model(torch.rand(4, 8)).sum().backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        for _ in range(5):
            model(torch.rand(4, 8)).softmax(0)
"""

MARKED = """
import torch
from torch.profiler import record_function
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for i in range(3):
    with record_function("iteration"):
        for _ in range(2):
            model(torch.rand(4, 8)).sum().backward()
            optimizer.step()
    torch.rand(4).cumsum(0)
"""


@pytest.fixture(name="recorded")
def make_recorded(run_sonde, prepared, tmp_path):
    """recorded(program, *options) gives a function that asks its capture."""

    def recorded(program, *options):
        (tmp_path / "program.py").write_text(program)
        done = run_sonde("run", "--profile-save-path", "out", *options, "--", prepared.python,
                         "program.py")  # fmt: skip
        assert done.returncode == 0, done.stderr
        (span,) = (tmp_path / "out").glob("*_ascend_pt")

        def ask(sql):
            asked = run_sonde("query", span, sql, "--format", "csv")
            assert asked.returncode == 0, asked.stderr
            return list(csv.DictReader(io.StringIO(asked.stdout, newline="")))

        return ask

    return recorded


def test_callers_on_several_threads(recorded):
    ask = recorded(CALLERS)
    steps = ask("SELECT step_id, ts, dur FROM step ORDER BY step_id")
    assert [int(step["step_id"]) for step in steps] == list(range(1 + 3 * 14))
    assert all(int(step["dur"]) > 0 for step in steps)
    tasks = ask("SELECT step_id, count(*) AS n FROM device_task WHERE name = 'aten::addmm' GROUP "
                "BY 1 ORDER BY 1")  # fmt: skip
    assert [(int(row["step_id"]), int(row["n"])) for row in tasks] == [
        (number, 6) for number in range(1 + 3 * 14)
    ]
    rows = ask("SELECT step_id, stage_ns, computing_ns FROM step_trace ORDER BY 1")
    assert len(rows) == len(steps)
    for row, step in zip(rows, steps):
        assert 0 < int(row["computing_ns"]) <= int(row["stage_ns"]) <= int(step["dur"])


def test_a_call_that_ends_inside_of_the_first(recorded):
    """Another thread's call, which begins and ends while the model's first call runs."""
    ask = recorded(BESIDE_THE_FIRST)
    tasks = ask("SELECT step_id, count(*) AS n FROM device_task WHERE name = 'aten::cumsum' GROUP "
                "BY 1 ORDER BY 1")  # fmt: skip
    assert [(row["step_id"], row["n"]) for row in tasks] == [(str(step), "1") for step in range(4)]
    steps = ask("SELECT step_id, ts, ts + dur AS until FROM step ORDER BY step_id")
    first, beside, second, third = [(int(row["ts"]), int(row["until"])) for row in steps]
    assert first[0] < beside[0] < beside[1] < first[1] <= second[0] < second[1] <= third[0]


def test_evaluation_is_in_no_step(recorded):
    ask = recorded(EPOCHS)
    steps = ask("SELECT step_id FROM step WHERE dur >= 0 ORDER BY ts")
    assert [int(step["step_id"]) for step in steps] == list(range(12))
    sql = "SELECT count(*) AS n, count(step_id) AS inside FROM device_task WHERE name = "
    assert ask(sql + "'aten::_softmax'") == [{"n": "15", "inside": "0"}]
    (updates,) = ask(sql + "'aten::addmm' AND step_id IS NOT NULL")
    assert updates["n"] == "24"


def test_marked_scopes(recorded):
    ask = recorded(MARKED, "--profile-step-mark", "iteration")
    assert [row["step_id"] for row in ask("SELECT step_id FROM step ORDER BY ts")] == list("012")
    scopes = ask("SELECT count(*) AS n FROM step t JOIN slice s ON s.ts >= t.ts AND s.ts + s.dur "
                 "<= t.ts + t.dur WHERE s.name = 'iteration'")  # fmt: skip
    assert scopes == [{"n": "3"}]
    sql = "SELECT DISTINCT step_id FROM device_task WHERE name = 'aten::cumsum'"
    assert ask(sql) == [{"step_id": ""}]
