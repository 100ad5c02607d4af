"""A small model in vLLM: ``vllm_offline.py MODEL WAY``.

``usual``: compiled, as vLLM starts. ``eager``: nothing is compiled. ``loaded``: vLLM's artefact is
loaded, and Dynamo does not run, as on a device; vLLM 0.32 itself fails to load it on a CPU (the
function has no ``finalize_loading``).
"""

import os
import sys

import torch
from vllm import LLM, SamplingParams
from vllm.compilation import decorators

PROMPTS = ["import os and", "def f(x):", "the"]


def load(model, path):
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        function = torch.compiler.load_compiled_function(file, f_globals=model.forward.__globals__)
    decorators._verify_source_unchanged(function.source_info(), model.vllm_config)
    function.disable_guard_check()
    print("artefact loaded", flush=True)
    return function


def main(model, way):
    if way == "loaded":
        decorators._try_load_aot_compiled_fn = load
    engine = LLM(
        model=model, dtype="float32", max_model_len=512, gpu_memory_utilization=0.3, seed=0,
        enforce_eager=way == "eager",
    )  # fmt: skip
    sampling = SamplingParams(max_tokens=24, temperature=0, ignore_eos=True, logprobs=1)
    for answer in engine.generate(PROMPTS, sampling):
        found = answer.outputs[0]
        chosen = [step[token].logprob for step, token in zip(found.logprobs, found.token_ids)]
        print("digest", repr(found.text), repr(sum(chosen)))


if __name__ == "__main__":
    main(*sys.argv[1:])
