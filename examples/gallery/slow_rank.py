"""Trains the small GPT on several ranks, one of which prepares its data slowly.

torchrun --nproc_per_node=2 examples/gallery/slow_rank.py

Rank 1 reads text that was stored as hexadecimal digits and decodes it for each sample, in Python.
The program is ordinary PyTorch and knows nothing of Sonde.
"""

import argparse
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tiny_gpt import Config, TinyGpt  # noqa: E402
from train_tiny_gpt import ByteText, source_text  # noqa: E402

SLOW_RANK = 1
BATCH = 8


class HexText(ByteText):
    """The same windows from text in hexadecimal digits: the whole text is decoded for each."""

    def __init__(self, text, context, size):
        super().__init__(text, context, size)
        self.digits = text.hex()

    def __getitem__(self, index):
        pairs = zip(self.digits[::2], self.digits[1::2])
        self.data = torch.tensor([int(high + low, 16) for high, low in pairs], dtype=torch.long)
        return super().__getitem__(index)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=12)
    steps = parser.parse_args().steps

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    config = Config(layers=2)
    model = DistributedDataParallel(TinyGpt(config))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    kind = HexText if rank == SLOW_RANK else ByteText
    data = kind(source_text(), config.context, steps * BATCH * ranks)
    loader = DataLoader(data, batch_size=BATCH, sampler=DistributedSampler(data, ranks, rank))
    for step, (inputs, targets) in enumerate(loader):
        loss = functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
