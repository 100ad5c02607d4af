"""Operators, steps and the routes of a profiled server, beside vLLM alone with its own profiler."""

import time

import pytest
from own_time import check_conservation
from watched import one_more_session, profiled, until

PROMPT = "def main():\n    import os\n"
TOKENS = 8
DRAWN = {"temperature": 0.9, "seed": 7}


@pytest.fixture(scope="module", name="asked")
def ask_once(server):
    """A session of one request, which the server has answered before."""
    server.ask(PROMPT, TOKENS)
    return profiled(server, lambda: server.ask(PROMPT, TOKENS))


def test_the_same_text_and_the_same_operators(alone, asked, rows):
    assert asked.result == alone.text
    found = rows(asked.span, "SELECT s.name, count(*) AS n FROM framework_op o JOIN slice s USING "
                           "(slice_id) WHERE o.scope IN (0, 1) GROUP BY s.name")  # fmt: skip
    assert {row["name"]: row["n"] for row in found} == dict(alone.operators)
    check_conservation(lambda sql: rows(asked.span, sql))


def test_the_same_text_with_a_seed(alone, server):
    session = profiled(server, lambda: server.ask(PROMPT, 4 * TOKENS, **DRAWN))
    assert session.result == alone.drawn != alone.text


def test_steps_are_engine_steps(asked, rows):
    span = asked.span
    steps = rows(span, "SELECT step_id, dur FROM step ORDER BY ts")
    assert len(steps) == TOKENS  # one prefill, then a step for each further token
    numbers = [row["step_id"] for row in steps]
    assert numbers == list(range(numbers[0], numbers[0] + TOKENS))
    reported = rows(span, "SELECT name FROM slice WHERE name LIKE 'execute_context%' ORDER BY ts")
    assert [row["name"] for row in reported[:2]] == [
        "execute_context_1(9)_generation_0(0)", "execute_context_0(0)_generation_1(1)",
    ]  # fmt: skip
    # Sampling is a call of its own after the model's; a step holds both.
    inside = rows(span, "SELECT count(*) AS n FROM step t JOIN slice s ON s.ts >= t.ts AND "
                        "s.ts + s.dur <= t.ts + t.dur WHERE s.name LIKE '%argmax%'")  # fmt: skip
    assert inside[0]["n"] >= TOKENS
    modules = rows(span, "SELECT DISTINCT name FROM slice")
    assert {"model.layers.3.self_attn", "model.layers.0.mlp"} <= {row["name"] for row in modules}


def test_stop_is_quick_and_its_errors_are_vllms(server):
    assert server.profile("stop")[0] == 200  # nothing runs
    with one_more_session(server) as session:
        assert server.profile("start")[0] == 200
        status, text, _ = server.profile("start")
        assert status == 409 and "already active" in text
        server.ask(PROMPT, 64)
        assert server.profile("stop")[0] == 200
        answered = time.time()
    done = session.span / "ASCEND_PROFILER_OUTPUT" / "analyse.done"
    until(done.exists, server)
    assert done.stat().st_mtime > answered, "files must not be made before the answer"
    assert server.profile("start", {"profile_prefix": "../x"})[0] == 400


def test_a_limited_session(server, rows):
    with one_more_session(server) as session:
        assert server.profile("start", {"delay_iterations": 2, "max_iterations": 3})[0] == 200
        server.ask(PROMPT, 12)
        server.profile("stop")
    # From the second step on; the fourth recorded one ends the session before it is annotated.
    reported = rows(
        session.span, "SELECT count(*) AS n FROM slice WHERE name LIKE 'execute_context%'"
    )
    assert reported[0]["n"] == 3
    assert rows(session.span, "SELECT count(*) AS n FROM step WHERE dur >= 0")[0]["n"] == 3
