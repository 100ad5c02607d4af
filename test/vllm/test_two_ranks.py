"""Two tensor-parallel ranks behind two API server processes, with speculation: a capture of each
rank, the collectives between them, sessions that any front-end starts and stops, and a dump."""

import json

import pytest
from vllm_server import Server
from watched import await_line, one_more_session, profiled

TOKENS = 6
DRAFT = {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 3}


@pytest.fixture(scope="module", name="server")
def serve(sonde, vllm_python, model, tmp_path_factory):
    """Configured by the variable of older releases. The first request is dumped; the server ends
    within its last session, which one test looks at."""
    folder = tmp_path_factory.mktemp("two_ranks")
    dump = {"task": "statistics", "level": "L0", "dump_path": str(folder / "dump"),
            "weights": True, "requests": {"next": 1}}  # fmt: skip
    (folder / "dump config.json").write_text(json.dumps(dump))
    additional = {"dump_config_path": str(folder / "dump config.json")}
    launcher = [sonde, "run", "--profile-level", "level1", "--profile-record-shapes",
                "--profile-save-path", folder / "profile", "--profile-wait", "--"]  # fmt: skip
    options = ["--api-server-count", 2, "--no-enable-prefix-caching",
               "--speculative-config", json.dumps(DRAFT),
               "--additional-config", json.dumps(additional)]  # fmt: skip
    environment = {"VLLM_TORCH_PROFILER_DIR": str(folder / "profile")}
    with Server(vllm_python, model, folder / "log", launcher, ranks=2, options=options, way="cli",
                environment=environment) as server:  # fmt: skip
        server.profiles, server.dump = folder / "profile", folder / "dump"
        server.ask("import ", 3)
        yield server


def test_the_dump_of_a_request(server):
    """On both ranks, by a file that the configuration names."""
    *steps, weights = sorted(server.dump.iterdir())
    assert steps[0].name == "step0" and weights.name == "weights" and 1 < len(steps) <= 3
    name = "Module.model.layers.0.mlp.down_proj.RowParallelLinear.forward.0"
    shapes = [read(folder / "rank1")["data"][name]["parameters"]["weight"]["shape"]
              for folder in (steps[0], weights)]  # fmt: skip
    assert shapes == [[0], [256, 352]], "packed in the step, and before that"
    for step in steps:
        names = [list(read(step / rank)["data"]) for rank in ("rank0", "rank1")]
        assert names[0] == names[1] and len(names[0]) == 51


def read(folder):
    return json.loads((folder / "dump.json").read_text())


def test_any_front_end_starts_and_stops(server, rows):
    """The system chooses the process of each connection: six times, so that both get both."""
    sessions = []
    for _ in range(6):
        with one_more_session(server) as session:
            assert server.profile("start")[0] == 200
            assert server.profile("start")[0] in (200, 409), "each process knows its own only"
            server.ask("import ", TOKENS)
            assert server.profile("stop")[0] == 200
            assert server.profile("stop")[0] == 200  # nothing runs
        sessions.append(session)
    for session in sessions:
        await_line(server, f"served: {session.folder}")
    for _ in range(6):
        reported = json.loads(server.call("/profile_status")[1])["sessions"]
        assert [one["state"] for one in reported] == 6 * ["complete"]
    for session in sessions:
        (row,) = rows(session.folder, "SELECT output_tokens, is_whole FROM request")
        assert row == {"output_tokens": TOKENS, "is_whole": 1}
        assert (session.folder / "serving_summary.csv").exists()


@pytest.fixture(scope="module", name="drafted")
def ask_what_repeats(server):
    return profiled(server, lambda: server.ask("import os import sys import os ", 64))


def test_collectives_of_two_ranks(drafted, rows):
    assert [span.name.split("_")[0] for span in drafted.spans] == ["rank0", "rank1"]
    for rank, span in enumerate(drafted.spans):
        assert rows(span, "SELECT rank FROM process") == [{"rank": rank}]
        steps = rows(span, "SELECT count(*) AS n FROM step")[0]["n"]
        assert 64 / 4 <= steps <= 64
        found = rows(span, "SELECT op_type, group_name, rank_size, count(*) AS n, "
                           "min(size_bytes) AS least FROM communication_op GROUP BY ALL "
                           "ORDER BY op_type")  # fmt: skip
        # Two a layer and one for the embedding, 256 floats a token; the logits are gathered.
        assert [(r["op_type"], r["rank_size"], r["n"]) for r in found] == [
            ("allgather", 2, steps), ("allreduce", 2, 9 * steps),
        ]  # fmt: skip
        assert all(row["least"] > 0 and row["least"] % 1024 == 0 for row in found)
        # Through shared memory where the processor is one for which vLLM has that, else by torch,
        # which numbers its groups.
        (group,) = {row["group_name"] for row in found}
        described = f"SELECT description FROM communication_group WHERE name = '{group}'"
        (reported,) = rows(span, described)
        assert "tp:0" in (group, reported["description"])
        tasks = rows(span, "SELECT count(*) AS n FROM device_task WHERE name LIKE '%shm_%'")
        assert tasks[0]["n"] == 0, "they are no computing"


def test_speculation_beside_the_counters(drafted, rows):
    reported = {
        name.removeprefix("vllm:spec_decode_num_"): n for name, n in drafted.counters.items()
    }
    count, accepted = reported["draft_tokens_total"], reported["accepted_tokens_total"]
    assert count > 0
    for table in ("request", "engine_step"):
        sql = f"SELECT sum(drafted_tokens) AS d, sum(accepted_tokens) AS a FROM {table}"
        (row,) = rows(drafted.folder, sql)
        assert row["d"] == count and accepted - 3 <= row["a"] <= accepted, (row, reported)
    sql = "SELECT count(*) AS n FROM request_step WHERE drafted_tokens > 0"
    assert rows(drafted.folder, sql)[0]["n"] == reported["drafts_total"]
    text = (drafted.folder / "serving_summary.txt").read_text()
    assert f"speculation: {count:.0f} tokens drafted" in text


def test_the_server_ends_in_a_session(server, rows):
    """The last test: `sonde run` looks after what is left when vLLM has ended its processes."""
    with one_more_session(server) as session:
        assert server.profile("start")[0] == 200
        server.ask("import ", TOKENS)
        server.end()
    (row,) = rows(session.folder, "SELECT output_tokens, is_whole FROM request")
    assert row == {"output_tokens": TOKENS, "is_whole": 1}
    assert (session.folder / "serving_summary.csv").exists()
    assert len(session.spans) == 2
    for span in session.spans:
        assert rows(span, "SELECT count(*) AS n FROM step WHERE dur >= 0")[0]["n"] > 1
        assert (span / "ASCEND_PROFILER_OUTPUT" / "analyse.done").exists(), server.last_lines()
