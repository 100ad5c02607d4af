"""Requests, engine steps and their relation: Sonde's recording next to the records of the client
and vLLM's own counters. Two requests fit into a batch of this server."""

import csv
import json
import os
import subprocess
from pathlib import Path

import pytest
from watched import metrics, profiled, until

TOKENS = 48
PROMPTS = ("def main():\n    import os\n", "class Queue:\n", "for line in file:\n", "import ")


@pytest.fixture(scope="module", name="four")
def ask_four(server):
    """Four requests at once where two fit.

    They come in one call: of four clients' calls vLLM's front-end may read the second only when the
    first has been answered (see below), and then none ever waits."""

    def work():
        body = {"model": "tiny", "prompt": PROMPTS, "max_tokens": TOKENS, "temperature": 0,
                "ignore_eos": True}  # fmt: skip
        status, text = server.call("/v1/completions", body)
        assert status == 200, text
        assert len(json.loads(text)["choices"]) == len(PROMPTS)

    return profiled(server, work)


def test_requests(four, rows):
    session, counters = four.folder, four.counters
    found = rows(session, "SELECT * FROM request ORDER BY request_id")
    assert len(found) == len(PROMPTS)
    for row in found:
        assert row["is_whole"] == 1 and row["finish_reason"] == "length"
        assert row["output_tokens"] == TOKENS
        moments = ["ts", "tokenized_ts", "queued_ts", "scheduled_ts", "first_token_ts",
                   "last_token_ts"]  # fmt: skip
        times = [row[moment] for moment in moments] + [row["ts"] + row["dur"]]
        assert times == sorted(times), row
        assert row["ttft_ns"] == row["first_token_ts"] - row["ts"]
        assert row["max_tokens"] == TOKENS and json.loads(row["sampling"])["temperature"] == 0
        assert row["lora"] is None
    assert counters["vllm:request_success_total/length"] == len(PROMPTS)
    assert sum(row["prompt_tokens"] for row in found) == counters["vllm:prompt_tokens_total"]
    assert sum(row["output_tokens"] for row in found) == counters["vllm:generation_tokens_total"]
    # Two fit at a time: the others wait for one of them to end.
    found.sort(key=lambda row: row["scheduled_ts"])
    assert all(row["queue_ns"] == row["scheduled_ts"] - row["queued_ts"] for row in found)
    before = f"SELECT count(*) AS n FROM engine_step WHERE ts < {found[2]['scheduled_ts']}"
    assert rows(session, before)[0]["n"] >= TOKENS - 1


def test_engine_steps(four, rows):
    session, counters = four.folder, four.counters
    steps = rows(session, "SELECT * FROM engine_step ORDER BY step_id")
    numbers = [row["step_id"] for row in steps]
    assert numbers == list(range(numbers[0], numbers[0] + len(steps)))
    assert len(steps) == counters["vllm:iteration_tokens_total_count"]
    # vLLM counts tokens of prompts and those that came out.
    tokens = sum(row["prefill_tokens"] + row["output_tokens"] for row in steps)
    assert tokens == counters["vllm:iteration_tokens_total_sum"]
    assert sum(row["output_tokens"] for row in steps) == len(PROMPTS) * TOKENS
    assert sum(row["finished_requests"] for row in steps) == len(PROMPTS)
    assert max(row["running_requests"] for row in steps) == 2
    assert max(row["waiting_requests"] for row in steps) >= 1
    assert all(0 < row["kv_cache_usage"] < 1 for row in steps)
    for row in steps:
        assert row["schedule_ns"] > 0 and row["update_ns"] > 0
        assert row["dur"] > row["schedule_ns"] + row["update_ns"]


def test_who_took_part_in_what(four, rows):
    session = four.folder
    sql = (
        "SELECT p.phase, count(*) AS n, sum(p.tokens) AS tokens, sum(p.output_tokens) AS out "
        "FROM request_step p JOIN request r ON r.request_id = p.request_id JOIN engine_step s "
        "ON s.engine = p.engine AND s.step_id = p.step_id GROUP BY p.phase ORDER BY p.phase"
    )
    decode, prefill = rows(session, sql)
    assert (decode["n"], decode["tokens"]) == (len(PROMPTS) * (TOKENS - 1),) * 2
    assert prefill["n"] == len(PROMPTS) and prefill["out"] == len(PROMPTS)
    late = rows(session, "SELECT count(*) AS n FROM request_step p JOIN engine_step s USING "
                         "(engine, step_id) WHERE p.output_tokens > 0 AND (p.output_ts > s.ts + "
                         "s.dur OR p.sent_ts < p.output_ts OR p.sent_ts IS NULL)")  # fmt: skip
    assert late[0]["n"] == 0


