"""Ten small programs of different kinds, each twice: once to warm up, once as asked.

small_programs.py [FOLDER]: with a folder each runs under torch's profiler, whose trace and table of
own times are written there as NAME.json and NAME.table.json.
"""

import json
import sys
from pathlib import Path

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


def train(model, batch, optimizer=torch.optim.SGD, **options):
    optimizer = optimizer(model.parameters(), lr=0.01, **options)
    for _ in range(2):
        optimizer.zero_grad()
        model(batch).square().sum().backward()
        optimizer.step()


def perceptron():
    train(nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 1)), torch.rand(16, 32))


def convolution():
    layers = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 4, 3)
    train(nn.Sequential(*layers), torch.rand(4, 3, 24, 24), torch.optim.Adam)


def recurrent():
    class Last(nn.LSTM):
        def forward(self, batch):
            return super().forward(batch)[0]

    train(Last(16, 32, num_layers=2, batch_first=True), torch.rand(4, 12, 16), torch.optim.AdamW)


def transformer():
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    train(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), torch.rand(2, 10, 32))


def embedding_bag():
    bag = nn.EmbeddingBag(100, 8, mode="sum", sparse=True)
    optimizer = torch.optim.SparseAdam(bag.parameters())
    for _ in range(2):
        bag(torch.arange(20).view(4, 5)).sum().backward()
        optimizer.step()


def linear_algebra():
    matrix = torch.rand(24, 24)
    matrix = matrix @ matrix.T + torch.eye(24)
    for function in (torch.linalg.svd, torch.linalg.eigh, torch.linalg.inv, torch.linalg.cholesky):
        function(matrix)
    torch.linalg.solve(matrix, torch.rand(24, 3))


def sorting():
    values = torch.rand(64, 100)
    values.sort(), values.topk(5), values.unique(), values.std(0), values.cumsum(1)
    torch.histc(values), torch.searchsorted(values.sort().values, values), values.median()


def second_order():
    model, batch = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1)), torch.rand(4, 8)
    (first,) = torch.autograd.grad(model(batch).sum(), model[0].weight, create_graph=True)
    first.square().sum().backward()
    torch.func.vmap(torch.func.grad(lambda x: x.pow(3).sum()))(batch)


def checkpointed():
    block = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Dropout(0.1))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = block

        def forward(self, batch):
            for _ in range(3):
                batch = checkpoint(self.block, batch, use_reentrant=False)
            return batch

    train(Model(), torch.rand(8, 16))


def spectrum():
    signal = torch.rand(4, 256)
    torch.fft.irfft(torch.fft.rfft(signal))
    torch.stft(signal, 64, return_complex=True, window=torch.hann_window(64)).abs().sum()
    torch.einsum("ij,kj->ik", signal, signal).clone().numpy()


PROGRAMS = (perceptron, convolution, recurrent, transformer, embedding_bag, linear_algebra,
            sorting, second_order, checkpointed, spectrum)  # fmt: skip


def profiled(program, folder):
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, acc_events=True) as profiler:
        program()
    profiler.export_chrome_trace(str(folder / f"{program.__name__}.json"))
    table = {e.key: (e.count, e.self_cpu_time_total) for e in profiler.key_averages()}
    (folder / f"{program.__name__}.table.json").write_text(json.dumps(table))


def main():
    for program in PROGRAMS:
        torch.manual_seed(0)
        program()
        if len(sys.argv) > 1:
            profiled(program, Path(sys.argv[1]))
        else:
            program()


if __name__ == "__main__":
    main()
