"""Parts of current models, each a program of one or more steps:
precision_architectures.py CONFIG [NAME...]; see precision_recording.py for what they share.
"""

import copy
import dataclasses
import sys
from typing import Optional

import torch
from precision_recording import main, program
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint


class Router(nn.Module):
    """Tokens to their best two experts and back by index_add_."""

    def __init__(self, width, experts):
        super().__init__()
        self.gate = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width))
            for _ in range(experts)
        )

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        weights, chosen = functional.softmax(self.gate(flat), -1, dtype=torch.float).topk(2, -1)
        weights = (weights / weights.sum(-1, keepdim=True)).to(x.dtype)
        out = torch.zeros_like(flat)
        mask = functional.one_hot(chosen, len(self.experts)).permute(2, 1, 0)
        for number, expert in enumerate(self.experts):
            place, token = torch.where(mask[number])
            if token.numel():
                part = expert(flat[None, token].reshape(-1, x.shape[-1]))
                out.index_add_(0, token, (part * weights[token, place, None]).to(x.dtype))
        return out.view_as(x), mask.float().mean((1, 2))


class ComplexRotation(nn.Module):
    """Positions as complex factors, grouped heads, an additive mask."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(width, width)
        self.kv = nn.Linear(width, width)
        angles = torch.outer(torch.arange(16.0), 0.1 ** torch.arange(0, width // heads // 2))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles), False)

    def rotate(self, x, begin):
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        turns = self.turns[begin : begin + x.shape[1]].view(1, x.shape[1], 1, -1)
        return torch.view_as_real(pairs * turns).flatten(3).type_as(x)

    def forward(self, x, begin=0, cache=None):
        batch, length, width = x.shape
        q = self.q(x).view(batch, length, self.heads, -1)
        k, v = self.kv(x).view(batch, length, self.heads, -1).chunk(2, dim=2)
        q, k = self.rotate(q, begin), self.rotate(k, begin)
        if cache is not None:
            cache["k"][:, begin : begin + length] = k
            cache["v"][:, begin : begin + length] = v
            k, v = cache["k"][:, : begin + length], cache["v"][:, : begin + length]
        k, v = (item.repeat_interleave(2, dim=2) for item in (k, v))
        scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * (width // self.heads) ** -0.5
        mask = torch.full((length, k.shape[1]), float("-inf")).triu(diagonal=begin + 1)
        mixed = torch.einsum("bhqk,bkhd->bqhd", (scores + mask).softmax(-1), v)
        return mixed.flatten(2)


@dataclasses.dataclass
class Result:
    hidden: torch.Tensor
    loads: list
    extra: dict
    loss: Optional[torch.Tensor] = None


class Decoder(nn.Module):
    """Tied weights, recomputed layers, a data class with dicts and None in it."""

    def __init__(self, recomputes=False):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.attention = nn.ModuleList(ComplexRotation(16, 4) for _ in range(2))
        self.mixture = nn.ModuleList(Router(16, 3) for _ in range(2))
        self.norm = nn.RMSNorm(16)
        self.head = nn.Linear(16, 20, bias=False)
        self.head.weight = self.embed.weight
        self.recomputes = recomputes

    def layer(self, number, x):
        x = x + self.attention[number](self.norm(x))
        more, load = self.mixture[number](self.norm(x))
        return x + more, load

    def forward(self, words, labels=None):
        x, loads = self.embed(words), []
        for number in range(2):
            if self.recomputes:
                x, load = checkpoint(self.layer, number, x, use_reentrant=False)
            else:
                x, load = self.layer(number, x)
            loads.append(load)
        logits = self.head(self.norm(x))
        loss = None
        if labels is not None:
            loss = functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        more = {"logits": logits, "sizes": {"words": words.shape, "no": None}}
        return Result(x, loads, more, loss)


class Wrapped(nn.Module):
    """A module whose only child gives the data class."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, *args, **kwargs):
        return self.inner(*args, **kwargs)


def words():
    return torch.tensor([[1, 2, 3, 4, 5], [6, 7, 8, 9, 1]])


@program
def mixture(recording):
    """A decoder of experts, two training steps."""
    model = Wrapped(Decoder())
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(2):
        with recording(model):
            result = model(words(), labels=words().roll(-1, 1))
            result.loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    return [result.hidden, *model.parameters()]


@program
def autocast_training(recording):
    """The same in bfloat16 autocast, with the gradients clipped."""
    model = Wrapped(Decoder())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with recording(model):
        with torch.autocast("cpu", torch.bfloat16):
            result = model(words(), labels=words().roll(-1, 1))
        result.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
    return [result.hidden, *model.parameters()]


