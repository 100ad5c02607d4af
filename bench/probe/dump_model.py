"""Cost of a dump: dump_model.py TOOL LEVEL TASK SUMMARY FOLDER prints one line of JSON.

TOOL is "sonde", "msprobe" or "none". The model is shaped like Qwen, small enough that tensors have
at most 4096 elements; steps are forward and backward.
"""

import json
import math
import os
import sys
import time

import torch
from torch import nn

WARM_UP, STEPS = 2, 5


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        for name in ("q", "k", "v", "o"):
            setattr(self, name, nn.Linear(width, width, bias=name != "o"))

    def forward(self, x):
        shape = (*x.shape[:2], self.heads, -1)
        q, k, v = (layer(x).view(shape).transpose(1, 2) for layer in (self.q, self.k, self.v))
        weights = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.shape[-1])
        mixed = torch.matmul(torch.softmax(weights, -1), v)
        return self.o(mixed.transpose(1, 2).reshape(x.shape))


class Gated(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm_1 = Norm(width)
        self.attention = Attention(width, 4)
        self.norm_2 = Norm(width)
        self.mlp = Gated(width, width)

    def forward(self, x):
        x = x + self.attention(self.norm_1(x))
        return x + self.mlp(self.norm_2(x))


class Model(nn.Module):
    def __init__(self, width=64, layers=12, words=64):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(layers))
        self.norm = Norm(width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def count_entries(folder):
    for path, _, names in os.walk(folder):
        if "dump.json" in names and "step1" in path:
            with open(os.path.join(path, "dump.json"), encoding="utf-8") as file:
                return len(json.load(file)["data"])
    return 0


def main(tool, level, task, summary, folder):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, ids = Model(), torch.arange(8).view(1, 8)
    debugger = None
    if tool != "none":
        settings = {"task": task, "level": level, "dump_path": folder, "risk_level": "ALL"}
        if len(sys.argv) > 6:
            settings["step"] = [1000]
        settings[task] = {"summary_mode": summary}
        path = f"{folder}.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(settings, file)
        if tool == "sonde":
            from sonde.torch import PrecisionDebugger
        else:
            from msprobe.pytorch import PrecisionDebugger
        debugger = PrecisionDebugger(config_path=path)
    times, used = [], []
    for _ in range(WARM_UP + STEPS):
        begin, cpu = time.perf_counter(), time.process_time()
        if debugger is not None:
            debugger.start(model=model)
        model(ids).pow(2).mean().backward()
        if debugger is not None:
            debugger.stop()
            debugger.step()
        used.append(time.process_time() - cpu)
        times.append(time.perf_counter() - begin)
        model.zero_grad()
    best, cpu = min(times[WARM_UP:]) * 1e3, min(used[WARM_UP:]) * 1e3
    entries = count_entries(folder)
    print(json.dumps({"tool": tool, "step_ms": best, "cpu_ms": cpu, "entries": entries}))


if __name__ == "__main__":
    main(*sys.argv[1:6])
