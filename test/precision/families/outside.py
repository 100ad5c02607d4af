"""Faults and benign changes of loaders, servers, data and other programs; more families.

Written without a look at the rules of the comparison and counted once before these were changed.
The form is that of ``porting.py``; ``MORE`` names families that this set alone has.
"""

import changes
import torch
import torch.nn.functional as functional
from changes import linear, place
from engines import PICTURES, overwritten
from outside_benign import BENIGN  # noqa: F401
from porting import EVERY, ROTARY, TEXTS, named, replace_forward
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

MORE = ("bert", "olmo2", "phi3", "deepseek")
GATED = ("qwen2", "qwen3", "llama", "mistral", "gemma")
CAUSAL = (*TEXTS, "olmo2", "phi3", "deepseek")
PLAIN = ("qwen2", "qwen3", "llama", "mistral")


def outer(path):
    return [*place(path), path.rsplit(".", 1)[0] + "."]


def rope_attention_factor(run):
    """The factor by which scaled rotary embeddings multiply (YaRN) is applied in one run."""
    path, module = named(run, "rotary_emb")
    module.attention_scaling = 1.2
    return [*place(path), "rotary"]


def cache_in_eight_bits(run):
    """Values of one layer go through float8, as in a cache of a server."""
    path, module = named(run, "v_proj")
    forward = module.forward
    module.forward = lambda x: forward(x).to(torch.float8_e4m3fn).to(x.dtype)
    return outer(path)


def head_not_tied(run):
    """A loader forgot to tie the head, which keeps its first numbers."""
    inner = run.model.model
    weight = inner.get_output_embeddings().weight
    other = torch.randn(weight.shape, generator=torch.Generator().manual_seed(3)) * 0.02
    inner.get_output_embeddings().weight = nn.Parameter(other.to(weight.dtype))
    return ["lm_head.", "linear"]


def mask_inverted(run):
    run.model.change["mask"] = lambda mask: 1 - mask
    return ["input", "mask"]


def attention_dropout(run):
    """Dropout of attention is on, though it should be off."""
    for module in run.model.modules():
        if hasattr(module, "attention_dropout"):
            module.attention_dropout = 0.2
    return [".0.self_attn", "scaled_dot_product_attention"]


def loss_by_sequence(run):
    """The sum over tokens is divided by the number of sequences."""

    def by_sequence(logits, labels, reduction="mean"):
        return cross_entropy(logits, labels, reduction="sum") / 2

    cross_entropy = functional.cross_entropy
    functional.cross_entropy = by_sequence
    return ["cross_entropy", "loss", "div"]


def averaged_twice(run):
    """Gradients are divided by the number of ranks a second time."""
    run.clip = 1e9
    if run.is_target:
        for parameter in run.model.parameters():
            parameter.register_hook(lambda grad: torch.ops.aten.div.Scalar(grad, 2))
    return ["grad", "optimizer", "backward", "mul", "lerp", "weight", "bias", "norm"]


def pad_token(run):
    """Padding is another token, which the mask hides but the embedding sees."""

    def change(x):
        x = x.clone()
        x[0, :3] = 2
        return x

    run.model.change["ids"] = change
    return ["input", "index", "embed"]


def shard_offset(run):
    """The second half of the vocabulary starts one row too early."""
    path, module = run.find(lambda _, m: isinstance(m, nn.Embedding), 0)
    forward = module.forward
    module.forward = lambda ids: forward(torch.where(ids >= 48, ids - 1, ids))
    return place(path)


def router_bias(run):
    """A bias that balances the load is added to the scores by which experts are chosen."""

    def forward(self, x):
        logits = functional.linear(x.reshape(-1, self.hidden_dim), self.weight)
        scores = logits.float().softmax(-1)
        bias = torch.linspace(0.0, 0.4, scores.shape[-1])
        _, indices = torch.topk(scores + bias, self.top_k, dim=-1)
        chosen = scores.gather(-1, indices)
        return logits, chosen / chosen.sum(-1, keepdim=True), indices

    path, module = named(run, "mlp.gate")
    replace_forward(module, forward)
    return place(path)


def embedding_scaled(run):
    """Embeddings are multiplied by a factor (Gemma's form) in one run."""
    path, module = run.find(lambda _, m: isinstance(m, nn.Embedding), 0)
    forward = module.forward
    module.forward = lambda ids: forward(ids) * 1.5
    return place(path)


def norm_behind(run):
    """Norms stand behind attention and MLP instead of before them."""

    def forward(self, x, *args, **kwargs):
        x = x + self.input_layernorm(self.self_attn(x, *args, **kwargs)[0])
        return x + self.post_attention_layernorm(self.mlp(x))

    path, module = named(run, "layers.1")
    replace_forward(module, forward)
    return place(path)


