"""Writes text with the small GPT, byte by byte: an inference loop for Sonde to record.

Alone:        python3 examples/generate.py --tokens 32
Under Sonde:  sonde run -- python3 examples/generate.py --tokens 32
"""

import argparse

import torch
from tiny_gpt import Config, TinyGpt


@torch.inference_mode()
def generate(model, prompt, count, context):
    """Returns the prompt and the `count` most likely bytes after it."""
    tokens = torch.tensor([list(prompt)], dtype=torch.long)
    for _ in range(count):
        logits = model(tokens[:, -context:])
        best = logits[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat((tokens, best), dim=1)
    return bytes(tokens[0].tolist())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompt", default="def main")
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--weights", metavar="FILE", help="from train_tiny_gpt.py --save")
    arguments = parser.parse_args()

    torch.manual_seed(0)
    torch.set_num_threads(1)
    config = Config()
    model = TinyGpt(config).eval()
    if arguments.weights:
        model.load_state_dict(torch.load(arguments.weights, weights_only=True))
    text = generate(model, arguments.prompt.encode(), arguments.tokens, config.context)
    print(text.decode("ascii", errors="backslashreplace"))


if __name__ == "__main__":
    main()
