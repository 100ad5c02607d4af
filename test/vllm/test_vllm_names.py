"""The names of vLLM that Sonde changes: in the sources of the installed one, and of other versions
in SONDE_VLLM_SOURCES (folders `<version>/vllm/...`, unpacked wheels)."""

import ast
import os
from pathlib import Path

# Module, class, names.
NAMES = (
    ("v1/core/sched/scheduler.py", "Scheduler", ("schedule", "update_from_output", "add_request",
                                                 "_free_request")),
    ("v1/engine/core.py", "EngineCore", ("profile",)),
    ("v1/engine/output_processor.py", "OutputProcessor", ("add_request",)),
    ("v1/engine/output_processor.py", "RequestState", ("make_request_output",)),
    ("v1/engine/async_llm.py", "AsyncLLM", ("start_profile", "stop_profile")),
    ("v1/engine/llm_engine.py", "LLMEngine", ("start_profile", "stop_profile")),
    ("v1/worker/gpu_worker.py", "Worker", ("execute_model",)),
    ("v1/worker/gpu_model_runner.py", "GPUModelRunner", ("_dummy_run",)),
    ("distributed/device_communicators/shm_broadcast.py", "MessageQueue", ("dequeue",)),
    ("v1/core/sched/output.py", "CachedRequestData", ("req_ids", "num_output_tokens")),
    ("v1/core/sched/output.py", "SchedulerOutput", ("num_scheduled_tokens", "scheduled_new_reqs",
                                                    "total_num_scheduled_tokens")),
)  # fmt: skip
APPS = ("entrypoints/launchers/app.py", "entrypoints/openai/api_server.py")


def versions(python):
    others = Path(os.environ.get("SONDE_VLLM_SOURCES", "/nowhere")).glob("*/vllm")
    return [*Path(python).parents[1].glob("lib/python*/site-packages/vllm"), *sorted(others)]


def names_in(path, owner):
    tree = ast.parse(path.read_text())
    body = tree.body
    if owner:
        (found,) = [node for node in body if isinstance(node, ast.ClassDef) and node.name == owner]
        body = found.body
    names = {node.name for node in body if hasattr(node, "name")}
    return names | {node.target.id for node in body if isinstance(node, ast.AnnAssign)}


def test_the_names_are_there(vllm_python):
    found = versions(vllm_python)
    assert found
    for version in found:
        for module, owner, names in NAMES:
            assert set(names) <= names_in(version / module, owner), (version, module)
        apps = [version / name for name in APPS if (version / name).exists()]
        assert any("build_app" in names_in(path, "") for path in apps), version
