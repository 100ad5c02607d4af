"""Many models, each a step of one dump: precision_models.py CONFIG [NAME...].

Uses ``msprobe.pytorch``, whoever answers to that name, and prints a digest of outputs, gradients
and weights for each step, which must not depend on recording. Without CONFIG ("-") nothing is
recorded.
"""

import dataclasses
import enum
import hashlib
import sys

import torch
from torch import nn
from torch.nn import functional


class Convolutions(nn.Module):
    """A small residual net of images."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(4)
        self.act = nn.ReLU(inplace=True)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ConvTranspose2d(4, 4, 2, stride=2)
        self.group = nn.GroupNorm(2, 4)
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))

    def forward(self, x):
        y = self.act(self.norm(self.first(x)))
        y = self.up(self.pool(y)) + y
        y = functional.pad(self.group(y), (1, 1, 0, 0))
        return self.head(y.to(memory_format=torch.channels_last))


class Recurrent(nn.Module):
    """LSTM, GRU and packed sequences."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 6, padding_idx=0)
        self.lstm = nn.LSTM(6, 5, num_layers=2, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(10, 4, batch_first=True)
        self.cell = nn.LSTMCell(4, 4)

    def forward(self, ids):
        x = self.embed(ids)
        lengths = torch.tensor([4, 3])
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        out, (_, _) = self.lstm(packed)
        out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
        y, hidden = self.gru(out)
        state = None
        for place in range(y.shape[1]):
            state = self.cell(y[:, place], state)
        return torch.cat([state[0], state[1], hidden[0]], dim=-1)


class Translator(nn.Module):
    """torch's own encoder and decoder."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 8)
        self.body = nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True)
        self.head = nn.Linear(8, 12)

    def forward(self, source, target=None):
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        mixed = self.body(self.embed(source), self.embed(target), tgt_mask=mask)
        return self.head(mixed)


class Experts(nn.Module):
    """A router, index_add and scatter."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(8, 4, bias=False)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.SiLU()) for _ in range(4))

    def forward(self, x):
        weights, chosen = torch.topk(torch.softmax(self.router(x), -1), 2)
        weights = weights / weights.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows, places = torch.where(chosen == number)
            if rows.numel() == 0:
                continue
            out.index_add_(0, rows, expert(x[rows]) * weights[rows, places, None])
        counts = torch.zeros(4).scatter_add(0, chosen.flatten(), torch.ones(chosen.numel()))
        return out + counts.std() * x.gather(1, chosen[:, :1].expand(-1, 8))


@dataclasses.dataclass
class Result:
    first: torch.Tensor
    second: "torch.Tensor | None" = None
    names: tuple = ("a", 1)


class Color(enum.IntEnum):
    RED = 3


class Makes(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, x, *, color=None, text="", things=None, nothing=None):
        things["seen"] = x.sum()
        return Result(x * self.scale, x + things["more"][0])


class Takes(nn.Module):
    def forward(self, result, *rest, **more):
        return {"out": result.first * result.second, "rest": [*rest], 5: more.get("scalar")}


class Objects(nn.Module):
    """Dataclasses, enums, sets, numbers of numpy, empty containers."""

    def __init__(self):
        super().__init__()
        self.makes = Makes()
        self.takes = Takes()
        self.none = Nothing()

    def forward(self, x):
        things = {"more": (x, 2.5), "empty": {}, "set": {1}, "bytes": b"x", "complex": 1j}
        result = self.makes(x, color=Color.RED, text="Grüße\n\"'", things=things)
        out = self.takes(result, float("nan"), [], (), None, scalar=torch.tensor(3), flag=True)
        self.none(x, torch.float16, torch.device("cpu"), x.dtype, range(3), float("inf"), -0.0)
        return out["out"] * out[5]


class Nothing(nn.Module):
    def forward(self, *values, **_):
        return None


class Kinds(nn.Module):
    """Element types, layouts, scalars, empty tensors."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        y = self.linear(x)
        functions = (torch.abs, torch.neg, torch.square)
        for dtype in (torch.int8, torch.int16, torch.int64, torch.uint8, torch.complex128):
            for function in functions[: 1 if dtype == torch.uint8 else 3]:
                function((x * 3).to(dtype))
        torch.logical_not(x > 0)
        torch.view_as_real(torch.complex(x, x)).sum()
        torch.mul(x[:0], 2)
        torch.sum(torch.empty(0), 0)
        torch.add(torch.tensor(1), torch.tensor(True))
        torch.mul(torch.tensor(float("-inf")), 1)
        torch.mul(torch.tensor([float("nan"), 1]), 1)
        torch.mul(torch.tensor([3e38, 3e38]), 1)
        torch.mul(torch.tensor([65504.0, 65504.0]).half(), 1)
        torch.mul(torch.tensor([3e38, 3e38]).bfloat16(), 1)
        torch.mul(torch.tensor([1e-45, -0.0, 0.0]), 1)
        torch.mul(torch.arange(6.0)[::2], 1)
        torch.mul(torch.ones(2, 3).t(), 2)
        torch.mul(torch.ones(1, 3).expand(4, 3), 2)
        torch.mul(torch.as_strided(torch.arange(9.0), (3, 3), (1, 1)), 1)
        torch.bitwise_left_shift(torch.tensor([1, 2]), 2)
        torch.mul(torch.ones(3, 0, 2), 1)
        torch.full((2,), 1.5, dtype=torch.float64, device="cpu").add(1)
        y.mean().item()
        y.tolist()
        return y.sum(), (y * 2).max(dim=1), y.view(-1)[:3]


class Mixed(nn.Module):
    """Autocast with several types of elements."""

    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype
        self.linear = nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8)
        self.conv = nn.Conv1d(8, 8, 1)

    def forward(self, x):
        with torch.autocast("cpu", dtype=self.dtype):
            y = self.norm(self.linear(x))
            y = self.conv(y.unsqueeze(-1)).squeeze(-1)
            return functional.softmax(y.float(), dim=-1) @ y.t().float()


class Recomputed(nn.Module):
    """Both ways of checkpointing, twice the same module."""

    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6))
        self.other = nn.Sequential(nn.Linear(6, 6), nn.GELU())

    def forward(self, x):
        from torch.utils.checkpoint import checkpoint

        x = checkpoint(self.block, x, use_reentrant=True)
        x = checkpoint(self.other, x, use_reentrant=False)
        return self.block(x) + checkpoint(self.other, x, use_reentrant=False)


class Changing(nn.Module):
    """Views and in-place operations through module borders."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)
        self.inner = Inner()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        y = self.linear(x).view(2, 3, -1)
        y = self.inner(y, values=[y, {"k": y * 2}])
        y = y + 0
        y[0].zero_()
        y[:, 1] += 1.5
        y.t_() if y.dim() == 2 else y.transpose_(0, 1)
        a, b = y.chunk(2, dim=-1)
        c, *_ = torch.unbind(a * b)
        return self.drop(c) - b.detach().clamp(min=0).sum()


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.tensor([True, False, True]))
        self.frozen = nn.Parameter(torch.ones(6), requires_grad=False)
        self.tied = nn.Linear(6, 6)

    def forward(self, x, values=()):
        x = x.masked_fill(self.mask[None, :, None], 0.5)
        x = self.tied(x * self.frozen) + values[1]["k"]
        return torch.where(x > 0, x, values[0] * 0.1)