def test_flows_from_request_to_rank(four, rows):
    session = four.folder
    sql = """SELECT count(*) AS n, count(DISTINCT s.step_id) AS steps
        FROM engine_step s JOIN flow f ON f.kind = 'engine_step' AND f.slice_out = s.slice_id
        JOIN step t ON t.slice_id = f.slice_in
        JOIN process p ON p.process_id = t.process_id WHERE t.step_id = s.step_id AND p.rank = 0
        AND t.ts >= s.ts AND t.ts + t.dur <= s.ts + s.dur"""
    steps = rows(session, "SELECT count(*) AS n FROM engine_step")[0]["n"]
    assert rows(session, sql) == [{"n": steps, "steps": steps}]
    # The four share the slice of their call.
    sql = """SELECT count(*) AS n FROM flow f JOIN engine_step s ON s.slice_id = f.slice_in
        WHERE f.kind = 'request' AND f.slice_out IN (SELECT slice_id FROM request)"""
    assert rows(session, sql)[0]["n"] == len(PROMPTS) * TOKENS
    names = rows(session, "SELECT DISTINCT k.name FROM counter c JOIN track k USING (track_id)")
    assert {"running requests", "waiting requests", "KV cache use"} <= {r["name"] for r in names}


def test_ranks_record_their_batch_and_waits(four, rows):
    session = four.folder
    sql = """SELECT t.step_id, min(c.value) AS value FROM step t JOIN counter c ON c.ts >= t.ts AND
        c.ts <= t.ts + t.dur JOIN track k USING (track_id) WHERE k.name = '{}' GROUP BY ALL"""
    for phase in ("prefill", "decode"):
        for what in ("requests", "tokens"):
            reported = {
                r["step_id"]: r["value"] for r in rows(session, sql.format(f"{phase} {what}"))
            }
            found = rows(session, f"SELECT step_id, {phase}_{what} AS value FROM engine_step")
            assert reported == {row["step_id"]: row["value"] for row in found}
    sql = "SELECT name, count(*) AS n FROM slice WHERE name IN ('idle', 'sample tokens') GROUP BY 1"
    steps = rows(session, "SELECT count(*) AS n FROM engine_step")[0]["n"]
    found = {row["name"]: row["n"] for row in rows(session, sql)}
    assert found["sample tokens"] == steps
    # One wait a call: two calls a step, and those of empty steps and of the profiler.
    assert 2 * steps <= found["idle"] <= 4 * steps + 20


def test_nothing_of_the_texts_is_stored(four):
    session = four.folder
    words = ["def main():", "class Queue:", "for line in file:"]
    assert all(any(word in prompt for prompt in PROMPTS) for word in words)
    files = [path for path in session.parent.rglob("*") if path.is_file()]
    recorded = [path for path in files if path.suffix == ".sonde"]
    assert any(session in path.parents for path in recorded), files  # the front-end's
    assert any(session not in path.parents for path in recorded), files  # the rank's
    for path in files:
        data = path.read_bytes()
        assert not [word for word in words if word.encode() in data], path


