"""The plug-in that an installed Sonde is to vLLM: no `sonde run`, only SONDE=1."""

import json
import time

from vllm_server import Server


def test_start_profile_is_ours(vllm_python, model, installed, tmp_path, rows):
    folder = tmp_path / "traces"
    config = {"profiler": "torch", "torch_profiler_dir": str(folder),
              "torch_profiler_record_shapes": True, "torch_profiler_with_stack": True}  # fmt: skip
    options = ["--profiler-config", json.dumps(config)]
    environment = {**installed, "SONDE": "1"}
    with Server(vllm_python, model, tmp_path / "log", options=options,
                environment=environment) as server:  # fmt: skip
        assert server.profile("start", {"profile_prefix": "night"})[0] == 200
        server.ask("import ", 4)
        assert server.profile("stop")[0] == 200
        (span,) = folder.glob("night_rank0_*_ascend_pt")
        end = time.monotonic() + 120
        while f"parsed: {span}" not in server.log.read_text():
            assert time.monotonic() < end, server.last_lines()
            time.sleep(0.2)
    assert rows(span, "SELECT count(*) AS n FROM step")[0]["n"] == 4
    assert rows(span, "SELECT count(*) AS n FROM callstack")[0]["n"] > 0
    assert (span / "ASCEND_PROFILER_OUTPUT" / "analyse.done").exists()
