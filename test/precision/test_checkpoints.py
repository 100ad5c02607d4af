"""Two checkpoints: planted differences are named with what they are, whatever form they have."""

import csv
import json
import re
import struct
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

_NAMES = {torch.float32: "F32", torch.bfloat16: "BF16", torch.int64: "I64"}


def model(layers=3):
    torch.manual_seed(0)
    state = {"embed.weight": torch.randn(16, 8)}
    for layer in range(layers):
        state[f"layers.{layer}.norm.weight"] = torch.ones(8)
        state[f"layers.{layer}.q.weight"] = torch.randn(8, 8)
        state[f"layers.{layer}.k.weight"] = torch.randn(8, 8)
    return state


def write_safetensors(path, state):
    header, values = {}, b""
    for name, tensor in state.items():
        data = tensor.contiguous().view(torch.uint8).numpy().tobytes()
        header[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [len(values), len(values) + len(data)],
        }
        values += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + values)


@pytest.fixture(name="compare")
def make_compare(probe, tmp_path):
    """compare(target, golden): output of the command, rows of the table, the reference's table."""
    count = iter(range(100))

    def run(target, golden):
        out = tmp_path / f"out{next(count)}"
        done = probe("compare", "-tp", target, "-gp", golden, "-o", out)
        (table,) = out.glob("checkpoint_compare_*.csv")
        (similarity,) = out.glob("ckpt_similarity_*.json")
        rows = {row["Name"]: row for row in csv.DictReader(table.open())}
        return done, rows, json.loads(similarity.read_text())

    return run


def test_one_model_in_every_form(compare, tmp_path):
    state = model()
    torch.save(state, tmp_path / "plain.pt")
    torch.save({"model": {"module." + name: value for name, value in state.items()}, "epoch": 3},
               tmp_path / "wrapped.pth")  # fmt: skip
    write_safetensors(tmp_path / "one.safetensors", state)
    shards = tmp_path / "shards"
    shards.mkdir()
    names = list(state)
    halves = {"a.safetensors": names[:5], "b.safetensors": names[5:]}
    for file, part in halves.items():
        write_safetensors(shards / file, {name: state[name] for name in part})
    weight_map = {name: file for file, part in halves.items() for name in part}
    index = shards / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": weight_map}))
    for target in ("wrapped.pth", "one.safetensors", "shards"):
        done, rows, similarity = compare(tmp_path / target, tmp_path / "plain.pt")
        assert "10 equal, 0 rounded, 0 differ" in done.stdout, done.stdout
        assert "all tensors hold the same values" in done.stdout
        assert {row["Verdict"] for row in rows.values()} == {"equal"} and len(rows) == 10
        assert similarity["layers.0.q.weight"] == {
            "l2": 0.0, "cos": pytest.approx(1.0), "numel": 64, "shape": [8, 8],
        }  # fmt: skip


def changed(state, **changes):
    out = {name: value.clone() for name, value in state.items()}
    out.update({name.replace("__", "."): value for name, value in changes.items()})
    return out


def test_planted_differences(compare, tmp_path):
    state = model()
    torch.save(state, tmp_path / "good.pt")
    q1 = state["layers.1.q.weight"]
    row = q1.clone()
    row[5] += 0.25
    broken = q1.clone()
    broken[0, 0] = float("nan")
    swapped = {"layers__1__q__weight": state["layers.1.k.weight"],
               "layers__1__k__weight": q1}  # fmt: skip
    cases = [
        ({"layers__1__q__weight": q1 * 1.5},
         "1 of 10 tensors differ, all of them in layers.1.q.weight",
         "1.5 times as large as in the golden checkpoint"),
        ({"layers__1__norm__weight": torch.zeros(8)}, "1 of 10 tensors differ", "all zeros"),
        ({"layers__1__q__weight": row}, "1 of 10 tensors differ",
         "8 of 64 elements, in row 5 of 8"),
        ({"layers__1__q__weight": broken}, "1 of 10 tensors differ", "1 NaN in the target"),
        ({"layers__1__q__weight": q1[:4]}, "1 of other shape", "[4, 8] float32 against [8, 8]"),
        (swapped, "values have other names: 2 of 10",
         "layers.1.q.weight: holds what the golden checkpoint calls layers.1.k.weight"),
    ]  # fmt: skip
    for changes, conclusion, how in cases:
        torch.save(changed(state, **changes), tmp_path / "bad.pt")
        done, _, similarity = compare(tmp_path / "bad.pt", tmp_path / "good.pt")
        assert conclusion in done.stdout and how in done.stdout, done.stdout
    assert len(similarity) == 10


