"""Twelve small models in which faults are planted; `Plant` gives each its place and kind.

A model asks ``plant.here("place")`` at the places where a fault can sit; None there is the golden
run. Random weights of one seed, inputs of another.
"""

import math

import torch
from torch import nn
from torch.nn import functional


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Attention(nn.Module):
    """`style`: "eager" with matmul and softmax, "sdpa" fused."""

    def __init__(self, width, heads, style, plant):
        super().__init__()
        self.heads, self.style, self.plant = heads, style, plant
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x, mask):
        batch, length, width = x.shape

        def split(y):
            return y.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

        q, k, v = split(self.q(x)), split(self.k(x)), split(self.v(x))
        if self.style == "sdpa":
            y = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        else:
            scale = math.sqrt(width // self.heads)
            if self.plant.here("scale", self):
                scale = width // self.heads
            scores = torch.matmul(q, k.transpose(-1, -2)) / scale + mask
            if self.plant.here("nan_head", self):
                zeros = torch.ones(1, self.heads, 1, 1)
                zeros[:, 0] = 0
                scores = scores * zeros / zeros
            y = torch.matmul(functional.softmax(scores, -1), v)
        return self.o(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads, style, norm, plant):
        super().__init__()
        self.plant = plant
        self.norm1, self.norm2 = norm(width), norm(width)
        self.attention = Attention(width, heads, style, plant)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x, mask):
        x = x + self.attention(self.norm1(x), mask)
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Decoder(nn.Module):
    def __init__(self, plant, style="eager", norm=nn.LayerNorm, layers=3, width=32, vocabulary=48):
        super().__init__()
        self.plant = plant
        self.embed = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(
            [Block(width, 4, style, norm, plant) for _ in range(layers)]
        )  # fmt: skip
        self.norm, self.head = norm(width), nn.Linear(width, vocabulary)

    def forward(self, ids, mask):
        x = self.embed(ids)
        for layer in self.layers:
            if not self.plant.here("skip", layer):
                x = layer(x, mask)
        return self.head(self.norm(x))


class Classifier(nn.Module):
    """Tokens to a class: a reduction over them."""

    def __init__(self, plant, width=32):
        super().__init__()
        self.plant = plant
        self.embed = nn.Embedding(48, width)
        self.layers = nn.ModuleList(
            [Block(width, 4, "eager", nn.LayerNorm, plant) for _ in range(2)]
        )
        self.head = nn.Linear(width, 5)

    def forward(self, ids, mask):
        x = self.embed(ids)
        for layer in self.layers:
            if not self.plant.here("skip", layer):
                x = layer(x, mask)
        pooled = x.sum(1) if self.plant.here("reduction", self) else x.mean(1)
        return self.head(pooled)


class Perceptron(nn.Module):
    def __init__(self, plant):
        super().__init__()
        self.plant = plant
        self.layers = nn.ModuleList([nn.Linear(24, 24) for _ in range(4)])
        self.head = nn.Linear(24, 6)

    def forward(self, x):
        for layer in self.layers:
            if not self.plant.here("skip", layer):
                x = torch.tanh(layer(x))
        if self.plant.here("reduction", self):
            return self.head(x - x.sum(0, keepdim=True))
        return self.head(x - x.mean(0, keepdim=True))


class ConvNet(nn.Module):
    def __init__(self, plant):
        super().__init__()
        self.plant = plant
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.layers = nn.ModuleList(
            [
                nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
                for _ in range(3)
            ]
        )
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        x = self.stem(x)
        for layer in self.layers:
            if not self.plant.here("skip", layer):
                x = layer(x) + x
        x = x.amax((2, 3)) if self.plant.here("reduction", self) else x.mean((2, 3))
        return self.head(x)


class AutoEncoder(nn.Module):
    def __init__(self, plant):
        super().__init__()
        self.plant = plant
        self.down = nn.ModuleList([nn.Conv1d(4, 8, 3, 2, 1), nn.Conv1d(8, 8, 3, 1, 1)])
        self.norm = nn.GroupNorm(2, 8)
        self.up = nn.ConvTranspose1d(8, 4, 4, 2, 1)

    def forward(self, x):
        for layer in self.down:
            if not self.plant.here("skip", layer):
                x = functional.silu(layer(x))
        return self.up(self.norm(x))


