"""Modules of one operator each, by name, and a model that has one of them between two others.

A line is the operator's own: what is found must name it.
"""

import torch
import torch.nn.functional as F
from torch import nn

WIDTH, ROWS = 48, 6
FORWARD = {}  # by the name of the part


def part(function):
    FORWARD[function.__name__] = function
    return function


@part
def relu(x):
    return torch.relu(x)


@part
def log1p(x):
    return torch.log1p(x.abs())


@part
def sin(x):
    return torch.sin(x)


@part
def cos(x):
    return torch.cos(x)


@part
def tanh(x):
    return torch.tanh(x)


@part
def floor(x):
    return torch.floor(x * 4)


@part
def rounded(x):
    return torch.round(x * 4)


@part
def minimum(x):
    return torch.minimum(x, x.flip(-1))


@part
def sqrt(x):
    return torch.sqrt(x.abs() + 1)


@part
def gelu(x):
    return F.gelu(x)


@part
def where(x):
    return torch.where(x > 0.25, x * 2, x - 1)


@part
def product(x):
    return x * (x.sigmoid() + 0.5).prod(-1, keepdim=True)


@part
def largest(x):
    return x - (-x.abs() - 1).amax(-1, keepdim=True)


@part
def variance(x):
    return x * x.var(-1, keepdim=True)


@part
def hardswish(x):
    return F.hardswish(x)


@part
def norm(x):
    return F.layer_norm(x, (WIDTH,))


@part
def addcmul(x):
    return torch.addcmul(x, x, x, value=0.5)


@part
def silu(x):
    return F.silu(x)


@part
def pad(x):
    return F.pad(x[:, :-2], (1, 1), value=1.0)


@part
def power(x):
    return x**3


@part
def double(x):
    return ((x.double() * 1e7 + 0.5) - x.double() * 1e7).to(x.dtype) * x


@part
def rsqrt(x):
    return x * torch.rsqrt(x.square() + 1)


@part
def difference(x):
    return torch.sub(x, x.cos())


@part
def roll(x):
    return torch.roll(x, 3, -1)


class Operator(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.function = FORWARD[name]

    def forward(self, x):
        return self.function(x)


class Before(nn.Module):
    def forward(self, x):
        return x.abs() - 0.5


class After(nn.Module):
    def forward(self, x):
        return x * 2 + 1


class Layer(nn.Module):
    def __init__(self, operator):
        super().__init__()
        self.linear, self.operator = nn.Linear(WIDTH, WIDTH), operator

    def forward(self, x):
        return self.operator(self.linear(x))


class Model(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.before = Layer(Before())
        self.middle = Layer(Operator(name))
        self.after = Layer(After())

    def forward(self, x):
        return self.after(self.middle(self.before(x)))


def line_of(name):
    """Of the operator in this file."""
    code = FORWARD[name].__code__
    return max(line for _, _, line in code.co_lines() if line is not None)


def make(name, dtype):
    """The model and its input."""
    torch.manual_seed(0)
    model = Model(name).to(getattr(torch, dtype)).eval()
    return model, torch.randn(ROWS, WIDTH).to(getattr(torch, dtype))
