"""Makes a small Qwen2 with random weights and a tokenizer of its own: 14 MB, nothing is loaded.

python3 examples/vllm/make_model.py FOLDER [--shape tiny] [--vocabulary 2000]

The model may know more tokens than its tokenizer: `vllm bench latency` asks with numbers up to
10000.
"""

import argparse
import sysconfig
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

END = "<|endoftext|>"
VOCABULARY = 2000
#: Layers, width, heads, width inside of a layer.
SHAPES = {"tiny": (4, 256, 4, 704), "qwen2-0.5b": (24, 896, 14, 4864)}


def make_tokenizer():
    """Byte-level BPE, learned from some files of Python's standard library."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    files = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))[:40]
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train([str(file) for file in files], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=END)


def make_model(shape, vocabulary, seed):
    torch.manual_seed(seed)
    layers, hidden, heads, intermediate = SHAPES[shape]
    config = Qwen2Config(
        vocab_size=vocabulary,
        hidden_size=hidden,
        intermediate_size=intermediate,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=2,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=0,
    )
    return Qwen2ForCausalLM(config).float()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--shape", choices=SHAPES, default="tiny")
    parser.add_argument("--vocabulary", type=int, default=VOCABULARY)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    make_tokenizer().save_pretrained(arguments.folder)
    model = make_model(arguments.shape, max(arguments.vocabulary, VOCABULARY), arguments.seed)
    model.save_pretrained(arguments.folder)


if __name__ == "__main__":
    main()