class Recurrent(nn.Module):
    def __init__(self, plant):
        super().__init__()
        self.plant = plant
        self.embed = nn.Embedding(48, 16)
        self.cell = nn.GRUCell(16, 24)
        self.layers = nn.ModuleList([nn.Linear(24, 24) for _ in range(2)])
        self.head = nn.Linear(24, 48)

    def forward(self, ids):
        x, state = self.embed(ids), torch.zeros(ids.shape[0], 24)
        for place in range(ids.shape[1]):
            state = self.cell(x[:, place], state)
        for layer in self.layers:
            if not self.plant.here("skip", layer):
                state = torch.relu(layer(state))
        return self.head(state)


class Experts(nn.Module):
    """A router that picks two of four experts."""

    def __init__(self, plant):
        super().__init__()
        self.plant = plant
        self.router = nn.Linear(16, 4)
        self.layers = nn.ModuleList([nn.Linear(16, 16) for _ in range(4)])
        self.head = nn.Linear(16, 8)

    def forward(self, x):
        weights, chosen = torch.topk(functional.softmax(self.router(x), -1), 2)
        if self.plant.here("reduction", self):
            weights = weights / weights.amax(-1, keepdim=True)
        else:
            weights = weights / weights.sum(-1, keepdim=True)
        y = torch.zeros_like(x)
        for number, layer in enumerate(self.layers):
            if not self.plant.here("skip", layer):
                share = (weights * (chosen == number)).sum(-1, keepdim=True)
                y = y + share * layer(x)
        return self.head(y)


class Towers(nn.Module):
    """Two encoders and the cosine of what they give."""

    def __init__(self, plant):
        super().__init__()
        self.plant = plant
        self.left = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 16))
        self.right = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 16))
        self.layers = nn.ModuleList([nn.Linear(16, 16)])

    def forward(self, x):
        a, b = self.left(x), self.right(x.flip(0))
        for layer in self.layers:
            if not self.plant.here("skip", layer):
                a = layer(a)
        a, b = functional.normalize(a, dim=-1), functional.normalize(b, dim=-1)
        return a @ b.t() * 10


class Entropy(nn.Module):
    """Probabilities and their logarithms: p log p, which needs a care at 0."""

    def __init__(self, plant):
        super().__init__()
        self.plant = plant
        self.layers = nn.ModuleList([nn.Linear(24, 24) for _ in range(2)])
        self.head = nn.Linear(24, 6)

    def forward(self, x):
        for layer in self.layers:
            if not self.plant.here("skip", layer):
                x = functional.relu(layer(x))
        low = 0.0 if self.plant.here("nan_head", self) else 1e-6
        x = torch.clamp(x, min=low)
        return self.head(x * torch.log(x))


SEED_SHIFT = 0  # added to the seeds of inputs


def ids(seed=1, shape=(2, 8)):
    return torch.randint(0, 48, shape, generator=torch.Generator().manual_seed(seed + SEED_SHIFT))


def numbers(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + SEED_SHIFT))


def causal(low=float("-inf"), length=8):
    return torch.triu(torch.full((length, length), low), 1)


# name -> (model, its inputs)
MODELS = {
    "decoder": (Decoder, lambda: [ids(), causal()]),
    "decoder_fused": (lambda plant: Decoder(plant, "sdpa"), lambda: [ids(), causal(-1e4)]),
    "decoder_rms": (lambda plant: Decoder(plant, "eager", RMSNorm), lambda: [ids(), causal(-1e4)]),
    "decoder_deep": (
        lambda plant: Decoder(plant, "sdpa", RMSNorm, layers=6, width=16),
        lambda: [ids(), causal(-1e4)],
    ),
    "classifier": (Classifier, lambda: [ids(), causal()]),
    "perceptron": (Perceptron, lambda: [numbers(8, 24)]),
    "convnet": (ConvNet, lambda: [numbers(4, 3, 8, 8)]),
    "autoencoder": (AutoEncoder, lambda: [numbers(2, 4, 16)]),
    "recurrent": (Recurrent, lambda: [ids()]),
    "experts": (Experts, lambda: [numbers(8, 16)]),
    "towers": (Towers, lambda: [numbers(6, 24)]),
    "entropy": (Entropy, lambda: [numbers(8, 24)]),
}
