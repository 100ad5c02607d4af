"""How fast the task tensor writes: tensors.py TOOL FOLDER prints GB a second for sizes of tensors.

TOOL is "sonde", "msprobe" or "plain" (the same bytes by write() alone); FOLDER on a RAM disk. Each
call of a function writes three tensors.
"""

import json
import os
import sys
import time

import torch

SIZES, BYTES = (16 << 10, 256 << 10, 4 << 20, 64 << 20), 512 << 20


def written(folder):
    return sum(
        os.path.getsize(os.path.join(path, name))
        for path, _, names in os.walk(folder)
        for name in names
        if name.endswith(".pt")
    )


class Plain:
    """Writes files of the sizes that a dump would write, and nothing else."""

    def __init__(self, folder):
        self._folder = os.path.join(folder, "plain")
        os.makedirs(self._folder)
        self._count = 0

    def add(self, one, two):
        for tensor in (one, two, one):
            self._count += 1
            with open(f"{self._folder}/{self._count}.pt", "wb", buffering=0) as file:
                file.write(memoryview(tensor.numpy()))

    def nothing(self):
        pass

    start = stop = step = nothing


def make(tool, folder):
    """What starts and stops, and the function to call."""
    if tool == "plain":
        plain = Plain(folder)
        return plain, plain.add
    if tool == "sonde":
        from sonde.torch import PrecisionDebugger
    else:
        from msprobe.pytorch import PrecisionDebugger
    path = f"{folder}.json"
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"task": "tensor", "level": "L1", "dump_path": folder}, file)
    return PrecisionDebugger(config_path=path), lambda one, two: torch.add(one, two)


def main(tool, folder):
    torch.set_num_threads(1)
    debugger, call = make(tool, folder)
    found = {}
    for size in SIZES:
        one, two = torch.rand(size // 4), torch.rand(size // 4)
        best = 0.0
        for _ in range(3):
            before = written(folder)
            begin = time.perf_counter()
            debugger.start()
            for _ in range(BYTES // size // 3):
                call(one, two)
            debugger.stop()
            seconds = time.perf_counter() - begin
            debugger.step()
            best = max(best, (written(folder) - before) / seconds / 1e9)
            for place, _, names in os.walk(folder):
                for name in names:
                    if name.endswith(".pt"):
                        os.remove(os.path.join(place, name))
        found[f"{size >> 10} KiB"] = round(best, 2)
    print(json.dumps({"tool": tool, "GB/s": found}))


if __name__ == "__main__":
    main(*sys.argv[1:3])
