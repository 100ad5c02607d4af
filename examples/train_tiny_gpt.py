"""Trains a small GPT on its own source text: ordinary PyTorch that knows nothing of Sonde.

One process:   python3 examples/train_tiny_gpt.py --steps 20
Two ranks:     torchrun --nproc_per_node=2 examples/train_tiny_gpt.py --steps 20
Under Sonde:   sonde run -- torchrun --nproc_per_node=2 examples/train_tiny_gpt.py --steps 20
"""

import argparse
import os
from pathlib import Path

import torch
import torch.distributed as dist
from tiny_gpt import Config, TinyGpt
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class ByteText(Dataset):
    """Overlapping windows of a text, and the same moved on by one byte."""

    def __init__(self, text, context, size):
        self.data = torch.tensor(list(text), dtype=torch.long)
        self.context = context
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        start = index * 17 % (len(self.data) - self.context - 1)
        window = self.data[start : start + self.context + 1]
        return window[:-1], window[1:]


def source_text():
    folder = Path(__file__).resolve().parent
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*.py")))


def train(arguments, rank, ranks):
    """Runs the steps and returns the loss of each."""
    config = Config(layers=arguments.layers, width=arguments.width)
    torch.manual_seed(0)
    model = TinyGpt(config)
    if ranks > 1:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = ByteText(source_text(), config.context, arguments.steps * arguments.batch * ranks)
    sampler = DistributedSampler(data, num_replicas=ranks, rank=rank, shuffle=True, seed=0)
    loader = DataLoader(
        data, batch_size=arguments.batch, sampler=sampler, num_workers=arguments.workers
    )
    losses = []
    for step, (inputs, targets) in enumerate(loader):
        logits = model(inputs)
        loss = functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if rank == 0:
            print(f"step {step} loss {losses[-1]!r}", flush=True)
    if arguments.save and rank == 0:
        torch.save(getattr(model, "module", model).state_dict(), arguments.save)
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=8, help="sequences of a rank in a step")
    parser.add_argument("--layers", type=int, default=Config.layers)
    parser.add_argument("--width", type=int, default=Config.width)
    parser.add_argument("--workers", type=int, default=0, help="processes that load data")
    parser.add_argument("--save", metavar="FILE", help="write the weights for generate.py")
    arguments = parser.parse_args()

    torch.set_num_threads(1)
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if ranks > 1:
        dist.init_process_group("gloo")
    train(arguments, int(os.environ.get("RANK", "0")), ranks)
    if ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
