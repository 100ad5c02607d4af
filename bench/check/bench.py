"""Time of checking every call of a dump, beside the reference on the same dump in the same run.

Both use the Python that has the reference, the CPU as their device and as many threads as torch
takes. Imports are part of the time. The tables of the reference that both write are compared, so
that no faster check is one of less.
"""

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
GOAL = 5
# Task, width, layers, tokens: many small calls, few larger ones.
CASES = (("statistics", 64, 12, 8), ("tensor", 64, 12, 8), ("tensor", 512, 2, 256))


def run(command, environment):
    """(wall seconds, processor seconds) of a command that must succeed."""
    before, begun = os.times(), time.perf_counter()
    done = subprocess.run(
        list(map(str, command)), env=environment, capture_output=True, text=True, check=False
    )
    seconds, after = time.perf_counter() - begun, os.times()
    if done.returncode != 0:
        sys.exit(f"{command} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    used = after.children_user + after.children_system
    return seconds, used - before.children_user - before.children_system, done.stdout


def verdicts(folder):
    """{call: verdict} of the table that both write."""
    (path,) = folder.glob("accuracy_checking_result_*.csv")
    with open(path, encoding="utf-8-sig", newline="") as file:
        return {row[0]: tuple(row[1:3]) for row in list(csv.reader(file))[1:]}


def fastest(runs, command, folder, environment):
    times = []
    for _ in range(runs):
        shutil.rmtree(folder, ignore_errors=True)
        times.append(run(command, environment)[:2])
    return min(wall for wall, _ in times), min(used for _, used in times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sonde", required=True)
    parser.add_argument("--python", required=True, help="one that has mindstudio-probe and torch")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    environment = dict(os.environ)
    print(f"{'dump':<28} {'calls':>5} {'ours s':>7} {'reference s':>12} {'times':>6} {'cpu':>6}")
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for task, width, layers, tokens in CASES:
            maker = [arguments.python, HERE / "make_dump.py", task, width, layers, tokens]
            dump = run([*maker, work / f"dump_{task}_{width}"], environment)[2].split()[-1]
            calls = len(json.loads(Path(dump).read_text())["data"])
            ours, theirs = work / "ours", work / "reference"
            check = [arguments.sonde, "probe", "acc_check", "-api_info", dump, "-o", ours]
            sonde = fastest(
                arguments.runs, [*check, "--python", arguments.python], ours, environment
            )
            reference = [arguments.python, HERE / "reference.py", dump, theirs]
            rival = fastest(1, reference, theirs, environment)
            a, b = verdicts(ours), verdicts(theirs)
            if a.keys() != b.keys():
                sys.exit(f"other calls were checked: {a.keys() ^ b.keys()}")
            other = [call for call in a if a[call] != b[call]]
            line = f"{task} {width}x{layers}, {tokens} tokens"
            line = f"{line:<28} {calls:>5} {sonde[0]:7.2f} {rival[0]:12.2f} "
            line += f"{rival[0] / sonde[0]:6.1f} {rival[1] / sonde[1]:6.1f}"
            line += f"  {len(other)} verdicts differ: {other[:3]}" if other else ""
            print(line + ("  MISSED" if rival[0] < GOAL * sonde[0] else ""), flush=True)


if __name__ == "__main__":
    main()
