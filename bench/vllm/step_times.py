"""A plug-in of vLLM for the benchmark: appends two numbers of 8 bytes for each engine step of a
worker to the file STEP_TIMES: when it ended (CLOCK_MONOTONIC) and its CPU time, in nanoseconds. It
is around everything that a profiler does in a step."""

import os
import struct
import sys
import time


def register():
    """Called by vLLM in each of its processes; workers have the module by then."""
    path, module = os.environ.get("STEP_TIMES"), sys.modules.get("vllm.v1.worker.worker_base")
    if path is None or module is None or hasattr(module, "step_times"):
        return
    module.step_times = True
    wrapper = module.WorkerWrapperBase
    execute = wrapper.execute_model
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    spent = 0

    def execute_model(self, scheduled):
        nonlocal spent
        begin = time.thread_time_ns()
        output = execute(self, scheduled)
        spent = time.thread_time_ns() - begin
        return output

    def sample_tokens(self, *args, **kwargs):
        begin = time.thread_time_ns()
        output = self.worker.sample_tokens(*args, **kwargs)
        cpu = spent + time.thread_time_ns() - begin
        os.write(file, struct.pack("<qq", time.monotonic_ns(), cpu))
        return output

    wrapper.execute_model, wrapper.sample_tokens = execute_model, sample_tokens
