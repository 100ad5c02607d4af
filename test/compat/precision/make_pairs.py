"""Pairs of dumps made at random, compared by the reference: run by a Python that has it and torch.

    make_pairs.py FOLDER SEED...      # FOLDER/<seed>/{target,golden,csv,graph,build}

A seed decides the kind of dump (statistics, checksums, tensors, structure) and all that is in it:
calls of every sort, values that are no numbers, dtypes and shapes that differ, calls that only one
side has. What the reference itself cannot compare leaves a file `failed` in place of a result.
"""

import argparse
import contextlib
import copy
import json
import math
import os
import random
import signal
import sys
import traceback
from pathlib import Path

import torch

KINDS = ("statistics", "tensor", "md5", "statistics", "structure")
FLOATS = ("torch.float32", "torch.bfloat16", "torch.float16", "torch.float64")
WHOLE = ("torch.int64", "torch.int32", "torch.uint8")
APIS = (
    *("Torch.add", "Torch.matmul", "Functional.linear", "Functional.softmax", "Tensor.view"),
    *("Tensor.__add__", "Torch.empty", "Tensor.to", "Tensor.__setitem__", "Torch.empty_like"),
    *("NPU.npu_rms_norm", "Aten.mul", "VF.lstm", "Distributed.all_reduce", "Torch.new_empty"),
    *("Distributed._all_gather_base", "Tensor.masked_fill_", "Torch.empty_strided"),
)


class Maker:
    """One dump; `draw` decides everything."""

    def __init__(self, draw, kind):
        self.draw = draw
        self.kind = kind

    def number(self):
        roll = self.draw.random()
        if roll < 0.03:
            return self.draw.choice((float("nan"), float("inf"), float("-inf")))
        if roll < 0.13:
            return self.draw.choice((0.0, -0.0, 1.0, 1e-30, 1e20, 3.0, 1e-5, 123456789.0))
        value = self.draw.gauss(0, 1) * 10 ** self.draw.randint(-6, 6)
        return float(torch.tensor(value, dtype=torch.float32)) if roll < 0.8 else value

    def shape(self):
        return [self.draw.choice((0, 1, 2, 3, 5, 8)) for _ in range(self.draw.randint(0, 3))]

    def dtype_for(self, shape):
        # The reference lets the difference of two single bytes wrap around.
        single = all(length == 1 for length in shape)
        whole = WHOLE[:2] if single else WHOLE
        return self.draw.choice((*FLOATS, *FLOATS, *whole, "torch.bool"))

    def statistics(self, dtype, shape):
        if dtype == "torch.bool":
            return {"Max": True, "Min": self.draw.random() < 0.5, "Mean": None, "Norm": None}
        if 0 in shape:
            return dict.fromkeys(("Max", "Min", "Mean", "Norm"))
        if dtype in WHOLE:
            low, high = sorted(self.draw.randint(-50, 50) for _ in range(2))
            return {
                **{"Max": high, "Min": low},
                **{"Mean": (low + high) / 2, "Norm": abs(self.number())},
            }
        return {
            "Max": self.number(),
            "Min": self.number(),
            "Mean": self.number(),
            "Norm": abs(self.number()),
        }

    def tensor(self):
        shape = self.shape()
        dtype = self.dtype_for(shape)
        record = {"type": "torch.Tensor", "dtype": dtype, "shape": shape}
        if self.kind == "structure":
            return record
        record.update(self.statistics(dtype, shape))
        record["requires_grad"] = self.draw.random() < 0.3
        if self.kind == "md5":
            record["md5"] = f"{self.draw.getrandbits(32):08x}"
        return record

    def finite(self):
        """Dicts of tensors hide what is not finite from the reference's overflow check."""
        record = self.tensor()
        for key in ("Max", "Min", "Mean"):
            if isinstance(record.get(key), float) and not math.isfinite(record[key]):
                record[key] = 1.5
        return record

    def leaf(self):
        draw = self.draw
        roll = draw.random()
        if roll < 0.65:
            return self.tensor()
        if self.kind == "structure" and roll < 0.9:
            return self.tensor()
        return draw.choice(
            (
                None,
                {"type": "int", "value": draw.randint(-4, 4)},
                {"type": "float", "value": draw.choice((0.5, 1e-12, 1e-05, float("inf"), 3.0))},
                {"type": "bool", "value": draw.random() < 0.5},
                {
                    "type": "str",
                    "value": draw.choice(("sum", "none", "it's", "cuda:0", "1.23456789")),
                },
                {"type": "torch.Size", "value": [2, 3]},
                {"type": "slice", "value": [0, None, 2]},
                {"type": "ellipsis", "value": "..."},
                {"type": "torch.dtype", "value": "torch.float32"},
                {"type": "torch.device", "value": "cpu"},
                [self.tensor(), {"type": "int", "value": 2}],
                {"first": self.finite(), "second": [self.finite()]},
                [],
                {},
            )
        )

    def leaves(self, least, most):
        return [self.leaf() for _ in range(self.draw.randint(least, most))]

    def call(self, name):
        record = {"input_args": self.leaves(0, 3), "input_kwargs": {}, "output": self.leaves(1, 2)}
        if self.draw.random() < 0.3:
            record["input_kwargs"] = {"dim": {"type": "int", "value": 1}, "other": self.leaf()}
        if name.startswith("Distributed"):
            group = {"type": "torch.ProcessGroup", "group_ranks": [0, 1], "group_id": "g0"}
            record["input_kwargs"]["group"] = group
            record["input_kwargs"]["src"] = {"type": "int", "value": self.draw.randint(0, 3)}
        return record

    def dump(self):
        """(data, construct, stack) of a model of a few layers, forward and backward."""
        draw, counts = self.draw, {}
        data, tree, stack = {}, {}, {}

        def calls(parent, direction):
            for _ in range(draw.randint(0, 3)):
                api = draw.choice(APIS)
                number = counts.setdefault((api, direction), 0)
                counts[api, direction] += 1
                name = f"{api}.{number}.{direction}"
                tree[name] = parent
                data[name] = self.call(name)
                if direction == "backward":
                    data[name] = {"input": self.leaves(1, 2), "output": self.leaves(1, 2)}

        root = "Module.model.Model.forward.0"
        calls(None, "forward")
        for layer in range(draw.randint(1, 4)):
            module = f"Module.model.layers.{layer}.Layer.forward.0"
            calls(module, "forward")
            data[module] = {**self.call(module), "parameters": {"weight": self.tensor()}}
            tree[module] = root
        data[root] = self.call(root)
        tree[root] = None
        calls(None, "forward")
        backward = "Module.model.Model.backward.0"
        for layer in reversed(range(4)):
            forward = f"Module.model.layers.{layer}.Layer.forward.0"
            if forward not in tree:
                continue
            module = forward.replace("forward", "backward")
            calls(module, "backward")
            data[module] = {"input": self.leaves(1, 2), "output": self.leaves(0, 2)}
            data[forward.replace("forward", "parameters_grad")] = {"weight": [self.tensor()]}
            tree[module] = backward
        data[backward] = {"input": self.leaves(1, 2), "output": self.leaves(1, 1)}
        tree[backward] = None
        forwards = [name for name in tree if "forward" in name]
        for i, name in enumerate(forwards):
            frames = [f"File /m.py, line {i % 3}, in forward, \n y = f(x)"]
            stack.setdefault(str(i % 3), [[], frames])[0].append(name)
        return data, tree, stack


