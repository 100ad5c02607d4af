"""A decoder of one layer: decoder.py MODE [STEPS]; MODE is pynative, graph, jit, train, graph_train
or jit_train. Prints the result of each step with all its digits. With COUNTED=1 MindSpore's own
runtime profiler counts, too."""

import os
import sys

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops


class RMSNorm(nn.Cell):
    def __init__(self, width):
        super().__init__()
        self.weight = Parameter(Tensor(np.ones(width), ms.float32), name="weight")

    def construct(self, x):
        return self.weight * (x * ops.rsqrt(ops.mean(x * x, -1, True) + 1e-6))


class Attention(nn.Cell):
    def __init__(self, width, heads):
        super().__init__()
        self.qkv = nn.Dense(width, 3 * width)
        self.out = nn.Dense(width, width)
        self.width, self.heads = width, heads

    def construct(self, x):
        batch, tokens, width = x.shape
        qkv = self.qkv(x)
        shape = (batch, tokens, self.heads, width // self.heads)
        q = qkv[..., :width].reshape(shape).swapaxes(1, 2)
        k = qkv[..., width : 2 * width].reshape(shape).swapaxes(1, 2)
        v = qkv[..., 2 * width :].reshape(shape).swapaxes(1, 2)
        weights = ops.softmax(ops.matmul(q, k.swapaxes(-1, -2)) * 0.25, -1)
        return self.out(ops.matmul(weights, v).swapaxes(1, 2).reshape(batch, tokens, width))


class Block(nn.Cell):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(width), RMSNorm(width)
        self.attn = Attention(width, heads)
        self.up, self.down = nn.Dense(width, 2 * width), nn.Dense(2 * width, width)

    def construct(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.down(ops.sigmoid(self.up(self.norm2(x))))


class Decoder(nn.Cell):
    def __init__(self, words=64, width=32, heads=2, layers=1):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.layers = nn.CellList([Block(width, heads) for _ in range(layers)])
        self.norm, self.head = RMSNorm(width), nn.Dense(width, words)

    def construct(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class WithLoss(nn.Cell):
    def __init__(self, net):
        super().__init__(auto_prefix=False)
        self.net = net

    def construct(self, ids, labels):
        logits = self.net(ids)
        return ops.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))


def make(seed=1):
    ms.set_seed(seed)
    np.random.seed(seed)
    return Decoder(), Tensor(np.arange(16).reshape(2, 8) % 64, ms.int32)


def step_of(mode):
    """What one step calls: a function without arguments."""
    net, ids = make()
    if mode in ("pynative", "graph"):
        return lambda: net(ids)
    if mode == "jit":
        compiled = compiled_call(net)
        return lambda: compiled(ids)
    net.set_train()
    optimizer = nn.AdamWeightDecay(net.trainable_params(), 1e-3)
    if mode == "graph_train":
        train = nn.TrainOneStepCell(WithLoss(net), optimizer)
        train.set_train()
        return lambda: train(ids, ids)
    gradients = ms.value_and_grad(WithLoss(net), None, optimizer.parameters)

    def train_step(x, y):
        loss, found = gradients(x, y)
        optimizer(found)
        return loss

    if mode == "jit_train":
        train_step = ms.jit(train_step)
    return lambda: train_step(ids, ids)


def compiled_call(net):
    @ms.jit
    def run(x):
        return net(x)

    return run


def main(mode, steps):
    if mode.startswith("graph"):
        ms.set_context(mode=ms.GRAPH_MODE)
    counts = os.environ.get("COUNTED") == "1"
    step = step_of(mode)
    if counts:
        ms._c_expression._framework_profiler_step_start()
    for _ in range(steps):
        print("result", repr(step().asnumpy().astype(np.float64).sum()), flush=True)
    if counts:
        ms._c_expression._framework_profiler_step_end()
        ms._c_expression._framework_profiler_clear()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3)
