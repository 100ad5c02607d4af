"""While nothing is dumped a program calls torch's own functions; modules have no hooks of ours."""

PRELUDE = """
import torch
from torch import nn
from sonde.torch import PrecisionDebugger

COMPILES = True
torch.manual_seed(0)
own = {name: getattr(torch.Tensor, name) for name in ("add", "view", "__mul__")}
matmul, call, linear = torch.matmul, nn.Module.__call__, nn.functional.linear
model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2)))
order = []
debugger = PrecisionDebugger("config.json")

def hooks():
    return sum(len(places) for module in model.modules() for places in (
        module._forward_hooks, module._forward_pre_hooks, module._forward_hooks_always_called,
        module._forward_hooks_with_kwargs, module._forward_pre_hooks_with_kwargs))

def gradient_hooks():
    return sum(len(value._post_accumulate_grad_hooks or ()) for value in model.parameters())

def is_bare():
    return (torch.matmul is matmul and nn.functional.linear is linear and hooks() == 0
            and all(getattr(torch.Tensor, name) is value for name, value in own.items()))

def run(count=1):
    for _ in range(count):
        model(torch.ones(3, 4)).sum().backward()
"""


def test_nothing_is_left_between_dumps(run_program, read_dump, tmp_path):
    source = """
    debugger.start(model=model)
    run()
    assert hooks() > 0 and gradient_hooks() == 4
    debugger.stop()
    assert hooks() == 0
    run(300)
    assert is_bare() and gradient_hooks() == 0
    debugger.start(model=model)
    run()
    debugger.stop()
    debugger.step()
    run(300)
    debugger.start(model=model)
    run()
    debugger.stop()
    debugger.step()
    """
    run_program(PRELUDE + source.replace("\n    ", "\n"), level="mix")
    first, second = (set(read_dump(step)["data"]) for step in ("step0", "step1"))
    assert second < first and len(first) == 2 * len(second)
    assert "Module.1.1.Linear.parameters_grad.1" in first


def test_a_debugger_that_is_never_started(run_program):
    run_program(PRELUDE + "run(300)\nassert is_bare()\n", level="mix")


def test_steps_that_are_not_wanted(run_program, tmp_path):
    """From the first on where none can be wanted, else after a while, however short they are."""
    source = """
for step in range(150):
    debugger.start(model=model, scheduled_tokens={"a": 3})
    assert step < SHORT or is_bare()
    run()
    debugger.stop()
    debugger.step()
assert is_bare() and gradient_hooks() == 0
"""
    for short, more in (
        (0, {"step": [700]}),
        (0, {"rank": [3]}),
        (0, {"dump_enable": False}),
        (140, {"statistics": {"request_id": "b"}}),
    ):
        run_program(PRELUDE + source.replace("SHORT", str(short)), level="mix", **more)
    assert not (tmp_path / "dump").exists()


def test_stopped_in_the_middle_of_a_call(run_program, read_dump):
    source = """
class Stops(nn.Module):
    def forward(self, x):
        debugger.stop()
        return x
model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(Stops(), nn.Tanh()))
for _ in range(2):
    debugger.start(model=model)
    model(torch.ones(3, 4))
    debugger.step()
    assert hooks() == 0
"""
    run_program(PRELUDE + source, level="L0")
    for step in ("step0", "step1"):
        data = read_dump(step)["data"]
        assert "Module.0.Linear.forward.0" in data and "Module.1.1.Tanh.forward.0" not in data
        assert read_dump(step, "construct.json")["Module.0.Linear.forward.0"] is None


def test_hooks_of_the_program_keep_their_place(run_program, read_dump):
    """Ours, registered first, sees what goes in before the program's changes it: in each step."""
    source = """
def doubles(module, args):
    return (args[0] * 2,)
for step in range(2):
    debugger.start(model=model)
    if step == 0:
        model[0].register_forward_pre_hook(doubles)
    run()
    debugger.stop()
    debugger.step()
"""
    run_program(PRELUDE + source, level="L0")
    name = "Module.0.Linear.forward.0"
    first, second = (read_dump(step)["data"][name] for step in ("step0", "step1"))
    assert first["input_args"] == second["input_args"] and first["input_args"][0]["Max"] == 1.0


def test_a_class_changes_only_so_often(run_program, read_dump):
    """CPython stops caching look-ups in a class that has changed too often."""
    source = """
changes = set()
for step in range(120):
    debugger.start(model=model)
    run()
    debugger.stop()
    debugger.step()
    debugger.rest()
    assert torch.matmul is matmul and hooks() == 0
    assert (torch.Tensor.__dict__.get("add") is None) == (step < 100), step

debugger.set_init_step(0)
torch.compile(lambda x: x.add(1).view(-1), backend="eager", fullgraph=True)(torch.ones(2))
debugger.start(model=model)
run()
debugger.stop()
debugger.step()
debugger.rest()
assert not is_bare()
torch._dynamo.reset()
torch.compile(lambda x: x.add(2).view(-1), backend="eager", fullgraph=True)(torch.ones(2))
assert is_bare()
"""
    run_program(PRELUDE + source, level="mix")
    first, last = (set(read_dump(step)["data"]) for step in ("step1", "step119"))
    assert first == last and "Tensor.sum.0.forward" in first