class Attention(nn.Module):
    """scaled_dot_product_attention, MultiheadAttention, einsum, and a norm of one's own."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.qkv = nn.Linear(8, 24)
        self.norm = nn.RMSNorm(8)

    def forward(self, x):
        y, weights = self.attention(x, x, x, need_weights=True)
        q, k, v = self.qkv(self.norm(y)).chunk(3, -1)
        out = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        turns = torch.arange(8.0).to(x.dtype)
        cos, sin = turns.cos(), turns.sin()
        rotated = out * cos + torch.cat((-out[..., 4:], out[..., :4]), -1) * sin
        return torch.einsum("bij,bjd->bid", weights, rotated) + torch.bmm(weights, v)


class Losses(nn.Module):
    """Functions of loss with ignored places and reductions."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(5, 5)
        self.loss = nn.CrossEntropyLoss(ignore_index=-100, label_smoothing=0.1)

    def forward(self, x):
        y = self.linear(x)
        labels = torch.tensor([1, -100, 4])
        total = self.loss(y, labels) + functional.mse_loss(y, x) + functional.huber_loss(y, x)
        total = total + functional.kl_div(y.log_softmax(-1), x.softmax(-1), reduction="batchmean")
        total = total + functional.binary_cross_entropy_with_logits(y, (x > 0).float())
        return total + torch.logsumexp(y, 0).norm() + torch.cumsum(y, 0).prod() + y.var()


