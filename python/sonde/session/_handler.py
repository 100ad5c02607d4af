"""``tensorboard_trace_handler`` and ``analyse``: from captures to deliverables."""

import datetime
import multiprocessing
import os
import time
from typing import Any, Callable, Optional, Union

from sonde import _analyse
from sonde.session import _console, _place
from sonde.session._enums import ExportType

SPAN_SUFFIX = "_ascend_pt"
_MAX_WORKER_NAME = 226

_DAEMON_TEXT = (
    "The profiling data cannot be parsed during the daemon process, it is recommended that you "
    "use an offline parsing interface to parse the collected data. \nFor example: \n"
    'from sonde.torch.profiler import analyse\nanalyse("profiling_data_path")'
)


def tensorboard_trace_handler(
    dir_name: Optional[str] = None,
    worker_name: Optional[str] = None,
    analyse_flag: bool = True,
    async_mode: bool = False,
) -> Callable[[Any], None]:
    """A handler for ``on_trace_ready`` that leaves the deliverables in a folder.

    ``dir_name``: parent folder, else ``$ASCEND_WORK_PATH/profiling_data``, else the current one;
    made if need be. ``worker_name``: first part of the span folders' names, else the host name.
    ``analyse_flag``: parse right after recording; ``async_mode``: in the background, awaited when
    the interpreter ends. A wrong value gives a warning and the default.
    """
    if dir_name is not None and not isinstance(dir_name, (str, os.PathLike)):
        _console.warning("Invalid parameter dir_name, reset it to default.")
        dir_name = None
    if worker_name is not None and not (
        isinstance(worker_name, str) and 0 < len(worker_name) < _MAX_WORKER_NAME
    ):
        _console.warning("Invalid parameter worker_name, reset it to default.")
        worker_name = None
    if not isinstance(analyse_flag, bool):
        _console.warning("analyse_flag is not bool, set by default.")
        analyse_flag = True
    if not isinstance(async_mode, bool):
        _console.warning("async_mode is not bool, set by default.")
        async_mode = False
    try:
        _place.set_place(None if dir_name is None else os.fspath(dir_name), worker_name)
    except OSError as problem:
        _console.error(f"Call tensorboard_trace_handler failed. Exception: {problem}")

    def handler(prof: Any) -> None:
        if analyse_flag:
            parse_recorded(prof.span_path, async_mode)

    handler.keeps_data = True  # type: ignore[attr-defined]
    return handler


def parse_recorded(span: str, async_mode: bool) -> None:
    """Parses one finished capture, now or in the background. Raises ``NativeError``."""
    if not span:
        _console.error("Invalid profiling path.")
        return
    if multiprocessing.current_process().daemon:
        _console.error(_DAEMON_TEXT)
        return
    mode = "async" if async_mode else "sync"
    _console.info(f"Start parsing profiling data in {mode} mode at: {span}")
    if async_mode:
        _analyse.run_in_background([span])
        return
    started = time.monotonic()
    _analyse.run([span])
    _say_total(started)


def _say_total(started: float) -> None:
    total = datetime.timedelta(seconds=time.monotonic() - started)
    _console.info(f"All profiling data parsed in a total time of {total}")


def _span_folders(path: str) -> list[str]:
    """The span folder itself, or those directly below; deeper ones are not looked for."""
    if _is_span(path):
        return [path]
    below = sorted(os.path.join(path, name) for name in os.listdir(path))
    return [folder for folder in below if folder.endswith(SPAN_SUFFIX) and _is_span(folder)]


def _is_span(path: str) -> bool:
    names = os.listdir(path) if os.path.isdir(path) else []
    return any(name in ("SONDE", "FRAMEWORK") or name.startswith("PROF_") for name in names)


def _process_number(value: Any) -> Optional[int]:
    cores = os.cpu_count() or 1
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        _console.warning("Invalid max_process_number, reset it to default!")
        return None
    if value > cores:
        _console.warning(
            "max_process_number exceeds the number of cpu cores, "
            "reset it to the number of cpu cores!"
        )
        return cores
    return value


def _kinds(value: Any) -> Optional[list[str]]:
    if value is None:
        return None
    kinds = []
    for kind in value if isinstance(value, (list, tuple)) else [value]:
        text = kind.value if isinstance(kind, ExportType) else kind
        if text not in [known.value for known in ExportType]:
            _console.warning(f"Invalid parameter export_type: {kind}, reset it to None.")
            return None
        if text not in kinds:
            kinds.append(text)
    return kinds or None


@_console.guarded()
def analyse(
    profiler_path: str,
    max_process_number: Optional[int] = None,
    export_type: Union[str, list[str], None] = None,
) -> None:
    """Parses a span folder, or every span folder directly below a folder.

    ``max_process_number``: spans parsed at once (default: half of the cores). ``export_type``:
    ``"text"``, ``"db"`` or both; None: what each capture was made with. Problems are printed.
    """
    path = os.path.abspath(os.fspath(profiler_path))
    if not os.path.exists(path):
        raise RuntimeError(f"The path does not exist: {path}")
    spans = _span_folders(path)
    if not spans:
        raise RuntimeError(f"no capture ({SPAN_SUFFIX} folder) in {path}")
    started = time.monotonic()
    _analyse.run(spans, _kinds(export_type), _process_number(max_process_number))
    _say_total(started)
