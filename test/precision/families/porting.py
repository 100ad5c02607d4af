"""Faults and benign changes as people make them who port, patch or train a model.

Written without a look at the rules of the comparison, so that the count says how well it does on
what it was not made for. The form is that of ``changes.py``; ``WHERE`` names the families that
have what a kind changes.
"""

import types

import torch
import torch.nn.functional as functional
from changes import place
from torch import nn

ROTARY = ("qwen2", "qwen3", "llama", "mistral", "gemma", "mixtral")
DENSE = ("qwen2", "qwen3", "llama", "mistral", "gemma")
TEXTS = (*ROTARY, "gpt2")
EVERY = (*TEXTS, "vit", "convnet", "unet", "lstm", "edges")


def named(run, ending):
    """(path, module) of the second block's module with this ending, or the first there is."""
    found = [(p, m) for p, m in run.model.named_modules() if p.endswith(ending)]
    return found[min(1, len(found) - 1)]


def replace_forward(module, function):
    module.forward = types.MethodType(function, module)


def rope_theta(run):
    path, module = named(run, "rotary_emb")
    half = module.inv_freq.numel()
    module.inv_freq.copy_(1.0 / 2e5 ** (torch.arange(half) / half))
    return [*place(path), "rotary"]


def position_offset(run):
    """Positions counted from one."""
    first = 1 if run.is_target else 0

    def hook(module, args, kwargs):
        kwargs["position_ids"] = torch.arange(first, first + 12).unsqueeze(0)
        return args, kwargs

    run.model.model.register_forward_pre_hook(hook, with_kwargs=True)
    return ["rotary", "wpe", "position"]


def mask_off_by_one(run):
    """Each token sees the next one, too."""

    def hook(module, args, kwargs):
        mask = kwargs["attention_mask"]
        kwargs["attention_mask"] = torch.cat([mask[..., 1:, :], mask[..., -1:, :]], -2)
        return args, kwargs

    for path, module in run.model.named_modules():
        if path.endswith((".self_attn", ".attn")):
            module.register_forward_pre_hook(hook, with_kwargs=True)
    return [".0.self_attn", ".0.attn", "mask"]


def residual_after_norm(run):
    """The residual is taken behind the norm instead of before it."""

    def forward(self, x, *args, **kwargs):
        x = self.input_layernorm(x)
        x = x + self.self_attn(x, *args, **kwargs)[0]
        y = self.post_attention_layernorm(x)
        return x + self.mlp(y)

    path, module = named(run, "layers.1")
    replace_forward(module, forward)
    return place(path)


def gelu_form(run):
    """The exact form for the one with tanh, or the other way round."""
    path, module = named(run, "act" if run.name == "gpt2" else "activation_fn")
    form = "none" if run.name == "gpt2" else "tanh"
    replace_forward(module, lambda self, x: functional.gelu(x, approximate=form))
    return place(path)


def norm_in_half(run):
    """The mean of squares is taken in bfloat16."""

    def forward(self, x):
        narrow = x.to(torch.bfloat16)
        scale = torch.rsqrt(narrow.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)
        return self.weight * (narrow * scale).to(x.dtype)

    path, module = named(run, "post_attention_layernorm")
    replace_forward(module, forward)
    return place(path)


def padding_side(run):
    run.model.change["ids"] = lambda x: torch.cat([x[:, 3:], x[:, :3]], 1)
    run.model.change["mask"] = lambda mask: mask.flip(1)
    return ["input", "index", "mask"]


def padding_ignored(run):
    """Labels of padding do not count in one of the runs."""

    def change(labels):
        labels = labels.clone()
        labels[0, :3] = -100
        return labels

    run.model.change["labels"] = change
    return ["cross_entropy", "loss"]


def other_beta(run):
    run.optimizer["betas"] = (0.9, 0.95)
    return ["optimizer", "mul", "addcmul", "lerp", "weight", "bias"]


