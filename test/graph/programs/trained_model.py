"""Trains a compiled model of activations: ``trained_model.py DTYPE [FAULT]``. A fault is a wrong
gradient of one of them in torch's compiler (a decomposition), of the module in ``FAULTS``.
"""

import sys

import torch
from torch import nn
from torch._inductor import decomposition

aten = torch.ops.aten
STEPS = 2


def relu_too_large(grad, x, threshold):
    return torch.where(x <= threshold, 0.0, grad * 1.01)


def tanh_without_square(grad, y):
    return grad * (1 - y)


def silu_of_sigmoid(grad, x):
    return grad * torch.sigmoid(x)


def sigmoid_of_other_sign(grad, y):
    return -grad * (y * (1 - y))


# By name: the operator, what takes its place, and the module that shows it.
FAULTS = {
    "relu_too_large": (aten.threshold_backward.default, relu_too_large, "relu"),
    "tanh_without_square": (aten.tanh_backward.default, tanh_without_square, "tanh"),
    "silu_of_sigmoid": (aten.silu_backward.default, silu_of_sigmoid, "silu"),
    "sigmoid_of_other_sign": (aten.sigmoid_backward.default, sigmoid_of_other_sign, "sigmoid"),
}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 4)
        self.relu, self.tanh, self.silu = nn.ReLU(), nn.Tanh(), nn.SiLU()
        self.sigmoid = nn.Sigmoid()

    def forward(self, x):
        x = self.up(x)
        return self.down(self.relu(x) + self.tanh(x) + self.silu(x) + self.sigmoid(x))


def main(dtype, fault=""):
    torch.set_num_threads(1)
    if fault:
        operator, wrong, _ = FAULTS[fault]
        decomposition.decompositions[operator] = wrong
        decomposition.fast_random_decomps.cache_clear()
    torch.manual_seed(0)
    model = Net().to(getattr(torch, dtype))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    compiled = torch.compile(model)
    for _ in range(STEPS):
        loss = compiled(torch.randn(8, 16).to(getattr(torch, dtype))).float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main(*sys.argv[1:])
