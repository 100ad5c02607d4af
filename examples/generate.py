"""Writes text with the small GPT, byte by byte, with a cache of keys and values.

python3 examples/generate.py --tokens 32
"""

import argparse

import torch
from tiny_gpt import Cache, Config, TinyGpt


@torch.inference_mode()
def generate(model, prompt, count, config):
    """Returns the prompt and the `count` most likely bytes after it."""
    caches = [Cache(1, config) for _ in model.blocks]
    text = list(prompt)
    tokens = torch.tensor([text], dtype=torch.long)
    for _ in range(count):
        logits = model(tokens, caches)
        tokens = logits[:, -1].argmax(dim=-1, keepdim=True)
        text.append(tokens.item())
    return bytes(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prompt", default="def main")
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--weights", metavar="FILE", help="from train_tiny_gpt.py --save")
    arguments = parser.parse_args()

    torch.manual_seed(0)
    torch.set_num_threads(1)
    config = Config()
    if len(arguments.prompt.encode()) + arguments.tokens > config.context:
        parser.error(f"prompt and tokens together may have {config.context} bytes")
    model = TinyGpt(config).eval()
    if arguments.weights:
        model.load_state_dict(torch.load(arguments.weights, weights_only=True))
    text = generate(model, arguments.prompt.encode(), arguments.tokens, config)
    print(text.decode("ascii", errors="backslashreplace"))


if __name__ == "__main__":
    main()
