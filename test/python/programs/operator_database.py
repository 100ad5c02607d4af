"""Runs operators of torch's own database, each with its first sample; profiled by torch where a
folder is named, which gets the trace and torch's own table.

operator_database.py STRIDE [FOLDER]
"""

import json
import sys
import types
import unittest
from pathlib import Path

import torch

# The database imports it for test classes that nothing here uses.
expecttest = types.ModuleType("expecttest")
expecttest.TestCase = unittest.TestCase
sys.modules.setdefault("expecttest", expecttest)
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402


def calls_of(stride):
    """Operators with arguments, those that this machine can run."""
    for op in op_db[::stride]:
        if torch.float32 not in op.supported_dtypes("cpu"):
            continue
        try:
            sample = next(iter(op.sample_inputs("cpu", torch.float32)))
            op(sample.input, *sample.args, **sample.kwargs)
        except Exception:  # noqa: BLE001, S112: needs a library or device that is not here
            continue
        yield op, sample


def main():
    stride = int(sys.argv[1])
    calls = list(calls_of(stride))
    linear = torch.nn.Linear(64, 64)

    def run():
        for op, sample in calls:
            op(sample.input, *sample.args, **sample.kwargs)
        linear(torch.rand(16, 64)).sum().backward()

    print(len(calls))
    if len(sys.argv) < 3:
        run()
        return
    folder = Path(sys.argv[2])
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, acc_events=True) as profiler:
        run()
    profiler.export_chrome_trace(str(folder / "trace.json"))
    table = {e.key: (e.count, e.self_cpu_time_total) for e in profiler.key_averages()}
    (folder / "table.json").write_text(json.dumps(table))


if __name__ == "__main__":
    main()
