"""The plug-in that an installed Sonde is to vLLM: no `sonde run`, only SONDE=1; and what the
fields of vLLM's configuration do."""

import json
import time

import pytest
from vllm_server import Server


def parsed(server, folder, pattern):
    """The one capture of the pattern, once its files are there."""
    (span,) = folder.glob(pattern)
    end = time.monotonic() + 120
    while f"parsed: {span}" not in server.log.read_text():
        assert time.monotonic() < end, server.last_lines()
        time.sleep(0.2)
    return span


def count(rows, span, what):
    return rows(span, f"SELECT count(*) AS n FROM {what}")[0]["n"]


def test_every_field_of_the_configuration(vllm_python, model, installed, tmp_path, rows):
    folder = tmp_path / "traces"
    config = {"profiler": "torch", "torch_profiler_dir": str(folder),
              "torch_profiler_activities": ["CPU"], "torch_profiler_record_shapes": True,
              "torch_profiler_with_stack": True, "torch_profiler_with_memory": True,
              "torch_profiler_with_flops": True, "torch_profiler_use_gzip": False,
              "torch_profiler_dump_cuda_time_total": True, "detailed_trace_annotation": True,
              "ignore_frontend": True, "wait_iterations": 1, "warmup_iterations": 1,
              "active_iterations": 3}  # fmt: skip
    options = ["--profiler-config", json.dumps(config)]
    environment = {**installed, "SONDE": "1"}
    with Server(vllm_python, model, tmp_path / "log", options=options,
                environment=environment) as server:  # fmt: skip
        assert server.profile("start", {"profile_prefix": "night"})[0] == 200
        server.ask("import ", 9)
        assert server.profile("stop")[0] == 200
        span = parsed(server, folder, "night_rank0_*_ascend_pt")
        said = server.log.read_text()
    for field in ("torch_profiler_use_gzip", "torch_profiler_dump_cuda_time_total"):
        assert said.count(f"sonde: {field} has no effect") == 1
    # As vLLM counts: the start is the wait, the first engine step the warm-up, then three; the one
    # after them ends the session and stays open.
    assert count(rows, span, "step WHERE dur >= 0") == 3
    told = rows(span, "SELECT name FROM slice WHERE name LIKE 'execute_%context%' ORDER BY ts")
    assert [row["name"] for row in told] == [
        f"execute_1_context_0(sq0sk0sqsq0sqsk0)_generation_1(sq1sk{length}sqsq1sqsk{length})"
        for length in (3, 4, 5)
    ]
    for what in ("callstack", "framework_op WHERE input_shapes LIKE '%256%'", "memory_event"):
        assert count(rows, span, what) > 0, what
    info = json.loads(next(span.glob("profiler_info*.json")).read_text())
    assert info["config"]["common_config"]["with_flops"] is True
    (session,) = folder.glob("night_server_*")
    assert not list(session.glob("api_*")), "the front-end was to be ignored"


@pytest.fixture(name="older")
def older_variables(tmp_path):
    return {"VLLM_TORCH_PROFILER_DIR": str(tmp_path / "traces"),
            "VLLM_TORCH_PROFILER_WITH_STACK": "0", "VLLM_TORCH_PROFILER_RECORD_SHAPES": "1",
            "VLLM_PROFILER_DELAY_ITERS": "2", "VLLM_PROFILER_MAX_ITERS": "4"}  # fmt: skip


def test_the_variables_of_older_versions(
    vllm_python, model, installed, older, tmp_path, rows
):  # fmt: skip
    environment = {**installed, **older, "SONDE": "1"}
    with Server(vllm_python, model, tmp_path / "log", environment=environment) as server:
        assert server.profile("start")[0] == 200
        server.ask("import ", 9)
        assert server.profile("stop")[0] == 200
        span = parsed(server, tmp_path / "traces", "rank0_*_ascend_pt")
        (session,) = (tmp_path / "traces").glob("server_*")
        status, text = server.call("/profile_status")
    # The front-end takes part although vLLM had imported all of it before it called the plug-in.
    assert status == 200 and [s["folder"] for s in json.loads(text)["sessions"]] == [str(session)]
    assert count(rows, session, "request r JOIN slice s USING (slice_id) "
                                "WHERE s.name = 'request'") == 1  # fmt: skip
    told = count(rows, span, "slice WHERE name LIKE 'execute_context%'")
    assert told == count(rows, span, "step WHERE dur >= 0") == 4
    assert count(rows, span, "framework_op WHERE input_shapes LIKE '%256%'") > 0
    assert count(rows, span, "callstack") == 0
