"""Large dumps for the benchmark: a small one repeated, and two folders of tensor files.

A copy's modules get a name of their own, its calls go on counting, so every name stays unique.
"""

import json
import random
import re
import shutil
import struct
import zipfile
from pathlib import Path

import numpy

API_NAME = re.compile(r"^(\w+\.\w+)\.(\d+)\.(forward|backward)(.*)$")


def rename(name, copy, counts):
    """The name of this call in copy number `copy`."""
    if name is None:
        return None
    match = API_NAME.match(name)
    if match is None or name.startswith(("Module.", "Cell.")):
        kind, _, rest = name.partition(".")
        return f"{kind}.copy{copy}.{rest}"
    number = int(match[2]) + copy * counts.get(match[1], 0)
    return f"{match[1]}.{number}.{match[3]}{match[4]}"


def repeat_dump(source, target, copies):
    """Writes `source` (a rank folder) `copies` times as one dump."""
    dump, construct, stack = (
        json.loads((source / f"{name}.json").read_text()) for name in ("dump", "construct", "stack")
    )
    counts = {}
    for name in (*dump["data"], *construct):
        match = API_NAME.match(name)
        if match:
            counts[match[1]] = max(counts.get(match[1], 0), int(match[2]) + 1)
    data, tree, stacks = {}, {}, {}
    for copy in range(copies):
        for name, entry in dump["data"].items():
            data[rename(name, copy, counts)] = entry
        for name, parent in construct.items():
            tree[rename(name, copy, counts)] = rename(parent, copy, counts)
    for key, (names, frames) in stack.items():
        every = [rename(name, copy, counts) for copy in range(copies) for name in names]
        stacks[key] = [every, frames]
    target.mkdir(parents=True)
    (target / "dump.json").write_text(json.dumps({**dump, "data": data}))
    (target / "construct.json").write_text(json.dumps(tree))
    (target / "stack.json").write_text(json.dumps(stacks))
    return len(data)


def round_values(record, chance):
    """Moves the statistics of floating tensors below `record` by about a rounding of float32."""
    if isinstance(record, list):
        for item in record:
            round_values(item, chance)
    elif isinstance(record, dict) and "Max" in record:
        if "float" in str(record.get("dtype")):
            for key in ("Max", "Min", "Mean", "Norm"):
                if isinstance(record[key], float):
                    record[key] *= 1 + 3e-8 * (1 + chance.random())
    elif isinstance(record, dict):
        for item in record.values():
            round_values(item, chance)


def rounded_dump(source, target):
    """The dump `source` with results (weights not) that differ by rounding alone."""
    chance = random.Random(7)
    dump = json.loads((source / "dump.json").read_text())
    for name, entry in dump["data"].items():
        if name.endswith(".forward") or ".forward." in name:
            round_values(entry.get("input_args", [])[:1], chance)
            round_values(entry.get("output", []), chance)
        else:
            round_values(entry, chance)
    target.mkdir(parents=True)
    (target / "dump.json").write_text(json.dumps(dump))
    for name in ("construct.json", "stack.json"):
        shutil.copy(source / name, target)


def pickle_of_tensor(count):
    """The pickle that torch.save writes for a float32 vector, protocol 2."""

    def text(value):
        return b"X" + struct.pack("<I", len(value)) + value.encode()

    def number(value):
        return b"J" + struct.pack("<i", value)

    storage = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu")
    storage += number(count) + b"tQ"
    arguments = b"(" + storage + number(0) + number(count) + b"\x85" + number(1) + b"\x85"
    return (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n"
        + arguments
        + b"\x89ccollections\n"
        + (b"OrderedDict\n)RtR.")
    )


def write_tensor(path, values):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{path.stem}/data.pkl", pickle_of_tensor(values.size))
        archive.writestr(f"{path.stem}/byteorder", "little")
        archive.writestr(f"{path.stem}/data/0", values.tobytes())
        archive.writestr(f"{path.stem}/version", "3\n")


def tensor_dump(folder, files, elements, scale):
    """A dump of `files` float32 vectors; those of two scales differ a little."""
    generator = numpy.random.default_rng(7)
    tensors = folder / "dump_tensor_data"
    tensors.mkdir(parents=True)
    data = {}
    for i in range(files):
        values = generator.standard_normal(elements, dtype=numpy.float32) * numpy.float32(scale)
        name = f"Torch.add.{i}.forward.output.0.pt"
        write_tensor(tensors / name, values)
        record = {
            **{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [elements]},
            **{"Max": float(values.max()), "Min": float(values.min())},
            **{"Mean": float(values.mean()), "Norm": float(numpy.linalg.norm(values))},
            **{"requires_grad": False, "data_name": name},
        }
        data[f"Torch.add.{i}.forward"] = {"input_args": [], "input_kwargs": {}, "output": [record]}
    header = {"task": "tensor", "level": "L1", "framework": "pytorch"}
    header["dump_data_dir"] = str(tensors)
    (folder / "dump.json").write_text(json.dumps({**header, "data": data}))
    (folder / "stack.json").write_text("{}")
    (folder / "construct.json").write_text("{}")
    return files * elements * 4


def make_all(shared_data, work):
    """{"calls": (target, golden, rounded), "tensors": (target, golden)} below `work`."""
    resnet = Path(shared_data) / "precision" / "resnet50_gpu_mix"
    calls = (work / "calls" / "target", work / "calls" / "golden")
    for side, step in zip(calls, ("step0", "step1")):
        repeat_dump(resnet / step / "proc2016", side, 40)
    calls = (*calls, work / "calls" / "rounded")
    rounded_dump(calls[0], calls[2])
    tensors = (work / "tensors" / "target", work / "tensors" / "golden")
    for side, scale in zip(tensors, (1.0, 1.0001)):
        tensor_dump(side, 40, 4_000_000, scale)
    return {"calls": calls, "tensors": tensors}