def test_files_of_the_summary(four, sonde):
    session = four.folder
    with (session / "serving_summary.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    value = {(row["name"], row["statistic"]): float(row["value"]) for row in table}
    assert value["requests", "sum"] == len(PROMPTS)
    assert value["output tokens", "sum"] == len(PROMPTS) * TOKENS
    assert value["TTFT", "P50"] <= value["TTFT", "P99"] <= value["E2E", "max"]
    assert (session / "serving_summary.xlsx").read_bytes().startswith(b"PK")
    assert "slowest requests" in (session / "serving_summary.txt").read_text()
    done = subprocess.run([sonde, "analyse", session], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"Served: {len(PROMPTS)} requests" in done.stdout


WEB = Path(__file__).resolve().parents[2] / "web"


def test_the_page_shows_them(four, rows):
    """The page in a browser, on this recording: web/e2e/served.test.ts does what a user does."""
    session = four.folder
    node = (WEB / "node_modules").resolve().parent / "node"
    if not node.is_file():
        pytest.skip("needs web: make setup")
    (facts,) = rows(session, """
        WITH part AS (SELECT step_id FROM request_step WHERE request_id = 0 ORDER BY step_id),
             chosen AS (SELECT step_id FROM part OFFSET 1 LIMIT 1)
        SELECT (SELECT count(*) FROM request) AS requests,
               (SELECT output_tokens FROM request WHERE request_id = 0) AS tokens,
               (SELECT median(ttft_ns) FROM request) AS ttft,
               (SELECT count(*) FROM part) AS steps,
               (SELECT count(*) FROM device_task d JOIN step s ON d.process_id = s.process_id
                WHERE s.step_id = (SELECT step_id FROM chosen) AND d.core IS NOT NULL
                AND d.ts >= s.ts AND d.ts < s.ts + s.dur) AS operators
    """)  # fmt: skip
    assert (facts["requests"], facts["tokens"]) == (len(PROMPTS), TOKENS)
    done = subprocess.run(
        [node, "node_modules/vitest/vitest.mjs", "run", "--config=vitest.browser.config.ts",
         "e2e/served.test.ts"],
        cwd=WEB,
        env={**os.environ, "SONDE_SERVED": str(session), "SONDE_SERVED_FACTS": json.dumps(facts)},
        capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "1 passed" in done.stdout


def test_what_one_engine_step_does(four, rows):
    found = rows(four.folder, "SELECT kind, part, median_ns, slowest_ns FROM engine_step_part")
    expected = {"schedule", "hand_over", "preprocess", "forward", "postprocess", "sampling",
                "hand_back", "update", "delivery", "all"}  # fmt: skip
    for kind in ("decode", "prefill"):
        parts = {row["part"]: row for row in found if row["kind"] == kind}
        assert expected <= set(parts), kind
        whole = parts.pop("all")
        for which in ("median_ns", "slowest_ns"):
            assert sum(row[which] for row in parts.values()) == whole[which] > 0
        not_covered = parts.get("not_covered", {"median_ns": 0})["median_ns"]
        assert not_covered < 0.1 * whole["median_ns"], parts
        assert parts["forward"]["median_ns"] == max(row["median_ns"] for row in parts.values())


def spans_of(sonde, session):
    """The spans of a session's requests, by name, and their attributes."""
    command = [sonde, "analyse", session, "--export-type", "otlp"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    lines = (session / "otlp_traces.jsonl").read_text().splitlines()
    found = [span for line in lines for span in
             json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]]  # fmt: skip
    for span in found:
        attributes = span["attributes"]
        span["facts"] = {one["key"]: next(iter(one["value"].values())) for one in attributes}
    return found


def test_headers_of_the_client(server, sonde, rows):
    """By what a client finds its request, on both routes; what it sent to do harm is not there."""
    traceparents = [f"00-{n:032x}-{n:016x}-01" for n in (1, 2)]
    hostile = {"traceparent": "00-' OR 1=1 --", "x-request-id": "<b>" + "x" * 4000}
    chat = [{"role": "user", "content": "import "}]
    asked = {"model": "tiny", "max_tokens": 4, "temperature": 0, "ignore_eos": True}

    def work():
        for path, body, headers in (
            ("/v1/completions", {"prompt": "import "},
             {"traceparent": traceparents[0], "x-request-id": "order 66"}),
            ("/v1/chat/completions", {"messages": chat}, {"traceparent": traceparents[1]}),
            ("/v1/completions", {"prompt": "import "}, hostile),
            ("/v1/completions", {"prompt": "import "}, {}),
        ):  # fmt: skip
            status, text = server.call(path, {**asked, **body}, headers=headers)
            assert status == 200, text

    session = profiled(server, work).folder
    found = rows(session, "SELECT name, traceparent, x_request_id FROM request ORDER BY ts")
    assert [row["traceparent"] for row in found] == [*traceparents, None, None]
    request_ids = [row["x_request_id"] for row in found]
    assert request_ids == ["order 66", None, "<b>" + "x" * 124 + "…", None]
    assert all(row["name"] for row in found)
    # The requests are parts of those traces.
    spans = [span for span in spans_of(sonde, session) if span["kind"] == 2]
    spans.sort(key=lambda span: int(span["startTimeUnixNano"]))
    assert [span["name"] for span in spans] == [
        "text_completion tiny", "chat tiny", "text_completion tiny", "text_completion tiny",
    ]  # fmt: skip
    parents = [(span["traceId"], span.get("parentSpanId")) for span in spans]
    assert parents[:2] == [tuple(one.split("-")[1:3]) for one in traceparents]
    assert [parent for _, parent in parents[2:]] == [None, None]
    assert [span["facts"]["gen_ai.usage.output_tokens"] for span in spans] == ["4"] * 4


def test_session_after_session(server, rows):
    """The first is as whole as the last, and each knows its own requests only."""
    count = 10 if os.environ.get("SONDE_THOROUGH") == "1" else 4
    for _ in range(count):
        of_one = profiled(server, lambda: server.ask(PROMPTS[0], TOKENS))
        session = of_one.folder
        files = {path.name for path in (of_one.span / "ASCEND_PROFILER_OUTPUT").iterdir()}
        assert {"trace_view.json", "kernel_details.csv", "step_trace_time.csv"} <= files
        (row,) = rows(session, "SELECT * FROM request")
        assert row["is_whole"] == 1 and row["output_tokens"] == TOKENS
        steps = rows(session, "SELECT count(*) AS n FROM engine_step WHERE dur >= 0")[0]["n"]
        sql = "SELECT count(*) AS n FROM step JOIN process p USING (process_id) WHERE p.rank = 0"
        # One step may have been prepared ahead and computed nothing.
        assert TOKENS <= steps <= TOKENS + 1 and rows(session, sql)[0]["n"] == steps
        reported = "SELECT DISTINCT value AS name FROM args_text WHERE key = 'request'"
        assert rows(session, reported) == [{"name": row["name"]}], "of the sessions before"
        lost = "SELECT count(*) AS n FROM import_issue WHERE severity = 'error'"
        assert rows(session, lost)[0]["n"] == 0
    until(lambda: '"parsing"' not in server.call("/profile_status")[1], server)
    reported = json.loads(server.call("/profile_status")[1])["sessions"]
    assert len(reported) > count and {one["state"] for one in reported} == {"complete"}
    assert all([rank["state"] for rank in one["ranks"]] == ["complete"] for one in reported)


# vLLM's front-end answers nothing while a fast engine keeps its queue of tokens full (tiny model,
# free machine; the same without Sonde), so that a client that has left, or the start of a session,
# may be noticed only after the request. vLLM's own counters show which it was.


def test_a_client_that_goes_away(server, rows):
    def work():
        body = {"model": "tiny", "prompt": "import ", "max_tokens": 400, "stream": True,
                "ignore_eos": True}  # fmt: skip
        server.abandon("/v1/completions", body, pieces=3)
        until(lambda: metrics(server)["vllm:num_requests_running"] == 0, server)

    session = profiled(server, work)
    (row,) = rows(session.folder, "SELECT * FROM request")
    # Aborted requests are not counted always.
    is_missed = not session.counters["vllm:request_success_total/length"]
    assert row["is_whole"] == 1 and row["finish_reason"] == ("abort" if is_missed else "length")
    assert 3 <= row["output_tokens"] <= (399 if is_missed else 400)


def test_requests_of_two_sessions_side_by_side(server, sonde, rows, four, tmp_path):
    """Times and their percentiles are those of the requests; a longer queue is reported."""
    old = four.folder

    def work():
        for _ in range(6):
            server.ask(PROMPTS[0], 8)

    new = profiled(server, work).folder
    command = [sonde, "compare", "-d", new, "-bp", old, "-o", tmp_path, "--export_type", "csv"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert "requests" in done.stdout
    (folder,) = tmp_path.iterdir()
    with (folder / "Requests.csv").open(newline="") as file:
        found = {row["measure"]: row for row in csv.DictReader(file)}
    for side, session in (("base", old), ("comparison", new)):
        for measure, column in (("TTFT", "ttft_ns"), ("TPOT", "tpot_ns"), ("queue", "queue_ns")):
            sql = (f"SELECT avg({column}) / 1e6 AS mean, count(*) AS count,"
                   f" quantile_cont({column}, 0.99) / 1e6 AS p99 FROM request")  # fmt: skip
            (own,) = rows(session, sql)
            row = found[measure]
            assert int(row[f"{side}_count"]) == own["count"]
            assert float(row[f"{side}_mean"]) == pytest.approx(own["mean"], rel=1e-6)
            assert float(row[f"{side}_p99"]) == pytest.approx(own["p99"], rel=1e-6)
    # Of four at once two wait; of one after the other none does.
    assert float(found["queue"]["base_p99"]) > float(found["queue"]["comparison_p99"])
    assert float(found["batch"]["base_mean"]) > float(found["batch"]["comparison_mean"])
    with (folder / "RequestPercentiles.csv").open(newline="") as file:
        shares = [row for row in csv.DictReader(file) if row["measure"] == "TTFT"]
    assert [int(row["share_percent"]) for row in shares] == list(range(101))
    assert shares[99]["base_value"] == found["TTFT"]["base_p99"]
