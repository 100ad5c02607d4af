"""Dumps of one decoder by a training engine and by the inference engine it trains for.

The engines divide the same computation otherwise: FSDP has q_proj, k_proj and v_proj where the
inference engine has qkv_proj, Megatron one linear_fc1 where it may have two gate_up_proj.
"""

import json
import random

LAYERS = 2
HEADER = {"level": "L0", "framework": "pytorch", "dump_data_dir": None}


class Writer:
    """One dump; `save(name, shape)` writes a tensor file and returns its name, if given."""

    def __init__(self, seed, save=None):
        self.draw = random.Random(seed)
        self.save = save
        self.data = {}

    def record(self, name, shape):
        values = sorted(self.draw.gauss(0, 1) for _ in range(2))
        record = {
            **{"type": "torch.Tensor", "dtype": "torch.float32", "shape": shape},
            **{"Max": values[1], "Min": values[0], "Mean": sum(values) / 2, "Norm": 1.5},
            "requires_grad": False,
        }
        if self.save is not None:
            record["data_name"] = self.save(name, shape)
        return record

    def module(self, name, width, batch=()):
        """A call of a module with an input, a weight and an output."""
        self.data[name] = {
            "input_args": [self.record(f"{name}.input.0", [*batch, 4, 8])],
            "input_kwargs": {},
            "parameters": {"weight": self.record(f"{name}.parameters.weight", [width, 8])},
            "output": [self.record(f"{name}.output.0", [*batch, 4, width])],
        }

    def write(self, folder, task):
        folder.mkdir(parents=True, exist_ok=True)
        dump = {"task": task, **HEADER, "data": self.data}
        if task == "tensor":
            dump["dump_data_dir"] = str(folder / "dump_tensor_data")
        for name, value in (("dump", dump), ("stack", {}), ("construct", {})):
            path = folder / f"{name}.json"
            path.write_text(json.dumps(value))
            path.chmod(0o640)
        return folder


def fsdp_training(writer):
    root = "Module._fsdp_wrapped_module.model"
    # Left over of the pass before: not compared.
    writer.module(f"{root}.norm.Qwen2RMSNorm.backward.0", 8)
    writer.module(f"{root}.Qwen2Model.backward.0", 8)
    writer.module(f"{root}.lm_head.Linear.forward.0", 8)
    writer.module(f"{root}.embed_tokens.Embedding.forward.1", 8, (1,))
    for i in range(LAYERS):
        layer = f"{root}.layers.{i}._fsdp_wrapped_module"
        writer.module(f"{layer}.input_layernorm.Qwen2RMSNorm.forward.1", 8, (1,))
        for part, width in (("q", 8), ("k", 4), ("v", 4)):
            writer.module(f"{layer}.self_attn.{part}_proj.Linear.forward.1", width, (1,))
        writer.module(f"{layer}.self_attn.o_proj.Linear.forward.1", 8, (1,))
        for part in ("gate", "up"):
            writer.module(f"{layer}.mlp.{part}_proj.Linear.forward.1", 16, (1,))
        writer.module(f"{layer}.mlp.act_fn.SiLU.forward.1", 16, (1,))
    writer.module(f"{root}.Qwen2Model.backward.1", 8)
    writer.module(f"{root}.layers.0.mlp.MLP.backward.1", 8)


def fsdp_inference(writer):
    root = "Module.model"
    writer.module(f"{root}.embed_tokens.VocabParallelEmbedding.forward.0", 8)
    for i in range(LAYERS):
        layer = f"{root}.layers.{i}"
        writer.module(f"{layer}.input_layernorm.RMSNorm.forward.0", 8)
        writer.module(f"{layer}.self_attn.qkv_proj.QKVParallelLinear.forward.0", 16)
        writer.module(f"{layer}.self_attn.rotary_emb.RotaryEmbedding.forward.0", 8)
        writer.module(f"{layer}.self_attn.o_proj.RowParallelLinear.forward.0", 8)
        writer.module(f"{layer}.mlp.gate_up_proj.MergedColumnParallelLinear.forward.0", 32)


def megatron_training(writer):
    root = "Module.0.module.module"
    writer.module(f"{root}.GPTModel.backward.0", 8)
    writer.module(f"{root}.output_layer.ColumnParallelLinear.forward.0", 8)
    writer.module(f"{root}.embedding.word_embeddings.VocabParallelEmbedding.forward.3", 8, (1,))
    for i in range(LAYERS):
        layer = f"{root}.decoder.layers.{i}"
        writer.module(f"{layer}.self_attention.linear_qkv.ColumnParallelLinear.forward.3", 16, (1,))
        writer.module(f"{layer}.self_attention.linear_proj.RowParallelLinear.forward.3", 8, (1,))
        writer.module(f"{layer}.mlp.linear_fc1.ColumnParallelLinear.forward.3", 32, (1,))
        writer.module(f"{layer}.mlp.linear_fc2.RowParallelLinear.forward.3", 8, (1,))
    writer.module(f"{root}.GPTModel.backward.3", 8)


def megatron_inference(writer):
    root = "Module.model"
    writer.module(f"{root}.embed_tokens.VocabParallelEmbedding.forward.0", 8)
    for i in range(LAYERS):
        layer = f"{root}.layers.{i}"
        writer.module(f"{layer}.self_attn.qkv_proj.QKVParallelLinear.forward.0", 16)
        writer.module(f"{layer}.self_attn.o_proj.RowParallelLinear.forward.0", 8)
        writer.module(f"{layer}.mlp.gate_up_proj.ColumnParallelLinear.forward.0", 16)
        writer.module(f"{layer}.shared.gate_up_proj.ColumnParallelLinear.forward.0", 16)
        writer.module(f"{layer}.mlp.down_proj.RowParallelLinear.forward.0", 8)


BACKENDS = {
    "fsdp": (fsdp_training, fsdp_inference),
    "megatron": (megatron_training, megatron_inference),
}


def write_engines(folder, backend, task="statistics", save=None):
    """(training, inference) folders; `save(folder, name, shape)` writes tensors."""
    folders = []
    for seed, (side, make) in enumerate(zip(("training", "inference"), BACKENDS[backend])):
        place = folder / side
        keep = None
        if save is not None:
            (place / "dump_tensor_data").mkdir(parents=True)

            def keep(name, shape, place=place):
                return save(place / "dump_tensor_data", name, shape)

        writer = Writer(seed, keep)
        make(writer)
        folders.append(writer.write(place, task))
    return folders
