"""Small models with what is hard about recording: precision_cases.py CONFIG CASE.

Uses ``msprobe.pytorch``, whoever answers to that name, and prints a digest of outputs, gradients
and weights, which must not depend on recording. Without CONFIG ("-") nothing is recorded.
"""

import collections
import hashlib
import sys

import torch
from torch import nn

Pair = collections.namedtuple("Pair", "first second")


class Block(nn.Module):
    """Linear, norm, activation, residual."""

    def __init__(self, width, inplace=False):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.act = nn.ReLU(inplace=True) if inplace else nn.GELU()

    def forward(self, x):
        return x + self.act(self.norm(self.linear(x)))


class Plain(nn.Module):
    """Two blocks and a head."""

    def __init__(self, inplace=False):
        super().__init__()
        self.blocks = nn.Sequential(Block(16, inplace), Block(16, inplace))
        self.drop = nn.Dropout(0.0)
        self.head = nn.Linear(16, 4, bias=False)

    def forward(self, x):
        return self.head(self.drop(self.blocks(x)))


class Many(nn.Module):
    """Arguments and results of many kinds."""

    def __init__(self):
        super().__init__()
        self.tuples = TupleLayer()
        self.dicts = DictLayer()
        self.named = NamedLayer()
        self.lists = ListLayer()

    def forward(self, x):
        a, b = self.tuples((x, x * 2), flag=True, size=x.shape)
        c = self.dicts({"a": a, "b": {"c": b, 1: None}}, dtype=torch.float32, device=x.device)
        d = self.named(c["sum"], Pair(a, b))
        e = self.lists([d[0], d[1]], scale=0.5, part=slice(0, 3), more=..., none=None)
        parts = torch.split(e[0], 2, dim=-1)
        top = torch.topk(e[1], 2, dim=-1)
        return sum(part.sum() for part in parts) + top.values.sum() + e[0].amax()


class TupleLayer(nn.Module):
    def forward(self, pair, flag=False, size=None):
        first, second = pair
        return first.sin(), (second.cos() if flag else second).reshape(size)


class DictLayer(nn.Module):
    def forward(self, values, dtype=None, device=None):
        total = values["a"].to(dtype) + values["b"]["c"].to(device)
        return {"sum": total, "list": [total * 2, None, 3]}


class NamedLayer(nn.Module):
    def forward(self, x, pair):
        return Pair(x * pair.first, torch.addcmul(x, pair.second, x, value=0.5))


class ListLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(-1, 1, 8))
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, values, scale=1.0, part=None, more=None, none=None):
        with torch.no_grad():
            self.seen.add_(1)
        values[0] = values[0] * self.weight
        return [value.mul(scale)[part] if i else value.mul(scale) for i, value in enumerate(values)]


class Shared(nn.Module):
    """One module called three times, one weight under two names, a module never called."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 8)
        self.block = Block(8)
        self.unused = nn.Linear(8, 8)
        self.out = nn.Linear(8, 10, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, ids):
        x = self.embed(ids)
        for _ in range(3):
            x = self.block(x)
        return self.out(x)


class InPlace(nn.Module):
    """Operations that change their argument."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.linear(x)
        y = y.clone()
        y.mul_(2).add_(1)
        y[:, 0] = 0
        y += x
        z = self.act(y * 1.5)
        z = z * 1
        z.masked_fill_(z > 2, 0.25)
        return torch.relu_(z - 1)


class Checkpointed(nn.Module):
    """Activations computed again in the backward pass."""

    def __init__(self):
        super().__init__()
        self.first = Block(8)
        self.second = Block(8)

    def forward(self, x):
        from torch.utils.checkpoint import checkpoint

        return self.second(checkpoint(self.first, x, use_reentrant=False))


