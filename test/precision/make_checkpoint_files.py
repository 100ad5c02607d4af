"""Writes the checkpoints that the unit tests of src/precision/checkpoint read, and those from which
the fuzz target starts. Run manually; needs torch and safetensors."""

import sys

import torch
from safetensors.torch import save_file

OUT = sys.argv[1] if len(sys.argv) > 1 else "src/precision/testdata"
SEEDS = "test/fuzz/precision_checkpoint"


def main():
    torch.manual_seed(0)
    tensors = {
        "layers.10.weight": torch.ones(2, dtype=torch.float16),
        "layers.2.weight": torch.arange(6, dtype=torch.bfloat16).reshape(2, 3),
        "steps": torch.tensor(7),
    }
    save_file(tensors, f"{OUT}/checkpoint.safetensors", metadata={"format": "pt"})
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    state = {
        "model": {**model.state_dict(), "1.running_mean": torch.zeros(2)},
        "optimizer": {"state": {0: {"step": 3, "exp_avg": torch.ones(2)}}, "lr": [1e-3, None]},
        "epoch": 4,
        "seen": {1, 2},
        "done": True,
    }
    torch.save(state, f"{OUT}/checkpoint_state.pt")
    torch.save(state, f"{OUT}/checkpoint_state_legacy.pt", _use_new_zipfile_serialization=False)
    torch.save(model, f"{OUT}/checkpoint_model.pt")


def seeds():
    """Small files with each way of describing a tensor."""
    shared = torch.arange(4.0)
    state = {
        "w": torch.nn.Parameter(torch.ones(2, 3, dtype=torch.bfloat16)),
        "view": shared[1:3],
        "all": shared,
        "row": torch.ones(1).expand(5),
        "z": torch.ones(2, dtype=torch.complex64),
        ("a", 1): {"t": torch.tensor(2)},
        "sparse": torch.eye(2).to_sparse(),
        "more": [{1, 2}, 1.5, None, 2**70, "text", b"bytes", (torch.zeros(0, 3),)],
    }
    torch.save(state, f"{SEEDS}/state.pt")
    torch.save(state, f"{SEEDS}/legacy.pt", _use_new_zipfile_serialization=False)
    torch.save(state, f"{SEEDS}/protocol_4.pt", pickle_protocol=4)
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    torch.save(model, f"{SEEDS}/model.pt")
    tensors = {"a.weight": torch.ones(2, 3), "b": torch.tensor(True), "c": torch.zeros(0)}
    save_file(tensors, f"{SEEDS}/model.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    main()
    seeds()
