"""Runs ``sonde cluster`` on an engine: ``python -m sonde.engine ENGINE MEMORY SONDE WORDS...``.

Started by ``sonde cluster --engine``. WORDS: those of the command SONDE, with ``--parts``; MEMORY:
bytes for each task, 0 for no limit. The exit status and the output are those of the command.
"""

import glob
import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from sonde.engine._engines import Failed, open_engine
from sonde.engine._task import map_part

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


def _run(engine: Any, command: str, words: list[str], memory: int, output: int) -> None:
    folder = words[words.index("--parts") + 1]
    os.makedirs(folder, exist_ok=True)
    for failed in glob.glob(os.path.join(glob.escape(folder), "*.failed.parquet")):
        os.unlink(failed)  # of an earlier call: tried again
    while True:
        tasks = [_arguments(command, task, memory) for task in _missing([command, *words], output)]
        for done, (_, made) in enumerate(engine.run(map_part, tasks), 1):
            for name, content in made.items():
                _keep(folder, name, content)
            _report(done, len(tasks))


def main() -> None:
    """Ends with the status of the command, else with 1 and one line."""
    name, memory, command, *words = sys.argv[1:]
    output = os.dup(1)
    os.dup2(2, 1)  # lines of the engine itself are no results
    engine, is_cancelled = None, True
    try:
        engine = open_engine(name, int(memory) or None)
        _run(engine, command, words, int(memory), output)
    except Failed as error:
        sys.exit(f"sonde: error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    except SystemExit:
        is_cancelled = False
        raise
    finally:
        if engine is not None:
            engine.close(is_cancelled)


if __name__ == "__main__":
    main()
