"""A model in compiled form: ``compiled_model.py NAME train|infer DTYPE [parts|dynamic]``.

Prints a digest of all that it computed. ``parts``: each layer is compiled by itself.
"""

import hashlib
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "precision" / "families"))
import family_models

STEPS = 4


def compiled(model, how):
    if how != "parts":
        return torch.compile(model, dynamic=True if how == "dynamic" else None)
    layers = max((m for m in model.modules() if isinstance(m, torch.nn.ModuleList)), key=len)
    for layer in layers:
        layer.compile()
    return model


def main(name, mode, dtype, how="whole"):
    torch.set_num_threads(1)
    model = family_models.make(name)
    if dtype != "float32":
        model.to(getattr(torch, dtype))
    model.train(mode == "train")
    program = compiled(model, how)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    digest = hashlib.sha256()
    for step in range(STEPS):
        fed = model.prepare(step)
        if how == "dynamic" and step % 2:
            batch = len(fed[0])  # labels may be those of all tokens in a row
            fed = tuple(each[: len(each) // batch] for each in fed)
        if mode == "train":
            loss = program(*fed)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        else:
            with torch.no_grad():
                loss = program(*fed)
        digest.update(repr(loss.item()).encode())
    for parameter in model.parameters():
        digest.update(parameter.detach().float().numpy().tobytes())
    print("digest", digest.hexdigest())


if __name__ == "__main__":
    main(*sys.argv[1:])
