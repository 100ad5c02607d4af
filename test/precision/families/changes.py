"""Faults and benign changes of a real model or its run, and the right answer on each.

``FAULTS``: kind -> (what to do before the run, causes that are right). Each function gets a ``Run``
and answers with the places that are right: parts of names, of which the sentence has to hold one.
``BENIGN``: kind -> function; the right answer is that nothing but rounding differs.
"""

import torch
import torch.nn.functional as functional
from torch import nn

LINEAR = (nn.Linear, nn.Conv2d)


class Run:
    """What a change may alter."""

    def __init__(self, name, model):
        self.name, self.model = name, model
        self.attention = "sdpa"
        self.learning_rate, self.decay, self.clip = 1e-3, 0.01, 1.0
        self.optimizer = {"foreach": False}
        self.groups = lambda parameters: parameters
        self.zero_grad, self.clipping = {}, {}
        self.rank = self.data_rank = 0
        self.ddp, self.fsdp, self.after_wrap = {}, {}, lambda wrapped: None
        self.threads = 1
        self.around = []

    def find(self, accept, number=1):
        """(path, module) of the `number`-th module that ``accept`` takes."""
        found = [(p, m) for p, m in self.model.named_modules() if accept(p, m)]
        return found[min(number, len(found) - 1)] if found else (None, None)


def place(path):
    return [f"{path}."]


def linear(run, number=4):
    return run.find(lambda _, m: isinstance(m, LINEAR) or type(m).__name__ == "Conv1D", number)


def is_norm(_, module):
    return "Norm" in type(module).__name__


def weight_scaled(run):
    path, module = linear(run)
    module.weight.data.mul_(1.01)
    return place(path)


def weight_element(run):
    path, module = linear(run, 3)
    module.weight.data.view(-1)[5] += 0.5
    return place(path)


def weight_transposed(run):
    def square(_, m):
        return isinstance(m, nn.Linear) and m.in_features == m.out_features

    path, module = run.find(square)
    if path is None:
        return None
    module.weight.data = module.weight.data.t().contiguous()
    return place(path)


def rows_permuted(run):
    path, module = linear(run, 2)
    module.weight.data = module.weight.data.flip(0).contiguous()
    return place(path)


def weights_swapped(run):
    found = {}
    for path, module in run.model.named_modules():
        if isinstance(module, nn.Linear) and ".1." in path:
            found.setdefault(module.weight.shape, []).append((path, module))
    for pair in found.values():
        if len(pair) > 1:
            (one, a), (two, b) = pair[:2]
            a.weight.data, b.weight.data = b.weight.data.clone(), a.weight.data.clone()
            return place(one) + place(two)
    return None


def layers_swapped(run):
    path, layers = run.find(lambda p, m: isinstance(m, nn.ModuleList) and len(m) > 2, 0)
    parts = [{k: v.clone() for k, v in layers[i].state_dict().items()} for i in (1, 2)]
    if any(parts[0][k].shape != parts[1][k].shape for k in parts[0]):
        return None
    layers[1].load_state_dict(parts[1])
    layers[2].load_state_dict(parts[0])
    return [f"{path}.1.", f"{path}.2."]


def norm_eps(run):
    path, module = run.find(is_norm, 2)
    for name in ("eps", "variance_epsilon"):
        if hasattr(module, name):
            setattr(module, name, 0.05)
            return place(path)
    return None


def norm_zero(run):
    path, module = run.find(is_norm, 2)
    if path is None:
        return None
    module.weight.data.zero_()
    return place(path)


def input_changed(run):
    def change(x):
        x = x.clone()
        if x.is_floating_point():
            x.view(-1)[3] += 1
        else:
            x.view(-1)[7] = (x.view(-1)[7] + 7) % 90 + 3
        return x

    run.model.change["ids"] = change
    return ["input", "index"]


def channels_swapped(run):
    run.model.change["ids"] = lambda x: x.flip(1)
    return ["input", "index"]


def mask_changed(run):
    def change(mask):
        mask = mask.clone()
        mask[0, 3] = 0
        return mask

    if run.name not in TEXTS:
        return None
    run.model.change["mask"] = change
    return ["input", "mask"]