class Several(nn.Module):
    """Modules that share weights, are called with keywords only, and run twice."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)
        self.b.weight = self.a.weight
        self.list = nn.ModuleList([self.a, nn.ReLU(), self.b])
        self.table = nn.ModuleDict({"x": nn.Tanh(), "y": self.a})
        self.bag = nn.EmbeddingBag(6, 4, mode="sum")

    def forward(self, x):
        for layer in self.list:
            x = layer(x)
        x = self.table["y"](input=self.table["x"](x))
        x = x + self.bag(torch.tensor([0, 2, 3, 5, 1, 1]), offsets=torch.tensor([0, 3, 4]))
        return self.a(x)


def images():
    return (torch.randn(2, 3, 6, 6),)


def rows(*shape):
    return lambda: (torch.randn(*shape),)


def needing(*shape):
    return lambda: (torch.randn(*shape, requires_grad=True),)


def words():
    return (torch.tensor([[1, 2, 3, 4], [5, 6, 7, 0]]),)


MODELS = {
    "convolutions": (Convolutions, images),
    "recurrent": (Recurrent, words),
    "translator": (Translator, lambda: (words()[0], torch.tensor([[1, 3], [2, 4]]))),
    "experts": (Experts, rows(6, 8)),
    "objects": (Objects, needing(3, 4)),
    "kinds": (Kinds, rows(3, 4)),
    "mixed_bfloat16": (lambda: Mixed(torch.bfloat16), rows(4, 8)),
    "mixed_float16": (lambda: Mixed(torch.float16), rows(4, 8)),
    "recomputed": (Recomputed, needing(3, 6)),
    "changing": (Changing, rows(6, 6)),
    "attention": (Attention, needing(2, 3, 8)),
    "losses": (Losses, rows(3, 5)),
    "several": (Several, needing(3, 4)),
    "half": (lambda: Attention().half(), lambda: (torch.randn(2, 3, 8).half(),)),
    "double": (lambda: Losses().double(), lambda: (torch.randn(3, 5).double(),)),
}
_KEYWORDS = {"translator": ("target",)}
_OPTIMIZERS = (torch.optim.SGD, torch.optim.AdamW, torch.optim.Adagrad)


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_of(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_of(item)


def run(number, name, debugger):
    make_model, make_batch = MODELS[name]
    torch.manual_seed(number)
    model, batch = make_model(), make_batch()
    keywords = dict(zip(_KEYWORDS.get(name, ()), batch[1:]))
    batch = batch[: len(batch) - len(keywords)]
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = _OPTIMIZERS[number % len(_OPTIMIZERS)](trained, lr=0.01)
    if debugger is not None:
        debugger.start(model=model)
    output = model(*batch, **keywords)
    loss = sum(value.float().pow(2).mean() for value in tensors_of(output) if value.requires_grad)
    loss.backward()
    if number % 2:
        torch.nn.utils.clip_grad_norm_(trained, 0.5)
    else:
        torch.nn.utils.clip_grad_value_(trained, 0.5)
    optimizer.step()
    if debugger is not None:
        debugger.stop()
        debugger.step()
    digest = hashlib.sha256()
    gradients = [parameter.grad for parameter in trained if parameter.grad is not None]
    for tensor in [*tensors_of(output), *gradients, *trained]:
        digest.update(tensor.detach().double().numpy().tobytes())
    print("digest", name, digest.hexdigest())


def main(config, *names):
    torch.set_num_threads(1)
    debugger = None
    if config != "-":
        from msprobe.pytorch import PrecisionDebugger

        debugger = PrecisionDebugger(config_path=config)
    for number, name in enumerate(names or MODELS):
        run(number, name, debugger)


if __name__ == "__main__":
    main(*sys.argv[1:])
