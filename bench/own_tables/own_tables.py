"""Time of a program's own ``key_averages()``: under ``sonde run`` beside torch alone.

A process each, in turn; the medians of the rounds. A call of the model is 22 events, more where
stacks are recorded, too. "in all" counts from the first recorded call to the finished table.
Started by run.sh.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile

PROGRAM = """
import json, sys, time
import torch
from torch.profiler import ProfilerActivity, profile

torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
data = torch.randn(8, 64)
model(data)
calls, options = int(sys.argv[1]), json.loads(sys.argv[2])
begin = time.perf_counter()
with profile(activities=[ProfilerActivity.CPU], **options) as prof:
    for _ in range(calls):
        model(data)
recorded = time.perf_counter()
rows = prof.key_averages()
end = time.perf_counter()
counts = sorted((row.key, row.count) for row in rows if row.key.startswith("aten::"))
print(json.dumps([end - recorded, end - begin, counts]))
"""

KINDS = {
    "plain": {},
    "shapes, memory, stacks": {
        "record_shapes": True,
        "profile_memory": True,
        "with_stack": True,
    },
}


def measure(launcher, calls, options):
    """Seconds of key_averages and in all, and the operators' counts."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*launcher, sys.executable, "-c", PROGRAM, str(calls), json.dumps(options)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sonde", required=True)
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    launchers = {"torch": [], "sonde": [options.sonde, "run", "--no-analyse", "--"]}
    print(f"{options.calls} calls, median of {options.rounds}; seconds")
    print(f"{'':24}{'':7}{'key_averages':>14}{'in all':>9}")
    for kind, switches in KINDS.items():
        found = {who: [] for who in launchers}
        for _ in range(options.rounds):
            for who, launcher in launchers.items():
                found[who].append(measure(launcher, options.calls, switches))
        assert found["sonde"][0][2] == found["torch"][0][2], "the tables differ"
        for who, rows in found.items():
            table_s, all_s = (statistics.median(row[i] for row in rows) for i in (0, 1))
            print(f"{kind:24}{who:7}{table_s:14.2f}{all_s:9.2f}")


if __name__ == "__main__":
    main()