def labels_changed(run):
    if run.name not in (*TEXTS, "lstm"):
        return None
    run.model.change["labels"] = lambda x: (x + 1) % 96
    return ["cross_entropy", "loss"]


def loss_sum(run):
    run.model.change["reduction"] = "sum"
    return ["cross_entropy", "backward", "loss"]


def activation(run):
    def acts(_, m):
        return isinstance(m, (nn.ReLU, nn.SiLU)) or "Activation" in type(m).__name__

    path, module = run.find(acts)
    if path is None:
        return None
    module.forward = lambda x: functional.gelu(x, approximate="tanh") * 1.02
    return place(path)


def wrong_kernel(run):
    path, module = linear(run, 5)
    forward = module.forward

    def wrong(*args):
        out = forward(*args)
        flat = out.detach().view(-1)
        largest = torch.ops.aten.amax.default(torch.ops.aten.abs.default(flat)).item()
        with torch.no_grad():
            torch.ops.aten.add_.Tensor(flat[:1], 0.1 * largest + 0.05)
        return out

    module.forward = wrong
    return [*place(path), path.rsplit(".", 1)[0] + "."]


def dropout_left_on(run):
    path, module = linear(run, 4)
    module.register_forward_hook(lambda m, a, out: functional.dropout(out, 0.2))
    return [*place(path), "dropout"]


def nan_weight(run):
    path, module = linear(run, 3)
    module.weight.data.view(-1)[2] = float("nan")
    return place(path)


def layer_dtype(run):
    path, module = linear(run, 3)
    module.to(torch.float16)
    forward = module.forward
    module.forward = lambda x: forward(x.to(torch.float16)).to(x.dtype)
    return place(path)


def layer_skipped(run):
    path, layers = run.find(lambda p, m: isinstance(m, nn.ModuleList) and len(m) > 2, 0)
    if run.name in ("convnet", "unet", "edges", "lstm"):
        return None
    layers[1].forward = lambda x, *a, **k: x
    return [f"{path}.1."]


def gradient_scaled(run):
    path, module = linear(run, 4)

    def hook(module, args, output):
        if output.requires_grad:
            output.register_hook(lambda g: torch.ops.aten.mul.Tensor(g, 1.5))

    module.register_forward_hook(hook)
    return [*place(path), path.rsplit(".", 1)[0] + ".", "backward", "parameters_grad"]


def attention_scale(run):
    path, module = run.find(lambda p, m: hasattr(m, "scaling") and "attn" in p)
    if path is None:
        return None
    module.scaling = module.scaling * 1.5
    return place(path)


def rotary_base(run):
    path, module = run.find(lambda p, m: hasattr(m, "inv_freq"), 0)
    if path is None:
        return None
    module.inv_freq.mul_(0.9)
    return [*place(path), "rotary"]


def other_rate(run):
    run.learning_rate = 3e-3
    return ["optimizer", "lr", "add", "mul", "weight", "bias"]


def no_clipping(run):
    run.clip = 1e9
    return ["optimizer", "clip", "mul", "weight", "bias"]


def no_decay(run):
    run.decay = 0.3
    return ["optimizer", "mul", "weight", "bias", "decay"]


