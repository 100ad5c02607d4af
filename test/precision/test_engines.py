"""`--consistent_check`: a training engine against the inference engine it trains for."""

import csv
import json
import struct

import pytest
from engine_model import write_engines


def save_npy(folder, name, shape):
    """A tensor of ones as .npy, without numpy."""
    count = 1
    for length in shape:
        count *= length
    shown = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({shown}), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    size = struct.pack("<H", len(head))
    data = b"\x93NUMPY\x01\x00" + size + head.encode() + struct.pack("<f", 1.0) * count
    (folder / f"{name}.npy").write_bytes(data)
    return f"{name}.npy"


@pytest.fixture(name="compare")
def make_compare(probe, tmp_path):
    def compare(backend, *arguments):
        pair = write_engines(tmp_path, backend, *arguments)
        words = ("--consistent_check", "--backend", backend)
        done = probe("compare", "-tp", pair[0], "-gp", pair[1], "-o", tmp_path / "out", *words)
        (path,) = (tmp_path / "out").glob("compare_result_*.csv")
        with path.open(newline="") as file:
            return list(csv.DictReader(file)), pair, done

    return compare


def record(folder, call, section, index):
    data = json.loads((folder / "dump.json").read_text())["data"]
    return data[call][section][index]


def test_fsdp_parts_stand_for_one_module(compare):
    rows, pair, _ = compare("fsdp")
    root = "Module._fsdp_wrapped_module.model.layers.1._fsdp_wrapped_module.self_attn"
    calls = [f"{root}.{part}_proj.Linear.forward.1" for part in "qkv"]
    whole = "Module.model.layers.1.self_attn.qkv_proj.QKVParallelLinear.forward.0"
    (row,) = (r for r in rows if r["Bench Name"] == f"{whole}.output.0")
    assert row["NPU Name"] == ";  ".join(f"{call}.output.0" for call in calls)
    parts = [record(pair[0], call, "output", 0) for call in calls]
    assert row["NPU Tensor Shape"] == "[1, 4, 8];[1, 4, 4];[1, 4, 4]"
    assert float(row["NPU max"]) == max(part["Max"] for part in parts)
    assert float(row["NPU min"]) == min(part["Min"] for part in parts)
    assert row["NPU mean"] == ";".join(repr(part["Mean"]) for part in parts)
    golden = record(pair[1], whole, "output", 0)
    assert float(row["Max diff"]) == float(row["NPU max"]) - golden["Max"]
    assert row["Mean diff"] == "Diff"


def test_only_the_pass_between_embedding_and_backward_counts(compare):
    rows, _, _ = compare("fsdp")
    names = [row["NPU Name"] for row in rows]
    assert not any("lm_head" in name or "Model.backward" in name for name in names)
    assert not any("layers.0.mlp.MLP.backward" in name for name in names)
    # Calls count again from there: forward.1 of the training is forward.0 of the inference.
    assert "Module.model.embed_tokens.VocabParallelEmbedding.forward.0.output.0" in [
        row["Bench Name"] for row in rows if "Embedding.forward.1" in row["NPU Name"]
    ]


def test_what_one_engine_lacks_is_kept(compare):
    rows, _, _ = compare("fsdp")
    only_training = [r for r in rows if "act_fn" in r["NPU Name"]]
    assert only_training and all(r["Bench Name"] == "N/A" for r in only_training)
    only_inference = [r for r in rows if "rotary_emb" in r["Bench Name"]]
    assert only_inference and all(r["Result"] == "unmatched" for r in only_inference)


def test_megatron_modules_stand_for_several(compare):
    rows, _, _ = compare("megatron")
    name = "Module.0.module.module.decoder.layers.0.mlp.linear_fc1.ColumnParallelLinear.forward.3"
    (row,) = (r for r in rows if r["NPU Name"] == f"{name}.parameters.weight")
    layer = "Module.model.layers.0"
    assert row["Bench Name"] == ";  ".join(
        f"{layer}.{place}.gate_up_proj.ColumnParallelLinear.forward.0.parameters.weight"
        for place in ("mlp", "shared")
    )
    by_name = {r["NPU Name"]: r["Bench Name"] for r in rows}
    renamed = name.replace("mlp.linear_fc1.Column", "self_attention.linear_proj.Row")
    assert by_name[f"{renamed}.input.0"] == (
        f"{layer}.self_attn.o_proj.RowParallelLinear.forward.0.input.0"
    )


def test_tensors_are_put_together(compare):
    rows, _, done = compare("fsdp", "tensor", save_npy)
    joined = [row for row in rows if "; " in row["NPU Name"]]
    assert len(joined) == 12, done.stdout
    for row in joined:
        assert (row["Cosine"], row["MaxAbsErr"]) == ("1.0", "0.0"), row
        assert row["Result"] == "pass", row
    # Axes of length 1 do not count; neither does requires_grad.
    assert all(
        row["Result"] == "pass" for row in rows if row["Bench Name"] != "N/A" != row["NPU Name"]
    )


def test_wrong_use(probe, tmp_path):
    pair = write_engines(tmp_path, "fsdp")
    words = ["compare", "-tp", pair[0], "-gp", pair[1], "-o", "out", "--consistent_check"]
    done = probe(*words, good=False)
    assert done.returncode == 2 and "--backend" in done.stderr
    assert probe(*words, "--backend", "vllm", good=False).returncode == 2
    done = probe(*words, "--backend", "fsdp", "-fm", good=False)
    assert done.returncode == 1 and "its own mapping" in done.stderr
    for folder in pair:
        text = (folder / "dump.json").read_text()
        (folder / "dump.json").write_text(text.replace('"Max"', '"md5": "00000001", "Max"'))
    done = probe(*words, "--backend", "fsdp", good=False)
    assert done.returncode == 1 and "checksums" in done.stderr
