"""A small decoder for MindSpore, and the same one in numbers for its PyTorch twin.

    sonde run -- python3 examples/mindspore/tiny_decoder.py               # one after another
    sonde run -- python3 examples/mindspore/tiny_decoder.py --mode jit    # compiled: much faster
    sonde run -- python3 examples/mindspore/tiny_decoder.py --mode graph

Trains on made-up tokens; weights come from numpy, so that both twins begin with the same ones.
Only operators that MindSpore has on a plain CPU are used.
"""

import argparse
import math

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, mint, nn, ops

WORDS, WIDTH, HEADS, LAYERS, TOKENS = 64, 32, 4, 2, 16


def weights(shape, seed):
    """The same numbers in both frameworks."""
    return (np.random.RandomState(seed).randn(*shape) * 0.1).astype(np.float32)


class Embedding(nn.Cell):
    """A row of a table for each token."""

    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor(weights((WORDS, WIDTH), 0)), name="weight")

    def construct(self, ids):
        return ops.gather(self.weight, ids, 0)


class Linear(nn.Cell):
    """x W^T."""

    def __init__(self, out, width, seed):
        super().__init__()
        self.weight = Parameter(Tensor(weights((out, width), seed)), name="weight")

    def construct(self, x):
        return mint.matmul(x, mint.transpose(self.weight, 0, 1))


class RMSNorm(nn.Cell):
    """Divides by the root of the mean square."""

    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor(np.ones(WIDTH, np.float32)), name="weight")

    def construct(self, x):
        return self.weight * (x * mint.rsqrt(mint.mean(mint.square(x), -1, True) + 1e-6))


class Attention(nn.Cell):
    """Causal attention with several heads."""

    def __init__(self, seed):
        super().__init__()
        self.q, self.k = Linear(WIDTH, WIDTH, seed), Linear(WIDTH, WIDTH, seed + 1)
        self.v, self.o = Linear(WIDTH, WIDTH, seed + 2), Linear(WIDTH, WIDTH, seed + 3)
        self.mask = Tensor(np.triu(np.full((TOKENS, TOKENS), -1e30, np.float32), 1))

    def heads(self, x):
        batch, tokens, width = x.shape
        shape = (batch, tokens, HEADS, width // HEADS)
        return mint.transpose(mint.reshape(x, shape), 1, 2)

    def construct(self, x):
        q, k, v = self.heads(self.q(x)), self.heads(self.k(x)), self.heads(self.v(x))
        scores = mint.matmul(q, mint.transpose(k, 2, 3)) / math.sqrt(WIDTH // HEADS) + self.mask
        mixed = mint.matmul(mint.nn.functional.softmax(scores, -1), v)
        return self.o(mint.reshape(mint.transpose(mixed, 1, 2), x.shape))


class Mlp(nn.Cell):
    """SwiGLU."""

    def __init__(self, seed):
        super().__init__()
        self.gate, self.up = Linear(2 * WIDTH, WIDTH, seed), Linear(2 * WIDTH, WIDTH, seed + 1)
        self.down = Linear(WIDTH, 2 * WIDTH, seed + 2)

    def construct(self, x):
        return self.down(mint.nn.functional.silu(self.gate(x)) * self.up(x))


class Block(nn.Cell):
    """Attention and MLP, each behind a norm."""

    def __init__(self, seed):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(), RMSNorm()
        self.attn, self.mlp = Attention(seed), Mlp(seed + 10)

    def construct(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Decoder(nn.Cell):
    """Tokens to logits."""

    def __init__(self):
        super().__init__()
        self.embed = Embedding()
        self.layers = nn.CellList([Block(100 * (i + 1)) for i in range(LAYERS)])
        self.norm, self.head = RMSNorm(), Linear(WORDS, WIDTH, 7)

    def construct(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def batches(count):
    """Token numbers, and the next ones."""
    made = np.random.RandomState(3)
    for _ in range(count):
        ids = made.randint(0, WORDS, (2, TOKENS + 1))
        yield ids[:, :-1].astype(np.int32), ids[:, 1:].astype(np.int32)


def main():
    """Trains for some steps and prints the loss of each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--mode", choices=["pynative", "jit", "graph"], default="pynative")
    parser.add_argument("--steps", type=int, default=6)
    arguments = parser.parse_args()
    if arguments.mode == "graph":
        ms.set_context(mode=ms.GRAPH_MODE)
    net = Decoder()
    net.set_train()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.0)

    def loss_of(ids, labels):
        logits = mint.reshape(net(ids), (-1, WORDS))
        return ops.cross_entropy(logits, mint.reshape(labels, (-1,)))

    gradients = ms.value_and_grad(loss_of, None, optimizer.parameters)

    def step(ids, labels):
        loss, found = gradients(ids, labels)
        optimizer(found)
        return loss

    if arguments.mode != "pynative":
        step = ms.jit(step)
    for number, (ids, labels) in enumerate(batches(arguments.steps)):
        loss = float(step(Tensor(ids), Tensor(labels)).asnumpy())
        print(f"step {number}: loss {loss:.6f}", flush=True)


if __name__ == "__main__":
    main()
