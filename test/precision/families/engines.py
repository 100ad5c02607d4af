"""Faults and benign changes as another engine, kernel, quantisation or trainer brings them.

Chosen after the rules were finished, without a look at them; the form is that of ``porting.py``.
"""

import sys

import changes
import torch
import torch.nn.functional as functional
from changes import is_norm, linear, place
from porting import DENSE, EVERY, NORMS, ROTARY, TEXTS, Patched, named, replace_forward
from torch import nn

aten = torch.ops.aten
ATTENTION = (*TEXTS, "vit")
PICTURES = ("convnet", "unet")


def module_of(run):
    """The Python module that defines the model."""
    return sys.modules[type(run.model.model).__module__]


def eight_bits(run):
    """A weight went through eight bits, one scale for all rows."""
    path, module = linear(run, 4)
    scale = module.weight.data.abs().max() / 127
    module.weight.data = (module.weight.data / scale).round().mul(scale)
    return place(path)


def bias_lost(run):
    """A loader skipped the bias of one layer."""
    found = [(p, m) for p, m in run.model.named_modules()
             if isinstance(m, (nn.Linear, nn.Conv2d)) and m.bias is not None]  # fmt: skip
    path, module = found[min(2, len(found) - 1)]
    module.bias.data.zero_()
    return place(path)


def weight_of_other_layer(run):
    """Layer 2 was filled with the weights of layer 1."""
    path, layers = run.find(lambda p, m: isinstance(m, nn.ModuleList) and len(m) > 2, 0)
    one, two = (layers[i].state_dict() for i in (1, 2))
    if any(one[k].shape != two[k].shape for k in one):
        return None
    layers[2].load_state_dict({k: v.clone() for k, v in one.items()})
    return [f"{path}.2."]


def norm_shifted(run):
    """A norm's weight counts from zero in one of the runs (Gemma's form)."""
    path, module = named(run, "post_attention_layernorm")
    module.weight.data.add_(1.0)
    return place(path)


def head_in_half(run):
    """The last product is computed in bfloat16, and its result is cast back."""
    path, module = named(run, "lm_head" if run.name != "lstm" else "head")
    if module.weight.dtype == torch.bfloat16:
        return None

    def forward(self, x):
        return functional.linear(x.bfloat16(), self.weight.bfloat16()).to(x.dtype)

    replace_forward(module, forward)
    return place(path)


def softmax_in_half(run):
    """The softmax of attention is computed in the type of the scores' half."""
    run.model.model.set_attn_implementation("eager")
    if run.is_target:
        module = module_of(run)

        def attention(self, query, key, value, attention_mask, scaling, dropout=0.0, **kwargs):
            key = module.repeat_kv(key, self.num_key_value_groups)
            value = module.repeat_kv(value, self.num_key_value_groups)
            scores = torch.matmul(query, key.transpose(2, 3)) * scaling
            if attention_mask is not None:
                scores = scores + attention_mask
            weights = functional.softmax(scores.half(), dim=-1).to(query.dtype)
            return torch.matmul(weights, value).transpose(1, 2).contiguous(), weights

        run.around.append(Patched(module, "eager_attention_forward", attention))
    return [".0.self_attn"]


def scale_left_out(run):
    """Scores are not divided by the root of the head's width in one layer."""
    path, module = named(run, "self_attn")
    module.scaling = 1.0
    return place(path)


def heads_exchanged(run):
    """Two heads of the values are exchanged by a wrong reshape in one layer."""
    path, module = named(run, "v_proj")
    forward = module.forward

    def exchanged(x):
        out = forward(x)
        return torch.cat([out[..., 8:16], out[..., :8]], -1)

    module.forward = exchanged
    return [*place(path), path.rsplit(".", 1)[0] + "."]


def gate_and_up_exchanged(run):
    """The activation is applied to the other half."""

    def forward(self, x):
        return self.down_proj(self.act_fn(self.up_proj(x)) * self.gate_proj(x))

    path, module = named(run, "mlp")
    replace_forward(module, forward)
    return place(path)


def residual_twice(run):
    path, module = named(run, "mlp")
    forward = module.forward
    module.forward = lambda x: forward(x) + x
    return [*place(path), path.rsplit(".", 1)[0] + "."]


def stale_output(run):
    """A layer gives what it gave in the first step again (a cache that is not emptied)."""
    path, module = linear(run, 5)
    forward, kept = module.forward, []

    def stale(*args):
        out = forward(*args)
        kept.append(out.detach().clone())
        return out if len(kept) == 1 else out * 0 + kept[0]

    module.forward = stale
    return [*place(path), path.rsplit(".", 1)[0] + "."]


