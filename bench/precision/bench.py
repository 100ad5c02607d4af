"""Time and memory of comparing dumps, beside the reference in the same run.

Each case runs a few times; the table shows the fastest run and the largest peak memory of all its
processes. Goals are those that the project sets itself; a case that misses one is marked.
"""

import argparse
import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

import make_dumps


def run(command, cwd):
    """(seconds, peak MB) of a command that must succeed."""
    started = time.perf_counter()
    child = os.fork()
    if child == 0:
        os.chdir(cwd)
        with open("output.txt", "wb") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        os.execvp(command[0], [str(word) for word in command])
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - started
    if status != 0:
        sys.exit(f"{command} failed:\n" + Path(cwd, "output.txt").read_text()[-2000:])
    return seconds, usage.ru_maxrss / 1024


def best_of(count, command, work):
    runs = []
    for _ in range(count):
        out = work / "out"
        shutil.rmtree(out, ignore_errors=True)
        runs.append(run([*command, "-o", out], work))
    return min(seconds for seconds, _ in runs), max(memory for _, memory in runs)


def processor_seconds(command, work):
    """Of a command whose output folder is new."""
    out = work / "out"
    shutil.rmtree(out, ignore_errors=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run([*command, "-o", out], work)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cost_of_summary(sonde, calls, work, runs):
    """What the search for the cause costs: with and without, in turn, processor time."""
    pairs = (("runs of one program", calls[1]), ("the same run", calls[0]), ("rounding", calls[2]))
    print(f"\n{'summary by cause':<20} {'without s':>9} {'with s':>7} {'goal':>5} {'cost':>6}")
    for title, golden in pairs:
        words = [sonde, "probe", "compare", "-tp", calls[0] / "dump.json"]
        words += ["-gp", golden / "dump.json"]
        with_cause, without = [], []
        for _ in range(4 * runs):
            with_cause.append(processor_seconds(words, work))
            without.append(processor_seconds([*words, "--reference-summary"], work))
        cost = min(with_cause) / min(without) - 1
        line = f"{title:<20} {min(without):9.3f} {min(with_cause):7.3f} {'10 %':>5} {cost:6.1%}"
        print(line + ("  MISSED" if cost > 0.1 else ""), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sonde", required=True)
    parser.add_argument("--data", required=True, help="folder of the shared reference data")
    parser.add_argument("--reference", help="the reference's command, msprobe")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        dumps = make_dumps.make_all(arguments.data, work)
        calls, tensors = dumps["calls"], dumps["tensors"]
        gigabytes = 2 * 40 * 4_000_000 * 4 / 1e9
        pair = ["-tp", calls[0], "-gp", calls[1]]
        files = ["-tp", calls[0] / "dump.json", "-gp", calls[1] / "dump.json"]
        tensor_files = ["-tp", tensors[0] / "dump.json", "-gp", tensors[1] / "dump.json"]
        cases = (
            # title, words of ours, words of the reference, goal in seconds
            ("csv, 30400 calls", ["compare", *files], ["compare", *files], 0.6),
            ("csv, fuzzy", ["compare", *files, "-fm"], None, None),
            ("graph, one", ["graph", "-tp", calls[0]], ["graph_visualize", "-tp", calls[0]], 0.2),
            ("graph, two", ["graph", *pair], ["graph_visualize", *pair], 0.5),
            (
                f"tensors, {gigabytes:.2f} GB",
                *(["compare", *tensor_files], ["compare", *tensor_files]),
                gigabytes / 2,
            ),
        )
        heads = ("case", "goal s", "ours s", "MB", "reference s", "MB", "times")
        print("{:<20} {:>7} {:>7} {:>6} {:>12} {:>6} {:>6}".format(*heads))
        for title, ours, theirs, goal in cases:
            seconds, memory = best_of(arguments.runs, [arguments.sonde, "probe", *ours], work)
            line = f"{title:<20} {goal or float('nan'):7.2f} {seconds:7.3f} {memory:6.0f}"
            if arguments.reference and theirs:
                reference = best_of(1, [arguments.reference, *theirs], work)
                line += f" {reference[0]:12.1f} {reference[1]:6.0f} {reference[0] / seconds:6.0f}"
            missed = (goal and seconds > goal) or memory > 300
            print(line + ("  MISSED" if missed else ""), flush=True)
        cost_of_summary(arguments.sonde, calls, work, arguments.runs)
        start = min(run([arguments.sonde, "probe", "compare", "--help"], work)[0] for _ in range(9))
        print(f"{'start-up':<20} {0.02:7.2f} {start:7.3f}" + ("  MISSED" if start > 0.02 else ""))


if __name__ == "__main__":
    main()