def activations_in_eight_bits(run):
    """What a layer gets is rounded to eight bits."""
    path, module = linear(run, 4)
    forward = module.forward

    def rounded(x, *args):
        scale = x.detach().abs().amax() / 127
        return forward(torch.round(x / scale) * scale, *args)

    module.forward = rounded
    return outer(path)


def vocabulary_shifted(run):
    """The rows of the head stand one place further."""
    head = run.model.model.get_output_embeddings()
    head.weight = nn.Parameter(head.weight.detach().roll(1, 0))
    return ["lm_head.", "linear"]


def stale_statistics(run):
    """Running statistics of one norm are those of a new model; both runs evaluate."""
    run.model.eval()
    path, module = run.find(lambda _, m: isinstance(m, nn.BatchNorm2d), 1)
    if not run.is_target:
        module.running_mean.fill_(0.3)
        module.running_var.fill_(2.0)
    return place(path)


def input_overwritten(run):
    """A norm overwrites what it gets, which the residual uses afterwards."""
    path, module = named(run, "post_attention_layernorm")
    forward = module.forward

    def aliased(x):
        out = forward(x.clone())
        with torch.no_grad():
            torch.ops.aten.mul_.Scalar(x.detach(), 1.1)
        return out

    module.forward = aliased
    return outer(path)


def positions_of_mask(run):
    """One run counts positions from the first token that is no padding."""
    start = 3 if run.is_target else 0

    def hook(module, args, kwargs):
        counted = torch.arange(12).repeat(2, 1)
        counted[0] = (counted[0] - start).clamp(min=0)
        kwargs["position_ids"] = counted
        return args, kwargs

    run.model.model.register_forward_pre_hook(hook, with_kwargs=True)
    return ["rotary", "wpe", "position"]


def data_order(run):
    """The sequences of a batch come in another order."""
    for part in ("ids", "mask"):
        run.model.change[part] = lambda x: x.flip(0)
    return ["input", "index", "mask"]


def other_seed(run):
    """One run began with other weights."""
    generator = torch.Generator().manual_seed(11)
    for parameter in run.model.parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        parameter.data = (noise * parameter.data.float().std()).to(parameter.dtype)
    path, _ = run.find(lambda _, m: len(list(m.parameters(recurse=False))) > 0, 0)
    return place(path)


def head_not_optimised(run):
    """The last weights are not among those that the optimizer got."""
    run.groups = lambda parameters: parameters[:-2]
    return ["optimizer", "weight", "bias", "mul", "lerp", "add", "norm"]


def warm_up(run):
    """A schedule begins with a rate of zero in one run."""
    steps = []

    def hook(optimizer, args, kwargs):
        steps.append(1)
        for group in optimizer.param_groups:
            group["lr"] = 0.0 if len(steps) == 1 else 1e-3

    register_optimizer_step_pre_hook(hook)
    return ["optimizer", "lr", "add", "mul", "weight", "bias"]


def checkpoint_in_half(run):
    """A checkpoint of bfloat16 was loaded into a model of float32."""
    if next(run.model.parameters()).dtype != torch.float32:
        return None
    for parameter in run.model.parameters():
        parameter.data = parameter.data.bfloat16().float()
    path, _ = run.find(lambda _, m: len(list(m.parameters(recurse=False))) > 0, 0)
    return place(path)


def upsampled_smoothly(run):
    path, module = named(run, "up")
    module.mode = "bilinear"
    return [*place(path), "interpolate"]


def pooled_by_largest(run):
    path, module = named(run, "pool")
    replace_forward(module, lambda self, x: functional.adaptive_max_pool2d(x, 1))
    return place(path)


def gates_exchanged(run):
    """The gates of an LSTM stand in the order of another framework."""
    for name, parameter in run.model.named_parameters():
        if "lstm" in name:
            parts = parameter.data.chunk(4, 0)
            parameter.data = torch.cat([parts[0], parts[2], parts[1], parts[3]], 0)
    return ["lstm."]


def messages_averaged(run):
    """Messages of a graph are weighted by half."""

    def halved(self, dim, index, source, **kwargs):
        return index_add(self, dim, index, source, alpha=0.5)

    index_add = torch.Tensor.index_add
    torch.Tensor.index_add = halved
    return ["index_add", "model.norm."]  # at L0 the call is not recorded


def head_norm_left_out(run):
    path, module = named(run, "q_norm")
    replace_forward(module, lambda self, x: x)
    return outer(path)


def groups_of_projection(run):
    """The joined projection is cut at another place: keys and values are exchanged."""
    path, module = named(run, "qkv_proj")
    rows = module.weight.data
    module.weight.data = torch.cat([rows[:-32], rows[-16:], rows[-32:-16]], 0)
    return outer(path)


def token_types(run):
    """All tokens count as the second sentence."""

    def hook(module, args, kwargs):
        kwargs["token_type_ids"] = torch.ones(2, 12, dtype=torch.long)
        return args, kwargs

    run.model.model.register_forward_pre_hook(hook, with_kwargs=True)
    return ["token_type", "embeddings"]


