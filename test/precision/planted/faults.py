"""Faults that are planted into a model or its run, and the right answer on each.

A fault is ``(kind, place)``: the place is a module's path below the model, a number, or None.
"""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

PRODUCTS = {"mm", "addmm", "bmm", "convolution"}
ROUNDED = PRODUCTS | {"native_layer_norm", "_softmax", "sum", "mean", "native_group_norm"}

# What the summary may call a fault; a place has to be right, too.
KINDS = {
    "weight": {"changed weight"},
    "zero": {"changed weight"},
    "scaled": {"changed weight"},
    "input": {"changed input"},
    "mask": {"changed input"},
    "dtype": {"element type differs"},
    "skip": {"order or number of calls differs"},
    "reduction": {"order or number of calls differs", "operator differs", "argument differs"},
    "scale": {"argument differs", "operator differs"},
    "nan_head": {"not finite from here", "order or number of calls differs", "argument differs",
                 "operator differs"},
    "operator": {"operator differs"},
    "backward": {"operator differs", "changed input"},
    "reduce_missing": {"order or number of calls differs", "operator differs", "changed input"},
    "rounding": {"rounding only", "no difference"},
    "backend": {"rounding only", "no difference"},
    "nothing": {"no difference"},
}  # fmt: skip


class Plant:
    """What a model asks at its places."""

    def __init__(self, kind=None, place=None):
        self.kind, self.place, self.model = kind, place, None

    def here(self, kind, module):
        if self.kind != kind:
            return False
        return self.place is None or self.model.get_submodule(self.place) is module


class Rounding(TorchDispatchMode):
    """Products and sums in double, rounded once: as a kernel with another order has them."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.__name__.split(".")[0]
        if name not in ROUNDED:
            return function(*args, **(kwargs or {}))
        narrow = [a for a in args if isinstance(a, torch.Tensor) and a.dtype == torch.float32]
        if not narrow:
            return function(*args, **(kwargs or {}))

        def widen(value):
            wide = isinstance(value, torch.Tensor) and value.dtype == torch.float32
            return value.double() if wide else value

        out = function(*map(widen, args), **{k: widen(v) for k, v in (kwargs or {}).items()})
        return tuple(map(narrowed, out)) if isinstance(out, tuple) else narrowed(out)


def narrowed(value):
    return value.float() if isinstance(value, torch.Tensor) else value


class WrongKernel(TorchDispatchMode):
    """The first product inside of a module gives one element too much."""

    def __init__(self, model, place):
        super().__init__()
        self.inside = self.done = False
        module = model.get_submodule(place)
        module.register_forward_pre_hook(lambda *_: self.switch(True))
        module.register_forward_hook(lambda *_: self.switch(False))

    def switch(self, inside):
        self.inside = inside

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        if function.__name__.split(".")[0] in PRODUCTS and isinstance(out, torch.Tensor):
            if self.inside and not self.done:
                self.done = True
                flat = out.detach().view(-1)
                flat[0] += 0.1 * flat.abs().max() + 1e-3
        return out


def plant_weights(model, kind, place):
    module = model.get_submodule(place)
    with torch.no_grad():
        if kind == "weight":
            module.weight.view(-1)[0] += 0.5
        elif kind == "zero":
            module.weight.zero_()
        elif kind == "scaled":
            module.weight.mul_(1.001)
        elif kind == "dtype":
            cast_layer(module)


def cast_layer(module):
    """The layer computes in bfloat16, and keeps its name."""
    module.to(torch.bfloat16)
    forward = module.forward

    def narrow(x):
        return forward(x.to(torch.bfloat16)).to(x.dtype)

    module.forward = narrow


def plant_inputs(inputs, kind):
    if kind == "input":
        first = inputs[0]
        if first.is_floating_point():
            first.view(-1)[3] += 0.25
        else:
            first.view(-1)[3] = (first.view(-1)[3] + 7) % 48
    elif kind == "mask":
        inputs[1][0, 1] = 0.0
    return inputs


def plant_gradient(model, place):
    """The gradient of what a module gives is half as large again."""

    def hook(module, args, output):
        if isinstance(output, torch.Tensor) and output.requires_grad:
            # Below what the probe sees: no call of its own is recorded.
            output.register_hook(lambda gradient: torch.ops.aten.mul.Tensor(gradient, 1.5))

    model.get_submodule(place).register_forward_hook(hook)


def surroundings(kind, place, model):
    """Under what the run happens."""
    if kind == "rounding":
        return [Rounding()]
    if kind == "backend":
        return [torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)]
    if kind == "operator":
        return [WrongKernel(model, place)]
    return []
