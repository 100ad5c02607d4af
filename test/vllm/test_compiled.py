"""A server that compiles its model: warm-up apart from the steps, and what is seen of what the
compiler made."""

import time

import pytest
from own_time import check_conservation
from vllm_server import Server

PROMPT = "def main():\n    import os\n"
TOKENS = 8


@pytest.fixture(scope="module", name="cache")
def make_cache(tmp_path_factory):
    """Compiled once for all servers of this file; the linker finds nothing of other tests."""
    return {"VLLM_CACHE_ROOT": str(tmp_path_factory.mktemp("compiled"))}


def serve(sonde, vllm_python, model, log, cache, *switches):
    return Server(vllm_python, model, log, [sonde, "run", *switches, "--"],
                  options=["--no-enforce-eager"], environment=cache)  # fmt: skip


def await_line(server, text):
    end = time.monotonic() + 120
    while text not in server.log.read_text(errors="replace"):
        assert time.monotonic() < end, server.last_lines()
        time.sleep(0.2)


def test_warm_up_is_no_step(sonde, vllm_python, model, tmp_path, cache, rows):
    """Recorded from the start of the worker on."""
    switches = ["--profile-step-start", "0", "--profile-step-end", "3", "--profile-save-path",
                tmp_path / "profile"]  # fmt: skip
    with serve(sonde, vllm_python, model, tmp_path / "log", cache, *switches) as server:
        server.ask(PROMPT, TOKENS)
        await_line(server, "rank 0: ")
    (span,) = [path for path in (tmp_path / "profile").glob("*_ascend_pt")
               if rows(path, "SELECT count(*) AS n FROM step")[0]["n"]]  # fmt: skip
    assert [r["step_id"] for r in rows(span, "SELECT step_id FROM step ORDER BY ts")] == [0, 1, 2]
    (told,) = rows(span, "SELECT count(*) AS n, max(ts + dur) AS last FROM slice "
                         "WHERE name = 'warm-up'")  # fmt: skip
    assert told["n"] > 0
    assert told["last"] <= rows(span, "SELECT min(ts) AS first FROM step")[0]["first"]


def test_compiled_regions_are_named(sonde, vllm_python, model, tmp_path, cache, rows):
    folder = tmp_path / "profile"
    switches = ["--profile-wait", "--profile-save-path", folder]
    with serve(sonde, vllm_python, model, tmp_path / "log", cache, *switches) as server:
        server.ask(PROMPT, TOKENS)
        for _ in range(2):
            assert server.profile("start")[0] == 200
            server.ask(PROMPT, TOKENS)
            assert server.profile("stop")[0] == 200
        said = server.log.read_text(errors="replace")
    assert said.count("the model runs compiled") == 1
    spans = sorted(folder.glob("rank0_*_ascend_pt"))
    assert len(spans) == 2
    for span in spans:
        assert (span / "ASCEND_PROFILER_OUTPUT" / "analyse.done").exists(), "it waited"
        region = "## Call CompiledFxGraph%"
        found = rows(span, f"SELECT count(*) AS n FROM slice WHERE name LIKE '{region}'")
        assert found[0]["n"] == TOKENS  # one a step
        inside = rows(span, "SELECT o.name, count(*) AS n FROM slice o JOIN slice r ON o.ts >= "
                            "r.ts AND o.ts + o.dur <= r.ts + r.dur AND o.slice_id <> r.slice_id "
                            f"WHERE r.name LIKE '{region}' GROUP BY o.name")  # fmt: skip
        calls = {row["name"]: row["n"] for row in inside}
        for name in ("vllm::unified_kv_cache_update", "vllm::unified_attention_with_output"):
            assert calls[name] == 4 * TOKENS, calls  # a layer each
        kernels = [name for name in calls if name.startswith("cpp_fused_")]
        assert kernels and all(calls[name] % TOKENS == 0 for name in kernels), calls
        assert not any(name.startswith("model.layers") for name in calls)
        check_conservation(lambda sql, span=span: rows(span, sql))