def overwritten(run, number, overwrite):
    """What a layer gave is overwritten before it is used, by calls that are not recorded."""
    path, module = linear(run, number)
    forward = module.forward

    def changed(*args):
        out = forward(*args)
        with torch.no_grad():
            overwrite(out.detach())
        return out

    module.forward = changed
    return [*place(path), path.rsplit(".", 1)[0] + "."]


def clamped(run):
    """A kernel saturates at the largest number of a narrow type."""

    def saturate(out):
        limit = float(aten.amax.default(aten.abs.default(out))) / 3
        aten.clamp_.default(out, -limit, limit)

    return overwritten(run, 3, saturate)


def last_row_missing(run):
    """A kernel does not write the last row of its result (a tile that does not divide)."""
    return overwritten(
        run, 4, lambda out: aten.zero_.default(aten.select.int(out, 0, out.shape[0] - 1))
    )


def overflow_in_half(run):
    """A block runs in float16 and overflows."""
    path, module = linear(run, 4)
    module.weight.data[0, 0] = 3e38
    return place(path)


def wrong_gradient(run):
    """A norm's own backward leaves out the mean."""
    path, module = run.find(is_norm, 2)

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return aten.clone.default(x)

        @staticmethod
        def backward(ctx, grad):
            return aten.add.Tensor(grad, aten.mean.default(grad) + 1e-3)

    forward = module.forward
    module.forward = lambda x: forward(Wrong.apply(x))
    return [*place(path), path.rsplit(".", 1)[0] + ".", "Wrong", "backward", "parameters_grad"]


def detached(run):
    """A branch is cut from the graph: no gradient flows through it."""
    path, module = linear(run, 5)
    forward = module.forward
    module.forward = lambda *args: forward(*args).detach()
    return [*place(path), path.rsplit(".", 1)[0] + ".", "backward", "parameters_grad", "detach"]


def label_smoothing(run):
    def smooth(logits, labels, reduction="mean"):
        return cross_entropy(logits, labels, reduction=reduction, label_smoothing=0.1)

    cross_entropy = functional.cross_entropy
    run.around.append(Patched(functional, "cross_entropy", smooth))
    return ["cross_entropy", "loss", "label_smoothing"]


def loss_scaled(run):
    """The scale of mixed precision is not taken back before the optimizer."""
    forward = run.model.forward
    run.model.forward = lambda *values: forward(*values) * 128.0
    return ["__mul__", "mul", "backward", "loss"]


def adam_without_decoupling(run):
    """Weight decay inside of the gradient (Adam) instead of beside it (AdamW)."""
    run.decay = 0.1
    coupled = {"decoupled_weight_decay": not run.is_target}
    run.groups = lambda parameters: [{"params": parameters, **coupled}]
    return ["optimizer", "add", "mul", "weight", "bias", "decay"]


def epsilon_of_adam(run):
    run.optimizer["eps"] = 1e-3
    return ["optimizer", "add", "addcdiv", "eps", "weight", "bias"]


