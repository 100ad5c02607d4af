"""Two tensor-parallel ranks: a capture each, and the collectives that go through shared memory."""

import time

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
