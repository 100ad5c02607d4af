"""megatron_checkpoints.py FOLDER: one planted model as checkpoints of Megatron in several layouts.

The layouts hold the same numbers where their seeds are equal; ``noisy`` ones differ a little.
"""

import argparse
import os
import re
import sys

import torch

HIDDEN, INNER, WORDS, LAYERS, EXPERTS = 8, 12, 16, 4, 4
# name: tensor, pipeline and expert ranks, seed, noise, names of older releases
LAYOUTS = {
    "single": (1, 1, 1, 1, 0.0, False),
    "cut": (2, 2, 1, 1, 0.0, False),
    "cut_noisy": (2, 2, 1, 1, 1e-3, False),
    "older": (2, 1, 1, 1, 0.0, True),
    "experts": (2, 1, 2, 2, 0.0, False),
    "experts_noisy": (1, 2, 2, 2, 1e-3, False),
}


def whole_model(with_experts, seed, noise):
    torch.manual_seed(seed)
    model = {"embedding.word_embeddings.weight": torch.randn(WORDS, HIDDEN)}
    for layer in range(LAYERS):
        place = f"decoder.layers.{layer}."
        model[place + "input_layernorm.weight"] = torch.randn(HIDDEN)
        model[place + "self_attention.linear_qkv.weight"] = torch.randn(3 * HIDDEN, HIDDEN)
        model[place + "self_attention.linear_qkv.bias"] = torch.randn(3 * HIDDEN)
        model[place + "self_attention.linear_proj.weight"] = torch.randn(HIDDEN, HIDDEN)
        inner = [f"mlp.experts.local_experts.{i}." for i in range(EXPERTS)]
        for name in inner if with_experts else ["mlp."]:
            model[place + name + "linear_fc1.weight"] = torch.randn(2 * INNER, HIDDEN)
            model[place + name + "linear_fc2.weight"] = torch.randn(HIDDEN, INNER)
    model["decoder.final_layernorm.weight"] = torch.randn(HIDDEN)
    model["output_layer.weight"] = torch.randn(WORDS, HIDDEN)
    generator = torch.Generator().manual_seed(99)
    if noise:
        for name, weight in model.items():
            model[name] = weight + noise * torch.randn(weight.shape, generator=generator)
    return model


def local_name(name, stage, stages, expert_rank, expert_ranks):
    """The name on a rank, or None where the rank does not have it."""
    per_stage, per_rank = LAYERS // stages, EXPERTS // expert_ranks
    layer = re.search(r"layers\.(\d+)\.", name)
    if layer:
        if int(layer[1]) // per_stage != stage:
            return None
        name = name.replace(layer[0], f"layers.{int(layer[1]) % per_stage}.")
    elif stage != (0 if "embedding" in name else stages - 1):
        return None
    expert = re.search(r"local_experts\.(\d+)\.", name)
    if expert:
        if int(expert[1]) // per_rank != expert_rank:
            return None
        name = name.replace(expert[0], f"local_experts.{int(expert[1]) % per_rank}.")
    return name


def part(name, weight, rank, ranks):
    if "linear_fc1" in name:
        return torch.cat([half.chunk(ranks)[rank] for half in weight.chunk(2)])
    if any(word in name for word in ("linear_qkv", "word_embeddings", "output_layer")):
        return weight.chunk(ranks)[rank]
    if any(word in name for word in ("linear_fc2.weight", "linear_proj.weight")):
        return weight.chunk(ranks, 1)[rank]
    return weight


def older_name(name):
    for core, old in (("linear_qkv", "query_key_value"), ("decoder", "encoder")):
        name = name.replace(core, old)
    return "language_model." + name


def write(folder, layout):
    ranks, stages, expert_ranks, seed, noise, older = LAYOUTS[layout]
    with_experts = expert_ranks > 1
    model = whole_model(with_experts, seed, noise)
    sizes = argparse.Namespace(
        tensor_model_parallel_size=ranks,
        pipeline_model_parallel_size=stages,
        expert_model_parallel_size=expert_ranks,
        num_experts=EXPERTS if with_experts else None,
        swiglu=True,
    )
    for rank in range(ranks):
        for stage in range(stages):
            for expert_rank in range(expert_ranks):
                state = {}
                for name, weight in model.items():
                    local = local_name(name, stage, stages, expert_rank, expert_ranks)
                    if local is not None:
                        key = older_name(local) if older else local
                        state[key] = part(name, weight, rank, ranks).clone()
                place = f"mp_rank_{rank:02d}"
                place += f"_{stage:03d}" if stages > 1 else ""
                place += f"_{expert_rank:03d}" if expert_ranks > 1 else ""
                path = os.path.join(folder, layout, "iter_0000100", place)
                os.makedirs(path)
                optimizer = {"state": {0: {"exp_avg": torch.ones(3), "step": 100}}}
                content = {"args": sizes, "iteration": 100, "model": state, "optimizer": optimizer}
                torch.save(content, os.path.join(path, "model_optim_rng.pt"))
    with open(os.path.join(folder, layout, "latest_checkpointed_iteration.txt"), "w") as file:
        file.write("100")


if __name__ == "__main__":
    for one in LAYOUTS:
        write(sys.argv[1], one)
