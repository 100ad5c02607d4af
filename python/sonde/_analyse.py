"""Runs the command ``sonde analyse``, which turns captures into deliverables.

Parsing is native and happens in a process of its own, so that it neither takes the program's
memory nor stops with it.
"""

import atexit
import contextlib
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from typing import Callable, Optional

from sonde import _native
from sonde._new_file import create_new, going_on

OUTPUT_FOLDER = "ASCEND_PROFILER_OUTPUT"
DONE_FILE = "analyse.done"
_PARSER_FILE = "analyse.parser"  # in logs: host and number of the last parser in the background
_LOW_PRIORITY = 10
_FULL_BYTES = 1 << 20

_lock = threading.Lock()
_background: list["subprocess.Popen[bytes]"] = []
_joins_at_exit = False


def is_analysed(span: str) -> bool:
    """Whether a span folder has complete deliverables."""
    return os.path.exists(os.path.join(span, OUTPUT_FOLDER, DONE_FILE))


def _is_running(span: str) -> Optional[bool]:
    """Whether the last parser in the background runs, None where no file names it. One of
    another machine counts as running."""
    try:
        with open(os.path.join(span, "logs", _PARSER_FILE), encoding="utf-8") as file:
            number, host = file.read().split(maxsplit=1)
    except (OSError, ValueError):
        return None
    if host.strip() != socket.gethostname():
        return True
    try:
        with open(f"/proc/{int(number)}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def _is_full(span: str) -> bool:
    try:
        disk = os.statvfs(span)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _FULL_BYTES


def is_parsing(span: str) -> bool:
    """Whether a parser in the background is known to be at it, deliverables there or not: the store
    comes last."""
    return _is_running(span) is True


def has_failed(span: str) -> bool:
    """Whether the last parser in the background ended, or was ended, without deliverables; also
    where a full disk holds nothing of it. That of another machine counts as running."""
    is_running = _is_running(span)
    if is_running is None:
        is_running = not _is_full(span)  # will be, or is just being written
    return not is_running and not is_analysed(span)


def failure_of(span: str) -> str:
    """Why, for a span whose parser has failed: the last line that it wrote."""
    try:
        with open(os.path.join(span, "logs", "analyse.log"), encoding="utf-8") as file:
            lines = [line.strip() for line in file if line.strip()]
    except (OSError, UnicodeDecodeError):
        lines = []
    if lines and lines[-1].startswith("sonde: error: "):
        return lines[-1].removeprefix("sonde: error: ")
    if _is_full(span):
        return f"no space is left on the disk of {span}"
    return "the parser ended without files"


def _command(
    paths: list[str],
    export_types: Optional[list[str]],
    max_process_number: Optional[int],
    output: Optional[str] = None,
) -> list[str]:
    sonde = _native.find_command()
    if sonde is None:
        raise _native.NativeError(
            f"the command sonde was not found; parse later by: sonde analyse {' '.join(paths)}"
        )
    command = [sonde, "analyse", *paths]
    for kind in export_types or []:
        command += ["--export-type", kind]
    if max_process_number is not None:
        command += ["--max-process-number", str(max_process_number)]
    if output is not None:
        command += ["--output", output]
    return command


def _environment() -> dict[str, str]:
    """The environment without what would attach us to the child."""
    hidden = ("SONDE_ATTACH", "LD_PRELOAD")
    return {name: value for name, value in os.environ.items() if name not in hidden}


def run(
    paths: list[str],
    export_types: Optional[list[str]] = None,
    max_process_number: Optional[int] = None,
    quiet: bool = False,
    output: Optional[str] = None,
) -> None:
    """Parses span folders and returns when the files are there.

    ``quiet`` hides the progress bar; ``output`` is a folder for the files, else they lie beside
    the captures. Raises ``NativeError`` with the command's own words.
    """
    done = subprocess.run(
        _command(paths, export_types, max_process_number, output),
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL if quiet else None,
        stderr=subprocess.PIPE,
        check=False,
    )
    text = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode != 0:
        last = text.splitlines()[-1] if text else f"exit status {done.returncode}"
        raise _native.NativeError(f"sonde analyse failed: {last}")


def run_in_background(
    paths: list[str],
    export_types: Optional[list[str]] = None,
    on_end: Callable[[int], None] = lambda status: None,
    processors: Optional[set[int]] = None,
    delay_s: float = 0,
) -> None:
    """Starts parsing with low priority; it is awaited before the interpreter ends.

    Its messages go into ``logs/analyse.log`` of the first span folder; ``on_end`` gets its exit
    status, on a thread of its own. ``processors``: where it may run, else where the caller may.
    ``delay_s``: it sleeps so long first, and until the parser that this process started before has
    ended: whoever records faster than the machine parses needs no more memory for it.
    """
    logs = os.path.join(paths[0], "logs")
    os.makedirs(logs, mode=0o750, exist_ok=True)
    log_path = os.path.join(logs, "analyse.log")
    with open(log_path, "ab", opener=going_on) as log, _allowed_on(processors):
        process = subprocess.Popen(
            [*_later(delay_s), *_command(paths, export_types, None)],
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    parser = os.path.join(logs, _PARSER_FILE)
    # A full disk takes no file; whoever asks then finds it full.
    with (
        contextlib.suppress(OSError),
        open(parser, "w", encoding="utf-8", opener=create_new) as file,
    ):
        file.write(f"{process.pid} {socket.gethostname()}\n")
    try:
        os.setpriority(os.PRIO_PROCESS, process.pid, _LOW_PRIORITY)
    except OSError:
        pass  # it ended already
    global _joins_at_exit
    with _lock:
        _background.append(process)
        if not _joins_at_exit:
            atexit.register(wait_for_background)
            _joins_at_exit = True
    # Also takes the ended process away: a server parses thousands of captures.
    threading.Thread(target=_await, args=(process, on_end), daemon=True).start()


def _later(seconds: float) -> list[str]:
    """Words before a command that is to begin later, as the same process."""
    if seconds <= 0:
        return []
    with _lock:
        last = _background[-1] if _background else None
    waits = ""
    if last is not None and last.poll() is None:
        waits = f"while kill -0 {last.pid} 2> /dev/null; do sleep 0.1; done; "
    return ["/bin/sh", "-c", f'sleep {seconds}; {waits}exec "$@"', "sh"]


@contextlib.contextmanager
def _allowed_on(processors: Optional[set[int]]) -> Iterator[None]:
    """What the calling thread starts meanwhile may run on these processors; a process inherits
    that, and looks at it once, when it begins."""
    usual = os.sched_getaffinity(0)
    if not processors or processors == usual:
        yield
        return
    try:
        os.sched_setaffinity(0, processors)
    except OSError:
        processors = usual  # some are gone
    try:
        yield
    finally:
        if processors != usual:
            os.sched_setaffinity(0, usual)


def _await(process: "subprocess.Popen[bytes]", on_end: Callable[[int], None]) -> None:
    status = process.wait()
    with _lock:
        if status == 0 and process in _background:
            _background.remove(process)
    on_end(status)


def wait_for_background() -> list[int]:
    """Waits for every parser started in the background; exit statuses other than 0."""
    with _lock:
        processes, _background[:] = list(_background), []
    return [status for status in (process.wait() for process in processes) if status != 0]


def forget_background() -> None:
    """In the child of a fork: the parsers belong to the parent."""
    global _lock
    _lock = threading.Lock()
    _background.clear()
