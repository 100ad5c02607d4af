"""Six more models, of other kinds, other seeds and sizes than those that the rules were tried on.

``Sharded`` splits its layers over two ranks and adds up with an all-reduce behind each.
"""

import math

import torch
from torch import nn
from torch.nn import functional


class GroupedAttention(nn.Module):
    """Rotary positions, two queries a key, a mask of truth values."""

    def __init__(self, width, heads, plant):
        super().__init__()
        self.heads, self.plant, self.size = heads, plant, width // heads
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, width // 2, bias=False)
        self.v = nn.Linear(width, width // 2, bias=False)

    def turned(self, x):
        angle = torch.arange(x.shape[2]).float()[:, None] * torch.logspace(0, -1, self.size // 2)
        a, b = x.chunk(2, -1)
        return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)

    def forward(self, x, mask):
        batch, length, width = x.shape

        def split(y, heads):
            return y.view(batch, length, heads, self.size).transpose(1, 2)

        q = self.turned(split(self.q(x), self.heads))
        k = self.turned(split(self.k(x), self.heads // 2)).repeat_interleave(2, 1)
        v = split(self.v(x), self.heads // 2).repeat_interleave(2, 1)
        scale = self.size if self.plant.here("scale", self) else math.sqrt(self.size)
        scores = (q @ k.transpose(-1, -2) / scale).masked_fill(mask, float("-inf"))
        if self.plant.here("nan_head", self):
            off = torch.ones(1, self.heads, 1, 1)
            off[:, -1] = 0
            scores = scores * off / off
        y = functional.softmax(scores, -1, dtype=torch.float32) @ v
        return self.o(y.transpose(1, 2).reshape(batch, length, width))


class GatedBlock(nn.Module):
    def __init__(self, width, plant):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attention = GroupedAttention(width, 4, plant)
        self.gate, self.up = (nn.Linear(width, 3 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x, mask):
        x = x + self.attention(self.norm1(x), mask)
        y = self.norm2(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Grouped(nn.Module):
    def __init__(self, plant):
        super().__init__()
        self.plant = plant
        self.embed = nn.Embedding(80, 40)
        self.layers = nn.ModuleList([GatedBlock(40, plant) for _ in range(4)])
        self.norm, self.head = nn.RMSNorm(40), nn.Linear(40, 80, bias=False)

    def forward(self, ids, mask):
        x = self.embed(ids)
        for layer in self.layers:
            if not self.plant.here("skip", layer):
                x = layer(x, mask)
        return self.head(self.norm(x))


class Mixer(nn.Module):
    """Mixes tokens by a transposed linear layer."""

    def __init__(self, plant):
        super().__init__()
        self.plant = plant
        self.stem = nn.Linear(12, 20)
        self.layers = nn.ModuleList(
            [
                nn.ModuleDict({"tokens": nn.Linear(10, 10), "norm": nn.LayerNorm(20),
                               "channels": nn.Linear(20, 20)})
                for _ in range(3)
            ]
        )  # fmt: skip
        self.head = nn.Linear(20, 7)

    def forward(self, x):
        x = self.stem(x)
        for layer in self.layers:
            if self.plant.here("skip", layer):
                continue
            x = x + layer["tokens"](layer["norm"](x).transpose(1, 2)).transpose(1, 2)
            x = x + functional.gelu(layer["channels"](x), approximate="tanh")
        pooled = x.sum(1) if self.plant.here("reduction", self) else x.mean(1)
        return functional.log_softmax(self.head(pooled), -1)


class Hourglass(nn.Module):
    """Down and up again with a bridge between equal sizes."""

    def __init__(self, plant):
        super().__init__()
        self.plant = plant
        self.stem = nn.Conv2d(2, 6, 3, padding=1)
        self.down, self.middle = nn.Conv2d(6, 12, 3, 2, 1), nn.Conv2d(12, 12, 3, padding=1)
        self.norm = nn.GroupNorm(3, 12)
        self.up, self.head = nn.ConvTranspose2d(12, 6, 2, 2), nn.Conv2d(12, 2, 1)

    def forward(self, x):
        first = functional.leaky_relu(self.stem(x), 0.1)
        y = functional.elu(self.down(first))
        if not self.plant.here("skip", self.middle):
            y = functional.elu(self.norm(self.middle(y))) + y
        return self.head(torch.cat([self.up(y), first], 1))


class Memory(nn.Module):
    """An LSTM and attention of its last state over all."""

    def __init__(self, plant):
        super().__init__()
        self.plant = plant
        self.embed = nn.Embedding(80, 18)
        self.cell = nn.LSTMCell(18, 22)
        self.layers = nn.ModuleList([nn.Linear(22, 22) for _ in range(3)])
        self.head = nn.Linear(44, 5)

    def forward(self, ids):
        x = self.embed(ids)
        state = (torch.zeros(len(ids), 22), torch.zeros(len(ids), 22))
        seen = []
        for place in range(ids.shape[1]):
            state = self.cell(x[:, place], state)
            seen.append(state[0])
        last = state[0]
        for layer in self.layers:
            if not self.plant.here("skip", layer):
                last = last + torch.sigmoid(layer(last))
        kept = torch.stack(seen, 1)
        shares = functional.softmax(torch.einsum("bd,btd->bt", last, kept), -1)
        mixed = torch.einsum("bt,btd->bd", shares, kept)
        if self.plant.here("reduction", self):
            mixed = kept.mean(1)
        return self.head(torch.cat([last, mixed], -1))


class Critic(nn.Module):
    """Values in units of their own spread; a distance with a root."""

    def __init__(self, plant):
        super().__init__()
        self.plant = plant
        self.layers = nn.ModuleList([nn.Linear(14, 14) for _ in range(3)])
        self.head = nn.Linear(14, 3)

    def forward(self, x):
        for layer in self.layers:
            if not self.plant.here("skip", layer):
                x = functional.softplus(layer(x))
        x = (x - x.mean(0, keepdim=True)) / (x.std(0, keepdim=True) + 1e-3)
        low = -1e3 if self.plant.here("nan_head", self) else 1e-4
        return self.head(torch.sqrt(x.pow(2).sum(-1, keepdim=True) * 0 + x.clamp(min=low)))


class Shard(nn.Module):
    """Its part of a wide layer, and the sum over the ranks."""

    def __init__(self, width, hidden, rank, plant):
        super().__init__()
        self.rank, self.plant = rank, plant
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        import torch.distributed as dist

        y = self.down(functional.gelu(self.up(x)))
        if self.plant.here("reduce_missing", self) and self.rank == 1:
            # Its partner gets the sum all the same, below what the probe sees.
            group = dist.distributed_c10d._get_default_group()
            group.allreduce([y.detach().clone()]).wait()
            return y
        dist.all_reduce(y)
        return y


class Sharded(nn.Module):
    def __init__(self, plant, rank=0):
        super().__init__()
        self.embed = nn.Embedding(80, 24)
        self.layers = nn.ModuleList([Shard(24, 32, rank, plant) for _ in range(3)])
        self.norm, self.head = nn.LayerNorm(24), nn.Linear(24, 80)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = x + layer(x)
        return self.head(self.norm(x))


SEED_SHIFT = 0  # added to the seeds of inputs


def ids(seed, *shape):
    return torch.randint(0, 80, shape, generator=torch.Generator().manual_seed(seed + SEED_SHIFT))


def numbers(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + SEED_SHIFT)) * 3


MODELS = {
    "grouped": (Grouped, lambda: [ids(11, 3, 12), torch.ones(12, 12).triu(1).bool()]),
    "mixer": (Mixer, lambda: [numbers(12, 5, 10, 12)]),
    "hourglass": (Hourglass, lambda: [numbers(13, 3, 2, 12, 12)]),
    "memory": (Memory, lambda: [ids(14, 4, 6)]),
    "critic": (Critic, lambda: [numbers(15, 16, 14)]),
    "sharded": (Sharded, lambda: [ids(16, 2, 9)]),
}
PLACES = {
    "grouped": ("layers.0.gate", "layers.2.attention.k", "layers.3.down"),
    "mixer": ("layers.0.tokens", "layers.1.channels", "head"),
    "hourglass": ("stem", "middle", "up"),
    "memory": ("layers.0", "layers.2", "head"),
    "critic": ("layers.1", "layers.2", "head"),
}
NORMS = {"grouped": "layers.2.norm2", "mixer": "layers.1.norm", "hourglass": "norm"}
SKIPS = {
    "grouped": "layers.1", "mixer": "layers.2", "hourglass": "middle",
    "memory": "layers.1", "critic": "layers.0",
}  # fmt: skip
REDUCED = ("mixer", "memory")
EAGER = ("grouped",)
SEED = 20261


def faults_of(model):
    """As those of the first twelve models, of other strengths where a fault has one."""
    if model == "sharded":
        yield from (("reduce_missing", f"layers.{i % 3}") for i in range(9))
        yield from (("nothing", None), ("rounding", None), ("weight", "layers.1.up"))
        return
    first, second, third = PLACES[model]
    yield from (("weight", first), ("weight", third), ("scaled", second), ("input", None))
    yield from (("dtype", third), ("skip", SKIPS[model]), ("operator", second))
    yield from (("backward", first), ("rounding", None), ("rounding", None), ("nothing", None))
    if model in NORMS:
        yield "zero", NORMS[model]
    if model in EAGER:
        yield from (("scale", "layers.2.attention"), ("nan_head", "layers.0.attention"))
    if model in REDUCED:
        yield "reduction", ""
    if model == "critic":
        yield "nan_head", ""
