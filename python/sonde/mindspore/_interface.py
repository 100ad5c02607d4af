"""MindSpore's profilers (``mindspore.profiler.profile``, ``mindspore.Profiler``, ``EnvProfiler``,
``DynamicProfilerMonitor``) record by Sonde.

They all act through the class methods of ``ProfilerInterface``: ours take their place. Parameters,
defaults, checks, warnings, schedules and handlers stay MindSpore's own; what it would record itself
(one line a kernel, see docs/mindspore.md) is not recorded beside. A capture lies where MindSpore
would put its folder, and is parsed where a handler asks for it.

Threads: the one that drives the profiler. Errors: MindSpore's profilers print what is raised here
and go on.
"""

import contextlib
import importlib
import os
import sys
from typing import Any, Callable, Optional

from sonde import _analyse, _native, _report
from sonde._seams import Part, Seam
from sonde.mindspore import _parameters
from sonde.mindspore._recording import SPAN_SUFFIX, Recording

_MODULE = "mindspore.profiler.profiler_interface"
_ANALYSERS = "mindspore.profiler.profiler"
# What the guides' progress line counts; parsing is one native command.
_STAGES = ("AscendMsprofParser", "FrameworkParser", "FrameworkCannRelationParser")

_is_installed = False
_recording: Optional[Recording] = None
#: The recording of ``sonde run``, which steps aside when a profiler starts; None without.
owner: Any = None


def install() -> None:
    """From now on MindSpore's profilers record by Sonde. Once a process."""
    global _is_installed
    if _is_installed:
        return
    _is_installed = True
    for seam in seams():
        seam.install()


def seams() -> "tuple[Seam, ...]":
    """What is changed."""
    names = {
        "init": _init,
        "start": _start,
        "stop": _stop,
        "analyse": _analyse_span,
        "finalize": _finalize,
        "clear": _clear,
        "delete_dir": _delete,
    }
    parts = [Part(f"ProfilerInterface.{name}", replace=_by(new)) for name, new in names.items()]
    return (
        Seam("profilers of the program", _MODULE, parts),
        Seam(
            "analysis of what profilers left",
            _ANALYSERS,
            (
                Part("Profiler.offline_analyse", replace=_by(_offline_of_class)),
                Part("analyse", replace=_by(analyse), optional=True),
            ),
        ),
        Seam(
            "steps of the program's profilers",
            "mindspore.profiler.common.record_function",
            (
                Part("RecordFunction.__init__", replace=_named),
                Part("RecordFunction.start", replace=_begun),
                Part("RecordFunction.stop", replace=_ended),
            ),
        ),
    )


def _by(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """What makes, of an original, a function object of its own, which a seam marks as its."""

    def replace(_: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return call

    return replace


# ProfilerInterface


def _init(interface: Any) -> None:
    global _recording
    if interface.is_initialized:
        return
    if owner is not None:
        owner.yield_to_program()
    context = _parameters.context()
    _recording = Recording(_parameters.settings(context, _worker_name()), _parameters.facts)
    interface.is_initialized = True


def _start(interface: Any) -> None:
    if not interface.is_initialized or _recording is None:
        _report.log("MindSpore's profiler was started before it was initialized", error=True)
        return
    if owner is not None and not owner.wants_this_rank():
        return
    if _recording.active:
        return
    span = _recording.start()
    with contextlib.suppress(AttributeError):  # a release that keeps it elsewhere
        _parameters.context().ascend_ms_dir = span
    if owner is not None:
        owner.window_began(span)


def _stop(interface: Any) -> None:
    if interface.is_initialized and _recording is not None and _recording.active:
        _recording.stop()


def _finalize(interface: Any) -> None:
    if interface.is_initialized and _recording is not None and _recording.path:
        module = sys.modules.get("mindspore.profiler.common.profiler_meta_data")
        if module is not None:
            module.ProfilerMetaData.dump_metadata()


def _analyse_span(interface: Any, async_mode: bool = False, **_: Any) -> None:
    if not interface.is_initialized or _recording is None or not _recording.path:
        return
    context = _parameters.context()
    is_async = async_mode or getattr(context, "mode", "sync") == "async"
    span = _recording.path
    print(f"[{os.getpid()}] Start parsing profiling data: {span}", flush=True)
    if is_async:
        _analyse.run_in_background([span])
        return
    _with_progress([span])


def _clear(interface: Any) -> None:
    global _recording
    interface.is_initialized = False
    _recording = None


def _delete(interface: Any) -> None:
    if _recording is not None and _recording.path:
        _recording.discard()


def _worker_name() -> Optional[str]:
    module = sys.modules.get("mindspore.profiler.common.profiler_path_manager")
    if module is None:
        return None
    name = getattr(module.ProfilerPathManager(), "_worker_name", None)
    return name if isinstance(name, str) else None


# Analysis of folders


def _offline_of_class(_: Any, path: str, *args: Any, **kwargs: Any) -> None:
    analyse(path, *args, **kwargs)


def analyse(path: str, *_: Any, **__: Any) -> None:
    """Parses a span folder, or every one directly below a folder. Problems are printed."""
    spans = spans_of(path)
    if not spans:
        _report.log(
            f"Invalid path: {path}. Expected a *_ascend_ms directory or a parent directory of "
            "multiple *_ascend_ms",
            error=True,
        )
        return
    for span in spans:
        print(f"[{os.getpid()}] Start parsing profiling data in sync mode at: {span}", flush=True)
    try:
        _with_progress(spans)
    except _native.NativeError as problem:
        _report.log(str(problem), error=True)


def spans_of(path: str) -> "list[str]":
    """The span folder itself, or those directly below."""
    path = os.path.abspath(os.fspath(path))
    if _is_span(path):
        return [path]
    below = sorted(os.listdir(path)) if os.path.isdir(path) else []
    return [folder for folder in (os.path.join(path, name) for name in below) if _is_span(folder)]


def _is_span(path: str) -> bool:
    names = os.listdir(path) if os.path.isdir(path) else []
    has_parts = any(name in ("SONDE", "FRAMEWORK") or name.startswith("PROF_") for name in names)
    return path.endswith(SPAN_SUFFIX) and has_parts


def _with_progress(spans: "list[str]") -> None:
    """Parses, under the progress line of the installed release, which shows the classes of what it
    goes through."""
    try:
        bar = importlib.import_module("mindspore.profiler.common.process_bar").ProcessBar
    except (ImportError, AttributeError):  # a release without one
        _analyse.run(spans, quiet=True)
        return
    stages = [type(name, (), {})() for name in _STAGES]
    for stage in bar(stages, desc="Parsing"):
        if stage is stages[0]:
            _analyse.run(spans, quiet=True)


# Steps: RecordFunction("ProfilerStep#3")

_STEP = "ProfilerStep#"


def _named(original: Any) -> Any:
    def init(self: Any, name: str, *args: Any, **kwargs: Any) -> None:
        original(self, name, *args, **kwargs)
        self._sonde_name = name

    return init


def _begun(original: Any) -> Any:
    def start(self: Any) -> None:
        original(self)
        name = getattr(self, "_sonde_name", "")
        if _native.recorder().features() == 0:
            return
        if name.startswith(_STEP) and name[len(_STEP) :].isdigit():
            _native.recorder().fast.sonde_step(int(name[len(_STEP) :]))

    return start


def _ended(original: Any) -> Any:
    def stop(self: Any) -> None:
        original(self)
        is_step = getattr(self, "_sonde_name", "").startswith(_STEP)
        if is_step and _native.recorder().features() != 0:
            _native.recorder().fast.sonde_step(-1)

    return stop