class Odd(nn.Module):
    """Element types, views, empty and scalar tensors, NaN and infinity."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(6, 6)

    def forward(self, x):
        y = self.inner(x)
        z = y.t().contiguous().t()
        values = [
            torch.add(y.double(), 1),
            torch.mul(y.half(), 1000.0),
            torch.add(y.bfloat16(), 1.0),
            torch.eq(y, y),
            torch.add(torch.arange(6, dtype=torch.int32), 2),
            torch.bitwise_not(torch.tensor([1, 255], dtype=torch.uint8)),
            torch.neg(torch.tensor(2.5)),
            torch.neg(torch.tensor(3)),
            torch.logical_not(torch.tensor(True)),
            torch.abs(torch.empty(0, 3)),
            torch.div(torch.tensor([1.0, -1.0, 0.0]), 0),
            torch.mul(torch.tensor([float("inf"), 1.0]), 1),
            torch.mul(torch.full((3,), 60000.0, dtype=torch.float16), 1),
            torch.mul(torch.full((4,), 1e30), 1),
            torch.abs(torch.complex(y.detach(), y.detach())),
            torch.sub(z[:, ::2], 1),
            torch.sub(y[0].expand(3, 6), 1),
            torch.mul(torch.tensor([2**40, -5]), 3),
        ]
        return y.sum() + values[0].sum().float()


def train(model, batch, loss, debugger, steps=2):
    """A training step with clipping and an optimizer, each a step of the dump."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    results = []
    for step in range(steps):
        if debugger is not None:
            debugger.start(model=model)
        output = model(batch + step if batch.dtype == torch.int64 else batch)
        value = loss(output)
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if debugger is not None:
            debugger.stop()
            debugger.step()
        results.append(value.detach())
        results.extend(p.grad.clone() for p in model.parameters() if p.grad is not None)
        optimizer.zero_grad()
    return [*results, *(p.detach() for p in model.parameters())]


def infer(model, batch, _loss, debugger):
    """Two segments of one step, then another step."""
    results = []
    with torch.no_grad():
        for number in range(3):
            if debugger is not None:
                debugger.start(model=model)
            results.append(model(batch))
            if debugger is not None:
                debugger.stop()
                if number > 0:
                    debugger.step()
    return results


def failing(model, batch, loss, debugger):
    """A call that raises, which the program survives."""
    if debugger is not None:
        debugger.start(model=model)
    output = model(batch)
    loss(output).backward()
    try:
        torch.matmul(output, torch.ones(3, 3))
    except RuntimeError:
        pass
    if debugger is not None:
        debugger.stop()
        debugger.step()
    return [output]


def mean_square(output):
    return output.float().pow(2).mean()


CASES = {
    "plain": (Plain, lambda: torch.randn(3, 16), mean_square, train),
    "plain_bfloat16": (
        lambda: Plain().bfloat16(),
        lambda: torch.randn(3, 16).bfloat16(),
        mean_square,
        train,
    ),
    "plain_inplace": (lambda: Plain(inplace=True), lambda: torch.randn(3, 16), mean_square, train),
    "many": (Many, lambda: torch.randn(4, 8, requires_grad=True), lambda x: x, train),
    "shared": (Shared, lambda: torch.tensor([[1, 2, 3], [4, 5, 6]]), mean_square, train),
    "in_place": (InPlace, lambda: torch.randn(2, 8), mean_square, train),
    "checkpointed": (
        Checkpointed,
        lambda: torch.randn(2, 8, requires_grad=True),
        mean_square,
        train,
    ),
    "odd": (Odd, lambda: torch.randn(4, 6), lambda x: x, train),
    "odd_forward": (Odd, lambda: torch.randn(4, 6), lambda x: x, infer),
    "inference": (Plain, lambda: torch.randn(3, 16), mean_square, infer),
    "failing": (Plain, lambda: torch.randn(3, 16), mean_square, failing),
}


def main(config, case):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    debugger = None
    if config != "-":
        from msprobe.pytorch import PrecisionDebugger

        debugger = PrecisionDebugger(config_path=config)
    make_model, make_batch, loss, run = CASES[case]
    model, batch = make_model(), make_batch()
    digest = hashlib.sha256()
    for tensor in run(model, batch, loss, debugger):
        digest.update(tensor.detach().double().numpy().tobytes())
    print("digest", digest.hexdigest())


if __name__ == "__main__":
    main(*sys.argv[1:])
