"""Runs ``sonde cluster`` on an engine: ``python -m sonde.engine ENGINE MEMORY SONDE WORDS...``.

Started by ``sonde cluster --engine``. WORDS: those of the command SONDE, with ``--parts``; MEMORY:
bytes for each task, 0 for no limit. The exit status and the output are those of the command.

The engine's library lives in a process of its own. Where that ends without a word, or its engine is
lost (a head that is restarted), another one goes on from the parts that are there.
"""

import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from typing import Any, Optional

from sonde.engine._engines import open_engine
from sonde.engine._job import Failed, Lost, run
from sonde.engine._task import map_part

_ATTEMPTS = 10  # to find an engine that was lost
_PAUSE_S = 3.0
_FIRST, _AGAIN = "--first", "--again"  # attempt, in the process that has the library
_TASKS = 3  # exit status of `sonde cluster --list-tasks` where parts are missing


def _missing(command: list[str], output: int) -> list[dict[str, list[str]]]:
    """The parts that are still to be made. Where there are none the result is there: exits."""
    done = subprocess.run(
        [*command, "--list-tasks"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    if done.returncode == _TASKS:
        return [json.loads(line) for line in done.stdout.splitlines()]
    os.write(output, done.stdout)
    sys.exit(done.returncode)


def _keep(folder: str, name: str, content: bytes) -> None:
    """A whole file or none."""
    descriptor, path = tempfile.mkstemp(prefix=".sonde-", dir=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path, os.path.join(folder, name))


def _arguments(command: str, task: dict[str, list[str]], memory: int) -> tuple[Any, ...]:
    files = {}
    for path in task["files"]:
        with open(path, "rb") as file:
            files[os.path.basename(path)] = file.read()
    words = [*task["words"], *task["sources"], "--numbers", *task["numbers"]]
    return command, words, files, memory or None


def _report(done: int, total: int) -> None:
    """A line that is drawn over on a terminal, else at each tenth."""
    if os.environ.get("SONDE_QUIET") == "1":
        return
    if sys.stderr.isatty():
        print(f"\rsonde: {done} of {total} parts", end="\n" * (done == total), file=sys.stderr)
    elif done * 10 // total != (done - 1) * 10 // total:
        print(f"sonde: {done} of {total} parts", file=sys.stderr, flush=True)


class _Interrupt:
    """An interrupt is kept: where it comes within a callback or a finalizer of the engine's
    library, Python drops the exception."""

    def __init__(self) -> None:
        self._came = False
        signal.signal(signal.SIGINT, self._handle)

    def _handle(self, *_: object) -> None:
        self._came = True
        raise KeyboardInterrupt

    def check(self) -> None:
        if self._came:
            raise KeyboardInterrupt


def _run(engine: Any, command: str, words: list[str], memory: int, output: int) -> None:
    interrupt = _Interrupt()
    folder = words[words.index("--parts") + 1]
    os.makedirs(folder, exist_ok=True)
    for failed in glob.glob(os.path.join(glob.escape(folder), "*.failed.parquet")):
        os.unlink(failed)  # of an earlier call: tried again
    while True:
        tasks = [_arguments(command, task, memory) for task in _missing([command, *words], output)]
        with closing(run(engine, map_part, tasks, interrupt.check)) as ends:
            for done, (_, made) in enumerate(ends, 1):
                for name, content in made.items():
                    _keep(folder, name, content)
                _report(done, len(tasks))


def _attempt(words: list[str], status_pipe: int, is_first: bool) -> None:
    """Writes the exit status and the line for people to the pipe; nothing where the engine is
    lost."""
    name, memory, command, *words = words
    output = os.dup(1)
    os.dup2(2, 1)  # lines of the engine itself are no results
    engine, status, line = None, 1, ""
    try:
        engine = open_engine(name, int(memory) or None)
        _run(engine, command, words, int(memory), output)
    except Failed as error:
        line = f"sonde: error: {error}"
    except Lost as error:
        if engine is not None or not is_first:
            print(f"sonde: warning: {error}", file=sys.stderr, flush=True)
            os._exit(1)  # without a farewell, for which the library would wait
        line = f"sonde: error: {error}"
    except KeyboardInterrupt:
        status = 130
    except SystemExit as end:
        status = int(end.code or 0)
    os.write(status_pipe, f"{status} {line}".encode(errors="replace"))
    if engine is not None:
        engine.close()
    os._exit(status)  # whatever threads the engine still has


def _attempt_apart(words: list[str], option: str) -> Optional[int]:
    """The exit status of a process that makes the attempt; None where the engine was lost. The line
    for people comes last, whatever the engine's library writes when it ends."""
    ours, its = os.pipe()
    command = [sys.executable, "-m", "sonde.engine", f"{option}={its}", *words]
    process = subprocess.Popen(command, pass_fds=[its])
    os.close(its)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda own, _: process.send_signal(own))
    with open(ours, "rb") as pipe:
        text = pipe.read().decode(errors="replace")
    process.wait()
    status, _, line = text.partition(" ")
    if line:
        print(line, file=sys.stderr, flush=True)
    return int(status) if status else None


def main() -> None:
    """Ends with the status of the command, else with 1 and one line."""
    words = sys.argv[1:]
    option, _, pipe = words[0].partition("=")
    if option in (_FIRST, _AGAIN):
        return _attempt(words[1:], int(pipe), option == _FIRST)
    for attempt in range(_ATTEMPTS):
        status = _attempt_apart(words, _AGAIN if attempt else _FIRST)
        if status is not None:
            sys.exit(status)
        if attempt == 0:
            line = "sonde: the engine is lost: looking for it, to go on from its parts"
            print(line, file=sys.stderr, flush=True)
        time.sleep(_PAUSE_S)
    sys.exit("sonde: error: the engine is lost; the same command goes on from the parts")


if __name__ == "__main__":
    main()
