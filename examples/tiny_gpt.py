"""A small GPT over bytes: the model that the examples train and sample from."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional


@dataclass
class Config:
    """Sizes of the model; the vocabulary is the 256 bytes."""

    context: int = 64
    layers: int = 4
    heads: int = 4
    width: int = 128
    vocabulary: int = 256


class Cache:
    """Keys and values of one attention layer for the tokens so far."""

    def __init__(self, batch, config):
        shape = (batch, config.heads, config.context, config.width // config.heads)
        self.keys = torch.zeros(shape)
        self.values = torch.zeros(shape)
        self.length = 0

    def append(self, keys, values):
        end = self.length + keys.shape[2]
        self.keys[:, :, self.length : end] = keys
        self.values[:, :, self.length : end] = values
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]


class Attention(nn.Module):
    """Causal self-attention."""

    def __init__(self, config):
        super().__init__()
        self.heads = config.heads
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.out = nn.Linear(config.width, config.width)

    def forward(self, x, cache=None):
        batch, length, width = x.shape
        split = (batch, length, 3, self.heads, width // self.heads)
        q, k, v = self.qkv(x).view(split).permute(2, 0, 3, 1, 4)
        if cache is not None:
            k, v = cache.append(k, v)
        # A single new token sees all that came before it.
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """One transformer layer."""

    def __init__(self, config):
        super().__init__()
        self.norm1 = nn.LayerNorm(config.width)
        self.attention = Attention(config)
        self.norm2 = nn.LayerNorm(config.width)
        self.mlp = nn.Sequential(
            nn.Linear(config.width, 4 * config.width),
            nn.GELU(),
            nn.Linear(4 * config.width, config.width),
        )

    def forward(self, x, cache=None):
        x = x + self.attention(self.norm1(x), cache)
        return x + self.mlp(self.norm2(x))


class TinyGpt(nn.Module):
    """Bytes in, logits of the next byte out."""

    def __init__(self, config):
        super().__init__()
        self.token = nn.Embedding(config.vocabulary, config.width)
        self.position = nn.Embedding(config.context, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)

    def forward(self, tokens, caches=None):
        """With caches (one a block) the tokens follow those of the calls before."""
        first = caches[0].length if caches else 0
        places = torch.arange(first, first + tokens.shape[1], device=tokens.device)
        x = self.token(tokens) + self.position(places)
        for index, block in enumerate(self.blocks):
            x = block(x, caches[index] if caches else None)
        return self.head(self.norm(x))
