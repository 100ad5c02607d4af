"""What recording adds to a step of a worker, all of vLLM in one process and all variants in turn.

bench.py compares servers, which differ by some percent from start to start, also without a
profiler. Here one engine takes one request a variant, in changing order, so that differences of a
tenth of a percent can be seen. Times are CPU time of the thread that runs the model, medians of the
steps, then of the rounds. "idle" is Sonde loaded and waiting; "off" the same without its changes to
the worker. "floor" is an observer without functions: what torch itself does for any observer,
boxing of inputs included where it asks for them. Started by run.sh, which attaches.
"""

import argparse
import contextlib
import os
import random
import statistics
import time

from variants import empty_observer, kineto, sonde

os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
PROMPT = "def main():\n    import os\n"


class Engine:
    """A tiny model in this process; ``step_us`` asks it something."""

    def __init__(self, model):
        from vllm import LLM, SamplingParams  # noqa: PLC0415: after the environment

        self._params = SamplingParams
        self._llm = LLM(model=model, enforce_eager=True, max_model_len=512, max_num_seqs=4,
                        kv_cache_memory_bytes=1 << 26, distributed_executor_backend="uni",
                        disable_log_stats=True)  # fmt: skip
        core = self._llm.llm_engine.engine_core.engine_core
        wrapper = core.model_executor.driver_worker
        self._times, self._spent = [], 0
        self._watch(wrapper)
        self.worker = next(kind for kind in type(wrapper.worker).__mro__
                           if "sample_tokens" in vars(kind))  # fmt: skip

    def _watch(self, wrapper):
        """Around everything that a profiler does in a step; see step_times.py."""
        execute = wrapper.execute_model

        def execute_model(*args, **kwargs):
            begin = time.thread_time_ns()
            output = execute(*args, **kwargs)
            self._spent = time.thread_time_ns() - begin
            return output

        def sample_tokens(*args, **kwargs):
            begin = time.thread_time_ns()
            output = wrapper.worker.sample_tokens(*args, **kwargs)
            self._times.append(self._spent + time.thread_time_ns() - begin)
            return output

        wrapper.execute_model, wrapper.sample_tokens = execute_model, sample_tokens

    def step_us(self, tokens):
        self._times.clear()
        asked = self._params(max_tokens=tokens, temperature=0, ignore_eos=True)
        self._llm.generate([PROMPT], asked, use_tqdm=False)
        return statistics.median(self._times) / 1000


@contextlib.contextmanager
def unchanged(worker):
    """The worker without Sonde's changes."""
    changed = {name: getattr(worker, name) for name in ("execute_model", "sample_tokens")}
    for name, function in changed.items():
        setattr(worker, name, function.__wrapped__)
    try:
        yield
    finally:
        for name, function in changed.items():
            setattr(worker, name, function)


def variants(engine, work):
    return {
        "off": lambda: unchanged(engine.worker),
        "idle": contextlib.nullcontext,
        "sonde level0": lambda: sonde(work, with_modules=True),
        "sonde shapes": lambda: sonde(work, with_modules=True, record_shapes=True),
        "sonde stacks": lambda: sonde(work, with_modules=True, with_stack=True),
        "floor": lambda: empty_observer(False),
        "floor with inputs": lambda: empty_observer(True),
        "torch": kineto,
        "torch shapes": lambda: kineto(record_shapes=True),
        "torch stacks": lambda: kineto(with_stack=True),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="as examples/vllm/make_model.py makes it")
    parser.add_argument("--work", required=True, help="folder for captures")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--tokens", type=int, default=32, help="steps of one measurement")
    arguments = parser.parse_args()
    if arguments.rounds < 2:
        parser.error("--rounds must be at least 2: quartiles are reported")
    engine = Engine(arguments.model)
    named = variants(engine, arguments.work)
    for variant in named.values():  # first starts load libraries and fill caches
        with variant():
            engine.step_us(arguments.tokens)
    ratios, off = {name: [] for name in named if name != "off"}, []
    for _ in range(arguments.rounds):
        order = list(ratios)
        random.shuffle(order)
        for name in order:
            with named["off"]():
                off.append(engine.step_us(arguments.tokens))
            with named[name]():
                engine.step_us(2)
                ratios[name].append(engine.step_us(arguments.tokens) / off[-1])
    print(f"a step without Sonde: {statistics.median(off):.0f} us; of that, with")
    for name, values in ratios.items():
        low, middle, high = statistics.quantiles(values, n=4)
        print(f"{name:18} {middle:6.3f}   [{low:.3f} {high:.3f}] the middle half of the rounds")
    print("goals: idle 1.01, level0 1.05, shapes 1.10, stacks 1.25")


if __name__ == "__main__":
    main()
