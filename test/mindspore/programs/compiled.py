"""Compiles one model of the kind argv[1] (conv, loop, rnn, train, decoder), for its IR."""

import sys

import decoder
import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops


class Conv(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
        self.head = nn.Dense(256, 5)

    def construct(self, x):
        return self.head(ops.relu(self.norm(self.conv(x))).reshape(2, 256))


class Recurrent(nn.Cell):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(8, 6)

    def construct(self, x):
        h = ops.zeros((2, 6), ms.float32)
        c = ops.zeros((2, 6), ms.float32)
        for t in range(3):
            h, c = self.cell(x[:, 0, t], (h, c))
        return h


@ms.jit
def loop(x, count):
    i = Tensor(0, ms.int32)
    while i < count:
        if x.sum() > 0:
            x = x - x * 0.5
        else:
            x = x + ops.sin(x)
        i = i + 1
    return x


def main(kind):
    x = Tensor(np.random.RandomState(1).randn(2, 3, 8, 8), ms.float32)
    if kind == "loop":
        return loop(x, Tensor(5, ms.int32))
    if kind == "train":
        return decoder.step_of("jit_train")()
    ms.set_context(mode=ms.GRAPH_MODE)
    if kind == "decoder":
        return decoder.step_of("graph")()
    return {"conv": Conv, "rnn": Recurrent}[kind]()(x)


if __name__ == "__main__":
    print("result", main(sys.argv[1]).shape)
