"""A dump of one training step: make_dump.py TASK WIDTH LAYERS TOKENS FOLDER; prints its dump.json.

The model is that of bench/probe/dump_model.py.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "probe"))

import torch  # noqa: E402
from dump_model import Model  # noqa: E402


def main(task, width, layers, tokens, folder):
    from sonde.torch import PrecisionDebugger

    torch.manual_seed(0)
    model = Model(width=int(width), layers=int(layers), words=256)
    ids = torch.arange(int(tokens)).view(1, -1) % 256
    debugger = PrecisionDebugger(task=task, level="L1", dump_path=folder)
    debugger.start(model=model)
    model(ids).pow(2).mean().backward()
    debugger.stop()
    debugger.step()
    print(next(Path(folder).glob("step0/*/dump.json")))


if __name__ == "__main__":
    main(*sys.argv[1:])
