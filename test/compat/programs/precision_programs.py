"""Whole programs, each one or more steps of a dump: precision_programs.py CONFIG [NAME...].

Uses ``msprobe.pytorch``, whoever answers to that name, and prints a digest of what each program
computed, which must not depend on recording. Without CONFIG ("-") nothing is recorded.
"""

import collections
import copy
import dataclasses
import io
import sys
import threading

import precision_functions  # noqa: F401 (more programs)
import torch
from precision_recording import main, program
from torch import nn
from torch.nn import functional


def small(width=6, out=6):
    return nn.Sequential(nn.Linear(width, 8), nn.GELU(), nn.Linear(8, out))


# Training


@program
def two_optimizers(recording):
    """Two models that are trained in turns, given as a list."""
    maker, judge = small(4, 6), small(6, 1)
    optimizers = [torch.optim.Adam(model.parameters(), lr=0.01) for model in (maker, judge)]
    loss = nn.BCEWithLogitsLoss()
    for _ in range(2):
        with recording([maker, judge]):
            made, real = maker(torch.randn(3, 4)), torch.randn(3, 6)
            optimizers[1].zero_grad()
            found = loss(judge(real), torch.ones(3, 1)) + loss(
                judge(made.detach()), torch.zeros(3, 1)
            )
            found.backward()
            optimizers[1].step()
            optimizers[0].zero_grad()
            loss(judge(made), torch.ones(3, 1)).backward()
            optimizers[0].step()
    return [*maker.parameters(), *judge.parameters()]


@program
def penalty(recording):
    """A gradient of a gradient."""
    model = small(6, 1)
    x = torch.randn(3, 6, requires_grad=True)
    with recording(model):
        y = model(x)
        (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (y.mean() + ((slope.norm(dim=1) - 1) ** 2).mean()).backward()
    return [parameter.grad for parameter in model.parameters() if parameter.grad is not None]


@program
def accumulated(recording):
    """Several backward passes before the optimizer, gradients set to zero instead of None."""
    model = small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    for _ in range(2):
        with recording(model):
            for _ in range(3):
                functional.smooth_l1_loss(model(torch.randn(2, 6)), torch.zeros(2, 6)).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)
    return list(model.parameters())


@program
def kept_graph(recording):
    """Two backward passes through one graph."""
    model = small()
    with recording(model):
        y = model(torch.randn(3, 6))
        y.sum().backward(retain_graph=True)
        (y * y).sum().backward()
    return [parameter.grad for parameter in model.parameters()]


@program
def closure(recording):
    """An optimizer that calls the model."""
    model = small(4, 2)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
    x, y = torch.randn(5, 4), torch.randn(5, 2)

    def run():
        optimizer.zero_grad()
        loss = functional.mse_loss(model(x), y)
        loss.backward()
        return loss

    with recording(model):
        optimizer.step(run)
    return list(model.parameters())


@program
def scaled(recording):
    """Autocast and a scaler of gradients."""
    for dtype in (torch.bfloat16, torch.float16):
        model = nn.Sequential(small(), nn.LayerNorm(6))
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, foreach=True)
        scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
        with recording(model):
            with torch.autocast("cpu", dtype=dtype):
                loss = functional.cross_entropy(model(torch.randn(4, 6)), torch.arange(4))
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_value_(model.parameters(), 0.01)
            scaler.step(optimizer)
            scaler.update()
    return list(model.parameters())


@program
def sparse(recording):
    """Sparse gradients of tables."""
    table = nn.Embedding(20, 4, sparse=True)
    bag = nn.EmbeddingBag(20, 4, mode="mean", sparse=True)
    model = nn.ModuleList([table, bag])
    optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=0.1)
    with recording(model):
        ids = torch.tensor([[1, 2, 2], [3, 1, 5]])
        (table(ids).sum(1) * bag(ids)).sum().backward()
        optimizer.step()
    return list(model.parameters())


@program
def frozen(recording):
    """Parts that get gradients in one step only, and a part that is added later."""
    model = nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.Linear(4, 4)})
    for step in range(3):
        model["a"].weight.requires_grad_(step == 1)
        if step == 2:
            model["c"] = nn.Linear(4, 4)
        with recording(model):
            x = torch.randn(2, 4)
            for layer in model.values():
                x = layer(x).relu()
            x.sum().backward()
    return [parameter.grad for parameter in model.parameters() if parameter.grad is not None]


# Modules


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x * x * scale, torch.sigmoid(x)

    @staticmethod
    def backward(ctx, to_square, to_sigmoid):
        (x,) = ctx.saved_tensors
        half = torch.sigmoid(x)
        return 2 * x * to_square * ctx.scale + to_sigmoid * half * (1 - half), None


class Squares(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x):
        square, half = Square.apply(self.linear(x), 0.5)
        return Square.apply(square, 1.0)[0] + half


@program
def own_function(recording):
    """A function with a backward of its own."""
    model = nn.Sequential(Squares(), nn.Tanh(), Squares())
    x = torch.randn(2, 6, requires_grad=True)
    with recording(model):
        model(x).sum().backward()
    return [x.grad, *(parameter.grad for parameter in model.parameters())]


