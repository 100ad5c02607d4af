"""Trains the small GPT as it is, or with one change: for comparing two versions of a program.

python3 examples/gallery/two_versions.py [--change attention|gelu]

attention  scores and softmax as separate calls, not fused: slower, equal but for rounding
gelu       the approximation of GELU by tanh: as fast, and the numbers differ
"""

import argparse
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import tiny_gpt  # noqa: E402
from train_tiny_gpt import ByteText, source_text  # noqa: E402

BATCH, LENGTH = 4, 256


class UnfusedAttention(tiny_gpt.Attention):
    """The same attention with its scores in memory."""

    def forward(self, x, cache=None):
        batch, length, width = x.shape
        split = (batch, length, 3, self.heads, width // self.heads)
        q, k, v = self.qkv(x).view(split).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        y = scores.masked_fill(later, float("-inf")).softmax(dim=-1) @ v
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


def make_model(config, change):
    torch.manual_seed(0)
    model = tiny_gpt.TinyGpt(config)
    for block in model.blocks:
        if change == "attention":
            block.attention.__class__ = UnfusedAttention
        elif change == "gelu":
            block.mlp[1] = nn.GELU(approximate="tanh")
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--change", choices=("none", "attention", "gelu"), default="none")
    parser.add_argument("--steps", type=int, default=14)
    arguments = parser.parse_args()

    torch.set_num_threads(1)
    config = tiny_gpt.Config(layers=2, context=LENGTH)
    model = make_model(config, arguments.change)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = ByteText(source_text(), config.context, arguments.steps * BATCH)
    for inputs, targets in torch.utils.data.DataLoader(data, batch_size=BATCH):
        loss = functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"last loss {loss.item():.6f}")


if __name__ == "__main__":
    main()
