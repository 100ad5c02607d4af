"""Dumps of Megatron-like models that are spread over ranks."""

import json
import random

# (tp, pp, vpp, dp) of the target and of the golden run.
CASES = {
    "tp2": ((2, 1, 1, 1), (1, 1, 1, 1)),
    "pp2": ((1, 2, 1, 1), (1, 1, 1, 1)),
    "tp2pp2": ((2, 2, 1, 1), (1, 2, 1, 1)),
    "tp2dp2": ((2, 1, 1, 2), (1, 1, 1, 2)),
    "tp2pp2dp2": ((2, 2, 1, 2), (2, 1, 1, 2)),
    "vpp2": ((1, 2, 2, 1), (1, 2, 1, 1)),
    "none": ((1, 1, 1, 1), (1, 1, 1, 1)),
}
LAYERS = 4


def number(*words):
    """A number that is the same wherever the words are."""
    return random.Random("/".join(map(str, words))).uniform(-3, 3)


def tensor(*words):
    value = number(*words)
    record = {"type": "torch.Tensor", "dtype": "torch.bfloat16", "shape": [4, 8]}
    record.update(Max=abs(value) + 1.0, Min=-abs(value), Mean=value / 7, Norm=abs(value) * 5)
    return {**record, "requires_grad": False}


