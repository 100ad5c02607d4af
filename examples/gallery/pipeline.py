"""Trains the small GPT as a pipeline of two stages, a rank each, with four micro batches a step.

torchrun --nproc_per_node=2 examples/gallery/pipeline.py

Rank 0 has the first half of the blocks, rank 1 the second half and the loss. Activations go forward
and their gradients back by send and receive. Under `sonde run` ranges name these parts.
"""

import argparse
import contextlib
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tiny_gpt import Config, TinyGpt  # noqa: E402
from train_tiny_gpt import ByteText, source_text  # noqa: E402

try:
    from sonde import mstx
except ImportError:  # neither below `sonde run` nor installed
    mstx = None

MICRO_BATCHES, BATCH = 4, 8


@contextlib.contextmanager
def part(name):
    """A range of the timeline around a part of the pipeline."""
    number = mstx.range_start(name) if mstx else 0
    yield
    if mstx:
        mstx.range_end(number)


class FirstStage(nn.Module):
    """Bytes in, activations out."""

    def __init__(self, whole):
        super().__init__()
        self.token, self.position = whole.token, whole.position
        self.blocks = whole.blocks[: len(whole.blocks) // 2]

    def forward(self, tokens):
        x = self.token(tokens) + self.position(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return x


class LastStage(nn.Module):
    """Activations in, logits out."""

    def __init__(self, whole):
        super().__init__()
        self.blocks = whole.blocks[len(whole.blocks) // 2 :]
        self.norm, self.head = whole.norm, whole.head

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def first_stage_step(stage, batches):
    """All micro batches forward, then their gradients back."""
    outputs = []
    for number, (inputs, _) in enumerate(batches):
        with part(f"forward {number}"):
            outputs.append(stage(inputs))
        dist.send(outputs[-1].detach(), 1)
    for number, output in enumerate(outputs):
        gradient = torch.empty_like(output)
        dist.recv(gradient, 1)
        with part(f"backward {number}"):
            output.backward(gradient)


def last_stage_step(stage, batches, config):
    """Each micro batch forward as it comes, then all of them backward; returns the last loss."""
    received, losses = [], []
    for number, (_, targets) in enumerate(batches):
        x = torch.empty(BATCH, config.context, config.width)
        dist.recv(x, 0)
        received.append(x.requires_grad_())
        with part(f"forward {number}"):
            losses.append(functional.cross_entropy(stage(x).flatten(0, 1), targets.flatten()))
    for number, loss in enumerate(losses):
        with part(f"backward {number}"):
            loss.backward()
        dist.send(received[number].grad, 0)
    return losses[-1].item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=12)
    steps = parser.parse_args().steps

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    config = Config()
    is_first = dist.get_rank() == 0
    stage = (FirstStage if is_first else LastStage)(TinyGpt(config))
    optimizer = torch.optim.AdamW(stage.parameters(), lr=1e-3)
    data = ByteText(source_text(), config.context, steps * MICRO_BATCHES * BATCH)
    loader = iter(torch.utils.data.DataLoader(data, batch_size=BATCH))
    for step in range(steps):
        batches = [next(loader) for _ in range(MICRO_BATCHES)]
        optimizer.zero_grad()
        if is_first:
            first_stage_step(stage, batches)
        else:
            print(f"step {step} loss {last_stage_step(stage, batches, config):.3f}", flush=True)
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