def test_rounding_of_a_type_is_no_difference(compare, tmp_path):
    state = model()
    torch.save(state, tmp_path / "good.pt")
    short = {name: value.bfloat16() for name, value in state.items()}
    write_safetensors(tmp_path / "short.safetensors", short)
    done, rows, _ = compare(tmp_path / "short.safetensors", tmp_path / "good.pt")
    assert "equal except for rounding to the coarser type" in done.stdout
    assert rows["embed.weight"]["How"] == "the target is rounded to bfloat16"
    # A little more than rounding is one.
    short["embed.weight"] = (state["embed.weight"] * 1.02).bfloat16()
    write_safetensors(tmp_path / "short.safetensors", short)
    done, rows, _ = compare(tmp_path / "short.safetensors", tmp_path / "good.pt")
    assert rows["embed.weight"]["Verdict"] == "differs"


def test_two_states_of_a_training(compare, tmp_path):
    state = model()
    torch.save(state, tmp_path / "good.pt")
    later = {name: value + 0.01 * torch.randn_like(value) for name, value in state.items()}
    torch.save({**later, "extra.bias": torch.ones(3)}, tmp_path / "later.pt")
    done, rows, similarity = compare(tmp_path / "later.pt", tmp_path / "good.pt")
    assert "every tensor differs" in done.stdout and "two states of one training" in done.stdout
    assert rows["extra.bias"]["Verdict"] == "only in the target"
    assert "extra.bias" not in similarity
    name = "layers.2.k.weight"
    wanted = torch.linalg.norm(later[name].double() - state[name].double()).item()
    assert similarity[name]["l2"] == pytest.approx(wanted, rel=1e-12)


class Evil:
    def __reduce__(self):
        import os

        return (os.system, ("touch executed",))


def test_advice_for_a_distributed_checkpoint(probe, compare, tmp_path):
    state = model()
    torch.save(state, tmp_path / "good.pt")
    folder = tmp_path / "step_100"
    distributed = pytest.importorskip("torch.distributed.checkpoint")
    distributed.save(state, checkpoint_id=folder)
    (file,) = folder.glob("*.distcp")
    for given in (folder, file):
        done = probe("compare", "-tp", given, "-gp", tmp_path / "good.pt", good=False)
        assert done.returncode == 1
        assert f"{given} is a distributed checkpoint" in done.stderr
    words = re.search("'(python3 .*) FILE.pt'", done.stderr)[1].split()
    subprocess.run([sys.executable, *words[1:], tmp_path / "one.pt"], check=True)
    done, _, _ = compare(tmp_path / "one.pt", tmp_path / "good.pt")
    assert "10 equal, 0 rounded, 0 differ" in done.stdout


def test_what_cannot_be_compared_is_named(compare, tmp_path):
    state = model()
    torch.save(state, tmp_path / "good.pt")
    name = "layers.0.q.weight"
    torch.save({**state, name: state[name].to_sparse()}, tmp_path / "sparse.pt")
    done, _, _ = compare(tmp_path / "sparse.pt", tmp_path / "good.pt")
    assert f"1 tensor of the target not compared, the first: {name}: values" in done.stderr
    assert "those that were compared hold the same values" in done.stdout
    torch.save({**state, name: state[name].to(torch.complex64)}, tmp_path / "complex.pt")
    done, _, _ = compare(tmp_path / "complex.pt", tmp_path / "good.pt")
    assert f"{name}: [8, 8] complex64 against [8, 8] float32\n" in done.stdout


def test_bad_input(probe, compare, tmp_path):
    state = model()
    torch.save(state, tmp_path / "good.pt")
    torch.save({"model": state, "extra": Evil()}, tmp_path / "evil.pt")
    done, _, _ = compare(tmp_path / "evil.pt", tmp_path / "good.pt")
    assert "10 equal" in done.stdout and not (tmp_path / "executed").exists()

    def refused(target, *texts):
        done = probe("compare", "-tp", target, "-gp", tmp_path / "good.pt", good=False)
        assert done.returncode == 1
        for text in texts:
            assert text in done.stderr, done.stderr

    (tmp_path / "cut.pt").write_bytes((tmp_path / "good.pt").read_bytes()[:500])
    refused(tmp_path / "cut.pt", "cut.pt", "zip directory")
    refused(tmp_path / "missing.pt", "missing.pt does not exist")
    dump = tmp_path / "dump.json"
    dump.write_text("{}")
    refused(dump, "is a checkpoint and", "dump.json is not: give two")
    torch.save({"other": torch.ones(2)}, tmp_path / "other.pt")
    refused(tmp_path / "other.pt", "no tensor name in common")
    torch.save({"epoch": 3}, tmp_path / "none.pt")
    refused(tmp_path / "none.pt", "none.pt holds no tensor")
    shards = tmp_path / "shards"
    shards.mkdir()
    write_safetensors(shards / "a.safetensors", state)
    index = shards / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"x": "b.safetensors"}}))
    refused(shards, "b.safetensors is missing", "not complete")
