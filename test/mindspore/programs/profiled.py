"""Profiles itself as MindSpore's guide has it: two windows of a schedule into argv[1], then one
profiler that is started and stopped manually."""

import sys

import decoder
from mindspore.profiler import (
    ProfilerActivity,
    ProfilerLevel,
    _ExperimentalConfig,
    profile,
    schedule,
    tensorboard_trace_handler,
)

net, ids = decoder.make()
with profile(
    activities=[ProfilerActivity.CPU, ProfilerActivity.NPU],
    profile_memory=True,
    schedule=schedule(wait=1, warmup=1, active=1, repeat=2),
    on_trace_ready=tensorboard_trace_handler(sys.argv[1]),
    experimental_config=_ExperimentalConfig(
        profiler_level=ProfilerLevel.Level1, data_simplification=False
    ),
) as prof:
    prof.add_metadata("note", "mine")
    for _ in range(6):
        net(ids).asnumpy()
        prof.step()
print("result", repr(float(net(ids).asnumpy().sum())))
