"""Profiling a server over HTTP: one server under Sonde, one with vLLM's own profiler, the same
requests on both."""

import gzip
import json
import os
import signal
import subprocess
import time
from collections import Counter

import pytest
from own_time import check_conservation
from vllm_server import Server

PROMPT = "def main():\n    import os\n"
TOKENS = 8
DRAWN = {"temperature": 0.9, "seed": 7}


@pytest.fixture(scope="module", name="alone")
def serve_alone(vllm_python, model, tmp_path_factory):
    """Texts and operators of one request as vLLM's own profiler sees it."""
    folder = tmp_path_factory.mktemp("alone")
    config = {"profiler": "torch", "torch_profiler_dir": str(folder),
              "torch_profiler_with_stack": False}  # fmt: skip
    options = ["--profiler-config", json.dumps(config)]
    with Server(vllm_python, model, folder / "log", options=options) as server:
        server.ask(PROMPT, TOKENS)
        server.profile("start")
        text = server.ask(PROMPT, TOKENS)
        server.profile("stop")
        drawn = server.ask(PROMPT, 4 * TOKENS, **DRAWN)
    (trace,) = folder.glob("rank0.*.pt.trace.json.gz")
    with gzip.open(trace, "rt") as file:
        events = json.load(file)["traceEvents"]
    return text, drawn, Counter(e["name"] for e in events if e.get("cat") == "cpu_op")


@pytest.fixture(scope="module", name="server")
def serve(sonde, vllm_python, model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    launcher = [sonde, "run", "--profile-level", "level1", "--profile-record-shapes",
                "--profile-save-path", folder / "profile", "--"]  # fmt: skip
    with Server(vllm_python, model, folder / "log", launcher) as server:
        server.profiles = folder / "profile"
        server.ask(PROMPT, TOKENS)
        yield server


@pytest.fixture(name="session")
def make_session(server):
    """session(function) profiles what the function does; returns the new captures, parsed."""

    def session(work):
        before = set(server.profiles.glob("*_ascend_pt"))
        assert server.profile("start")[0] == 200
        result = work()
        assert server.profile("stop")[0] == 200
        spans = sorted(set(server.profiles.glob("*_ascend_pt")) - before)
        for span in spans:
            done = span / "ASCEND_PROFILER_OUTPUT" / "analyse.done"
            until(done.exists, server)
        return result, spans

    return session


def until(happened, server):
    """Waits for something that must happen."""
    end = time.monotonic() + 120
    while not happened():
        assert time.monotonic() < end, server.last_lines()
        time.sleep(0.2)


def test_the_same_text_and_the_same_operators(alone, session, server, rows):
    text, spans = session(lambda: server.ask(PROMPT, TOKENS))
    assert text == alone[0]
    assert len(spans) == 1
    found = rows(spans[0], "SELECT s.name, count(*) AS n FROM framework_op o JOIN slice s USING "
                           "(slice_id) WHERE o.scope IN (0, 1) GROUP BY s.name")  # fmt: skip
    assert {row["name"]: row["n"] for row in found} == dict(alone[2])
    check_conservation(lambda sql: rows(spans[0], sql))


def test_the_same_text_with_a_seed(alone, session, server):
    text, _ = session(lambda: server.ask(PROMPT, 4 * TOKENS, **DRAWN))
    assert text == alone[1] != alone[0]


def test_steps_are_engine_steps(session, server, rows):
    _, (span,) = session(lambda: server.ask(PROMPT, TOKENS))
    steps = rows(span, "SELECT step_id, dur FROM step ORDER BY ts")
    assert len(steps) == TOKENS  # one prefill, then a step for each further token
    numbers = [row["step_id"] for row in steps]
    assert numbers == list(range(numbers[0], numbers[0] + TOKENS))
    told = rows(span, "SELECT name FROM slice WHERE name LIKE 'execute_context%' ORDER BY ts")
    assert [row["name"] for row in told[:2]] == [
        "execute_context_1(9)_generation_0(0)", "execute_context_0(0)_generation_1(1)",
    ]  # fmt: skip
    # Sampling is a call of its own after the model's; a step holds both.
    inside = rows(span, "SELECT count(*) AS n FROM step t JOIN slice s ON s.ts >= t.ts AND "
                        "s.ts + s.dur <= t.ts + t.dur WHERE s.name LIKE '%argmax%'")  # fmt: skip
    assert inside[0]["n"] >= TOKENS
    modules = rows(span, "SELECT DISTINCT name FROM slice")
    assert {"model.layers.3.self_attn", "model.layers.0.mlp"} <= {row["name"] for row in modules}


def test_session_after_session(session, server):
    for _ in range(4):
        _, spans = session(lambda: server.ask("x", 2))
        assert len(spans) == 1
        files = {path.name for path in (spans[0] / "ASCEND_PROFILER_OUTPUT").iterdir()}
        assert {"trace_view.json", "kernel_details.csv", "step_trace_time.csv"} <= files


def test_stop_is_quick_and_its_errors_are_vllms(server):
    assert server.profile("stop")[0] == 200  # nothing runs
    before = set(server.profiles.glob("*_ascend_pt"))
    assert server.profile("start")[0] == 200
    status, text, _ = server.profile("start")
    assert status == 409 and "already active" in text
    server.ask(PROMPT, 64)
    assert server.profile("stop")[0] == 200
    answered = time.time()
    (span,) = set(server.profiles.glob("*_ascend_pt")) - before
    done = span / "ASCEND_PROFILER_OUTPUT" / "analyse.done"
    until(done.exists, server)
    assert done.stat().st_mtime > answered, "files must not be made before the answer"
    assert server.profile("start", {"profile_prefix": "../x"})[0] == 400


def test_a_limited_session(server, rows):
    before = set(server.profiles.glob("*_ascend_pt"))
    assert server.profile("start", {"delay_iterations": 2, "max_iterations": 3})[0] == 200
    server.ask(PROMPT, 12)
    server.profile("stop")
    (span,) = set(server.profiles.glob("*_ascend_pt")) - before
    # From the second step on; the fourth recorded one ends the session before it is annotated.
    told = rows(span, "SELECT count(*) AS n FROM slice WHERE name LIKE 'execute_context%'")
    assert told[0]["n"] == 3
    assert rows(span, "SELECT count(*) AS n FROM step WHERE dur >= 0")[0]["n"] == 3


def test_a_worker_killed_in_a_session(server, sonde, rows):
    """The last test: it ends the server."""
    before = set(server.profiles.glob("*_ascend_pt"))
    assert server.profile("start")[0] == 200
    server.ask(PROMPT, TOKENS)
    (span,) = set(server.profiles.glob("*_ascend_pt")) - before
    steps = "SELECT count(*) AS n FROM step WHERE dur >= 0"
    until(lambda: rows(span, steps)[0]["n"] >= TOKENS - 1, server)
    os.kill(int(span.name.split("_")[-4]), signal.SIGKILL)
    done = subprocess.run([sonde, "analyse", span], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert rows(span, "SELECT count(*) AS n FROM step")[0]["n"] == TOKENS