class Changer:
    """What another run of the same program has otherwise."""

    def __init__(self, draw, maker):
        self.draw = draw
        self.maker = maker

    def record(self, record, inside_dict):
        draw = self.draw
        if record.get("type") != "torch.Tensor":
            if "value" in record and draw.random() < 0.1:
                record["value"] = draw.choice((7, "x", 0.25, False))
            return
        if draw.random() < 0.08:
            record["dtype"] = self.maker.dtype_for(record["shape"])
        if draw.random() < 0.06 and record["dtype"] != "torch.uint8":
            record["shape"] = self.maker.shape()
        if "requires_grad" in record and draw.random() < 0.06:
            record["requires_grad"] = not record["requires_grad"]
        if "md5" in record and draw.random() < 0.3:
            record["md5"] = f"{draw.getrandbits(32):08x}"
        for key in ("Max", "Min", "Mean", "Norm"):
            value = record.get(key)
            roll = draw.uniform(0.05, 1) if inside_dict else draw.random()
            if value is None or isinstance(value, bool) or roll > 0.6:
                continue
            if roll < 0.05:
                record[key] = self.maker.number()
            elif isinstance(value, int):
                record[key] = value + draw.randint(-1, 1)
            else:
                record[key] = value * (1 + draw.gauss(0, 1) * 10 ** draw.randint(-6, 1))

    def tree(self, value, inside_dict=False):
        if isinstance(value, list):
            for item in value:
                self.tree(item, inside_dict)
        elif isinstance(value, dict) and isinstance(value.get("type"), str):
            self.record(value, inside_dict)
        elif isinstance(value, dict):
            for item in value.values():
                self.tree(item, True)

    def dump(self, data, construct):
        data, construct = copy.deepcopy(data), copy.deepcopy(construct)
        for name in list(data):
            roll = self.draw.random()
            if roll < 0.06 and not name.startswith("Module"):
                del data[name]
                construct.pop(name, None)
                continue
            for section in data[name].values():
                self.tree(list(section.values()) if isinstance(section, dict) else section)
            for section in ("input_args", "output", "input"):
                if self.draw.random() < 0.04 and data[name].get(section):
                    data[name][section].pop()
        return data, construct


def values_of(record, draw):
    """A tensor that fits the record."""
    dtype = getattr(torch, record["dtype"].removeprefix("torch."))
    generator = torch.Generator().manual_seed(draw.getrandbits(31))
    values = torch.randn(record["shape"], generator=generator, dtype=torch.float64) * 3
    if draw.random() < 0.1 and values.numel() > 1 and dtype.is_floating_point:
        values.view(-1)[draw.randrange(values.numel())] = draw.choice(
            (float("nan"), float("inf"), float("-inf"), 0.0)
        )
    if draw.random() < 0.1:
        values = values * 0
    return values.abs().to(dtype) if dtype == torch.uint8 else values.to(dtype)


