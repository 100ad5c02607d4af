"""Cost of a debugger that is loaded and does not dump: idle.py [ROUNDS]

Each case is a fork of one warm process. It takes turns with the bare program, a block of steps
each; printed is the middle of the ratios of neighbours' fastest steps. "bare again" is the noise,
and "another heap" that of where memory lies: a program that took some and gave back half of it.
"""

import gc
import json
import os
import statistics
import sys
import tempfile
import time

import torch
from dump_model import Model

FAR = [1000000]


def forward(model, ids):
    with torch.no_grad():
        model(ids)


def training(model, ids):
    model(ids).pow(2).mean().backward()
    model.zero_grad()


class Case:
    """``settings`` None: bare. ``begin(debugger, model, step)`` once, ``around`` every step."""

    def __init__(self, settings=None, begin=None, around=False, runs=False, control=False):
        self.settings, self.begin, self.around = settings, begin, around
        self.runs, self.control = runs, control

    def set_up(self, model, step, folder):
        if self.settings is None:
            return step
        path = os.path.join(folder, "config.json")
        settings = {"level": "mix", "dump_path": f"{folder}/dump", **self.settings}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(settings, file)
        if self.runs:
            return self._run(path, step, folder)
        from sonde.torch import PrecisionDebugger

        debugger = PrecisionDebugger(config_path=path)
        if self.begin is not None:
            self.begin(debugger, model, step)
        if not self.around:
            return step

        def bracketed():
            debugger.start(model=model)
            step()
            debugger.stop()
            debugger.step()

        return bracketed

    def _run(self, path, step, folder):
        from sonde._inject._dump import DumpRun

        if self.control:
            os.environ["SONDE_CONTROL"] = f"unix:{folder}/control"
        DumpRun(torch, path).install()
        return step


def stopped(debugger, model, step):
    debugger.start(model=model)
    step()
    debugger.stop()


def ended(debugger, model, step):
    stopped(debugger, model, step)
    debugger.step()


def scatter(debugger, model, step):
    """What a recorded step also does to the heap: free pieces between such as stay."""
    pieces = [bytes(3000) for _ in range(5000)]
    debugger.kept = pieces[::2]


CASES = {
    "bare": Case(),
    "bare again": Case(),
    "another heap": Case({}, scatter),
    "made, not started": Case({}),
    "stopped": Case({}, stopped),
    "stopped, L0": Case({"level": "L0"}, stopped),
    "step ended": Case({}, ended),
    "other steps": Case({"step": FAR}, around=True),
    "steps are over": Case({"step": [0]}, ended, around=True),
    "another rank": Case({"rank": [5]}, around=True),
    "switched off": Case({"dump_enable": False}, around=True),
    "run, other steps": Case({"step": FAR}, runs=True),
    "run, waiting": Case({}, runs=True, control=True),
}


class Fork:
    """Runs blocks of one case on demand; ``block()`` gives the seconds of a step."""

    def __init__(self, case, model, ids, kind, steps):
        to_child, self._commands = os.pipe()
        self._answers, from_child = os.pipe()
        self._pid = os.fork()
        if self._pid:
            os.close(to_child)
            os.close(from_child)
            return
        os.close(self._commands)
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # until the child ends
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            step = case.set_up(model, lambda: kind(model, ids), folder)
            for _ in range(20):
                step()
            gc.collect()  # it touches, and so copies, what forks share: of all alike
            while os.read(to_child, 1) == b"x":
                times = []
                for _ in range(steps):
                    begin = time.perf_counter()
                    step()
                    times.append(time.perf_counter() - begin)
                os.write(from_child, b"%20.9f" % min(times))
        os._exit(0)

    def block(self):
        os.write(self._commands, b"x")
        return float(os.read(self._answers, 20))

    def end(self):
        os.write(self._commands, b"e")
        os.waitpid(self._pid, 0)


def measure(title, kind, ids, rounds, steps):
    torch.manual_seed(0)
    model = Model()
    for _ in range(20):
        kind(model, ids)
    forks = {name: Fork(case, model, ids, kind, steps) for name, case in CASES.items()}
    bare = forks.pop("bare")
    ratios = {name: [] for name in forks}
    least = float("inf")
    for number in range(rounds):
        for name, fork in forks.items():
            turns = [bare, fork] if number % 2 else [fork, bare]
            seconds = {turn: turn.block() for turn in turns}
            ratios[name].append(seconds[fork] / seconds[bare])
            least = min(least, seconds[bare])
    for fork in (bare, *forks.values()):
        fork.end()
    print(f"{title}: {least * 1e3:.3f} ms a step")
    for name, values in ratios.items():
        print(f"  {name:20} {(statistics.median(values) - 1) * 100:+6.2f} %")


def main(rounds=30):
    torch.set_num_threads(1)
    measure("one token", forward, torch.zeros(1, 1, dtype=torch.long), int(rounds), 20)
    measure("training", training, torch.arange(8).view(1, 8), int(rounds), 8)


if __name__ == "__main__":
    if "MALLOC_TRIM_THRESHOLD_" not in os.environ:
        # Where the heap happens to end would decide whether each step gives pages back.
        os.environ.update(MALLOC_TRIM_THRESHOLD_="1000000000", MALLOC_MMAP_THRESHOLD_="1000000000")
        os.execv(sys.executable, [sys.executable, *sys.argv])
    main(*sys.argv[1:2])
