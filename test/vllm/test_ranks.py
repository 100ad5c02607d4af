"""Two tensor-parallel ranks: a capture each, and the collectives between them; two engines."""

import os
import time

import pytest
from vllm_server import Server

TOKENS = 6


def test_collectives_of_two_ranks(sonde, vllm_python, model, tmp_path, rows):
    launcher = [sonde, "run", "--profile-level", "level1", "--profile-record-shapes",
                "--profile-save-path", tmp_path / "profile", "--"]  # fmt: skip
    with Server(vllm_python, model, tmp_path / "log", launcher, ranks=2) as server:
        server.ask("import ", TOKENS)
        assert server.profile("start")[0] == 200
        server.ask("import ", TOKENS)
        assert server.profile("stop")[0] == 200
        spans = sorted((tmp_path / "profile").glob("rank*_ascend_pt"))
        end = time.monotonic() + 120
        for span in spans:
            while not (span / "ASCEND_PROFILER_OUTPUT" / "analyse.done").exists():
                assert time.monotonic() < end, server.last_lines()
                time.sleep(0.2)
    assert [span.name.split("_")[0] for span in spans] == ["rank0", "rank1"]
    for rank, span in enumerate(spans):
        assert rows(span, "SELECT rank FROM process") == [{"rank": rank}]
        assert rows(span, "SELECT count(*) AS n FROM step")[0]["n"] == TOKENS
        sql = (
            "SELECT op_type, group_name, rank_size, count(*) AS n, min(size_bytes) AS least "
            "FROM communication_op GROUP BY ALL ORDER BY op_type"
        )
        found = rows(span, sql)
        # Two a layer and one for the embedding, 256 floats a token; the logits are gathered.
        assert [(r["op_type"], r["rank_size"], r["n"], r["least"]) for r in found] == [
            ("allgather", 2, TOKENS, 4096), ("allreduce", 2, 9 * TOKENS, 1024),
        ]  # fmt: skip
        # Through shared memory where the processor is one for which vLLM has that, else by torch,
        # which numbers its groups.
        (group,) = {row["group_name"] for row in found}
        described = f"SELECT description FROM communication_group WHERE name = '{group}'"
        (told,) = rows(span, described)
        assert "tp:0" in (group, told["description"])
        tasks = rows(span, "SELECT count(*) AS n FROM device_task WHERE name LIKE '%shm_%'")
        assert tasks[0]["n"] == 0, "they are no computing"


@pytest.mark.skipif(os.environ.get("SONDE_VLLM_WAYS") != "all", reason="by make test-vllm-ways")
def test_two_engines(sonde, vllm_python, model, tmp_path, rows):
    """Data parallel: a capture of each engine, and all requests in the one server's session."""
    launcher = [sonde, "run", "--profile-save-path", tmp_path / "profile", "--"]
    options = ["--data-parallel-size", "2"]
    environment = {"VLLM_CPU_OMP_THREADS_BIND": "0|1", "VLLM_CPU_KVCACHE_SPACE": "1"}
    log = tmp_path / "log"
    with Server(vllm_python, model, log, launcher, options=options, environment=environment) as at:
        at.ask("import ", TOKENS)
        assert at.profile("start")[0] == 200
        for _ in range(4):
            at.ask("import ", TOKENS)
        assert at.profile("stop")[0] == 200
        (session,) = (tmp_path / "profile").glob("server_*")
        end = time.monotonic() + 120
        while f"served: {session}" not in log.read_text(errors="replace"):
            assert time.monotonic() < end, at.last_lines()
            time.sleep(0.2)
    statement = "SELECT count(*) AS n, sum(output_tokens) AS tokens FROM request"
    (all_requests,) = rows(session, statement)
    assert all_requests == {"n": 4, "tokens": 4 * TOKENS}
    spans = list((tmp_path / "profile").glob("rank*_ascend_pt"))
    assert len(spans) == 2  # each engine numbers its ranks from 0, as in vLLM's own traces
    assert sum(rows(span, "SELECT count(*) AS n FROM step")[0]["n"] for span in spans) >= 4 * TOKENS
