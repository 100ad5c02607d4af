"""Families of real models in tiny configurations, each with what it is fed.

A model has ``prepare(step)``, which gives what a step is fed with, and gives its loss when called.
Those of transformers need that package.
"""

import torch
import torch.nn.functional as functional
from torch import nn

WORDS = 96


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def ids(step, shape=(2, 12)):
    return torch.randint(3, WORDS, shape, generator=seeded(100 + step))


def numbers(step, *shape):
    return torch.randn(*shape, generator=seeded(200 + step))


class Text(nn.Module):
    """A causal language model with its inputs; ``change`` may replace them."""

    def __init__(self, model, options=None):
        super().__init__()
        self.model = model
        self.change = {}
        self.options = {"use_cache": False} if options is None else options

    def prepare(self, step):
        """What the step is fed with; made before the recording begins."""
        tokens = self.change.get("ids", lambda x: x)(ids(step))
        mask = torch.ones_like(tokens)
        mask[0, :3] = 0
        mask = self.change.get("mask", lambda x: x)(mask)
        labels = self.change.get("labels", lambda x: x)(tokens.clone())
        return tokens, mask, labels[:, 1:].flatten()

    def forward(self, tokens, mask, labels):
        logits = self.model(input_ids=tokens, attention_mask=mask, **self.options).logits
        flat = logits[:, :-1].float().flatten(0, 1)
        reduction = self.change.get("reduction", "mean")
        return functional.cross_entropy(flat, labels, reduction=reduction)


class Pictures(nn.Module):
    def __init__(self, model, of=lambda out: out, size=16):
        super().__init__()
        self.model, self.of, self.size = model, of, size
        self.change = {}

    def prepare(self, step):
        x = self.change.get("ids", lambda x: x)(numbers(step, 4, 3, self.size, self.size))
        return x.to(next(self.model.parameters()).dtype), torch.arange(4) % 3

    def forward(self, x, labels):
        reduction = self.change.get("reduction", "mean")
        logits = self.of(self.model(x)).float()
        return functional.cross_entropy(logits, labels, reduction=reduction)


class Block(nn.Module):
    def __init__(self, width_in, width):
        super().__init__()
        self.conv1 = nn.Conv2d(width_in, width, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(width)
        self.act = nn.ReLU()
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(width)

    def forward(self, x):
        y = self.act(self.norm1(self.conv1(x)))
        return self.act(self.norm2(self.conv2(y)) + y)


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Block(3, 8), Block(8, 16), Block(16, 16)])
        self.pool, self.head = nn.AdaptiveAvgPool2d(1), nn.Linear(16, 10)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(self.pool(x).flatten(1))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Block(3, 8), Block(8, 16), Block(24, 8)])
        self.down = nn.MaxPool2d(2)
        self.up = nn.Upsample(scale_factor=2)
        self.head = nn.Conv2d(8, 10, 1)

    def forward(self, x):
        first = self.layers[0](x)
        second = self.layers[1](self.down(first))
        out = self.layers[2](torch.cat([self.up(second), first], 1))
        return self.head(out).mean((2, 3))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, 24)
        self.lstm = nn.LSTM(24, 32, num_layers=2, batch_first=True)
        self.layers = nn.ModuleList([nn.Linear(32, 32) for _ in range(3)])
        self.norm = nn.LayerNorm(32)
        self.head = nn.Linear(32, WORDS)

    def forward(self, input_ids, attention_mask, use_cache):
        x, _ = self.lstm(self.embed(input_ids))
        for layer in self.layers:
            x = x + functional.silu(layer(x))
        return type("Out", (), {"logits": self.head(self.norm(x))})


class Edges(nn.Module):
    """A graph network: messages are added up by index_add."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(12, 24)
        self.layers = nn.ModuleList([nn.Linear(24, 24) for _ in range(3)])
        self.norm = nn.LayerNorm(24)
        self.head = nn.Linear(24, 10)

    def forward(self, x):
        nodes = self.embed(x.flatten(1).reshape(-1, 12))
        source = torch.arange(len(nodes)).flip(0)
        target = (torch.arange(len(nodes)) * 7) % len(nodes)
        for layer in self.layers:
            sums = torch.zeros_like(nodes).index_add(0, target, layer(nodes)[source])
            nodes = nodes + functional.gelu(self.norm(sums))
        return self.head(nodes).view(x.shape[0], -1, 10).mean(1)


def of_transformers(name, attention="sdpa"):
    import transformers as hf

    common = {"vocab_size": WORDS, "attn_implementation": attention}
    llama = {**common, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3,
             "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64,
             "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}  # fmt: skip
    if name == "qwen2":
        return Text(hf.Qwen2ForCausalLM(hf.Qwen2Config(**llama)))
    if name == "qwen3":
        return Text(hf.Qwen3ForCausalLM(hf.Qwen3Config(**llama, head_dim=8)))
    if name == "llama":
        return Text(hf.LlamaForCausalLM(hf.LlamaConfig(**llama)))
    if name == "mistral":
        return Text(hf.MistralForCausalLM(hf.MistralConfig(**llama)))
    if name == "gemma":
        return Text(hf.GemmaForCausalLM(hf.GemmaConfig(**llama, head_dim=8)))
    if name == "mixtral":
        config = hf.MixtralConfig(**llama, num_local_experts=4, num_experts_per_tok=2)
        return Text(hf.MixtralForCausalLM(config))
    if name == "gpt2":
        config = hf.GPT2Config(
            **common, n_embd=32, n_layer=3, n_head=4, n_positions=64,
            resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=1, eos_token_id=2,
        )  # fmt: skip
        return Text(hf.GPT2LMHeadModel(config))
    if name == "olmo2":
        return Text(hf.Olmo2ForCausalLM(hf.Olmo2Config(**llama)))
    if name == "phi3":
        return Text(hf.Phi3ForCausalLM(hf.Phi3Config(**llama)))
    if name == "deepseek":
        config = hf.DeepseekV3Config(
            **{**llama, "num_key_value_heads": 4}, moe_intermediate_size=16, n_routed_experts=4,
            num_experts_per_tok=2, n_group=2, topk_group=1, first_k_dense_replace=1,
            q_lora_rank=16, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8,
        )  # fmt: skip
        return Text(hf.DeepseekV3ForCausalLM(config))
    if name == "bert":
        config = hf.BertConfig(
            **common, hidden_size=32, intermediate_size=64, num_hidden_layers=3,
            num_attention_heads=4, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        )  # fmt: skip
        return Text(hf.BertForMaskedLM(config), {})
    assert name == "vit", name
    config = hf.ViTConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=3, num_attention_heads=4,
        image_size=16, patch_size=4, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        attn_implementation=attention, num_labels=10,
    )  # fmt: skip
    return Pictures(hf.ViTForImageClassification(config), lambda out: out.logits)


OWN = {
    "convnet": lambda: Pictures(ConvNet()),
    "unet": lambda: Pictures(UNet()),
    "lstm": lambda: Text(Recurrent()),
    "edges": lambda: Pictures(Edges()),
}
HUGGING_FACE = ("qwen2", "qwen3", "llama", "mistral", "gemma", "mixtral", "gpt2", "vit")


def make(name, attention="sdpa"):
    torch.manual_seed(7)
    model = OWN[name]() if name in OWN else of_transformers(name, attention)
    with torch.no_grad():  # biases and norms that are not all alike
        for number, parameter in enumerate(model.parameters()):
            if parameter.dim() == 1:
                parameter.add_(torch.randn(parameter.shape, generator=seeded(number)) * 0.05)
    return model
