"""What a configuration asks for and a program never has is reported when it ends, and nothing
else."""

import pytest

PREPARED = True
PROGRAM = """
import torch
from torch import nn
from sonde.torch import PrecisionDebugger
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
debugger = PrecisionDebugger("config.json")
for _ in range(3):
    debugger.start(model=model)
    debugger.save(model(torch.ones(3, 4)), "result")
    debugger.stop()
    debugger.step()
"""
NEVER_STARTED = """
import torch
from sonde.torch import PrecisionDebugger
PrecisionDebugger("config.json")
"""
FOUND = """
import torch
from sonde.torch import PrecisionDebugger
debugger = PrecisionDebugger("config.json")
for _ in range(3):
    debugger.start()
    torch.log(torch.full((2,), -1.0))
    debugger.stop()
    debugger.step()
"""
LINEAR = "Module.0.Linear.forward.0"
PRINTED = [
    ({"step": [100]}, ["never recorded: step 100; the program came to step 3"]),
    ({"step": [1, 7, "200-300"]}, ["never recorded: step 7, 200-300; the program came to step 3"]),
    ({"level": "debug", "step": [7]}, ["never recorded: step 7"]),
    ({"task": "nan_watch", "step": [0, 50]}, ["never recorded: step 50;"]),
    ({"rank": [7]}, ["rank [7] is to be recorded, but there is none"]),
    ({"statistics": {"list": ["Lineer"]}}, ["no call matched 'Lineer' (did you mean 'Linear'?)"]),
    ({"level": "L1", "statistics": {"list": ["Linear"]}}, ["did you mean 'linear', as in Func"]),
    (
        {"level": "L0", "statistics": {"scope": [LINEAR, "Module.3.Linear.forward.0"]}},
        ["no call matched 'Module.3.Linear.forward.0' (did you mean 'Module.2.Linear.forward.0'?)"],
    ),
    ({"statistics": {"tensor_list": ["relu", "conv"]}}, ["no call matched 'conv' of tensor_list"]),
    ({"custom_op_namespaces": ["nowhere"]}, ["torch has no operators named nowhere.*"]),
    (
        {"load": {"path": ".", "modules": [LINEAR], "step": [9], "dump_after_load": True}},
        ["[load] never loaded: step 9; the program came to step 3"],
    ),
    # Every setting had an effect.
    ({}, []),
    ({"step": ["0-1"]}, []),
    ({"statistics": {"list": ["linear"], "tensor_list": ["linear"]}}, []),
    ({"level": "L0", "statistics": {"scope": [LINEAR, "Module.2.Linear.forward.0"]}}, []),
    ({"task": "nan_watch", "nan_watch": {"list": ["linear"]}}, []),
    ({"level": "debug", "step": [1]}, []),
]


def warnings(done):
    return [line for line in done.stderr.splitlines() if "[WARNING]" in line]


@pytest.mark.parametrize(("settings", "texts"), PRINTED)
def test_what_never_came(run_program, settings, texts):
    lines = warnings(run_program(PROGRAM, **{"level": "mix", **settings}))
    assert len(lines) == len(texts), lines
    for line, text in zip(lines, texts):
        assert text in line


def test_a_debugger_that_nobody_starts(run_program):
    (line,) = warnings(run_program(NEVER_STARTED))
    assert "start() of the PrecisionDebugger was never called" in line
    assert warnings(run_program(NEVER_STARTED, dump_enable=False)) == []


def test_a_search_that_has_found_enough_misses_no_step(run_program):
    lines = warnings(run_program(FOUND, task="nan_watch", step=["0-2"]))
    assert not any("never recorded" in line for line in lines), lines
