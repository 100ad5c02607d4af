"""Writes the checkpoints that the unit tests of src/precision/checkpoint read. Run by hand; needs
torch and safetensors."""

import sys

import torch
from safetensors.torch import save_file

OUT = sys.argv[1] if len(sys.argv) > 1 else "src/precision/testdata"


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


if __name__ == "__main__":
    main()
