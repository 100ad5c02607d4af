"""PrecisionDebugger in programs: what is written, and that the program does not notice."""

import os

MODEL = """
import torch
from torch import nn
from sonde.torch import PrecisionDebugger
torch.manual_seed(0)
torch.set_num_threads(1)
"""


def test_killed_program_leaves_what_it_finished(run_program, read_dump):
    done = run_program(
        MODEL
        + """
import os, signal
debugger = PrecisionDebugger("config.json")
debugger.start()
x = torch.ones(3)
for _ in range(5):
    x = torch.add(x, 1)
os.kill(os.getpid(), signal.SIGKILL)
""",
        good=False,
    )
    assert done.returncode == -9
    data = read_dump()["data"]
    assert data["Torch.add.4.forward"]["output"][0]["Max"] == 6.0
    assert read_dump(name="stack.json") is not None
    assert read_dump(name="construct.json") == {}


def test_failures_of_ours_do_not_reach_the_program(run_program, tmp_path, read_dump):
    done = run_program(
        MODEL
        + """
import dataclasses
def broken(self): raise ValueError("not to be read")
@dataclasses.dataclass
class Values:
    a: int
    b: int
debugger = PrecisionDebugger("config.json")
class Holder: pass
holder = Holder()
def function(x, values): return x * 2
holder.function = function
debugger.register_custom_api(holder, "function", "Mine")
values = Values(1, 2)
Values.a = property(broken)
debugger.start()
print(holder.function(torch.ones(2), values))
print(torch.add(torch.ones(2), 1))
debugger.stop()
debugger.step()
"""
    )
    assert "tensor([2., 2.])" in done.stdout
    data = read_dump()["data"]
    assert "Torch.add.0.forward" in data
    (folder,) = (tmp_path / "dump" / "step0").iterdir()
    assert "not to be read" in (folder / "dump_error_info.log").read_text()


def test_levels_need_a_model(run_program):
    done = run_program(
        MODEL
        + """
debugger = PrecisionDebugger("config.json")
try:
    debugger.start()
except Exception as problem:
    print(type(problem).__name__, problem)
""",
        level="mix",
    )
    assert "MsprobeException [msprobe] 无效参数：missing the parameter 'model'" in done.stdout


def test_use_before_construction(run_program):
    done = run_program(
        MODEL
        + """
for call in (PrecisionDebugger.start, PrecisionDebugger.stop, PrecisionDebugger.step):
    try:
        call()
    except Exception as problem:
        print(problem)
"""
    )
    assert done.stdout.count("PrecisionDebugger instance is not created.") == 3


def test_steps_and_numbers(run_program, tmp_path, read_dump):
    run_program(
        MODEL
        + """
debugger = PrecisionDebugger("config.json")
for step in range(4):
    debugger.start()
    torch.add(torch.ones(2), step)
    debugger.stop()
    torch.mul(torch.ones(2), 2)
    debugger.start()
    torch.add(torch.ones(2), step)
    debugger.stop()
    debugger.step()
""",
        step=[1, "2-3"],
    )
    assert sorted(os.listdir(tmp_path / "dump")) == ["step1", "step2", "step3"]
    for step in (1, 2, 3):
        data = read_dump(f"step{step}")["data"]
        names = [name for name in data if name.startswith("Torch.add")]
        assert names == ["Torch.add.0.forward", "Torch.add.1.forward"]
        assert not any(name.startswith("Torch.mul") for name in data)
        assert data["Torch.add.1.forward"]["input_args"][1] == {"type": "int", "value": step}


def test_unwritable_folder_is_one_error(run_program, tmp_path):
    (tmp_path / "dump").write_text("a file")
    done = run_program(
        MODEL
        + """
debugger = PrecisionDebugger("config.json")
try:
    debugger.start()
except Exception as problem:
    print("refused:", problem)
print(torch.add(torch.ones(2), 1))
"""
    )
    assert "refused: " in done.stdout
    assert "dump" in done.stdout
    assert "tensor([2., 2.])" in done.stdout