@program
def generation(recording):
    """A prompt and three words after it, with a cache that is written in place."""
    model = nn.ModuleList([nn.Embedding(20, 16), ComplexRotation(16, 4), nn.Linear(16, 20)])
    embed, attention, head = model
    cache = {key: torch.zeros(1, 8, 2, 4) for key in "kv"}
    model.eval()
    found, place, text = [], 0, torch.tensor([[3, 1, 4, 1]])
    with torch.inference_mode():
        for _ in range(4):
            with recording(model):
                logits = head(attention(embed(text), begin=place, cache=cache)[:, -1])
                place += text.shape[1]
                text = logits.argmax(-1, keepdim=True)
                found.append(logits)
    return found


class Stem(nn.Module):
    """Convolutions and batch norms in training with activations in place, padded and pooled."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1, bias=False), nn.BatchNorm2d(4))
        self.second = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1, groups=2), nn.BatchNorm2d(4))
        self.act = nn.ReLU(inplace=True)
        self.last = nn.Linear(4, 3)

    def forward(self, x):
        x = self.act(self.first(x))
        x = functional.max_pool2d(functional.pad(x, (0, 1, 0, 1)), 3, stride=1, padding=1)
        y = self.second(x)
        y += x
        y = self.act(y) * 0.5
        return self.last(functional.adaptive_avg_pool2d(y, 1).flatten(1))


@program
def batch_norms(recording):
    """Running averages change, then evaluation; an average of the weights is kept beside."""
    model = Wrapped(Stem())
    average = copy.deepcopy(model)
    labels = torch.tensor([0, 1, 2, 0])
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
    for _ in range(2):
        with recording(model):
            loss = functional.cross_entropy(model(torch.rand(4, 3, 8, 8)), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)
            with torch.no_grad():
                for mean, value in zip(average.parameters(), model.parameters()):
                    mean.lerp_(value, 0.1)
    model.eval()
    with recording(model), torch.no_grad():
        out = model(torch.rand(2, 3, 8, 8))
    return [out, *average.parameters(), *model.buffers()]


class TwoInTwoOut(torch.autograd.Function):
    """Not all inputs and outputs have gradients; something is kept for the backward pass."""

    @staticmethod
    def forward(ctx, x, scale, weight):
        ctx.save_for_backward(x, weight)
        ctx.scale = scale
        places = x.argmax(-1)
        ctx.mark_non_differentiable(places)
        return x * weight * scale, places

    @staticmethod
    def backward(ctx, gradient, _places):
        x, weight = ctx.saved_tensors
        return gradient * weight * ctx.scale, None, (gradient * x * ctx.scale).sum(0)


class Adapter(nn.Module):
    """A frozen layer with a small one beside it, and a function of its own."""

    def __init__(self):
        super().__init__()
        self.base = nn.Linear(6, 6).requires_grad_(False)
        self.down = nn.Linear(6, 2, bias=False)
        self.up = nn.Linear(2, 6, bias=False)
        self.weight = nn.Parameter(torch.ones(6))

    def forward(self, x, *, scale=0.5):
        x = self.base(x) + self.up(functional.dropout(self.down(x), 0.0)) * scale
        x, places = TwoInTwoOut.apply(x, scale, self.weight)
        return {"x": x, "places": places, "nested": [{"mean": x.mean(0)}, (x.amax(-1), scale)]}


@program
def adapter(recording):
    """Only some parameters are trained; accumulated over two calls of one step."""
    model = Wrapped(Adapter())
    trained = [value for value in model.parameters() if value.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=0.01)
    with recording(model):
        for scale in (0.5, 2.0):
            found = model(torch.randn(3, 6), scale=scale)
            (found["x"].square().mean() + found["nested"][0]["mean"].sum()).backward()
        optimizer.step()
    return [found["x"], *trained]


@program
def recomputed_layers(recording):
    """Layers computed again in the backward pass, one of them with a random mask."""
    model = nn.Sequential(nn.Linear(6, 6), nn.GELU(), nn.Linear(6, 6), nn.Dropout(0.5))
    holder = Wrapped(model)
    x = torch.randn(2, 6, requires_grad=True)
    with recording(holder):
        y = checkpoint(holder, x, use_reentrant=True)
        y.sum().backward()
    return [y, x.grad, *model.parameters()]


if __name__ == "__main__":
    main(*sys.argv[1:])
