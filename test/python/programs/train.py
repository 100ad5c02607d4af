"""Training with data loader workers of every start method, then a wait where asked for.

Arguments: steps, then start methods ("fork", "spawn", "forkserver"); "wait" at the end prints
"thirty steps" after that many and goes on training until it is killed.
"""

import itertools
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.full((4,), float(index)).add(1.0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        return self.head(self.body(x))


def train(model, optimizer, loader, steps):
    for step, batch in zip(steps, itertools.chain.from_iterable(itertools.repeat(loader))):
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        if step < 100:
            print(f"loss {loss.item().hex()}", flush=True)
        elif step == 130:
            print("thirty steps", flush=True)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    steps = int(sys.argv[1])
    for method in sys.argv[2:]:
        if method == "wait":
            train(model, optimizer, DataLoader(Numbers(), batch_size=4), itertools.count(100))
        else:
            context = None if method == "none" else method
            workers = 0 if method == "none" else 1
            loader = DataLoader(
                Numbers(), batch_size=4, num_workers=workers, multiprocessing_context=context
            )
            train(model, optimizer, loader, range(steps))


if __name__ == "__main__":
    main()
