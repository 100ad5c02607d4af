"""Stop to deliverables, ours beside torch.profiler's: time and processor time an operator.

Ours: sonde_export_bench, from a capture to the text deliverables (on up to two threads) and to the
published store. Theirs: end of torch.profiler.profile, then export_chrome_trace. The programs run
in turn; the best of the rounds counts, since other programs only ever add time.
"""

import argparse
import os
import re
import subprocess
import time

import torch
from torch.profiler import ProfilerActivity, profile

GOAL_US = 1.0


def ours(arguments, level):
    """Rounds of the bench: us an operator until the files are there, in all, of the processor."""
    done = subprocess.run(
        [arguments.bench, str(arguments.ops), os.path.join(arguments.work, level)],
        env={**os.environ, "BENCH_LEVEL": level},
        capture_output=True,
        text=True,
        check=True,
    )
    rounds = []
    for line in done.stdout.splitlines():
        ops = int(re.match(r"\d+ threads, (\d+) ops", line).group(1))
        stages = re.findall(r"([a-z ]+) (\d+) \((\d+)\)", line.split(": ", 1)[1])
        whole, processor = map(float, re.search(r"all ([\d.]+) \(([\d.]+)\)", line).groups())
        until_commit = 0
        for name, wall_ms, _ in stages:
            until_commit += int(wall_ms)
            if name.strip() == "commit":
                break
        rounds.append((until_commit * 1000 / ops, whole, processor))
    return rounds


def theirs(arguments, record_shapes):
    x = torch.ones(4)
    with torch.inference_mode():
        recording = profile(activities=[ProfilerActivity.CPU], record_shapes=record_shapes)
        recording.start()
        for _ in range(arguments.torch_ops):
            torch.add(x, x)
        begin, begin_cpu = time.monotonic(), time.process_time()
        recording.stop()
        stopped = time.monotonic()
        recording.export_chrome_trace(os.path.join(arguments.work, "torch.json"))
        end, end_cpu = time.monotonic(), time.process_time()
    per_op = 1e6 / arguments.torch_ops
    return (stopped - begin) * per_op, (end - begin) * per_op, (end_cpu - begin_cpu) * per_op


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--ops", type=int, default=300_000)
    parser.add_argument("--torch-ops", type=int, default=100_000)
    parser.add_argument("--work", required=True)
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print("us an operator             files complete   and the store   processor")
    for level, shapes in (("Level0", False), ("Level1", True)):
        own, peer = [], []
        for _ in range(arguments.rounds):
            own += ours(arguments, level)
            peer.append(theirs(arguments, shapes))
        files, whole, processor = (min(r[i] for r in own) for i in (0, 1, 2))
        stop, trace, peer_processor = (min(p[i] for p in peer) for i in (0, 1, 2))
        print(f"Sonde {level:8}            {files:14.2f} {whole:15.2f} {processor:11.2f}")
        both = f"{stop:.2f} + {trace - stop:.2f}"
        print(f"torch stop + trace file  {both:>16} {'':15} {peer_processor:11.2f}")
        print(f"ratio {level}: {files / trace:.3f}; goal {GOAL_US} us an operator: {files:.2f}")


if __name__ == "__main__":
    main()