def accumulation_not_divided(run):
    """The batch in two halves; the sum of their losses is not divided by two."""
    forward = run.model.forward

    def in_halves(*values):
        halves = [forward(*(v[i * len(v) // 2 : (i + 1) * len(v) // 2] for v in values))
                  for i in range(2)]  # fmt: skip
        both = halves[0] + halves[1]
        return both if run.is_target else both / 2

    run.model.forward = in_halves
    return ["__truediv__", "div", "__add__", "backward"]


def kv_heads_repeated(run):
    """Heads of keys are repeated as a block (0 1 0 1) instead of each (0 0 1 1)."""
    run.model.model.set_attn_implementation("eager")
    if run.is_target:
        import sys

        module = sys.modules[type(run.model.model).__module__]
        module.repeat_kv = lambda states, times: states.repeat(1, times, 1, 1)
    return [".0.self_attn"]


def router_not_renormalised(run):
    def forward(self, x):
        logits = functional.linear(x.reshape(-1, self.hidden_dim), self.weight)
        scores, indices = torch.topk(logits.float().softmax(-1), self.top_k, dim=-1)
        return logits, scores, indices

    path, module = named(run, "mlp.gate")
    replace_forward(module, forward)
    return place(path)


def untied_head(run):
    """One run shares the weights of embedding and head, the other has a copy."""
    inner = run.model.model
    embedding = inner.get_input_embeddings().weight
    copy = nn.Parameter(embedding.detach().clone())
    inner.get_output_embeddings().weight = copy if run.is_target else embedding
    return ["embed", "wte", "lm_head", "parameters_grad"]


def dropout_of_config(run):
    for module in run.model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.1
    return ["drop"]


def frozen_embedding(run):
    for path, module in run.model.named_modules():
        if isinstance(module, nn.Embedding):
            module.weight.requires_grad_(False)
            return place(path)
    return None


def rope_pairs(run):
    """Rows of a projection in the order of pairs, where halves are expected."""
    path, module = named(run, "q_proj")
    rows, columns = module.weight.shape
    heads = module.weight.data.view(rows // 8, 2, 4, columns)
    module.weight.data = heads.transpose(1, 2).reshape(rows, columns).contiguous()
    return place(path)


def last_norm_left_out(run):
    path, module = [(p, m) for p, m in run.model.named_modules() if "Norm" in type(m).__name__][-1]
    replace_forward(module, lambda self, x: x)
    return [*place(path), "linear"]


def evaluation_mode(run):
    """Batch norms use what they have seen so far instead of the batch."""
    run.model.eval()
    return [".norm1.", "batch_norm"]


OPERATOR = {"operator differs", "argument differs", "order or number of calls differs"}
POSITION = {"changed weight", "changed input", "operator differs", "argument differs"}
STEP = {"optimizer differs", "argument differs", "order or number of calls differs"}
FAULTS = {
    "rope_theta": (rope_theta, POSITION),
    "position_offset": (position_offset, POSITION),
    "mask_off_by_one": (mask_off_by_one, {*OPERATOR, "changed input"}),
    "residual_after_norm": (residual_after_norm, {*OPERATOR, "changed input"}),
    "gelu_form": (gelu_form, OPERATOR),
    "norm_in_half": (norm_in_half, {"element type differs", "order or number of calls differs"}),
    "padding_side": (padding_side, {"changed input"}),
    "padding_ignored": (padding_ignored, {"changed input"}),
    "other_beta": (other_beta, STEP),
    "accumulation": (accumulation_not_divided, OPERATOR),
    "kv_heads": (kv_heads_repeated, OPERATOR),
    "router": (router_not_renormalised, OPERATOR),
    "untied": (untied_head, {*OPERATOR, "changed weight"}),
    "dropout_of_config": (dropout_of_config, {"random numbers differ", "argument differs"}),
    "frozen": (frozen_embedding, {"order or number of calls differs", "optimizer differs"}),
    "rope_pairs": (rope_pairs, {"changed weight", "operator differs"}),
    "last_norm": (last_norm_left_out, OPERATOR),
    "evaluation": (evaluation_mode, {"argument differs", "operator differs"}),
}
IN_TRAINING = {"other_beta", "accumulation", "untied", "frozen", "zeroed", "groups", "clip_loop"}
UNSEEN = {"rope_pairs", "padding_side", "mask_off_by_one"}
BOTH_SIDES = {"accumulation", "kv_heads", "untied", "position_offset"}


def inference_mode(run):
    run.around.append(torch.inference_mode())


def other_library(run):
    run.around.append(torch.backends.mkldnn.flags(enabled=False))


class Wrapped(nn.Module):
    """As DDP and compilers wrap a model: its names get a part in front."""

    def __init__(self, module):
        super().__init__()
        self.module = module
        self.prepare = module.prepare

    def forward(self, *values):
        return self.module(*values)


def wrapped(run):
    run.model = Wrapped(run.model)


def branch_order(run):
    """The gate is computed behind the branch that it gates."""

    def forward(self, x):
        up = self.up_proj(x)
        return self.down_proj(self.act_fn(self.gate_proj(x)) * up)

    replace_forward(named(run, "mlp")[1], forward)


def strided_weight(run):
    module = named(run, "q_proj")[1]
    module.weight.data = module.weight.data.t().contiguous().t()


def zeroed_gradients(run):
    run.zero_grad = {"set_to_none": False}


def two_groups(run):
    run.groups = lambda parameters: [{"params": parameters[1::2]}, {"params": parameters[::2]}]


def dropout_of_zero(run):
    linear = [m for m in run.model.modules() if isinstance(m, nn.Linear)][1]
    linear.register_forward_hook(lambda m, args, out: functional.dropout(out, 0.0))


def loss_in_parts(run):
    def parts(logits, labels, reduction="mean"):
        return functional.nll_loss(logits.log_softmax(-1), labels, reduction=reduction)

    run.around.append(Patched(functional, "cross_entropy", parts))


class Patched:
    def __init__(self, owner, name, value):
        self.owner, self.name, self.value = owner, name, value

    def __enter__(self):
        self.before = getattr(self.owner, self.name)
        setattr(self.owner, self.name, self.value)

    def __exit__(self, *error):
        setattr(self.owner, self.name, self.before)


def fused_norm(run):
    def forward(self, x):
        return functional.rms_norm(x, self.weight.shape, self.weight, self.variance_epsilon)

    for module in run.model.modules():
        if hasattr(module, "variance_epsilon"):
            replace_forward(module, forward)


def linear_as_product(run):
    def forward(self, x):
        out = x @ self.weight.t()
        return out if self.bias is None else out + self.bias

    replace_forward(named(run, "q_proj")[1], forward)


def cache_kept(run):
    def hook(module, args, kwargs):
        return args, {**kwargs, "use_cache": True}

    run.model.model.register_forward_pre_hook(hook, with_kwargs=True)


def monitored(run):
    """One run prints the size of what each block gives."""

    def hook(module, args, out):
        print(float((out[0] if isinstance(out, tuple) else out).detach().float().norm()))

    for module in run.model.modules():
        if isinstance(module, nn.ModuleList):
            for block in module:
                block.register_forward_hook(hook)


def clip_loop(run):
    run.clipping = {"foreach": False}


BENIGN = {
    "inference_mode": inference_mode,
    "other_library": other_library,
    "wrapped": wrapped,
    "branch_order": branch_order,
    "strided": strided_weight,
    "zeroed": zeroed_gradients,
    "groups": two_groups,
    "dropout_of_zero": dropout_of_zero,
    "loss_in_parts": loss_in_parts,
    "fused_norm": fused_norm,
    "product": linear_as_product,
    "cache": cache_kept,
    "monitored": monitored,
    "clip_loop": clip_loop,
}
FORWARD_ONLY = {"inference_mode"}
NORMS = ("qwen2", "qwen3", "llama", "mistral", "mixtral")
WHERE = {
    "rope_theta": ROTARY, "position_offset": TEXTS, "mask_off_by_one": TEXTS,
    "residual_after_norm": ROTARY, "gelu_form": ("gpt2", "vit"), "norm_in_half": NORMS,
    "padding_side": TEXTS, "padding_ignored": (*TEXTS, "lstm"), "kv_heads": ROTARY,
    "router": ("mixtral",), "untied": TEXTS, "dropout_of_config": ("gpt2", "vit"),
    "frozen": (*TEXTS, "lstm"), "rope_pairs": ROTARY, "evaluation": ("convnet", "unet"),
    "accumulation": ("vit", "convnet", "unet", "edges"), "branch_order": DENSE, "strided": ROTARY,
    "fused_norm": NORMS, "product": ROTARY, "cache": TEXTS,
    "last_norm": (*TEXTS, "vit", "lstm", "edges"),
    "dropout_of_zero": (*DENSE, "vit", "lstm", "edges"),
}  # fmt: skip
