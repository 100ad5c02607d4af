"""Pairs of dumps of MindSpore and of older releases, compared by the reference.

    make_frameworks.py FOLDER SEED...    # FOLDER/<case>_<seed>/{target,golden,arguments.json,csv}

The dumps are those of make_pairs.py under the names, dtypes and fields of the other writers. The
reference compares MindSpore's without MindSpore: its package only wants to find one.
"""

import importlib.machinery
import json
import random
import sys
import types
from pathlib import Path

import numpy as np
import torch
from make_modes import reference
from make_pairs import KINDS, Changer, Maker, save_tensors

# Cases, and the seeds (modulo KINDS) of the kinds that each has.
STATISTICS, TENSOR, MD5 = 0, 1, 2
CASES = {
    "mindspore": (STATISTICS, TENSOR, MD5),
    "cell_names": (STATISTICS, TENSOR, MD5),
    "cell_map": (STATISTICS,),
    "api": (STATISTICS,),
    "layers": (STATISTICS,),
    "data": (STATISTICS,),
    "older": (STATISTICS, TENSOR, MD5),
}
# Cases whose graphs are compared too.
GRAPHS = ("mindspore", "layers", "older")
DTYPES = {
    "float32": "Float32",
    "float16": "Float16",
    "bfloat16": "BFloat16",
    "float64": "Float64",
    "int64": "Int64",
    "int32": "Int32",
    "uint8": "UInt8",
    "bool": "Bool",
}
PREFIXES = {"Module.": "Cell.", "Torch.": "Mint.", "Functional.": "MintFunctional."}


def without_mindspore():
    """Lets the reference's package of MindSpore be imported where there is none."""
    import msprobe

    place = Path(msprobe.__file__).parent / "mindspore"
    package = types.ModuleType("msprobe.mindspore")
    package.__path__ = [str(place)]
    sys.modules["msprobe.mindspore"] = package
    absent = types.ModuleType("mindspore")
    absent.__spec__ = importlib.machinery.ModuleSpec("mindspore", None)
    sys.modules["mindspore"] = absent


def renamed(name):
    for old, new in PREFIXES.items():
        if name.startswith(old):
            return new + name[len(old) :]
    return name


