"""Benign changes of ``outside.py``: wrappers, monitors, other forms of a computation."""

import torch
import torch.nn.functional as functional
from changes import linear
from engines import module_of
from porting import named, replace_forward
from torch import nn


def compiled(run):
    """torch.compile with a backend that compiles nothing."""
    run.model.model = torch.compile(run.model.model, backend="eager")


def reentrant_checkpoints(run):
    run.model.model.gradient_checkpointing_enable({"use_reentrant": True})


def strided_input(run):
    run.model.change["ids"] = lambda x: torch.stack([x, x], -1)[..., 0]


def hooks_without_effect(run):
    for module in run.model.modules():
        module.register_forward_hook(lambda m, args, out: None)
        if not list(module.children()):
            module.register_full_backward_hook(lambda m, given, got: None)


class Twice(nn.Module):
    """A module that only calls another."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, *args, **kwargs):
        return self.inner(*args, **kwargs)


def inner_wrapped(run):
    path, module = named(run, "mlp")
    parent = run.model.get_submodule(path.rsplit(".", 1)[0])
    parent.mlp = Twice(module)


def moving_average(run):
    """An average of the weights is kept beside the model."""
    kept = [p.detach().clone() for p in run.model.parameters()]

    def hook(module, args):
        with torch.no_grad():
            for average, parameter in zip(kept, module.parameters(), strict=True):
                average.mul_(0.9).add_(parameter, alpha=0.1)

    run.model.register_forward_pre_hook(hook)


def accuracy(run):
    """How many tokens are right is computed beside the loss."""

    def counted(logits, labels, reduction="mean"):
        (logits.detach().argmax(-1) == labels).float().mean()
        return cross_entropy(logits, labels, reduction=reduction)

    cross_entropy = functional.cross_entropy
    functional.cross_entropy = counted


class Same(nn.Module):
    def forward(self, weight):
        return weight


def parametrised(run):
    path, module = linear(run, 3)
    torch.nn.utils.parametrize.register_parametrization(module, "weight", Same())


def unused_members(run):
    path, module = linear(run, 3)
    module.register_buffer("seen", torch.zeros(3))
    module.unused = nn.Parameter(torch.ones(2))


def on_device(run):
    run.around.append(torch.device("cpu"))


def product_as_convolution(run):
    def forward(self, x):
        out = functional.conv1d(x.transpose(1, 2), self.weight[..., None], self.bias)
        return out.transpose(1, 2)

    replace_forward(named(run, "k_proj")[1], forward)


def residual_exchanged(run):
    """Sums of residuals have their parts in the other order, and are made in place."""

    def forward(self, x, *args, **kwargs):
        y = self.self_attn(self.input_layernorm(x), *args, **kwargs)[0]
        y += x
        return self.mlp(self.post_attention_layernorm(y)) + y

    replace_forward(named(run, "layers.1")[1], forward)


def gelu_at_once(run):
    replace_forward(named(run, "act")[1], lambda self, x: functional.gelu(x, approximate="tanh"))


def embedding_by_index(run):
    module = run.find(lambda _, m: isinstance(m, nn.Embedding), 0)[1]
    replace_forward(
        module, lambda self, ids: self.weight.index_select(0, ids.flatten()).view(*ids.shape, -1)
    )


def mask_as_numbers(run):
    """The mask of attention is one of numbers to add, instead of one of truth values."""

    def hook(module, args, kwargs):
        mask = kwargs.get("attention_mask")
        if mask is not None and mask.dtype == torch.bool:
            kind = next(module.parameters()).dtype
            added = torch.zeros(mask.shape, dtype=kind).masked_fill(~mask, torch.finfo(kind).min)
            kwargs["attention_mask"] = added
        return args, kwargs

    for path, module in run.model.named_modules():
        if path.endswith((".self_attn", ".attn")):
            module.register_forward_pre_hook(hook, with_kwargs=True)


def rate_as_tensor(run):
    run.learning_rate = torch.tensor(run.learning_rate)


def flat_memory(run):
    """All weights are views of one flat tensor."""
    parameters = list(run.model.parameters())
    flat = torch.cat([p.data.flatten() for p in parameters])
    first = 0
    for parameter in parameters:
        parameter.data = flat[first : first + parameter.numel()].view(parameter.shape)
        first += parameter.numel()


def packed(run):
    """Sequences of full length are packed before the LSTM."""

    def forward(self, input_ids, attention_mask, use_cache):
        lengths = torch.full((len(input_ids),), input_ids.shape[1])
        x = nn.utils.rnn.pack_padded_sequence(self.embed(input_ids), lengths, batch_first=True)
        x = nn.utils.rnn.pad_packed_sequence(self.lstm(x)[0], batch_first=True)[0]
        for layer in self.layers:
            x = x + functional.silu(layer(x))
        return type("Out", (), {"logits": self.head(self.norm(x))})

    replace_forward(run.model.model, forward)


def convolution_unfolded(run):
    def forward(self, x):
        columns = functional.unfold(x, 3, padding=1)
        out = self.weight.flatten(1) @ columns + self.bias[:, None]
        return out.view(len(x), -1, *x.shape[2:])

    replace_forward(named(run, "conv2")[1], forward)


def softmax_in_parts(run):
    """The softmax of attention in single operators."""
    run.model.model.set_attn_implementation("eager")
    if not run.is_target:
        return
    module = module_of(run)

    def attention(self, query, key, value, attention_mask, scaling, dropout=0.0, **kwargs):
        key = module.repeat_kv(key, self.num_key_value_groups)
        value = module.repeat_kv(value, self.num_key_value_groups)
        scores = torch.matmul(query * scaling, key.transpose(2, 3))
        if attention_mask is not None:
            scores = scores + attention_mask
        scores = scores.float()
        powers = torch.exp(scores - scores.amax(-1, keepdim=True))
        weights = (powers / powers.sum(-1, keepdim=True)).to(query.dtype)
        return torch.matmul(weights, value).transpose(1, 2).contiguous(), weights

    module.eager_attention_forward = attention


def by_name(run):
    """The model is called with its weights given from outside."""
    inner = run.model
    forward = inner.forward

    def called(*values):
        inner.forward = forward
        try:
            return torch.func.functional_call(inner, dict(inner.named_parameters()), values)
        finally:
            inner.forward = called

    inner.forward = called


BENIGN = {
    "compiled": compiled,
    "reentrant": reentrant_checkpoints,
    "strided_input": strided_input,
    "empty_hooks": hooks_without_effect,
    "inner_wrapped": inner_wrapped,
    "moving_average": moving_average,
    "accuracy": accuracy,
    "parametrised": parametrised,
    "unused": unused_members,
    "on_device": on_device,
    "conv_for_linear": product_as_convolution,
    "residual_order": residual_exchanged,
    "gelu_at_once": gelu_at_once,
    "index_select": embedding_by_index,
    "added_mask": mask_as_numbers,
    "rate_tensor": rate_as_tensor,
    "flat_memory": flat_memory,
    "packed": packed,
    "unfolded": convolution_unfolded,
    "softmax_in_parts": softmax_in_parts,
    "by_name": by_name,
}
