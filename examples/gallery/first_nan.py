"""Trains a small classifier of sentences until an empty sentence makes its numbers NaN.

python3 examples/gallery/first_nan.py

Attention masks the padding with minus infinity. A sentence without words is padding alone: its row
of scores is minus infinity everywhere, and softmax gives NaN. From then on every weight is NaN.
"""

import argparse

import torch
from torch import nn
from torch.nn import functional

WORDS, WIDTH, LENGTH, BATCH = 50, 32, 8, 4
EMPTY_AT_STEP = 3


class Attention(nn.Module):
    """Attention of one head that leaves the padding (word 0) out."""

    def __init__(self):
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key = nn.Linear(WIDTH, WIDTH)
        self.value = nn.Linear(WIDTH, WIDTH)

    def forward(self, x, is_padding):
        scores = self.query(x) @ self.key(x).transpose(-2, -1) / WIDTH**0.5
        scores = scores.masked_fill(is_padding[:, None, :], float("-inf"))
        return torch.softmax(scores, dim=-1) @ self.value(x)


class Classifier(nn.Module):
    """Words in, logits of two classes out."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.attention = Attention()
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, 2)

    def forward(self, words):
        x = self.words(words)
        x = self.norm(x + self.attention(x, words == 0))
        return self.head(x.mean(dim=1))


def sentences(step):
    """A batch of sentences of different lengths; one of them is empty at EMPTY_AT_STEP."""
    words = torch.randint(1, WORDS, (BATCH, LENGTH))
    lengths = torch.randint(2, LENGTH, (BATCH,))
    if step == EMPTY_AT_STEP:
        lengths[1] = 0
    words[torch.arange(LENGTH) >= lengths[:, None]] = 0
    return words, words[:, 0] % 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=6)
    steps = parser.parse_args().steps

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(steps):
        words, classes = sentences(step)
        loss = functional.cross_entropy(model(words), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    main()