TEXTS = ("qwen2", "qwen3", "llama", "mistral", "gemma", "mixtral", "gpt2")
OPERATOR = {"operator differs", "argument differs", "order or number of calls differs"}
STEP = {"optimizer differs", "argument differs", "order or number of calls differs"}
PERMUTED = {"changed weight", "operator differs"}
FAULTS = {
    "weight_scaled": (weight_scaled, {"changed weight"}),
    "weight_element": (weight_element, {"changed weight"}),
    "weight_transposed": (weight_transposed, PERMUTED),
    "rows_permuted": (rows_permuted, PERMUTED),
    "weights_swapped": (weights_swapped, {"changed weight"}),
    "layers_swapped": (layers_swapped, {"changed weight"}),
    "norm_eps": (norm_eps, {"argument differs", "operator differs"}),
    "norm_zero": (norm_zero, {"changed weight"}),
    "input": (input_changed, {"changed input"}),
    "channels": (channels_swapped, {"changed input"}),
    "mask": (mask_changed, {"changed input"}),
    "labels": (labels_changed, {"changed input"}),
    "loss_sum": (loss_sum, {*OPERATOR, "changed input"}),
    "activation": (activation, OPERATOR),
    "wrong_kernel": (wrong_kernel, {"operator differs"}),
    "dropout": (dropout_left_on, {"random numbers differ", "order or number of calls differs"}),
    "nan_weight": (nan_weight, {"changed weight"}),
    "layer_dtype": (layer_dtype, {"element type differs"}),
    "layer_skipped": (layer_skipped, {"order or number of calls differs", "operator differs"}),
    "gradient": (gradient_scaled, {"operator differs", "changed input"}),
    "attention_scale": (attention_scale, OPERATOR),
    "rotary_base": (rotary_base, {"changed weight", "changed input", "operator differs"}),
    "rate": (other_rate, STEP),
    "clipping": (no_clipping, STEP),
    "decay": (no_decay, STEP),
}
IN_TRAINING = {"gradient", "rate", "clipping", "decay"}
# Statistics of numbers in another order, or of a moved mask, are equal: the text states it.
UNSEEN = {"weight_transposed", "rows_permuted", "channels", "mask"}


class Rounding(torch.utils._python_dispatch.TorchDispatchMode):
    """Products in double, rounded once: as a kernel with another order of sums has them."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.__name__.split(".")[0]
        if name not in ("mm", "addmm", "bmm", "convolution", "sum", "mean", "_softmax"):
            return function(*args, **(kwargs or {}))
        narrow = torch.float32

        def widen(value):
            is_narrow = isinstance(value, torch.Tensor) and value.dtype == narrow
            return value.double() if is_narrow else value

        if not any(isinstance(a, torch.Tensor) and a.dtype == narrow for a in args):
            return function(*args, **(kwargs or {}))
        out = function(*map(widen, args), **{k: widen(v) for k, v in (kwargs or {}).items()})
        return out.float() if isinstance(out, torch.Tensor) and out.dtype == torch.float64 else out


def nothing(run):
    pass


def other_order(run):
    run.around.append(Rounding())


def math_attention(run):
    kernel = torch.nn.attention.SDPBackend.MATH
    run.around.append(torch.nn.attention.sdpa_kernel(kernel))


def eager_attention(run):
    """Without padding: a row without anything to attend to has no meaning, and kernels differ."""
    if run.name not in TEXTS and run.name != "vit":
        return False
    run.model.change["mask"] = torch.ones_like
    if run.is_target:
        run.model.model.set_attn_implementation("eager")


def optimizer_foreach(run):
    run.optimizer = {"foreach": True}


def optimizer_fused(run):
    run.optimizer = {"fused": True}


def more_threads(run):
    run.threads = 2


def channels_last(run):
    if run.name not in ("convnet", "unet"):
        return False
    run.model.to(memory_format=torch.channels_last)


def checkpointing(run):
    if run.name not in TEXTS:
        return False
    run.model.model.gradient_checkpointing_enable({"use_reentrant": False})


def contiguous_copies(run):
    path, module = linear(run, 3)
    module.register_forward_pre_hook(lambda m, args: tuple(a.clone().contiguous() for a in args))


def untouched_memory(run):
    """A buffer of empty memory, filled later, as experts and caches of servers have it."""
    path, module = linear(run, 3)
    fill = 3.0 if run.is_target else 8.0

    def hook(module, args):
        junk = [torch.ops.aten.full.default([64], fill) for _ in range(100)]
        del junk
        buffer = torch.empty(64)
        buffer[torch.arange(64)] = torch.arange(64.0)
        buffer[:32].copy_(torch.ones(32))

    module.register_forward_pre_hook(hook)


BENIGN = {
    "nothing": nothing,
    "order": other_order,
    "math_attention": math_attention,
    "eager_attention": eager_attention,
    "foreach": optimizer_foreach,
    "fused": optimizer_fused,
    "threads": more_threads,
    "channels_last": channels_last,
    "checkpointing": checkpointing,
    "copies": contiguous_copies,
    "empty": untouched_memory,
}
BOTH_SIDES = {"empty", "eager_attention"}  # the golden run does a part of it, too