def mindspore_value(value):
    if isinstance(value, list):
        return [mindspore_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") == "torch.Tensor":
        record = {**value, "type": "mindspore.Tensor"}
        record.pop("requires_grad", None)
        record["dtype"] = DTYPES[value["dtype"].removeprefix("torch.")]
        if "data_name" in record:
            record["data_name"] = renamed(record["data_name"]).replace(".pt", ".npy")
        return record
    return {key: mindspore_value(item) for key, item in value.items()}


def mindspore_dump(data):
    return {renamed(name): mindspore_value(call) for name, call in data.items()}


def names_of(tree):
    return {renamed(name): parent and renamed(parent) for name, parent in tree.items()}


def older_dump(data):
    """Numbers of whole tensors are floats, forward calls record whether they are recomputed."""

    def value_of(value):
        if isinstance(value, list):
            return [value_of(item) for item in value]
        if not isinstance(value, dict):
            return value
        if value.get("type") != "torch.Tensor":
            return {key: value_of(item) for key, item in value.items()}
        numbers = {
            key: float(value[key])
            for key in ("Max", "Min", "Mean", "Norm")
            if isinstance(value.get(key), int) and not isinstance(value[key], bool)
        }
        return {**value, **numbers}

    result = {}
    for name, call in data.items():
        result[name] = value_of(call)
        if name.endswith(".forward") or ".forward." in name:
            result[name]["is_recompute"] = False
    return result


def older_stack(stack):
    return {name: frames for names, frames in stack.values() for name in names}


def to_npy(folder):
    for file in sorted(folder.glob("*.pt")):
        values = torch.load(file)
        # As MindSpore writes it: floats of half the width that numpy lacks go as wide ones.
        values = values.float() if values.dtype == torch.bfloat16 else values
        np.save(folder / (renamed(file.stem) + ".npy"), values.numpy())
        file.unlink()


def moved(stack, rename):
    return {key: [list(map(rename, names)), lines] for key, (names, lines) in stack.items()}


def blocks(name):
    return name.replace("model.layers.", "model.blocks.") if name else name


class Pair:
    """Both sides of one case: data, tree and stack each, and the framework of each."""

    def __init__(self, seed, case, draw):
        self.case = case
        self.maker = Maker(draw, KINDS[seed % len(KINDS)])
        data, tree, stack = self.maker.dump()
        golden, golden_tree = Changer(draw, self.maker).dump(data, tree)
        if case not in ("mindspore", "older"):
            # Of backward calls the reference renumbers one side only: none may be missing.
            kept = [name for name in data if name in golden or "backward" in name]
            golden = {name: golden.get(name, data[name]) for name in kept}
        self.sides = [data, golden]
        self.trees = [tree, golden_tree]
        self.stack = stack

    def write(self, folder, draw, seed):
        places = [folder / side for side in ("target", "golden")]
        tensors = [place / "dump_tensor_data" for place in places]
        for place in tensors:
            place.mkdir(parents=True)
        if self.maker.kind == "tensor":
            torch.manual_seed(seed)
            save_tensors(self.sides, draw, tensors)
        for index, place in enumerate(places):
            self.write_side(index, place, tensors[index])

    def write_side(self, index, place, tensors):
        data, tree = self.sides[index], self.trees[index]
        stack = {
            key: [[name for name in names if name in tree], lines]
            for key, (names, lines) in self.stack.items()
        }
        framework = "pytorch"
        if self.case == "older":
            data, stack = older_dump(data), older_stack(stack)
        elif index == 0 or self.case == "mindspore":
            data, tree = mindspore_dump(data), names_of(tree)
            stack = moved(stack, renamed)
            framework = "mindspore"
            to_npy(tensors)
        elif self.case in ("cell_map", "layers"):
            data = {blocks(name): call for name, call in data.items()}
            tree = {blocks(name): blocks(parent) for name, parent in tree.items()}
            stack = moved(stack, blocks)
        task = "tensor" if self.maker.kind == "tensor" else "statistics"
        header = {"task": task, "level": "mix", "framework": framework}
        header["dump_data_dir"] = str(tensors) if task == "tensor" else None
        if self.case == "older":
            del header["framework"]
        self.write_files(
            place, {"dump": {**header, "data": data}, "construct": tree, "stack": stack}
        )

    @staticmethod
    def write_files(place, files):
        for name, content in files.items():
            path = place / f"{name}.json"
            path.write_text(json.dumps(content))
            path.chmod(0o640)


def arguments(case, folder, pair):
    """The words that ask for the case's mapping; its file, where it has one."""
    mapping = folder / "mapping.yaml"
    if case == "cell_names":
        return ["-cm"]
    if case == "cell_map":
        mapping.write_text("model.layers.0.Layer: model.blocks.0.Layer\nlayers: blocks\n")
        return ["-cm", str(mapping)]
    if case == "api":
        return ["-am"]
    if case == "layers":
        mapping.write_text("TopLayer:\n  model: model\nModel:\n  layers: blocks\n")
        return ["-lm", str(mapping)]
    if case == "data":
        names = [
            f"{name}.output.0"
            for name in pair.sides[0]
            if name.startswith(("Torch.", "Module.")) and "forward" in name
        ]
        lines = [f"{renamed(name)}: {name}\n" for name in names] or ["a: b\n"]
        mapping.write_text("".join(lines))
        return ["-dm", str(mapping)]
    return []


def main():
    root, seeds = Path(sys.argv[1]), [int(word) for word in sys.argv[2:]]
    without_mindspore()
    import msprobe.core.compare.auto_compare
    import msprobe.mindspore.compare.ms_compare
    import msprobe.pytorch.compare.pt_compare
    import msprobe.visualization.graph_service  # noqa: F401

    for seed in seeds:
        for case, kinds in CASES.items():
            if seed % len(KINDS) not in kinds:
                continue
            folder = root / f"{case}_{seed}"
            draw = random.Random(f"{case}{seed}")
            pair = Pair(seed, case, draw)
            pair.write(folder, draw, seed)
            words = arguments(case, folder, pair)
            (folder / "arguments.json").write_text(json.dumps(words))
            files = ("-tp", folder / "target/dump.json", "-gp", folder / "golden/dump.json")
            reference(("compare", *files, *words), folder / "csv")
            if case in GRAPHS:
                sides = ("-tp", folder / "target", "-gp", folder / "golden")
                reference(("graph_visualize", *sides, *words), folder / "graph")


if __name__ == "__main__":
    main()
