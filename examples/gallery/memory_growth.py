"""Trains the small GPT and keeps the losses of all steps, each with the graph behind it.

python3 examples/gallery/memory_growth.py [--detach]

`losses.append(loss)` keeps every tensor that the backward pass of the step needed, so memory grows
from step to step. With --detach only the numbers are kept.
"""

import argparse
import sys
from pathlib import Path

import torch
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tiny_gpt import Config, TinyGpt  # noqa: E402
from train_tiny_gpt import ByteText, source_text  # noqa: E402

BATCH = 8


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--detach", action="store_true")
    arguments = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = Config()
    model = TinyGpt(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = ByteText(source_text(), config.context, arguments.steps * BATCH)
    losses = []
    for inputs, targets in torch.utils.data.DataLoader(data, batch_size=BATCH):
        loss = functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        losses.append(loss.detach() if arguments.detach else loss)
    print(f"mean loss {torch.stack(losses).mean().item():.3f}")


if __name__ == "__main__":
    main()
