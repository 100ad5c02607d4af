"""The plug-in that an installed Sonde is to vLLM: no `sonde run`, only SONDE=1; and what the
fields of vLLM's configuration do."""

import json

import pytest
from vllm_server import Server
from watched import await_line, one_more_session, printed

FIELDS = {"profiler": "torch", "torch_profiler_activities": ["CPU"],
          "torch_profiler_record_shapes": True, "torch_profiler_with_stack": True,
          "torch_profiler_with_memory": True, "torch_profiler_with_flops": True,
          "torch_profiler_use_gzip": False, "torch_profiler_dump_cuda_time_total": True,
          "detailed_trace_annotation": True, "wait_iterations": 1, "warmup_iterations": 1,
          "active_iterations": 3}  # fmt: skip


@pytest.fixture(scope="module", name="server")
def serve(vllm_python, model, installed, tmp_path_factory):
    """Ends within its second session."""
    folder = tmp_path_factory.mktemp("plug_in")
    config = {**FIELDS, "torch_profiler_dir": str(folder / "traces")}
    options = ["--profiler-config", json.dumps(config)]
    environment = {**installed, "SONDE": "1", "VLLM_PLUGINS": "sonde"}
    with Server(vllm_python, model, folder / "log", options=options, way="api_server",
                environment=environment) as server:  # fmt: skip
        server.profiles = folder / "traces"
        with one_more_session(server) as server.first:
            assert server.profile("start", {"profile_prefix": "night"})[0] == 200
            server.text = server.ask("import ", 9)
            assert server.profile("stop")[0] == 200
        await_line(server, f"parsed: {server.first.span}")
        server.status = server.call("/profile_status")
        with one_more_session(server) as server.last:
            assert server.profile("start")[0] == 200
            assert all(server.text.startswith(server.ask("import ", 3)) for _ in range(2))
    return server


def count(rows, span, what):
    return rows(span, f"SELECT count(*) AS n FROM {what}")[0]["n"]


def test_every_field_of_the_configuration(server, rows):
    for field in ("torch_profiler_use_gzip", "torch_profiler_dump_cuda_time_total"):
        assert printed(server).count(f"sonde: {field} has no effect") == 1
    span = server.first.span
    assert span.name.startswith("night_rank0_")
    # As vLLM counts: the start is the wait, the first engine step the warm-up, then three; the one
    # after them ends the session and stays open.
    assert count(rows, span, "step WHERE dur >= 0") == 3
    reported = rows(span, "SELECT name FROM slice WHERE name LIKE 'execute_%context%' ORDER BY ts")
    assert [row["name"] for row in reported] == [
        f"execute_1_context_0(sq0sk0sqsq0sqsk0)_generation_1(sq1sk{length}sqsq1sqsk{length})"
        for length in (3, 4, 5)
    ]
    for what in ("callstack", "framework_op WHERE input_shapes LIKE '%256%'", "memory_event"):
        assert count(rows, span, what) > 0, what
    info = json.loads(next(span.glob("profiler_info*.json")).read_text())
    assert info["config"]["common_config"]["with_flops"] is True


def test_the_front_end_takes_part(server, rows):
    """Although vLLM had imported all of it before it called the plug-in."""
    status, text = server.status
    folder = server.first.folder
    assert status == 200 and [s["folder"] for s in json.loads(text)["sessions"]] == [str(folder)]
    assert folder.name.startswith("night_server_")
    assert count(rows, folder, "request r JOIN slice s USING (slice_id) "
                               "WHERE s.name = 'request'") == 1  # fmt: skip
    assert "are open to whoever reaches" not in printed(server), "who configured them knows"


def test_the_server_ends_in_a_session(server, rows):
    """Without `sonde run` the front-end looks after what is left."""
    assert (server.last.span / "ASCEND_PROFILER_OUTPUT" / "analyse.done").exists()
    assert count(rows, server.last.span, "step WHERE dur >= 0") == 2
    assert (server.last.folder / "serving_summary.csv").exists()
    assert count(rows, server.last.folder, "request") == 2