def test_every_type_loads(run_program, tmp_path):
    done = run_program(
        MODEL
        + """
import os, glob
debugger = PrecisionDebugger("config.json")
debugger.start()
kept = {}
x = torch.arange(6).reshape(2, 3)
names = ("float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool "
         "complex64 complex128 float8_e4m3fn float8_e5m2").split()
for name in names:
    if hasattr(torch, name):
        kept[name] = x.to(getattr(torch, name))
        torch.clone(kept[name].t())
torch.clone(torch.tensor(2.5))
torch.clone(torch.empty(0, 4))
debugger.stop()
debugger.step()
folder = glob.glob("dump/step0/*/dump_tensor_data")[0]
number = 0
for index, (name, value) in enumerate(kept.items()):
    loaded = torch.load(f"{folder}/Torch.clone.{index}.forward.input.0.pt", weights_only=True)
    assert loaded.dtype == value.dtype, name
    assert loaded.is_contiguous(), name
    assert torch.equal(loaded.view(torch.uint8), value.t().contiguous().view(torch.uint8)), name
count = len(kept)
scalar = torch.load(f"{folder}/Torch.clone.{count}.forward.output.0.pt", weights_only=True)
assert scalar.shape == () and scalar.item() == 2.5
assert not os.path.exists(f"{folder}/Torch.clone.{count + 1}.forward.output.0.pt")
print("loaded", count)
""",
        task="tensor",
    )
    assert "loaded" in done.stdout


def test_paths_with_blanks_and_letters(run_program, tmp_path):
    run_program(
        MODEL
        + """
debugger = PrecisionDebugger("config.json")
debugger.start()
torch.add(torch.ones(2), 1)
debugger.stop()
debugger.step()
""",
        dump_path="ein Ordner/äöü",
    )
    (folder,) = (tmp_path / "ein Ordner" / "äöü" / "step0").iterdir()
    assert (folder / "dump.json").is_file()


def test_save(run_program, read_dump):
    run_program(
        MODEL
        + """
debugger = PrecisionDebugger("config.json")
x = torch.ones(2, requires_grad=True)
y = x * 3
debugger.save({"x": x, "list": [y, 1]}, "bag")
debugger.save(y, "bag")
debugger.save(object(), "bad")
y.sum().backward()
debugger.step()
""",
        level="debug",
    )
    data = read_dump(name="debug.json")["data"]
    assert list(data) == ["bag.0.debug", "bag_grad.0.debug", "bag.1.debug", "bag_grad.1.debug"]
    assert data["bag.0.debug"]["x"]["Max"] == 1.0
    assert data["bag_grad.0.debug"]["x"]["Max"] == 3.0
    assert data["bag_grad.0.debug"]["list"][1] is None
    assert data["bag_grad.1.debug"]["Max"] == 1.0


def test_tensors_are_read_natively(run_program):
    """Else every tensor costs microseconds more, unnoticed."""
    done = run_program(
        MODEL
        + """
debugger = PrecisionDebugger("config.json")
debugger.start()
x = torch.arange(12.0).view(3, 4)
for value in (x, x.t(), x[1:, 2:], x.bfloat16(), x.long(), x.requires_grad_(), x[5:]):
    torch.add(value, 1)
with torch.inference_mode():
    torch.add(torch.ones(3)[1:], 1)
print(PrecisionDebugger._service.collector.reads_memory)
debugger.stop()
debugger.step()
"""
    )
    assert done.stdout.split()[-1] == "True"


def test_memory_that_was_given_back_is_not_read(run_program, read_dump):
    """As that of sharded parameters between their uses."""
    run_program(
        MODEL
        + """
model = nn.Sequential(nn.Identity())
debugger = PrecisionDebugger("config.json")
for first in (0, 5):
    freed = torch.ones(10)[first:]
    freed.untyped_storage().resize_(0)
    for other in (freed, torch.ones(10)[first:]):
        debugger.start(model=model)
        model(other)
        debugger.stop()
debugger.step()
""",
        level="L0",
    )
    outputs = [entry["output"][0] for entry in read_dump()["data"].values()]
    assert [output["Max"] for output in outputs] == [None, 1.0, None, 1.0]
    assert [output["shape"] for output in outputs] == [[10], [10], [5], [5]]