def decay_of_biases(run):
    """One run decays norms and biases, the other does not."""
    run.decay = 0.5
    if not run.is_target:
        run.groups = lambda parameters: [
            {"params": [p for p in parameters if p.dim() > 1]},
            {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
        ]
    else:
        run.groups = lambda parameters: [
            {"params": [p for p in parameters if p.dim() > 1]},
            {"params": [p for p in parameters if p.dim() <= 1]},
        ]
    return ["optimizer", "mul", "weight", "bias", "decay"]


def experts_exchanged(run):
    """Two experts are exchanged."""
    path, module = named(run, "mlp.experts")
    for weight in module.parameters():
        weight.data = weight.data[torch.tensor([1, 0, 2, 3])].clone()
    return place(path)


def fewer_experts(run):
    path, module = named(run, "mlp.gate")
    module.top_k = 1
    return [*place(path), path.rsplit(".", 1)[0] + "."]


def window(run):
    """Each token sees the three before it alone."""

    def hook(module, args, kwargs):
        mask = kwargs["attention_mask"]
        size = mask.shape[-1]
        near = torch.ones(size, size, dtype=torch.bool).tril().triu(-3)
        narrow = mask & near if mask.dtype == torch.bool else mask.masked_fill(
            ~near, torch.finfo(mask.dtype).min)  # fmt: skip
        kwargs["attention_mask"] = narrow
        return args, kwargs

    for path, module in run.model.named_modules():
        if path.endswith(".1.self_attn") or path.endswith(".1.attn"):
            module.register_forward_pre_hook(hook, with_kwargs=True)
    return [".1.self_attn", ".1.attn", "mask"]


def other_padding(run):
    """A convolution pads by reflection instead of zeros."""
    found = [(p, m) for p, m in run.model.named_modules()
             if isinstance(m, nn.Conv2d) and m.padding != (0, 0)]  # fmt: skip
    path, module = found[2]

    def forward(self, x):
        return functional.conv2d(functional.pad(x, (1, 1, 1, 1), "reflect"), self.weight, self.bias)

    replace_forward(module, forward)
    return place(path)


def momentum_of_norm(run):
    """Running statistics move with another momentum, and are used by evaluation."""
    path, module = run.find(lambda _, m: isinstance(m, nn.BatchNorm2d), 1)
    module.momentum = 0.9
    return place(path)


def normalised_otherwise(run):
    """Pictures are fed with another mean and deviation."""
    run.model.change["ids"] = lambda x: (x - 0.1) / 1.2
    return ["input", "index"]


STEP = changes.STEP
OPERATOR = changes.OPERATOR
BACKWARD = {*OPERATOR, "changed input", "optimizer differs"}
FAULTS = {
    "eight_bits": (eight_bits, {"changed weight"}),
    "bias_lost": (bias_lost, {"changed weight"}),
    "layer_copied": (weight_of_other_layer, {"changed weight"}),
    "norm_shifted": (norm_shifted, {"changed weight"}),
    "head_in_half": (head_in_half, {*OPERATOR, "element type differs"}),
    "softmax_in_half": (softmax_in_half, {*OPERATOR, "element type differs"}),
    "unscaled": (scale_left_out, OPERATOR),
    "heads_exchanged": (heads_exchanged, OPERATOR),
    # Without names of modules it is the same as exchanged weights.
    "wrong_half": (gate_and_up_exchanged, {*OPERATOR, "changed input", "changed weight"}),
    "residual_twice": (residual_twice, {*OPERATOR, "changed input", "element type differs"}),
    "stale": (stale_output, OPERATOR),
    "clamped": (clamped, {"operator differs"}),
    "last_row": (last_row_missing, {"operator differs"}),
    "overflow": (overflow_in_half, {"changed weight"}),
    "wrong_gradient": (wrong_gradient, BACKWARD),
    "detached": (detached, BACKWARD),
    "smoothing": (label_smoothing, OPERATOR),
    "loss_scale": (loss_scaled, {*OPERATOR, "changed input"}),
    "coupled_decay": (adam_without_decoupling, STEP),
    "adam_eps": (epsilon_of_adam, STEP),
    "decay_of_biases": (decay_of_biases, STEP),
    "experts": (experts_exchanged, {"changed weight", "operator differs"}),
    "top_k": (fewer_experts, {*OPERATOR, "shape differs"}),
    "window": (window, {*OPERATOR, "changed input"}),
    "reflect": (other_padding, OPERATOR),
    "momentum": (momentum_of_norm, {"argument differs", "operator differs"}),
    "normalised": (normalised_otherwise, {"changed input"}),
}
IN_TRAINING = {
    "wrong_gradient", "detached", "loss_scale", "coupled_decay", "adam_eps", "decay_of_biases",
}  # fmt: skip
UNSEEN = {"heads_exchanged", "experts", "window"}
BOTH_SIDES = {"softmax_in_half", "coupled_decay", "decay_of_biases", "joined_heads"}


def silu_in_parts(run):
    path, module = named(run, "mlp.act_fn")
    replace_forward(module, lambda self, x: x * torch.sigmoid(x))


def in_place(run):
    """Activations overwrite what they get."""
    for module in run.model.modules():
        if isinstance(module, nn.ReLU):
            module.inplace = True


def attention_by_sums(run):
    """Products of attention are written as sums over indices."""
    run.model.model.set_attn_implementation("eager")
    if run.is_target:
        module = module_of(run)

        def attention(self, query, key, value, attention_mask, scaling, dropout=0.0, **kwargs):
            key = module.repeat_kv(key, self.num_key_value_groups)
            value = module.repeat_kv(value, self.num_key_value_groups)
            scores = torch.einsum("bhqd,bhkd->bhqk", query, key) * scaling
            if attention_mask is not None:
                scores = scores + attention_mask
            weights = functional.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
            out = torch.einsum("bhqk,bhkd->bhqd", weights, value)
            return out.transpose(1, 2).contiguous(), weights

        run.around.append(Patched(module, "eager_attention_forward", attention))


def flat_batch(run):
    """A linear layer sees all tokens in one dimension."""
    path, module = named(run, "mlp.down_proj")

    def forward(self, x):
        return functional.linear(x.reshape(-1, x.shape[-1]), self.weight, self.bias).view(
            *x.shape[:-1], -1)  # fmt: skip

    replace_forward(module, forward)


def in_chunks(run):
    """A product is computed in two halves of its columns."""
    path, module = named(run, "mlp.up_proj")

    def forward(self, x):
        half = self.weight.shape[0] // 2
        return torch.cat([functional.linear(x, self.weight[:half]),
                          functional.linear(x, self.weight[half:])], -1)  # fmt: skip

    replace_forward(module, forward)


def norm_in_parts(run):
    """A layer norm written in single operators."""
    path, module = run.find(lambda _, m: isinstance(m, nn.LayerNorm), 1)

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = (x - mean).pow(2).mean(-1, keepdim=True)
        return (x - mean) * torch.rsqrt(variance + self.eps) * self.weight + self.bias

    replace_forward(module, forward)


def convolution_as_product(run):
    """A 1 x 1 convolution as a product of matrices."""
    path, module = named(run, "head")

    def forward(self, x):
        out = torch.einsum("bchw,oc->bohw", x, self.weight[:, :, 0, 0])
        return out + self.bias.view(1, -1, 1, 1).to(out.dtype)

    replace_forward(module, forward)


def precise_sums(run):
    run.around.append(Patched(torch.backends.cuda.matmul, "allow_tf32", False))


def deterministic(run):
    class On:
        def __enter__(self):
            torch.use_deterministic_algorithms(True, warn_only=True)

        def __exit__(self, *error):
            torch.use_deterministic_algorithms(False)

    run.around.append(On())


def detection(run):
    """torch looks for NaN in each backward."""
    run.around.append(torch.autograd.detect_anomaly(check_nan=True))


def gradients_by_hook(run):
    """A monitor reads each gradient."""
    for parameter in run.model.parameters():
        parameter.register_hook(lambda grad: grad.detach().float().abs().max().item() and None)


def copied_model(run):
    """The checkpoint is loaded into a model that was made otherwise."""
    state = {k: v.clone() for k, v in run.model.state_dict().items()}
    with torch.no_grad():
        for parameter in run.model.parameters():
            parameter.zero_()
    run.model.load_state_dict(state)


def set_parameter(run):
    """Biases of zero that the other run has not."""
    for module in run.model.modules():
        if isinstance(module, nn.Linear) and module.bias is None:
            zeros = torch.zeros(module.out_features, dtype=module.weight.dtype)
            module.bias = nn.Parameter(zeros, requires_grad=False)
            return


BENIGN = {
    "silu_in_parts": silu_in_parts,
    "in_place": in_place,
    "joined_heads": attention_by_sums,
    "flat_batch": flat_batch,
    "in_chunks": in_chunks,
    "norm_in_parts": norm_in_parts,
    "conv_as_product": convolution_as_product,
    "precise": precise_sums,
    "deterministic": deterministic,
    "detect_nan": detection,
    "gradient_hooks": gradients_by_hook,
    "loaded": copied_model,
    "zero_bias": set_parameter,
}
FORWARD_ONLY = frozenset()
WHERE = {
    "detached": EVERY[:-1],  # the last linear layer of `edges` is its head: no gradient is left
    "bias_lost": ("qwen2", "gpt2", "vit", *PICTURES, "edges"), "norm_shifted": NORMS,
    "layer_copied": (*TEXTS, "vit", "lstm", "edges"), "head_in_half": (*TEXTS, "lstm"),
    "softmax_in_half": ROTARY, "unscaled": ROTARY, "heads_exchanged": ROTARY,
    "wrong_half": DENSE, "residual_twice": DENSE, "smoothing": EVERY, "experts": ("mixtral",),
    "top_k": ("mixtral",), "window": TEXTS, "reflect": PICTURES, "momentum": PICTURES,
    "normalised": (*PICTURES, "vit", "edges"), "silu_in_parts": ("qwen2", "qwen3", "llama"),
    "in_place": PICTURES, "joined_heads": ROTARY, "flat_batch": DENSE, "in_chunks": DENSE,
    "norm_in_parts": ("gpt2", "vit"), "conv_as_product": ("unet",), "zero_bias": ("llama", "qwen3"),
    "overflow": (*DENSE, "vit", "lstm", "edges"), "eight_bits": (*DENSE, "vit", "lstm", "edges"),
}  # fmt: skip
