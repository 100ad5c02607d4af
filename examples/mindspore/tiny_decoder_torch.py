"""The PyTorch twin of tiny_decoder.py: the same layers, names, weights and tokens.

sonde run -- python3 examples/mindspore/tiny_decoder_torch.py
"""

import argparse
import math

import numpy as np
import torch
from torch import nn

WORDS, WIDTH, HEADS, LAYERS, TOKENS = 64, 32, 4, 2, 16


def weights(shape, seed):
    """The same numbers in both frameworks."""
    return (np.random.RandomState(seed).randn(*shape) * 0.1).astype(np.float32)


class Embedding(nn.Module):
    """A row of a table for each token."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(weights((WORDS, WIDTH), 0)))

    def forward(self, ids):
        return nn.functional.embedding(ids, self.weight)


class Linear(nn.Module):
    """x W^T."""

    def __init__(self, out, width, seed):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(weights((out, width), seed)))

    def forward(self, x):
        return torch.matmul(x, torch.transpose(self.weight, 0, 1))


class RMSNorm(nn.Module):
    """Divides by the root of the mean square."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(torch.mean(torch.square(x), -1, True) + 1e-6))


class Attention(nn.Module):
    """Causal attention with several heads."""

    def __init__(self, seed):
        super().__init__()
        self.q, self.k = Linear(WIDTH, WIDTH, seed), Linear(WIDTH, WIDTH, seed + 1)
        self.v, self.o = Linear(WIDTH, WIDTH, seed + 2), Linear(WIDTH, WIDTH, seed + 3)
        self.mask = torch.triu(torch.full((TOKENS, TOKENS), -1e30), 1)

    def heads(self, x):
        batch, tokens, width = x.shape
        return torch.transpose(torch.reshape(x, (batch, tokens, HEADS, width // HEADS)), 1, 2)

    def forward(self, x):
        q, k, v = self.heads(self.q(x)), self.heads(self.k(x)), self.heads(self.v(x))
        scores = torch.matmul(q, torch.transpose(k, 2, 3)) / math.sqrt(WIDTH // HEADS) + self.mask
        mixed = torch.matmul(nn.functional.softmax(scores, -1), v)
        return self.o(torch.reshape(torch.transpose(mixed, 1, 2), x.shape))


class Mlp(nn.Module):
    """SwiGLU."""

    def __init__(self, seed):
        super().__init__()
        self.gate, self.up = Linear(2 * WIDTH, WIDTH, seed), Linear(2 * WIDTH, WIDTH, seed + 1)
        self.down = Linear(WIDTH, 2 * WIDTH, seed + 2)

    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    """Attention and MLP, each behind a norm."""

    def __init__(self, seed):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(), RMSNorm()
        self.attn, self.mlp = Attention(seed), Mlp(seed + 10)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Decoder(nn.Module):
    """Tokens to logits."""

    def __init__(self):
        super().__init__()
        self.embed = Embedding()
        self.layers = nn.ModuleList([Block(100 * (i + 1)) for i in range(LAYERS)])
        self.norm, self.head = RMSNorm(), Linear(WORDS, WIDTH, 7)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def batches(count):
    """Token numbers, and the next ones."""
    made = np.random.RandomState(3)
    for _ in range(count):
        ids = made.randint(0, WORDS, (2, TOKENS + 1))
        yield ids[:, :-1].astype(np.int64), ids[:, 1:].astype(np.int64)


def main():
    """Trains for some steps and prints the loss of each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--steps", type=int, default=6)
    arguments = parser.parse_args()
    net = Decoder()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for number, (ids, labels) in enumerate(batches(arguments.steps)):
        logits = torch.reshape(net(torch.tensor(ids)), (-1, WORDS))
        loss = nn.functional.cross_entropy(logits, torch.reshape(torch.tensor(labels), (-1,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {number}: loss {loss.item():.6f}", flush=True)


if __name__ == "__main__":
    main()
