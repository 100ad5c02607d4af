"""Cells that hold several weights of one shape: weights.py CELL MODE [FAULT]; CELL is lstm, gru,
attention, twins or held, MODE pynative, graph, train or graph_train, FAULT changed (one weight of
one layer) or exchanged (two of one shape). One step."""

import sys

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops

WIDTH = 8


class Attention(nn.Cell):
    """Four weights of one shape, each in a cell of its own."""

    def __init__(self):
        super().__init__()
        self.query, self.key = nn.Dense(WIDTH, WIDTH), nn.Dense(WIDTH, WIDTH)
        self.value, self.out = nn.Dense(WIDTH, WIDTH), nn.Dense(WIDTH, WIDTH)

    def construct(self, x):
        query, key, value = self.query(x), self.key(x), self.value(x)
        weights = ops.softmax(ops.matmul(query, key.swapaxes(-1, -2)) * 0.25, -1)
        return self.out(ops.matmul(weights, value))


class Twins(nn.Cell):
    """Two layers of one size, one behind the other."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Dense(WIDTH, WIDTH), nn.Dense(WIDTH, WIDTH)

    def construct(self, x):
        return self.second(ops.sigmoid(self.first(x)))


class Held(nn.Cell):
    """Three weights of one shape in one cell, which takes them in another order."""

    def __init__(self):
        super().__init__()
        for name in ("left", "middle", "right"):
            values = np.random.standard_normal((WIDTH, WIDTH)) * 0.2
            setattr(self, name, Parameter(Tensor(values, ms.float32), name=name))

    def construct(self, x):
        mixed = ops.matmul(ops.tanh(ops.matmul(x, self.right)), self.left)
        return mixed + ops.matmul(x, self.middle)


CELLS = {
    "lstm": lambda: nn.LSTM(WIDTH, WIDTH, num_layers=2),
    "gru": lambda: nn.GRU(WIDTH, WIDTH, num_layers=2),
    "attention": Attention,
    "twins": Twins,
    "held": Held,
}
# Which weights the faults take, by the ends of their names.
FAULTS = {
    "lstm": ("weight_hh_l0", "weight_hh_l1"),
    "gru": ("weight_hh_l0", "weight_hh_l1"),
    "attention": ("key.weight", "value.weight"),
    "twins": ("first.weight", "second.weight"),
    "held": ("left", "right"),
}


class Net(nn.Cell):
    def __init__(self, cell):
        super().__init__()
        self.body, self.head = CELLS[cell](), nn.Dense(WIDTH, 4)

    def construct(self, x):
        found = self.body(x)
        if isinstance(found, tuple):
            found = found[0]
        return self.head(found)


class WithLoss(nn.Cell):
    def __init__(self, net):
        super().__init__(auto_prefix=False)
        self.net = net

    def construct(self, x):
        return ops.mean(ops.square(self.net(x)))


def spoil(net, cell, fault):
    """Plants a fault into the weights."""
    found = {name: p for name, p in net.parameters_and_names()}
    one, other = (next(p for n, p in found.items() if n.endswith(end)) for end in FAULTS[cell])
    values = one.asnumpy().copy(), other.asnumpy().copy()
    if fault == "changed":
        one.set_data(Tensor(values[0] * 1.5))
    else:
        one.set_data(Tensor(values[1]))
        other.set_data(Tensor(values[0]))


def main(cell, mode, fault=""):
    if mode.startswith("graph"):
        ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(1)
    np.random.seed(1)
    net = Net(cell)
    x = Tensor(np.random.standard_normal((3, 2, WIDTH)), ms.float32)
    if fault:
        spoil(net, cell, fault)
    if not mode.endswith("train"):
        result = net(x)
    else:
        net.set_train()
        optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
        if mode == "graph_train":
            step = nn.TrainOneStepCell(WithLoss(net), optimizer)
            step.set_train()
            result = step(x)
        else:
            gradients = ms.value_and_grad(WithLoss(net), None, optimizer.parameters)
            result, found = gradients(x)
            optimizer(found)
    print("result", repr(result.asnumpy().astype(np.float64).sum()), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