def save_tensors(sides, draw, folders):
    """Tensor files of both sides; those of one name differ a little, now and then not at all."""
    known = {}

    def save(record, name, side):
        base = known.get(name)
        if base is None or list(base.shape) != record["shape"]:
            values = values_of(record, draw)
            known[name] = values
        else:
            dtype = getattr(torch, record["dtype"].removeprefix("torch."))
            values = base.to(torch.float64)
            if draw.random() < 0.7:
                noise = torch.randn(values.shape, dtype=torch.float64)
                values = values * (1 + noise * 10 ** draw.randint(-6, 0))
            values = values.abs().to(dtype) if dtype == torch.uint8 else values.to(dtype)
        record["data_name"] = f"{name}.pt"
        if draw.random() < 0.97:
            torch.save(values, folders[side] / f"{name}.pt")

    def walk(value, name, side):
        if isinstance(value, list):
            for i, item in enumerate(value):
                walk(item, f"{name}.{i}", side)
        elif isinstance(value, dict) and isinstance(value.get("type"), str):
            if value["type"] == "torch.Tensor":
                save(value, name, side)
        elif isinstance(value, dict):
            for key, item in value.items():
                walk(item, f"{name}.{key}", side)

    parts = {"input_args": ".input", "input_kwargs": ".input", "input": ".input"}
    for side, data in enumerate(sides):
        for name, call in data.items():
            if "parameters_grad" in name:
                for key, grads in call.items():
                    walk(grads[0], f"{name}.{key}", side)
                continue
            for section, value in call.items():
                walk(value, name + parts.get(section, f".{section}"), side)


def write_pair(folder, seed):
    draw = random.Random(seed)
    kind = KINDS[seed % len(KINDS)]
    maker = Maker(draw, kind)
    data, tree, stack = maker.dump()
    golden, golden_tree = Changer(draw, maker).dump(data, tree)
    folders = []
    for side in ("target", "golden"):
        folders.append(folder / side / "dump_tensor_data")
        folders[-1].mkdir(parents=True)
    if kind == "tensor":
        torch.manual_seed(seed)
        save_tensors((data, golden), draw, folders)
    header = {
        "task": "statistics" if kind == "md5" else kind,
        "level": "mix",
        "framework": "pytorch",
    }
    for path, side, construct in ((folders[0], data, tree), (folders[1], golden, golden_tree)):
        header["dump_data_dir"] = str(path) if kind == "tensor" else None
        place = path.parent
        (place / "dump.json").write_text(json.dumps({**header, "data": side}))
        (place / "construct.json").write_text(json.dumps(construct))
        own = {
            key: [[name for name in names if name in construct], frames]
            for key, (names, frames) in stack.items()
        }
        (place / "stack.json").write_text(json.dumps(own))
        for name in ("dump", "construct", "stack"):
            (place / f"{name}.json").chmod(0o640)


def reference_compare(target, golden, out):
    from msprobe.pytorch.compare.pt_compare import pt_compare

    paths = {"npu_path": str(target / "dump.json"), "bench_path": str(golden / "dump.json")}
    pt_compare({**paths, "is_print_compare_log": False}, str(out))


def reference_graph(target, golden, out):
    from msprobe.visualization.graph_service import _graph_service_command, _graph_service_parser

    parser = argparse.ArgumentParser()
    _graph_service_parser(parser)
    words = ["-tp", str(target), "-o", str(out), "-oc"]
    _graph_service_command(parser.parse_args([*words, "-gp", str(golden)] if golden else words))


def apart(work, out):
    """Runs work() in a process of its own: the reference keeps its state in globals."""
    out.mkdir()
    child = os.fork()
    if child == 0:
        os.setsid()
        with open(out / "log.txt", "wb") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            try:
                work()
            except BaseException:  # also its own exits
                traceback.print_exc()
                (out / "failed").touch()
                sys.stderr.flush()
                os._exit(0)
        os._exit(0)
    os.waitpid(child, 0)
    # Its helper processes would outlive it.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


def main():
    root, seeds = Path(sys.argv[1]), [int(word) for word in sys.argv[2:]]
    # Once, before all the forks.
    import msprobe.pytorch.compare.pt_compare
    import msprobe.visualization.graph_service  # noqa: F401

    for seed in seeds:
        folder = root / str(seed)
        folder.mkdir(parents=True)
        write_pair(folder, seed)
        target, golden = folder / "target", folder / "golden"
        if KINDS[seed % len(KINDS)] != "structure":
            apart(
                lambda t=target, g=golden, o=folder / "csv": reference_compare(t, g, o),
                folder / "csv",
            )
        apart(
            lambda t=target, g=golden, o=folder / "graph": reference_graph(t, g, o),
            folder / "graph",
        )
        apart(lambda t=target, o=folder / "build": reference_graph(t, None, o), folder / "build")


if __name__ == "__main__":
    main()