@program
def hooks(recording):
    """Hooks of the program's own, which change what flows."""
    model = small()
    seen = []
    model[0].register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    model[0].register_forward_hook(lambda module, args, out: out + 1)
    model[1].register_forward_hook(
        lambda module, args, kwargs, out: torch.abs(out), with_kwargs=True
    )
    model[2].register_full_backward_hook(lambda module, to_in, to_out: (to_in[0] * 0.5,))
    model[2].register_full_backward_pre_hook(lambda module, to_out: (to_out[0] + 1,))
    model[0].weight.register_hook(lambda gradient: gradient * 3)
    x = torch.randn(3, 6, requires_grad=True)
    with recording(model):
        y = model(x)
        y.register_hook(lambda gradient: seen.append(torch.clone(gradient)))
        y.pow(2).sum().backward()
    return [x.grad, *seen, *(parameter.grad for parameter in model.parameters())]


@program
def parametrized(recording):
    """Weights that are computed from others."""
    model = nn.Sequential(
        nn.utils.parametrizations.weight_norm(nn.Linear(6, 6)),
        nn.utils.parametrizations.orthogonal(nn.Linear(6, 6)),
        nn.utils.parametrizations.spectral_norm(nn.Linear(6, 6)),
    )
    with recording(model):
        model(torch.randn(2, 6)).sum().backward()
    return [parameter.grad for parameter in model.parameters()]


@program
def lazy(recording):
    """Modules that become another class at their first call."""
    model = nn.Sequential(nn.LazyLinear(5), nn.ReLU(), nn.LazyLinear(3))
    for _ in range(2):
        with recording(model):
            model(torch.randn(2, 4)).sum().backward()
    return list(model.parameters())


@program
def images(recording):
    """What nets of images are made of."""
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1, groups=1, padding_mode="reflect"),
        nn.InstanceNorm2d(8, affine=True),
        nn.LeakyReLU(0.1),
        nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False),
        nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=4),
        nn.BatchNorm2d(8, momentum=0.5),
        nn.Hardswish(),
        nn.PixelShuffle(2),
        nn.AdaptiveAvgPool2d((2, 2)),
        nn.Dropout2d(0.25),
        nn.Flatten(1),
        nn.Linear(8, 5),
        nn.LogSoftmax(-1),
    )
    pool, back = nn.MaxPool1d(2, return_indices=True), nn.MaxUnpool1d(2)
    both = nn.ModuleList([model, pool, back, nn.Conv3d(1, 2, 2), nn.Bilinear(3, 4, 2)])
    with recording(both):
        y = model(torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last))
        z = back(*pool(torch.randn(1, 2, 6, requires_grad=True)))
        w = both[3](torch.randn(1, 1, 3, 3, 3)).sum() + both[4](torch.ones(2, 3), torch.ones(2, 4))
        (functional.nll_loss(y, torch.tensor([1, 4])) + z.sum() + w.sum()).backward()
    return [y, z, *(p.grad for p in both.parameters() if p.grad is not None)]


@program
def encoder(recording):
    """torch's own encoder with a padded batch, in training and without gradients."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True, norm_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    padding = torch.tensor([[False, False, True], [False, False, False]])
    x = torch.randn(2, 3, 8)
    with recording(model):
        y = model(x, src_key_padding_mask=padding)
        y.sum().backward()
    model.eval()
    with recording(model), torch.no_grad():
        z = model(x, src_key_padding_mask=padding)
    return [y, z]


@program
def copied(recording):
    """A model is copied and saved while it is hooked, and the copy used."""
    model = small()
    with recording(model, ends=False):
        y = model(torch.randn(2, 6))
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    twin = copy.deepcopy(model)
    twin.load_state_dict(torch.load(file, weights_only=True))
    with recording(model):
        z = model(torch.randn(2, 6)) + twin(torch.ones(2, 6))
        z.sum().backward()
    return [y, z]


@program
def threads(recording):
    """Calls of a model from another thread."""
    model = small()
    results = []

    def run():
        with torch.no_grad():
            results.append(model(torch.ones(2, 6)))
            results.append(torch.relu(results[0]))

    with recording(model):
        worker = threading.Thread(target=run)
        worker.start()
        worker.join()
        results.append(model(results[1]))
        results[-1].sum().backward()
    return results


class Yields(nn.Module):
    def forward(self, x, *rest, key=None):
        return (part for part in (x, x * 2))


class Picks(nn.Module):
    def forward(self, parts, x):
        return max((part + x for part in parts), key=lambda value: value.sum().item())


@program
def generators(recording):
    """Values that can be read once."""
    model = nn.ModuleList([Yields(), Picks()])
    x = torch.randn(2, 3, requires_grad=True)
    with recording(model):
        y = model[1](model[0](x, b"bytes", {1, 2}, key=lambda: 3), x)
        y.sum().backward()
    return [y, x.grad]


@dataclasses.dataclass
class Result(collections.OrderedDict):
    """As large models give them: a dict of what there is, and an object of everything."""

    last: "torch.Tensor | None" = None
    cache: "list | None" = None
    hidden: "tuple | None" = None

    def __post_init__(self):
        for field in dataclasses.fields(self):
            if getattr(self, field.name) is not None:
                self[field.name] = getattr(self, field.name)


class GivesResult(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)

    def forward(self, x):
        return Result(last=self.inner(x), hidden=(x, x * 2))


@program
def results(recording):
    model = nn.Sequential(GivesResult())
    with recording(model):
        found = model(torch.ones(2, 3))
        (found["last"].sum() + found.hidden[1].sum()).backward()
    return [found.last, model[0].inner.weight.grad]


if __name__ == "__main__":
    main(*sys.argv[1:])