def latent_norm_eps(run):
    path, module = named(run, "kv_a_layernorm")
    module.variance_epsilon = 0.05
    return place(path)


def value_too_small(run):
    """A kernel flushes small numbers to zero."""

    def flush(out):
        small = torch.ops.aten.abs.default(out) < 0.05
        torch.ops.aten.masked_fill_.Scalar(out, small, 0.0)

    return overwritten(run, 3, flush)


OPERATOR = changes.OPERATOR
STEP = changes.STEP
FAULTS = {
    "rope_factor": (rope_attention_factor, {*OPERATOR, "changed input"}),
    "cache_eight_bits": (cache_in_eight_bits, {*OPERATOR, "element type differs"}),
    "head_not_tied": (head_not_tied, {"changed weight"}),
    "mask_inverted": (mask_inverted, {"changed input"}),
    "attention_dropout": (attention_dropout, {"random numbers differ", "argument differs"}),
    "by_sequence": (loss_by_sequence, OPERATOR),
    "averaged_twice": (averaged_twice, {*STEP, "operator differs", "changed input"}),
    "pad_token": (pad_token, {"changed input"}),
    "shard_offset": (shard_offset, {*OPERATOR, "changed input"}),
    "router_bias": (router_bias, OPERATOR),
    "embedding_scaled": (embedding_scaled, OPERATOR),
    "norm_behind": (norm_behind, {*OPERATOR, "changed input"}),
    "eight_bit_input": (activations_in_eight_bits, {*OPERATOR, "changed input"}),
    "vocabulary": (vocabulary_shifted, {"changed weight", "operator differs"}),
    # At L0 no buffer is recorded.
    "stale_statistics": (stale_statistics, {"changed weight", "operator differs"}),
    "aliased": (input_overwritten, {*OPERATOR, "changed input"}),
    "positions": (positions_of_mask, {"changed input", "operator differs", "argument differs"}),
    "data_order": (data_order, {"changed input"}),
    "other_seed": (other_seed, {"changed weight"}),
    "not_optimised": (head_not_optimised, STEP),
    "warm_up": (warm_up, STEP),
    "half_checkpoint": (checkpoint_in_half, {"changed weight"}),
    "upsampling": (upsampled_smoothly, OPERATOR),
    "pooling": (pooled_by_largest, OPERATOR),
    "gates": (gates_exchanged, {"changed weight", "operator differs"}),
    "messages": (messages_averaged, OPERATOR),
    "head_norm": (head_norm_left_out, OPERATOR),
    "joined_cut": (groups_of_projection, {"changed weight", "operator differs"}),
    "token_types": (token_types, {"changed input"}),
    "latent_eps": (latent_norm_eps, OPERATOR),
    "flushed": (value_too_small, OPERATOR),  # the mask of it is a call
}
IN_TRAINING = {"averaged_twice", "not_optimised", "warm_up", "attention_dropout"}
UNSEEN = {"vocabulary", "data_order", "gates", "joined_cut"}
BOTH_SIDES = {"averaged_twice", "stale_statistics", "positions"}
FORWARD_ONLY = frozenset()
WHERE = {
    "rope_factor": (*ROTARY, "olmo2", "phi3"), "cache_eight_bits": (*ROTARY, "olmo2"),
    "head_not_tied": (*CAUSAL,), "mask_inverted": (*TEXTS, "bert", "olmo2"),
    "attention_dropout": (*PLAIN, "olmo2"), "by_sequence": (*CAUSAL, "bert"),
    "pad_token": (*CAUSAL, "bert"), "shard_offset": (*CAUSAL, "lstm"), "router_bias": ("mixtral",),
    "embedding_scaled": (*CAUSAL, "lstm"), "norm_behind": (*PLAIN, "gemma"),
    "vocabulary": CAUSAL, "stale_statistics": PICTURES, "aliased": (*ROTARY, "deepseek"),
    "positions": (*TEXTS, "olmo2"), "data_order": (*TEXTS, "bert"), "other_seed": (*EVERY, *MORE),
    "half_checkpoint": (*EVERY, *MORE), "upsampling": ("unet",), "pooling": ("convnet",),
    "gates": ("lstm",), "messages": ("edges",), "head_norm": ("qwen3", "olmo2"),
    "joined_cut": ("phi3",), "token_types": ("bert",), "latent_eps": ("deepseek",),
    "reentrant": TEXTS, "strided_input": (*CAUSAL, "bert"), "inner_wrapped": (*GATED, "phi3"),
    "conv_for_linear": ROTARY, "residual_order": PLAIN, "gelu_at_once": ("gpt2",),
    "index_select": (*TEXTS, "lstm"), "added_mask": (*TEXTS, "olmo2"), "packed": ("lstm",),
    "unfolded": PICTURES, "softmax_in_parts": ROTARY,
    "parametrised": (*PLAIN, "vit", "lstm", "edges", "convnet"),
}  # fmt: skip
