"""Runs of the program, one for each back end, and comparisons of their dumps.

What a program prints goes to standard error: standard output is for the result. Errors: ``Failed``,
with the line for the user.
"""

import glob
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Optional

from sonde import _report
from sonde._new_file import create_new

EAGER, INDUCTOR = "eager", "inductor"
_KILLED = 128  # plus the signal's number, as shells report it


class Failed(Exception):
    """There is no result, for the reason in the text."""


@dataclass(frozen=True)
class Run:
    """``name`` of its folder; ``backend`` that compiles, or ``eager``."""

    name: str
    backend: str
    folder: str


class Runner:
    """``sonde``: the command; ``command``: the program's; ``out``: where everything goes."""

    def __init__(self, sonde: str, command: "list[str]", out: str) -> None:
        self._sonde = sonde
        self._command = command
        self._out = os.path.abspath(out)
        self._runs = 0

    def dump(self, name: str, backend: str) -> Run:
        """The program, to its end, with a dump of what its modules get and give."""
        made = Run(name, backend, os.path.join(self._out, name))
        self._run(made, _dump(made))
        if not glob.glob(os.path.join(glob.escape(made.folder), "step*", "*", "dump.json")):
            raise Failed(
                f"the run '{name}' recorded nothing: the program called no module of torch "
                "(see the lines above)"
            )
        return made

    def check_kernels(self, name: str) -> Run:
        """The program as Inductor compiles it, with a check of each generated kernel."""
        made = Run(name, INDUCTOR, os.path.join(self._out, name))
        self._run(made, {"task": "compile_check", "dump_path": made.folder})
        return made

    def _run(self, made: Run, content: "dict[str, Any]") -> None:
        config = os.path.join(self._out, f"{made.name}.json")
        with open(config, "w", encoding="utf-8", opener=create_new) as file:
            json.dump(content, file, indent=1)
        self._runs += 1
        _report.log(f"first_difference: run {self._runs}: {made.name}")
        status = self._start(config, made.backend)
        if status != 0:
            raise Failed(_failure(made, status))

    def _start(self, config: str, backend: str) -> int:
        variables = dict(os.environ)
        # Torch's own switch: torch.compile gives back what it is given.
        variables.pop("TORCH_COMPILE_DISABLE", None)
        if backend == EAGER:
            variables["TORCH_COMPILE_DISABLE"] = "1"
        words = [self._sonde, "run", "--dump-config", config, "--", *self._command]
        with subprocess.Popen(words, env=variables, stdout=sys.stderr) as running:
            usual = signal.signal(signal.SIGTERM, lambda *_: running.terminate())
            try:
                return running.wait()
            finally:
                signal.signal(signal.SIGTERM, usual)

    def compare(self, target: Run, golden: Run) -> "dict[str, Any]":
        """What ``sonde probe compare`` says of two runs."""
        words = [self._sonde, "probe", "compare", "-tp", target.folder, "-gp", golden.folder]
        words += ["-o", os.path.join(self._out, f"compare_{target.name}"), "--format", "json"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            last = done.stderr.strip().rpartition("\n")[2].removeprefix("sonde: error: ")
            raise Failed(f"the dumps of {golden.name} and {target.name} cannot be compared: {last}")
        found: dict[str, Any] = json.loads(done.stdout)
        return found


def _dump(run: Run) -> "dict[str, Any]":
    config: dict[str, Any] = {
        "task": "statistics",
        "level": "L0",
        "graph": "complete",
        "dump_path": run.folder,
    }
    if run.backend != EAGER:
        config["graph_backend"] = run.backend
    return config


def _failure(run: Run, status: int) -> str:
    how = f"exit status {status}"
    if status < 0 or status > _KILLED:
        number = -status if status < 0 else status - _KILLED
        how = f"signal {_signal(number) or number}"
    if run.backend == EAGER:
        return f"the program failed by itself, without a compiler, with {how}"
    return f"the program failed when it was compiled by {run.backend}, with {how}"


def _signal(number: int) -> Optional[str]:
    try:
        return signal.Signals(number).name
    except ValueError:
        return None
