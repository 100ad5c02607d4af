"""Added time of a training step, off / attached / recording, beside torch.profiler.

One process and one model (examples/tiny_gpt.py). A round measures every variant once, in changing
order and between bare steps; the table has medians over the rounds. Times are CPU time of the
training thread; "files" is wall time from the end of recording to complete files. "floor" is an
observer without functions, registered with torch as Sonde's is: what torch itself does for any
observer, boxing of inputs included where it asks for them. Started by run.sh, which attaches.
"""

import argparse
import os
import random
import statistics
import sys
import time

import torch
from sonde import _analyse, _native
from sonde.torch._recording import Recording, Settings
from tiny_gpt import Config, TinyGpt
from variants import empty_observer, kineto, sonde, sonde_config

GOALS = "goals: idle <= 1 % of the step; running <= 0.35 x torch.profiler; files <= 1 us an op"


class Training:
    """The step, with the optimizer's own `step` or the one that counts steps for the hook."""

    def __init__(self, width, layers):
        config = Config(width=width, layers=layers)
        self.model = TinyGpt(config)
        self.tokens = torch.randint(256, (4, config.context))
        raw = torch.optim.AdamW.step
        hook = torch.optim.Optimizer.profile_hook_step
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.hooked = torch.optim.AdamW.step
        # What AdamW.step would be in a program that is not attached.
        self.plain = hook.__wrapped__(raw)
        self.plain.hooked = True

    def use(self, attached):
        torch.optim.AdamW.step = self.hooked if attached else self.plain

    def step(self):
        logits = self.model(self.tokens)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), self.tokens.flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def time_us(self, steps):
        """Median CPU microseconds of a step of this thread, which also runs backward."""
        times = []
        for _ in range(steps):
            started = time.thread_time_ns()
            self.step()
            times.append(time.thread_time_ns() - started)
        return statistics.median(times) / 1000


# Name, its rival, switches of Sonde, switches of torch.profiler.
PAIRS = (
    ("level0", {}, {}),
    ("level1, shapes", {"record_shapes": True}, {"record_shapes": True}),
    ("stacks", {"with_stack": True}, {"with_stack": True}),
    ("shapes, memory, stacks, modules",
     {"record_shapes": True, "profile_memory": True, "with_stack": True, "with_modules": True},
     {"record_shapes": True, "profile_memory": True, "with_stack": True, "with_modules": True}),
)  # fmt: skip

# Of which of these an observer that does nothing is the floor, and whether it asks for inputs.
FLOORS = (("level0", False), ("level1, shapes", True))


def measure(training, work, rounds, steps):
    """Added microseconds of a step by variant, one number a round; and those of bare steps.

    Each block of a variant stands between two bare ones, whose mean is taken off: the speed of a
    machine drifts by more than what is measured.
    """
    variants = {}
    for name, ours, theirs in PAIRS:
        variants[f"sonde {name}"] = lambda ours=ours: sonde(work, **ours)
        variants[f"torch {name}"] = lambda theirs=theirs: kineto(**theirs)
    for name, needs_inputs in FLOORS:
        variants[f"floor of {name}"] = lambda needs=needs_inputs: empty_observer(needs)
    added, bare = {name: [] for name in variants}, []
    for _ in range(rounds):
        order = list(variants)
        random.shuffle(order)
        for name in order:
            training.use(attached=False)
            bare.append(training.time_us(steps))
            training.use(attached=True)
            with variants[name]():
                training.time_us(1)
                took = training.time_us(steps)
            training.use(attached=False)
            training.time_us(1)
            bare.append(training.time_us(steps))
            added[name].append(took - sum(bare[-2:]) / 2)
    return added, statistics.median(bare)


def idle_percent(training, rounds, steps):
    """Idle against off, alternating step by step: differences as small as this drown otherwise."""
    differences, base = [], []
    for _ in range(rounds):
        for attached in (False, True, True, False):
            training.use(attached)
            took = training.time_us(steps)
            differences.append(took if attached else -took)
            base.append(took)
    pairs = [sum(differences[i : i + 4]) / 2 for i in range(0, len(differences), 4)]
    return 100 * statistics.median(pairs) / statistics.median(base)


def files_us_an_op(training, work, steps):
    """Wall time from the end of recording to complete files, for both, by pair."""
    rows = []
    for name, ours, theirs in PAIRS:
        training.use(attached=True)
        recording = Recording(Settings(directory=work, config=sonde_config(ours), **ours), dict)
        recording.start()
        training.time_us(steps)
        started = time.perf_counter()
        path = recording.stop()
        stopped = time.perf_counter()
        ops = _native.recorder().status().records
        _analyse.run([path], ["text"], quiet=True)
        ours_us = [1e6 * (end - started) / ops for end in (stopped, time.perf_counter())]
        prof = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], **theirs)
        prof.start()
        training.time_us(steps)
        started = time.perf_counter()
        prof.stop()
        trace = os.path.join(work, "trace.json")
        prof.export_chrome_trace(trace)
        theirs_us = 1e6 * (time.perf_counter() - started) / ops
        rows.append((name, ops, *ours_us, theirs_us))
    return rows


def report(added, bare, idle, files):
    print(f"torch {torch.__version__}, Python {sys.version.split()[0]}, {os.cpu_count()} cores")
    print(f"step, not attached: {bare:.0f} us; attached and idle: {idle:+.2f} %")
    columns = f"{'recording':34} {'sonde us':>9} {'torch us':>9} {'ratio':>6}"
    print(f"{columns}   (added to a step; the middle half of the rounds)")
    rows = [(name, f"sonde {name}", f"torch {name}") for name, _, _ in PAIRS]
    rows += [(f"floor of {name}", f"floor of {name}", f"torch {name}") for name, _ in FLOORS]
    for name, ours, theirs in rows:
        quarters = [statistics.quantiles(added[variant], n=4) for variant in (ours, theirs)]
        middle = " ".join(f"[{low:.0f} {high:.0f}]" for low, _, high in quarters)
        ours_us, theirs_us = (median for _, median, _ in quarters)
        print(f"{name:34} {ours_us:9.0f} {theirs_us:9.0f} {ours_us / theirs_us:6.2f}   {middle}")
    print(f"{'end to files, us an op':34} {'ops':>9} {'stop':>6} {'files':>6} {'torch':>6}")
    for name, ops, stop_us, files_us, torch_us in files:
        print(f"{name:34} {ops:9} {stop_us:6.2f} {files_us:6.2f} {torch_us:6.2f}")
    print(GOALS)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", required=True, help="folder for captures")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--steps", type=int, default=10, help="steps of one measurement")
    parser.add_argument("--file-steps", type=int, default=80, help="steps of one capture")
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=4)
    arguments = parser.parse_args()
    if arguments.rounds < 2:
        parser.error("--rounds must be at least 2: quartiles are reported")
    torch.manual_seed(0)
    random.seed(0)
    torch.set_num_threads(1)
    training = Training(arguments.width, arguments.layers)
    training.time_us(10)
    with kineto():  # its first start loads libraries
        training.time_us(1)
    added, bare = measure(training, arguments.work, arguments.rounds, arguments.steps)
    idle = idle_percent(training, 10 * arguments.rounds, 1)
    report(added, bare, idle, files_us_an_op(training, arguments.work, arguments.file_steps))


if __name__ == "__main__":
    main()