class Rank:
    """The dump of one rank."""

    def __init__(self, layout, rank):
        self.tp_size, self.pp_size, self.vpp_size, self.dp_size = layout
        self.tp = rank % self.tp_size
        self.pp = rank // (self.tp_size * self.dp_size)
        self.rank = rank
        self.counts, self.data, self.tree = {}, {}, {}

    def group(self):
        first = self.rank - self.tp
        ranks = list(range(first, first + self.tp_size))
        return {"type": "torch.ProcessGroup", "group_ranks": ranks, "group_id": f"g{first}"}

    def call(self, api, parent, inputs, outputs, direction="forward", **kwargs):
        count = self.counts.get((api, direction), 0)
        self.counts[api, direction] = count + 1
        name = f"{api}.{count}.{direction}"
        self.tree[name] = parent
        record = {"input_args": inputs, "input_kwargs": kwargs, "output": outputs}
        if direction == "backward":
            record = {"input": inputs, "output": outputs}
        self.data[name] = record
        return name

    def module(self, name, parent, inputs, outputs, **parameters):
        record = {"input_args": inputs, "input_kwargs": {}, "output": outputs}
        if ".backward." in name:
            record = {"input": inputs, "output": outputs}
        elif parameters:
            record["parameters"] = parameters
        self.data[name], self.tree[name] = record, parent
        return name

    def layer(self, prefix, block, depth, direction):
        """One transformer layer: attention-less, two parallel linears."""
        back = direction == "backward"
        layer = f"{prefix}.TransformerLayer.{direction}.0"
        base = prefix
        column = f"{base}.mlp.linear_fc1.ColumnParallelLinear.{direction}.0"
        row = f"{base}.mlp.linear_fc2.RowParallelLinear.{direction}.0"
        hidden, out = tensor("hidden", depth, direction), tensor("hidden", depth + 1, direction)
        if back:
            hidden, out = out, hidden
        part = tensor("part", depth, direction, self.tp if self.tp_size > 1 else "all")
        partial = tensor("partial", depth, direction, self.tp)
        group = self.group()
        first, second = (row, column) if back else (column, row)
        # Calls come before the modules they run in.
        self.call("Torch.matmul", first, [hidden, tensor("w1", depth, self.tp)], [part], direction)
        self.module(first, layer, [hidden], [part], weight=tensor("w1", depth, self.tp))
        self.call("Functional.gelu", layer, [part], [part], direction)
        self.call(
            "Torch.matmul", second, [part, tensor("w2", depth, self.tp)], [partial], direction
        )
        if self.tp_size > 1:
            self.call("Distributed.all_reduce", second, [partial], [out], "forward", group=group)
        self.module(
            second,
            layer,
            [part],
            [out],
            weight=tensor("w2", depth, self.tp),
            bias=tensor("b", depth),
        )
        self.module(layer, block, [hidden], [out])

    def chunk(self, chunk, direction):
        """The layers of one virtual stage, and what wraps them."""
        back = direction == "backward"
        per_chunk = LAYERS // (self.pp_size * self.vpp_size)
        middle = f"Module.{chunk}" if self.vpp_size > 1 else "Module.module"
        top = f"{middle}.Float16Module.{direction}.0"
        model = f"{middle}.module.GPTModel.{direction}.0"
        block = f"{middle}.module.decoder.TransformerBlock.{direction}.0"
        begin = (chunk * self.pp_size + self.pp) * per_chunk
        order = range(per_chunk)
        if self.pp == 0 and chunk == 0 and not back:
            name = f"{middle}.module.embedding.Embedding.{direction}.0"
            self.module(name, model, [tensor("ids")], [tensor("hidden", 0, direction)])
        for i in reversed(order) if back else order:
            self.layer(f"{middle}.module.decoder.layers.{i}", block, begin + i, direction)
        last = begin + per_chunk
        ins, outs = tensor("hidden", begin, direction), tensor("hidden", last, direction)
        if back:
            ins, outs = outs, ins
        self.module(block, model, [ins], [outs])
        head = self.pp == self.pp_size - 1 and chunk == self.vpp_size - 1
        if head:
            name = f"{middle}.module.output_layer.Linear.{direction}.0"
            self.module(
                name,
                model,
                [tensor("hidden", LAYERS, direction)],
                [tensor("logits", direction)],
            )
        # The wrappers see the same arguments on every stage.
        result = tensor("logits", direction) if head else outs
        same = tensor("ids")
        ends = ([ins], [same]) if back else ([same], [result])
        self.module(model, top, *ends)
        self.module(top, None, *ends)

    def run(self):
        chunk_count = self.vpp_size
        for direction in ("forward", "backward"):
            back = direction == "backward"
            self.call(
                "Tensor.float",
                None,
                [tensor("loose", self.rank)],
                [tensor("loose", self.rank)],
                direction,
            )
            self.call(
                "Torch.add", None, [tensor("loose", self.rank, 1)], [tensor("loose", 2)], direction
            )
            if not back and self.pp + 1 < self.pp_size:
                target = self.rank + self.tp_size * self.dp_size
                dst = {"type": "int", "value": target}
                self.call("Distributed.isend", None, [tensor("send", self.rank)], [], dst=dst)
            for chunk in reversed(range(chunk_count)) if back else range(chunk_count):
                self.chunk(chunk, direction)
            self.call("Torch.sum", None, [tensor("end", self.rank)], [tensor("end", 1)], direction)
            self.call("Tensor.mul", None, [tensor("end", 2)], [tensor("end", 3)], direction)
        return self.data, self.tree


def write_side(folder, layout):
    ranks = layout[0] * layout[1] * layout[3]
    for rank in range(ranks):
        data, tree = Rank(layout, rank).run()
        place = folder / "step0" / f"rank{rank}"
        place.mkdir(parents=True)
        header = {"task": "statistics", "level": "mix", "framework": "pytorch"}
        stack = {
            "0": [[name for name in tree if "forward" in name], ["File /m.py, line 1, in f, \n x"]]
        }
        texts = {
            "dump": {**header, "dump_data_dir": None, "data": data},
            "construct": tree,
            "stack": stack,
        }
        for name, text in texts.items():
            path = place / f"{name}.json"
            path.write_text(json.dumps(text))
            path.chmod(0o640)


def layout_words(*layouts):
    """The options that both tools take."""
    words = ["--rank_size", *(tp * pp * dp for tp, pp, vpp, dp in layouts)]
    words += [
        "--tp",
        *(layout[0] for layout in layouts),
        "--pp",
        *(layout[1] for layout in layouts),
    ]
    if any(layout[2] > 1 for layout in layouts):
        words += ["--vpp", *(layout[2] for layout in layouts)]
    return [str(word) for word in words]
